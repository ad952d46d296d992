// Package ollama is the provider of Ollama's own API: it writes a request of any client dialect as a chat, or for
// embeddings, and reads the answer, whole or as lines of JSON.
//
// Ollama speaks chat completions as well, for which the provider openai serves; only its own API says how large a
// context a model is to be run with. Connections, keys and retries are the gateway's.
package ollama

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return &provider{} }

// provider holds the settings of the configured instances by provider id.
type provider struct {
	mu       sync.RWMutex // guards settings: configuring runs beside encoding
	settings map[string]settings
}

// settings are a provider's own configuration.
type settings struct {
	Context   int    `json:"num_ctx"`
	KeepAlive string `json:"keep_alive"`
}

const configSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "num_ctx": {
      "type": "integer",
      "minimum": 1,
      "description": "The context in tokens that models are run with. Where absent, Ollama's own default, beyond which it cuts prompts without a word.",
      "examples": [32768]
    },
    "keep_alive": {
      "type": "string",
      "description": "How long a model stays loaded after a request. Where absent, Ollama's own default of five minutes.",
      "examples": ["1h"]
    }
  }
}`

// Manifest describes the chat API (https://docs.ollama.com/api/chat). What a model can do depends on what is installed,
// so nothing is said of it. The preset cloud is the same API at ollama.com, with a key.
func (*provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "ollama",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Ollama's own API",
		BaseURL:     "http://localhost:11434/api",
		Dialects: []sdk.Dialect{
			{Name: "ollama-chat", Path: "/chat", Framing: "ndjson", Terminated: true},
			{Name: embeddingsDialect, Path: "/embed"},
		},
		Auth: sdk.Auth{Kind: "none"},
		Presets: map[string]sdk.Preset{"cloud": {
			BaseURL: "https://ollama.com/api",
			Auth:    &sdk.Auth{Kind: "header", Header: "Authorization", Format: "Bearer {api_key}"},
			Source:  "https://docs.ollama.com/cloud",
		}},
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// Configure remembers the settings of provider id.
func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	var s settings
	if err := json.Unmarshal(config, &s); err != nil {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: %v", id, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settings == nil {
		p.settings = make(map[string]settings)
	}
	p.settings[id] = s
	return sdk.Configured{}, nil
}

func (p *provider) of(id string) settings {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.settings[id]
}

// knownErrors tells kinds of failure by error bodies, which hold no more than a text; the first that matches counts
// (https://docs.ollama.com/api/errors, and the server's source).
func knownErrors() []sdk.KnownError {
	return []sdk.KnownError{
		{Status: 404, At: "/error", Has: "not found", Kind: "upstream_model"},
		{At: "/error", Has: "maximum pending requests exceeded", Kind: "overloaded"},
		{At: "/error", Has: "exceeds the context length", Kind: "context_too_long"},
		{At: "/error", Has: "unauthorized", Kind: "upstream_auth"},
		{At: "/error", Has: "does not support", Kind: "bad_request"}, // tools, thinking
	}
}

// kindOf gives the kind of an error inside a stream, where there is no status.
func kindOf(text string) sdk.Kind {
	text = strings.ToLower(text)
	for _, k := range knownErrors() {
		if k.Status == 0 && strings.Contains(text, k.Has) {
			kind, _ := sdk.ParseKind(k.Kind)
			return kind
		}
	}
	return sdk.UpstreamError
}

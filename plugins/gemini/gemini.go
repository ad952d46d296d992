// Package gemini is the provider of Google's generateContent API, on AI Studio and on Vertex AI: it writes a request of
// any client dialect as contents and parts, and reads the answer, whole or streamed. Embeddings are the smaller part.
//
// The API pairs calls and results by their order and demands that a call comes back with its thought signature; this
// package carries both through clients that know neither. Clients that speak Google's dialects themselves are passed
// through by the gateway and never come here. Connections and retries are the gateway's; of the network only the token endpoint is used, by Authorize.
package gemini

import (
	"cmp"
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
	Project     string `json:"project"`
	Location    string `json:"location"`
	RemoteMedia bool   `json:"remote_media"`
}

const configSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "project": {
      "type": "string",
      "pattern": "^[a-z0-9:.-]{1,80}$",
      "description": "The Google Cloud project, on Vertex AI. Where absent, requests go to AI Studio.",
      "examples": ["my-project"]
    },
    "location": {
      "type": "string",
      "pattern": "^[a-z0-9-]{1,40}$",
      "description": "The region on Vertex AI, the multi-region us or eu, or global.",
      "default": "global",
      "examples": ["europe-west4"]
    },
    "remote_media": {
      "type": "boolean",
      "description": "Whether the web addresses of images and documents are given to Google, which then fetches them. Where false, a request with one is not sent here.",
      "default": false,
      "examples": [true]
    }
  }
}`

// studio is the base address of AI Studio (https://ai.google.dev/api).
const studio = "https://generativelanguage.googleapis.com/v1beta"

// Manifest describes the generateContent API. The preset vertex is the same API under Google Cloud's addresses, with
// tokens in place of a key.
func (*provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "gemini",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Google's generateContent API, on AI Studio and Vertex AI",
		BaseURL:     studio,
		Dialects: []sdk.Dialect{
			generate(),
			{
				Name: studioEmbeddings, Path: "/models/{model}:embedContent", BatchPath: embedBatch,
				Splice: []sdk.Splice{
					{Op: "replace", At: "/model", Value: json.RawMessage(`"models/{model}"`)},
					{Op: "set", At: "/requests/*/model", Value: json.RawMessage(`"models/{model}"`)},
				},
			},
		},
		Auth: sdk.Auth{Kind: "header", Header: "x-goog-api-key", Format: "{api_key}"},
		Presets: map[string]sdk.Preset{"vertex": {
			BaseURL:  "https://aiplatform.googleapis.com/v1beta1/publishers/google",
			Auth:     vertexAuth(),
			Dialects: []string{"gemini", vertexEmbeddings},
			Source:   "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest",
		}},
		Capabilities: capabilities(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// Configure remembers the settings of provider id. With a project it is Vertex AI that is asked, with or without the preset.
func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	var s settings
	if err := json.Unmarshal(config, &s); err != nil {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: %v", id, err)
	}
	if s.Project == "" && s.Location != "" {
		return sdk.Configured{}, fmt.Errorf("provider %s: config.location: want a project beside it", id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settings == nil {
		p.settings = make(map[string]settings)
	}
	p.settings[id] = s
	if s.Project == "" {
		return sdk.Configured{}, nil
	}
	return sdk.Configured{BaseURL: s.address(), Auth: vertexAuth(),
		Dialects: []sdk.Dialect{generate(), {Name: vertexEmbeddings, Path: "/models/{model}:predict"}}}, nil
}

// generate is generateContent, which is the same in both places.
func generate() sdk.Dialect {
	return sdk.Dialect{
		Name: "gemini", Path: "/models/{model}:generateContent",
		StreamPath: "/models/{model}:streamGenerateContent?alt=sse",
		CountPath:  "/models/{model}:countTokens", Framing: "sse",
	}
}

// address gives the base address of the project on Vertex AI.
func (s settings) address() string {
	location := cmp.Or(s.Location, "global")
	return "https://" + vertexHost(location) + "/v1beta1/projects/" + s.Project + "/locations/" + location + "/publishers/google"
}

func (p *provider) of(id string) settings {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.settings[id]
}

// capabilities are Google's models with their published limits (https://ai.google.dev/gemini-api/docs/models); of two
// patterns that match, the first counts. A model that no pattern knows is taken to be able to do everything.
func capabilities() []sdk.Capabilities {
	const context = 1_048_576
	plain := []string{"tools", "parallel_tools", "images", "audio", "documents", "json_schema", "n"}
	thinking := []string{"tools", "parallel_tools", "images", "audio", "documents", "json_schema", "n", "thinking"}
	return []sdk.Capabilities{
		{Match: "gemini-embedding-*", Can: []string{"embeddings"}, Context: 2_048},
		{Match: "gemini-*-image*", Can: []string{"images", "n"}, Context: 65_536, MaxOutput: 32_768},
		{Match: "gemini-2.0-*", Can: plain, Context: context, MaxOutput: 8_192},
		{Match: "gemini-2.5-*", Can: thinking, Context: context, MaxOutput: 65_536},
		{Match: "gemini-3*", Can: thinking, Context: context, MaxOutput: 65_536},
	}
}

// generation is how a model is asked to think and what it demands of calls.
type generation uint8

const (
	before25 generation = iota // does not think
	is25                       // thinks within a budget
	since3                     // thinks at a level, and demands signatures of calls
)

// generationOf reads the generation in a model's name. Names without a version, such as gemini-flash-latest, are the
// newest; names that are no Gemini's are treated as the oldest.
func generationOf(model string) generation {
	_, name, ok := strings.Cut(model, "gemini-")
	switch {
	case !ok, strings.HasPrefix(name, "1."), strings.HasPrefix(name, "2.0"):
		return before25
	case strings.HasPrefix(name, "2.5"):
		return is25
	}
	return since3
}

// Package openai is the provider of OpenAI and of the many services that speak its chat completions: it writes a request
// of any client dialect as a chat completion, and reads the answer, whole or streamed.
//
// Clients that speak chat completions, Responses or embeddings themselves are passed through by the gateway with the
// splice rules of the manifest and never come here. How services differ from OpenAI is data: a row in a table of
// presets, and a row of habits beside it. Connections, keys and retries are the gateway's.
package openai

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return &provider{} }

// provider holds the habits of the configured services by provider id.
type provider struct {
	mu       sync.RWMutex // guards services: configuring runs beside encoding
	services map[string]service
}

// service is what a compatible service does otherwise than OpenAI. The zero service is OpenAI itself.
type service struct {
	compatible bool   // not OpenAI: members that only OpenAI knows are left out
	limit      string // the output limit's member; "" max_completion_tokens
	seed       string // "" seed
	flat       bool   // message content must be a string where it can be
	shortIDs   bool   // call ids are nine letters and digits
	echo       bool   // reasoning of earlier turns goes back as reasoning_content
	unnamed    bool   // refuses the names of speakers
	strict     bool   // refuses members that it does not know
	topK       bool   // takes top_k
	cache      bool   // takes cache_control on text parts
}

// settings is a provider's own configuration.
type settings struct {
	Preset        string `json:"preset"`
	OutputLimit   string `json:"output_limit"`
	ReasoningEcho *bool  `json:"reasoning_echo"`
}

const configSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "preset": {
      "type": "string",
      "description": "The compatible service whose habits apply. Where absent, the preset with the provider's own name.",
      "default": "",
      "examples": ["deepseek"]
    },
    "output_limit": {
      "enum": ["max_completion_tokens", "max_tokens"],
      "description": "The member that limits the output's tokens.",
      "default": "max_completion_tokens",
      "examples": ["max_tokens"]
    },
    "reasoning_echo": {
      "type": "boolean",
      "description": "Whether the reasoning of earlier turns is sent back as reasoning_content.",
      "default": false,
      "examples": [true]
    }
  }
}`

// Configure remembers the habits of the service that provider id stands for.
func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	var s settings
	if err := json.Unmarshal(config, &s); err != nil {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: %v", id, err)
	}
	name := s.Preset
	if name == "" {
		name = id
	} else if _, ok := habits(name); !ok && name != "openai" {
		return sdk.Configured{}, fmt.Errorf("provider %s: config.preset: no preset %q", id, name)
	}
	svc, _ := habits(name)
	if s.OutputLimit != "" {
		svc.limit = s.OutputLimit
	}
	if s.ReasoningEcho != nil {
		svc.echo = *s.ReasoningEcho
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services == nil {
		p.services = make(map[string]service)
	}
	p.services[id] = svc
	return sdk.Configured{}, nil
}

func (p *provider) service(id string) service {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.services[id]
}

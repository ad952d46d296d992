// Package openai is the provider of OpenAI and of the many services that speak as it does: it writes a request of any
// client dialect as a chat completion or as a request for a response, as the deployment has it, and reads the answer,
// whole or streamed.
//
// Clients that speak the deployment's own dialect are passed through by the gateway with the splice
// rules of the manifest and never come here. How services differ from OpenAI is data: a row in a table of
// presets, and a row of habits beside it. Connections, keys and retries are the gateway's; of the network only Entra's
// token endpoint is used, by Authorize.
package openai

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/penstock-gateway/penstock/sdk"
)

// The names of the dialects that are encoded here.
const (
	chatDialect      = "openai-chat"
	responsesDialect = "openai-responses"
)

// New makes the provider.
func New() sdk.Provider { return &provider{} }

// provider holds what is known of the configured services, by provider id.
type provider struct {
	mu       sync.RWMutex // guards what follows: configuring runs beside encoding
	services map[string]service
	azure    map[string]azure
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
	toggle     bool   // thinking is switched on and off by a member of its own
	topK       bool   // takes top_k
	cache      bool   // takes cache_control on text parts
}

// settings is a provider's own configuration.
type settings struct {
	Preset        string `json:"preset"`
	OutputLimit   string `json:"output_limit"`
	ReasoningEcho *bool  `json:"reasoning_echo"`
	azure
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
    },` + azureProperties + `
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
	if name != "azure" && s.azure != (azure{}) {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: resource, api_version, authority and scope are for the preset azure", id)
	}
	if s.OutputLimit != "" {
		svc.limit = s.OutputLimit
	}
	if s.ReasoningEcho != nil {
		svc.echo = *s.ReasoningEcho
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.services == nil {
		p.services, p.azure = make(map[string]service), make(map[string]azure)
	}
	p.services[id], p.azure[id] = svc, s.azure
	if name == "azure" {
		return s.azure.configured(dialects()), nil
	}
	return sdk.Configured{}, nil
}

func (p *provider) service(id string) service {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.services[id]
}

// Manifest describes OpenAI, and in its presets the services that speak as it does.
func (p *provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:         "openai",
		Version:      "1.0.0",
		Protocol:     sdk.Protocol,
		Description:  "OpenAI, and services that speak chat completions",
		BaseURL:      "https://api.openai.com/v1",
		Dialects:     dialects(),
		Auth:         sdk.Auth{Kind: "header", Header: "Authorization", Format: "Bearer {api_key}"},
		Capabilities: capabilities(),
		Presets:      presets(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// dialects are those of OpenAI. Headers that say whom a call belongs to are the credential's business, and those that
// describe the client's SDK are nobody's: neither goes on.
func dialects() []sdk.Dialect {
	model := sdk.Splice{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)}
	forward := []string{"openai-beta"}
	return []sdk.Dialect{
		{
			Name: chatDialect, Path: "/chat/completions", Framing: "sse", Terminated: true, Forward: forward,
			Splice: []sdk.Splice{
				model,
				{Op: "set", At: "/stream_options/include_usage", Value: json.RawMessage(`true`), When: "stream", Hides: "usage"},
			},
		},
		{
			Name: responsesDialect, Path: "/responses", Framing: "sse", Terminated: true, Forward: forward,
			Splice: []sdk.Splice{model},
		},
		{Name: embeddingsDialect, Path: "/embeddings", Forward: forward, Splice: []sdk.Splice{model}},
	}
}

// capabilities are OpenAI's models with their published limits (https://platform.openai.com/docs/models); of two patterns
// that match, the first counts, so the narrow ones come first. A model that no pattern knows is taken to be able to do
// everything. Perplexity's models search by themselves and take no tools (https://docs.perplexity.ai/api-reference/sonar-post).
func capabilities() []sdk.Capabilities {
	chat := []string{"tools", "parallel_tools", "images", "documents", "json_schema", "logprobs", "n"}
	thinking := []string{"tools", "parallel_tools", "images", "documents", "thinking", "json_schema", "n"}
	return []sdk.Capabilities{
		{Match: "sonar*", Can: []string{"images", "documents", "thinking", "json_schema"}},
		{Match: "text-embedding-*", Can: []string{"embeddings"}, Context: 8192},
		{Match: "gpt-5*-chat*", Can: chat, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-5.4", Can: thinking, Context: 1_050_000, MaxOutput: 128_000},
		{Match: "gpt-5.4-20*", Can: thinking, Context: 1_050_000, MaxOutput: 128_000},
		{Match: "gpt-5.5", Can: thinking, Context: 1_050_000, MaxOutput: 128_000},
		{Match: "gpt-5.5-20*", Can: thinking, Context: 1_050_000, MaxOutput: 128_000},
		{Match: "gpt-5.[4-9]*", Can: thinking},
		{Match: "gpt-5", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5-*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5.[123]*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-4.1*", Can: chat, Context: 1_047_576, MaxOutput: 32_768},
		{Match: "gpt-4o*-audio-*", Can: []string{"tools", "parallel_tools", "audio", "n"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-audio*", Can: []string{"tools", "parallel_tools", "audio", "n"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4o*-search-preview*", Can: []string{"json_schema"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4o*", Can: chat, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4-turbo*", Can: []string{"tools", "parallel_tools", "images", "logprobs", "n"}, Context: 128_000, MaxOutput: 4_096},
		{Match: "gpt-4*", Can: []string{"tools", "parallel_tools", "logprobs", "n"}, Context: 8_192, MaxOutput: 8_192},
		{Match: "gpt-3.5-turbo*", Can: []string{"tools", "parallel_tools", "logprobs", "n"}, Context: 16_385, MaxOutput: 4_096},
		{Match: "o3-mini*", Can: []string{"tools", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o1*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o3*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o4-mini*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
	}
}

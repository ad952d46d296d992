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
	films      bool   // takes video_url
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

// knownErrors tells kinds of failure by error bodies; the first that matches counts. It serves the gateway, by way of
// the manifest, for error statuses, and the decoder for errors inside a stream.
//
// OpenAI's codes: https://platform.openai.com/docs/guides/error-codes, those about money:
// https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits. The others are from recorded answers of the
// services named.
func knownErrors() []sdk.KnownError {
	code, typ, message := "/error/code", "/error/type", "/error/message"
	known := []sdk.KnownError{
		{At: code, Equals: "insufficient_quota", Kind: "upstream_money"},
		{At: typ, Equals: "insufficient_quota", Kind: "upstream_money"},
		{At: code, Equals: "credit_balance_exhausted", Kind: "upstream_money"},
		{At: code, Equals: "organization_spend_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "project_spend_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "organization_usage_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "billing_hard_limit_reached", Kind: "upstream_money"},
		{At: message, Has: "insufficient balance", Kind: "upstream_money"}, // DeepSeek
		{At: message, Has: "insufficient credits", Kind: "upstream_money"}, // OpenRouter
		{At: code, Equals: "context_length_exceeded", Kind: "context_too_long"},
		{At: typ, Equals: "too_many_prompt_tokens", Kind: "context_too_long"},            // Perplexity
		{At: code, Equals: "tokens_limit_reached", Kind: "context_too_long"},             // GitHub Models
		{At: code, Equals: "model_max_prompt_tokens_exceeded", Kind: "context_too_long"}, // GitHub Copilot
		{At: typ, Equals: "exceed_context_size_error", Kind: "context_too_long"},         // llama.cpp
		{At: code, Equals: "model_not_found", Kind: "upstream_model"},
		{At: code, Equals: "DeploymentNotFound", Kind: "upstream_model"}, // Azure
		{At: code, Equals: "content_filter", Kind: "content_refused"},    // Azure
		{At: code, Equals: "content_policy_violation", Kind: "content_refused"},
		{At: code, Equals: "moderation_blocked", Kind: "content_refused"},
		{At: code, Equals: "invalid_prompt", Kind: "content_refused"},
		{At: code, Equals: "invalid_api_key", Kind: "upstream_auth"},
		{At: code, Equals: "account_deactivated", Kind: "upstream_auth"},
		{At: typ, Equals: "invalid_api_key", Kind: "upstream_auth"}, // Perplexity
		{At: typ, Equals: "authentication_error", Kind: "upstream_auth"},
		{At: code, Equals: "401", Kind: "upstream_auth"},
		{At: message, Has: "api key not valid", Kind: "upstream_auth"}, // Google
		{At: code, Equals: "rate_limit_exceeded", Kind: "upstream_rate"},
		{At: code, Equals: "RateLimitReached", Kind: "upstream_rate"}, // Azure
		{At: code, Equals: "429", Kind: "upstream_rate"},
		{At: code, Equals: "too_many_requests", Kind: "upstream_rate"}, // Azure
		{At: code, Equals: "server_is_overloaded", Kind: "overloaded"},
		{At: code, Equals: "slow_down", Kind: "overloaded"},
		{At: code, Equals: "engine_overloaded_error", Kind: "overloaded"}, // Moonshot
		{At: typ, Equals: "engine_overloaded_error", Kind: "overloaded"},
		{At: typ, Equals: "overloaded_error", Kind: "overloaded"},
		{At: code, Equals: "503", Kind: "overloaded"},
		// MiniMax, under a status of success (https://platform.minimax.io/docs/api-reference/errorcode).
		{At: "/base_resp/status_code", Equals: "1002", Kind: "upstream_rate"},
		{At: "/base_resp/status_code", Equals: "1039", Kind: "upstream_rate"},
		{At: "/base_resp/status_code", Equals: "1004", Kind: "upstream_auth"},
		{At: "/base_resp/status_code", Equals: "1008", Kind: "upstream_money"},
		{At: "/base_resp/status_code", Equals: "1001", Kind: "timeout"},
	}
	for _, words := range tooLong {
		for _, at := range [...]string{message, "/message", "/error"} {
			known = append(known, sdk.KnownError{At: at, Has: words, Kind: "context_too_long"})
		}
	}
	return known
}

// tooLong are the words, in lower case, by which services say that an input is longer than the model takes, where they have
// no code for it.
var tooLong = [...]string{
	"maximum context length", // OpenAI, and many who follow it
	"exceeds the context window",
	"max context length",                 // Ollama
	"maximum prompt length",              // xAI
	"maximum model length",               // vLLM
	"model's context length",             // SGLang
	"available context size",             // llama.cpp
	"loaded with context length",         // LM Studio
	"`inputs` tokens + `max_new_tokens`", // TGI
	"exceeded model token limit",         // Moonshot
	"prompt exceeds max length",          // Z.ai
	"reduce the length of the messages",  // Groq, Cerebras
}

package openai

import (
	"encoding/json"

	"github.com/penstock-gateway/penstock/sdk"
)

// Manifest describes OpenAI, and in its presets the services that speak as it does.
func (p *provider) Manifest() sdk.Manifest {
	model := sdk.Splice{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)}
	// Headers that say whom a call belongs to are the credential's business, and those that describe the client's SDK
	// are nobody's: neither goes on.
	forward := []string{"openai-beta"}
	return sdk.Manifest{
		Name:        "openai",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "OpenAI, and services that speak chat completions",
		BaseURL:     "https://api.openai.com/v1",
		Dialects: []sdk.Dialect{
			{
				Name: "openai-chat", Path: "/chat/completions", Framing: "sse", Terminated: true, Forward: forward,
				Splice: []sdk.Splice{
					model,
					{Op: "set", At: "/stream_options/include_usage", Value: json.RawMessage(`true`), When: "stream", Hides: "usage"},
				},
			},
			{
				Name: "openai-responses", Path: "/responses", Framing: "sse", Terminated: true, Forward: forward,
				Splice: []sdk.Splice{model},
			},
			{Name: "openai-embeddings", Path: "/embeddings", Forward: forward, Splice: []sdk.Splice{model}},
		},
		Auth:         sdk.Auth{Kind: "header", Header: "Authorization", Format: "Bearer {api_key}"},
		Capabilities: capabilities(),
		Presets:      presets(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// capabilities are OpenAI's models with their published limits (https://platform.openai.com/docs/models); of two patterns
// that match, the first counts, so the narrow ones come first. A model that no pattern knows is taken to be able to do
// everything.
func capabilities() []sdk.Capabilities {
	chat := []string{"tools", "parallel_tools", "images", "documents", "json_schema", "logprobs", "n"}
	thinking := []string{"tools", "parallel_tools", "images", "documents", "thinking", "json_schema", "n"}
	return []sdk.Capabilities{
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

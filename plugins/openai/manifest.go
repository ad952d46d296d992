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

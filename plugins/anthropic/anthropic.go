// Package anthropic is the provider of Anthropic's Messages API, at Anthropic and on Vertex AI: it writes a request of any
// client dialect as a message, and reads the answer, whole or streamed.
//
// The API is strict about who speaks when, where results of tools stand and what a text may hold; this package brings
// a conversation into that order without changing who says what. Clients that speak the Messages API themselves are
// passed through by the gateway and never come here. Connections, keys and retries are the gateway's; of the network only
// Google's token endpoint is used, by Authorize.
package anthropic

import (
	"encoding/json"
	"sync"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return &provider{} }

// provider knows which of the configured instances stand for Vertex AI, by provider id.
type provider struct {
	mu     sync.RWMutex // guards vertex: configuring runs beside encoding
	vertex map[string]bool
}

// apiVersion is the version of the API that this package writes
// (https://platform.claude.com/docs/en/api/versioning).
const apiVersion = "2023-06-01"

// Manifest describes the Messages API.
func (*provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "anthropic",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Anthropic's Messages API, at Anthropic and on Vertex AI",
		BaseURL:     "https://api.anthropic.com/v1",
		Dialects: []sdk.Dialect{{
			Name: "anthropic", Path: "/messages", CountPath: "/messages/count_tokens", Framing: "sse", Terminated: true,
			Headers: []sdk.Header{{Name: "anthropic-version", Value: apiVersion}},
			Forward: []string{"anthropic-beta", "anthropic-version"},
			Splice:  []sdk.Splice{{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)}},
		}},
		Auth: sdk.Auth{Kind: "header", Header: "x-api-key", Format: "{api_key}"},
		// What it calls for depends on the project: Configure says the rest.
		Presets: map[string]sdk.Preset{"vertex": {
			BaseURL: "https://aiplatform.googleapis.com/v1", Auth: onGoogle(),
			Source: "https://platform.claude.com/docs/en/api/claude-on-vertex-ai",
		}},
		Capabilities: capabilities(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

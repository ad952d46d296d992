// Package cohere is the provider of Cohere's API, version 2: it writes a request of any client dialect as a chat, or for
// embeddings, and reads the answer, whole or streamed. Connections, keys and retries are the gateway's.
package cohere

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return provider{} }

type provider struct{}

// Manifest describes the API (https://docs.cohere.com/reference/chat).
func (provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "cohere",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Cohere's chat and embeddings",
		BaseURL:     "https://api.cohere.com/v2",
		Dialects: []sdk.Dialect{
			{Name: "cohere-chat", Path: "/chat", Framing: "sse", Terminated: true},
			{Name: embeddingsDialect, Path: "/embed"},
		},
		Auth:         sdk.Auth{Kind: "header", Header: "Authorization", Format: "Bearer {api_key}"},
		Capabilities: capabilities(),
		Errors:       knownErrors(),
	}
}

// capabilities are Cohere's models with their published limits (https://docs.cohere.com/docs/models); of two patterns
// that match, the first counts. A model that no pattern knows is taken to be able to do everything.
func capabilities() []sdk.Capabilities {
	text := []string{"tools", "parallel_tools", "json_schema"}
	return []sdk.Capabilities{
		{Match: "embed-v4*", Can: []string{"embeddings"}, Context: 128_000},
		{Match: "embed-*", Can: []string{"embeddings"}, Context: 512},
		{Match: "command-a-reasoning-*", Can: append(text[:len(text):len(text)], "thinking"), Context: 256_000, MaxOutput: 32_000},
		{Match: "command-a-plus-*", Can: append(text[:len(text):len(text)], "thinking", "images")},
		{Match: "command-a-vision-*", Can: []string{"images", "json_schema"}, Context: 128_000, MaxOutput: 8_000},
		{Match: "command-a-03-2025", Can: text, Context: 256_000, MaxOutput: 8_000},
		{Match: "command-r7b-*", Can: text, Context: 128_000, MaxOutput: 4_000},
		{Match: "command-r-*", Can: text, Context: 128_000, MaxOutput: 4_000},
	}
}

// thinks says whether a model is one of those that reason (https://docs.cohere.com/docs/reasoning).
func thinks(model string) bool {
	return strings.Contains(model, "reasoning") || strings.Contains(model, "command-a-plus")
}

// knownErrors tells kinds of failure by error bodies; the first that matches counts
// (https://docs.cohere.com/reference/errors; the wordings are of that page and of recorded answers).
func knownErrors() []sdk.KnownError {
	message := "/message"
	return []sdk.KnownError{
		{At: "/error_type", Equals: "TOO_MANY_TOKENS", Kind: "context_too_long"},
		{At: message, Has: "too many tokens", Kind: "context_too_long"},
		{At: message, Has: "incorrect api key", Kind: "upstream_auth"},
		{At: message, Has: "invalid api token", Kind: "upstream_auth"},
		{At: message, Has: "no api key supplied", Kind: "upstream_auth"},
		{At: message, Has: "trial key", Kind: "upstream_rate"},
		{At: message, Has: "rate limit", Kind: "upstream_rate"},
		{Status: 402, At: message, Has: "billing", Kind: "upstream_money"},
		{Status: 404, At: message, Has: "model", Kind: "upstream_model"},
	}
}

// kindOf gives the kind of an error inside a stream, where there is no status.
func kindOf(message string) sdk.Kind {
	message = strings.ToLower(message)
	for _, k := range knownErrors() {
		if k.Has != "" && k.Status == 0 && strings.Contains(message, k.Has) {
			kind, _ := sdk.ParseKind(k.Kind)
			return kind
		}
	}
	return sdk.UpstreamError
}

package gateway

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/embeddings"
	"github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
)

func dialects() Dialects {
	return NewDialects(Speakers{Chat: openaichat.Dialect{}, Responses: openairesponses.Dialect{}, Embeddings: embeddings.Dialect{},
		Anthropic: anthropic.Dialect{}, Gemini: gemini.Dialect{}, GeminiEmbeddings: gemini.Embeddings{}, GeminiBatch: gemini.Embeddings{Batch: true}})
}

// TestRoutes: who has the base URL a little wrong is served, and so are the paths of all services that share a dialect.
func TestRoutes(t *testing.T) {
	d := dialects()
	f := func(method, path, want string) {
		t.Helper()
		at, fail := d.search(asked{method: method, path: path})
		got := at.dialect.Name()
		if fail != nil {
			got = strings.TrimSpace(got + " " + fail.Kind.String() + " " + at.allow)
		}
		switch {
		case at.local != nil:
			got += " here"
		case at.count:
			got += " count"
		}
		got = strings.TrimSpace(got + " " + at.model)
		if got != want {
			t.Errorf("%s %s: %s, want %s", method, path, got, want)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/v1/v1/chat/completions", "/v1/chat/completions/",
		"//v1//chat/completions", "/openai/chat/completions", "/api/chat/completions", "/v1beta/openai/chat/completions"} {
		f("POST", path, "openai-chat")
	}
	for _, path := range []string{"/v1/messages", "/messages", "/v1/v1/messages", "/anthropic/messages", "/api/v1/messages"} {
		f("POST", path, "anthropic")
	}
	f("POST", "/v1/v1/messages/count_tokens", "anthropic count")
	f("POST", "/openai/responses", "openai-responses")
	f("POST", "/responses/input_tokens", "openai-responses count")
	f("POST", "/v1/responses/compact", "openai-responses unknown_route")
	f("GET", "/v1/responses/resp_1", "openai-responses unknown_route")
	f("POST", "/openai/deployments/gpt/chat/completions", "openai-chat gpt")
	f("POST", "/openai/deployments/o%2Fgpt/chat/completions/", "openai-chat o/gpt")
	f("POST", "/openai/deployments/o/gpt/embeddings", "openai-embeddings o/gpt")
	f("POST", "/openai/deployments//embeddings", "openai-chat unknown_route")
	f("POST", "/openai/deployments/gpt/audio/speech", "openai-chat unknown_route")
	f("POST", "/models/m:generateContent", "gemini m")
	f("POST", "/v1beta/v1beta/models/m:countTokens", "gemini count m")
	f("GET", "/models/", "openai-chat here")
	f("HEAD", "/v1/models/o/m:free", "openai-chat here o/m:free")
	f("GET", "/models/m", "openai-chat here m")
	f("GET", "/v1beta/models/m", "gemini here m")
	f("GET", "/v1/messages", "anthropic bad_method POST")
	f("OPTIONS", "/messages/", "anthropic bad_method POST")
	f("PUT", "/v1/models", "openai-chat bad_method GET, HEAD")
	for _, path := range []string{"/", "", "/v1", "/v1/completions", "/v1/images/generations", "/v1/models/m", "/V1/chat/completions"} {
		f("POST", path, "openai-chat unknown_route")
	}
	f("POST", "/v1/messages/batches", "anthropic unknown_route")
	f("POST", "/v1beta/models/m:predict", "gemini unknown_route")
}

// TestVerbs reads the paths of Gemini's API as clients escape them.
func TestVerbs(t *testing.T) {
	d := dialects()
	for path, want := range map[string]string{
		"/v1beta/models/m:generateContent": "m", "/v1beta/models/o/m:free:generateContent": "o/m:free",
		"/v1beta/models/o%2Fm%3Afree:generateContent": "o/m:free", "/v1beta/models/o%2Fm%3AgenerateContent": "o/m",
		"/v1beta/models/m:predict": "", "/v1beta/models/:generateContent": "", "/v1beta/models/m%zz:generateContent": "",
	} {
		if got, ok := d.verb(path, ""); ok != (want != "") || got.model != want {
			t.Errorf("%s: %q %v, want %q", path, got.model, ok, want)
		}
	}
}

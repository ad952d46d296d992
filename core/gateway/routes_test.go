package gateway

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/embeddings"
	"github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
	"github.com/penstock-gateway/penstock/sdk"
)

func dialects() Dialects {
	return NewDialects(Speakers{Chat: openaichat.Dialect{}, Responses: openairesponses.Dialect{}, Embeddings: embeddings.Dialect{},
		Anthropic: anthropic.Dialect{}, Gemini: gemini.Dialect{}, GeminiEmbeddings: gemini.Embeddings{}, GeminiBatch: gemini.Embeddings{Batch: true}})
}

// TestNearRoutes: who has the base URL a little wrong is told which path was meant.
func TestNearRoutes(t *testing.T) {
	d := dialects()
	for path, want := range map[string]string{
		"/chat/completions": "/v1/chat/completions", "/v1/v1/chat/completions": "/v1/chat/completions", "/v1/chat/completions/": "/v1/chat/completions",
		"//v1//chat/completions": "/v1/chat/completions", "/messages": "/v1/messages", "/v1/v1/messages": "/v1/messages", "/models": "/v1/models",
		"/models/m:generateContent": "/v1/models/m:generateContent", "/v1beta/v1beta/models/m:countTokens": "/v1beta/models/m:countTokens",
		"/": "", "/v1": "", "/v1/completions": "", "/v1/images/generations": "", "/v1/responses/resp_1": "",
	} {
		if got := d.near(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	at, f := d.unknown("/messages")
	if f == nil || f.Kind != sdk.UnknownRoute || at.dialect.Name() != "anthropic" || !strings.HasSuffix(f.Message, "did you mean /v1/messages?") {
		t.Errorf("/messages: %v, in the dialect %s", f, at.dialect.Name())
	}
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

func TestMethods(t *testing.T) {
	d := dialects()
	for path, want := range map[string]string{"/v1/models": "GET, HEAD", "/v1/messages": "POST", "/v1beta/models/m:generateContent": "POST"} {
		if got := d.methods(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

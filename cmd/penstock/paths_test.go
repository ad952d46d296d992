package main

import (
	"strings"
	"testing"
)

// TestPathsThatNameTheModel: on Azure's paths the deployment of the path counts, whether the body names a model, another one, or
// none; a body may begin with a byte order mark, which no provider is sent.
func TestPathsThatNameTheModel(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", chatAnswer))
	s := serveText(t, twoProviders(up.URL))
	for path, body := range map[string]string{
		"/openai/deployments/to-openai/chat/completions?api-version=2024-10-21":   `{"messages":[{"role":"user","content":"hi"}]}`,
		"/openai/deployments/to%2Dopenai/chat/completions?api-version=2024-10-21": `{"model":"other","messages":[{"role":"user","content":"hi"}]}`,
		"/openai/deployments/to-openai/chat/completions":                          `{"model":null,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/v1/chat/completions/":                                                "\ufeff" + `{"model":"to-openai","messages":[{"role":"user","content":"hi"}]}`,
	} {
		a := s.post(path, body)
		got := up.last().body
		if a.status != 200 || !strings.HasPrefix(got, "{") || strings.Count(got, `"model"`) != 1 || !strings.Contains(got, `"model":"up-model"`) {
			t.Errorf("%s %s: %d %s; sent %s", path, body, a.status, a.body, got)
		}
	}
	up.answer = streams(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	a := s.post("/openai/deployments/to-openai/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if a.status != 200 || spoken(a.body) != "Hello" {
		t.Errorf("a stream: %d %s", a.status, a.body)
	}
	for _, body := range []string{`[]`, `"x"`, ``} {
		if a := s.post("/openai/deployments/to-openai/chat/completions", body); a.status != 400 || !strings.Contains(a.body, "invalid_request_error") {
			t.Errorf("%q: %d %s, want 400", body, a.status, a.body)
		}
	}
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestPoliciesSeeWarmCaches holds that a policy is told where a conversation's prompt is cached, as its answers said.
func TestPoliciesSeeWarmCaches(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":60,"completion_tokens":1,"total_tokens":61,"prompt_tokens_details":{"cached_tokens":40}}}`)
	})
	text := fmt.Sprintf(`
providers:
  first: {plugin: openai, base_url: %[1]q, credentials: [{api_key: sk-first}]}
  second: {plugin: openai, base_url: %[1]q, credentials: [{api_key: sk-second}]}
models:
  m: {deployments: [{provider: first, model: x}, {provider: second, model: x}]}
keys:
  - {name: dev, secret: %s}
`, up.URL, testKey)
	s := serveText(t, text)
	s.write("warm.star", `"""warm: where the prompt is cached, else the first; the main agent begins at the second."""

def route(_req, _models):
    """One model."""
    return ["m"]

def choose(req, targets):
    """Warm caches first."""
    for t in targets:
        use(t, 0 if req.client.request_class == "main" and t.provider == "second" else 1 - t.cached if t.cached else 2)
`)
	s.rewrite(text + "routers:\n  mine: {policy: warm.star}\n")
	s.await("the router", func() bool { return s.ask("mine") == "m" })
	f := func(want string, headers ...string) {
		t.Helper()
		s.wants(s.ask("mine", headers...), "m")
		if got := up.last().header.Get("Authorization"); got != "Bearer "+want {
			t.Errorf("%v: asked with %q, want %s", headers, got, want)
		}
	}
	f("sk-first", "x-claude-code-session-id", "s")
	f("sk-second", "x-claude-code-session-id", "t", "x-claude-code-request-class", "main")
	f("sk-second", "x-claude-code-session-id", "t")
	f("sk-first", "x-claude-code-session-id", "s")
	f("sk-first")
}

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// previews is a configuration with deployments of several dialects behind one model, at an upstream that is never called.
func previews(up, translate string) string {
	return fmt.Sprintf(`
providers:
  openai: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-1}]}
  claude: {plugin: anthropic, base_url: %[1]q, credentials: [{name: main, api_key: sk-2}]}
  local: {plugin: ollama, base_url: %[1]q}
models:
  chat:
    deployments:
      - {provider: openai, model: gpt-5.2}
      - {provider: claude, model: claude-sonnet-4-5}
      - {provider: local, model: llama3.2}
      - {provider: openai, model: small, context_window: 4}
  other: {deployments: [{provider: openai, model: gpt-5.2}]}
translate: %[2]s
keys: [{name: dev, secret: %[3]s, models: [chat]}]
`, up, translate, testKey)
}

// TestExplainHeader asks what would become of a request: every candidate says how it would be asked, and none is.
func TestExplainHeader(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", `{}`))
	const body = `{"model":"chat","seed":7,"reasoning_effort":"high","max_tokens":5000,"tool_choice":"required",` +
		`"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"What is the weather like in Paris today?"}]}`
	type remark struct {
		Member, Why string
		Loses       bool
	}
	type candidate struct {
		Deployment, Provider, Dialect, Way, Reason string
		Approximated, Dropped                      []remark
	}
	type preview struct {
		Model, Dialect string
		Generation     int
		Candidates     []candidate
		Skips          []struct{ Deployment, Stage, Reason string }
	}
	for _, c := range []struct{ translate, way, reason string }{
		{"lenient", "translated", ""}, {"strict", "refused", "cannot express: tool_choice: the API cannot demand a call"},
	} {
		s := serveText(t, previews(up.URL, c.translate))
		a := s.post("/v1/chat/completions", body, "x-penstock-explain", "1")
		var got preview
		if err := json.Unmarshal([]byte(a.body), &got); a.status != 200 || err != nil {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		if len(got.Skips) != 1 || got.Skips[0].Stage != "context" {
			t.Errorf("skips %+v, want the deployment whose context is too small", got.Skips)
		}
		got.Skips = nil
		want := preview{Model: "chat", Dialect: "openai-chat", Generation: 1, Candidates: []candidate{
			{Deployment: "chat/openai", Provider: "openai", Dialect: "openai-chat", Way: "native"},
			{Deployment: "chat/claude", Provider: "claude", Dialect: "anthropic", Way: "translated", Dropped: []remark{
				{Member: "reasoning_effort", Why: "the model does not think where a tool call is forced"}, {Member: "seed", Why: "the Messages API has no seed"}}},
			{Deployment: "chat/local", Provider: "local", Dialect: "ollama-chat", Way: c.way, Reason: c.reason,
				Approximated: []remark{{Member: "reasoning_effort", Why: "an effort of high is sent as thinking without one"}},
				Dropped:      []remark{{Member: "tool_choice", Why: "the API cannot demand a call", Loses: true}}},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.translate, diff)
		}
		if a := s.post("/v1/chat/completions", strings.Replace(body, `"chat"`, `"other"`, 1), "x-penstock-explain", "1"); a.status != 403 {
			t.Errorf("a model that the key may not use: %d %s", a.status, a.body)
		}
		if up.count() != 0 {
			t.Errorf("the upstream was called: %+v", up.last())
		}
	}
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnthropicOnVertex asks Anthropic's models on Vertex AI: passed through with the model in the path, translated, and
// counted.
func TestAnthropicOnVertex(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	sse := ""
	for _, e := range messageEvents {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		sse += "event: " + name + "\ndata: " + e + "\n\n"
	}
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ":streamRawPredict"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, sse)
		case strings.HasSuffix(r.URL.Path, "count-tokens:rawPredict"):
			io.WriteString(w, `{"input_tokens":7}`)
		default:
			io.WriteString(w, wholeMessage)
		}
	})
	s := serveText(t, `
providers:
  vertex:
    plugin: anthropic
    preset: vertex
    base_url: `+u.URL+`
    config: {project: p, location: us-east5}
    credentials: [{name: main, service_account: `+g.keyFile(t)+`}]
models: {claude: {deployments: [{provider: vertex, model: claude-sonnet-4-5@20250929}]}}
keys: [{name: test, secret: `+testKey+`}]
`)
	const base = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/"
	const message = `{"model":"claude","max_tokens":10,"stream":%v,"messages":[{"role":"user","content":"hi"}]}`
	f := func(path, body, want, asked, sent string) {
		t.Helper()
		a := s.post(path, body, "anthropic-beta", "a-1", "anthropic-version", "2023-06-01")
		got := u.last()
		if a.status != 200 || !strings.Contains(a.body, want) || got.path != base+asked || got.body != sent {
			t.Errorf("%s %s: %d %s\nasked %s %s\nwant %s, asked %s %s", path, body, a.status, a.body, got.path, got.body, want, base+asked, sent)
		}
		if h := got.header; h.Get("Authorization") != "Bearer ya29.1" || h.Get("Anthropic-Version") != "" {
			t.Errorf("%s: sent with %v", path, h)
		}
	}
	f("/v1/messages", fmt.Sprintf(message, false), wholeMessage, "claude-sonnet-4-5@20250929:rawPredict",
		`{"max_tokens":10,"stream":false,"messages":[{"role":"user","content":"hi"}],"anthropic_version":"vertex-2023-10-16"}`)
	if got := u.last().header.Get("Anthropic-Beta"); got != "a-1" {
		t.Errorf("beta header %q, want the client's", got)
	}
	f("/v1/messages", fmt.Sprintf(message, true), sse, "claude-sonnet-4-5@20250929:streamRawPredict",
		`{"max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}],"anthropic_version":"vertex-2023-10-16"}`)
	f("/v1/messages/count_tokens", `{"model":"claude","messages":[{"role":"user","content":"hi"}]}`, `"input_tokens":7`, "count-tokens:rawPredict",
		`{"model":"claude-sonnet-4-5@20250929","messages":[{"role":"user","content":"hi"}],"anthropic_version":"vertex-2023-10-16"}`)
	f("/v1/chat/completions", `{"model":"claude","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`, `"content":"Hello"`, "claude-sonnet-4-5@20250929:rawPredict",
		`{"anthropic_version":"vertex-2023-10-16","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`)
}

const chatAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`

// TestAzure asks OpenAI's models on Azure: by key and by an Entra token, without versions and by the paths of deployments.
func TestAzure(t *testing.T) {
	t.Parallel()
	entra := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/contoso/oauth2/v2.0/token" || r.FormValue("client_id") != "app" || r.FormValue("client_secret") != "hush" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"access_token":"entra","token_type":"Bearer","expires_in":3599}`)
	}))
	t.Cleanup(entra.Close)
	u := newUpstream(t, says("application/json", chatAnswer))
	s := serveText(t, `
providers:
  keyed: {plugin: openai, preset: azure, base_url: `+u.URL+`, credentials: [{name: main, api_key: azure-key-1}]}
  dated:
    plugin: openai
    preset: azure
    base_url: `+u.URL+`
    config: {api_version: 2024-10-21, authority: "`+entra.URL+`"}
    credentials: [{name: app, tenant_id: contoso, client_id: app, client_secret: hush}]
models:
  keyed: {deployments: [{provider: keyed, model: my-gpt}]}
  dated: {deployments: [{provider: dated, model: my gpt}]}
keys: [{name: test, secret: `+testKey+`}]
`)
	f := func(model, asked, header, value, absent string) {
		t.Helper()
		a := s.post("/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
		got := u.last()
		if a.status != 200 || got.path != asked || got.header.Get(header) != value || got.header.Get(absent) != "" {
			t.Errorf("%s: %d %s\nasked %s with %v\nwant %s with %s: %s", model, a.status, a.body, got.path, got.header, asked, header, value)
		}
	}
	f("keyed", "/openai/v1/chat/completions", "api-key", "azure-key-1", "Authorization")
	f("dated", "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21", "Authorization", "Bearer entra", "api-key")

	refused := func(provider, want string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "penstock.yaml"), []byte(`providers: {cloud: `+provider+`}
models: {gpt: {deployments: [{provider: cloud, model: gpt}]}}
keys: [{name: test, secret: `+testKey+`}]
`), 0o600); err != nil {
			t.Fatal(err)
		}
		out, stderr, code := runProgram(t, dir, "validate", "penstock.yaml")
		if code != exitInvalid || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d: %s%s\nwant %s", provider, code, out, stderr, want)
		}
	}
	refused("{plugin: openai, preset: azure, credentials: [{name: main, api_key: k}]}", "want the address of the service")
	refused("{plugin: openai, preset: azure, config: {resource: r}, credentials: [{name: main, tenant_id: t, client_id: c}]}",
		`penstock.yaml:1:89: providers.cloud.credentials[0]: credential "main": want api_key, or access_token, or tenant_id and client_id and client_secret`)
	refused("{plugin: bedrock, credentials: [{name: main, access_key_id: k}]}", "want api_key, or access_key_id and secret_access_key")
	refused("{plugin: anthropic, preset: vertex, config: {project: p}, credentials: [{name: main, api_key: k}]}", "want service_account, or access_token")
}

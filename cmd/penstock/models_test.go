package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// countingModels is a configuration of a model that counts tokens, one that does not, and one that a key may not use.
func countingModels(up string) string {
	return fmt.Sprintf(`
providers:
  openai: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-1}]}
  claude: {plugin: anthropic, base_url: %[1]q, credentials: [{name: main, api_key: sk-2}]}
models:
  counts: {deployments: [{provider: claude, model: up-model, context_window: 200000, max_output_tokens: 8000}]}
  plain: {deployments: [{provider: openai, model: up-model}]}
  hidden: {deployments: [{provider: openai, model: up-model}]}
keys: [{name: dev, secret: %[2]s, models: [counts, plain]}]
retry: {attempts: 1}
`, up, testKey)
}

// TestModelLists reads the list with the SDKs, and in Gemini's form: each sees what the key may use, in the same order.
func TestModelLists(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", `{}`))
	s := serveText(t, countingModels(up.URL))
	want := []string{"counts", "plain"}
	var got []string
	gpt := openai.NewClient(option.WithBaseURL(s.API+"/v1"), option.WithAPIKey(testKey))
	page, err := gpt.Models.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Data {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("OpenAI's SDK (-want +got):\n%s", diff)
	}
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(s.API), anthropicoption.WithAPIKey(testKey))
	models, err := claude.Models.List(context.Background(), anthropic.ModelListParams{})
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, m := range models.Data {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || models.FirstID != "counts" || models.LastID != "plain" || models.HasMore {
		t.Errorf("Anthropic's SDK, %+v (-want +got):\n%s", models, diff)
	}
	for path, want := range map[string]string{
		"/v1beta/models": `{"models":[{"name":"models/counts","version":"1","displayName":"counts","inputTokenLimit":200000,"outputTokenLimit":8000,"supportedGenerationMethods":["generateContent","countTokens"]},` +
			`{"name":"models/plain","version":"1","displayName":"plain","supportedGenerationMethods":["generateContent","countTokens"]}]}`,
		"/v1beta/models/plain":  `{"name":"models/plain","version":"1","displayName":"plain","supportedGenerationMethods":["generateContent","countTokens"]}`,
		"/v1/models/hidden":     "",
		"/v1beta/models/absent": "",
	} {
		status, body := getWith(t, s.API+path, "x-goog-api-key", testKey)
		if want != "" && (status != 200 || body != want) || want == "" && status != 404 {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}

// getWith gets a page with one header.
func getWith(t *testing.T, url, name, value string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set(name, value)
	res, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestCountTokens counts where the provider does, and estimates, with a mark, where it does not.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", `{"input_tokens":41}`))
	s := serveText(t, countingModels(up.URL))
	text := strings.Repeat("word ", 80)
	for _, c := range []struct {
		path, body, member string
		want               int
		mark               string
		asked              int // of the upstream
	}{
		{"/v1/messages/count_tokens", `{"model":"counts","messages":[{"role":"user","content":"` + text + `"}]}`, "input_tokens", 41, "", 1},
		{"/v1/messages/count_tokens", `{"model":"plain","messages":[{"role":"user","content":"` + text + `"}]}`, "input_tokens", 104, "true", 0},
		{"/v1/responses/input_tokens", `{"model":"plain","input":"` + text + `"}`, "input_tokens", 104, "true", 0},
		{"/v1beta/models/plain:countTokens", `{"contents":[{"parts":[{"text":"` + text + `"}]}]}`, "totalTokens", 104, "true", 0},
	} {
		before := up.count()
		a := s.post(c.path, c.body)
		var got map[string]any
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 200 || got[c.member] != float64(c.want) || a.header.Get("x-penstock-estimated") != c.mark {
			t.Errorf("%s: %d %s, mark %q; want %s %d, mark %q", c.path, a.status, a.body, a.header.Get("x-penstock-estimated"), c.member, c.want, c.mark)
		}
		if n := up.count() - before; n != c.asked {
			t.Errorf("%s: the upstream was asked %d times, want %d", c.path, n, c.asked)
		}
	}
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(s.API), anthropicoption.WithAPIKey(testKey))
	n, err := claude.Messages.CountTokens(context.Background(), anthropic.MessageCountTokensParams{Model: "counts",
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))}})
	if err != nil || n.InputTokens != 41 {
		t.Errorf("Anthropic's SDK: %+v, %v", n, err)
	}
	for _, r := range rowsOf(t, s) {
		if r.Status != "settled" || r.Estimated || r.InputTokens+r.OutputTokens+r.CostNanoUSD != 0 {
			t.Errorf("counting is free, and has a row of no tokens: got %+v", r)
		}
	}
}

// TestStateStaysWithItsAccount: what continues an earlier response is asked of the first deployment alone, and a failure
// there is the client's to see.
func TestStateStaysWithItsAccount(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
	})
	s := serveText(t, fmt.Sprintf(`
providers:
  one: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-1}]}
  two: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-2}]}
models:
  chat: {deployments: [{provider: one, model: up-model}, {provider: two, model: up-model}]}
keys: [{name: dev, secret: %[2]s}]
retry: {attempts: 4, backoff: {first: 1ms, max: 1ms}}
`, up.URL, testKey))
	keys := func(body string) map[string]bool {
		before := up.count()
		s.post("/v1/responses", body)
		seen := map[string]bool{}
		up.mu.Lock()
		defer up.mu.Unlock()
		for _, a := range up.asked[before:] {
			seen[a.header.Get("Authorization")] = true
		}
		return seen
	}
	if got := keys(`{"model":"chat","input":"hi"}`); !got["Bearer sk-1"] || !got["Bearer sk-2"] {
		t.Errorf("without state: asked with %v, want both accounts", got)
	}
	if got := keys(`{"model":"chat","input":"hi","previous_response_id":"resp_1"}`); !got["Bearer sk-1"] || len(got) != 1 {
		t.Errorf("with state: asked with %v, want the first account alone", got)
	}
}

// TestStateIsContinuedWhereItIs: what continues an answer goes to the account that gave it, whichever is the first now, and to
// no other where that one fails.
func TestStateIsContinuedWhereItIs(t *testing.T) {
	t.Parallel()
	var refused sync.Map // by key
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if status, ok := refused.Load(key); ok {
			w.WriteHeader(status.(int))
			return
		}
		response := fmt.Sprintf(`{"id":"resp_%s","object":"response","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":1,"output_tokens":1}}`, key)
		if strings.Contains(r.Header.Get("Accept"), "event-stream") {
			streams(fmt.Sprintf("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_%s\"}}\n\n", key),
				"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n",
				"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":"+response+"}\n\n")(w, r)
			return
		}
		says("application/json", response)(w, r)
	})
	s := serveText(t, fmt.Sprintf(`
providers:
  one: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-1}]}
  two: {plugin: openai, base_url: %[1]q, credentials: [{name: a, api_key: sk-2a}, {name: b, api_key: sk-2b}]}
models:
  chat: {deployments: [{provider: one, model: up-model}, {provider: two, model: up-model}]}
  last: {deployments: [{provider: two, model: up-model}]}
keys: [{name: dev, secret: %[2]s}]
retry: {attempts: 4, backoff: {first: 1ms, max: 1ms}}
`, up.URL, testKey))
	f := func(body string, status int, last string) {
		t.Helper()
		before := up.count()
		a := s.post("/v1/responses", body)
		if got := up.last().header.Get("Authorization"); a.status != status || got != "Bearer "+last {
			t.Errorf("%s: %d by %s, want %d by %s; %s", body, a.status, got, status, last, a.body)
		}
		up.mu.Lock()
		defer up.mu.Unlock()
		for _, one := range up.asked[before:] {
			if with := one.header.Get("Authorization"); strings.Contains(body, "previous") && with != "Bearer "+last {
				t.Errorf("%s: asked with %s too", body, with)
			}
		}
	}
	refused.Store("sk-1", 500)
	f(`{"model":"last","input":"hi"}`, 200, "sk-2a")
	refused.Store("sk-2a", 403)
	f(`{"model":"chat","input":"hi"}`, 200, "sk-2b")
	refused.Clear()
	f(`{"model":"chat","input":"hi","previous_response_id":"resp_sk-2b"}`, 200, "sk-2b")
	f(`{"model":"last","input":"hi","previous_response_id":"resp_sk-2b"}`, 200, "sk-2b")
	f(`{"model":"chat","stream":true,"input":"hi"}`, 200, "sk-1")
	f(`{"model":"chat","stream":true,"input":"hi","previous_response_id":"resp_sk-1"}`, 200, "sk-1")
	refused.Store("sk-2b", 500)
	f(`{"model":"chat","input":"hi","previous_response_id":"resp_sk-2b"}`, 502, "sk-2b")
}

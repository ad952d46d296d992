package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// mute answers without content, as Anthropic's models do when they have nothing to add: the answer has its reason and, in its
// usage, the tokens that were written.
func mute(tokens int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "event-stream") {
			streams("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":0}}}\n\n",
				fmt.Sprintf("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":%d}}\n\n", tokens),
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")(w, r)
			return
		}
		says("application/json", fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":%d}}`, tokens))(w, r)
	}
}

const messagesAnswer = `{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`

// TestNothingToSay: an answer without content that its model meant is passed on, to a client of whatever dialect, and costs
// the deployment nothing. One that its provider has lost is not, and one that another deployment may better is tried there.
func TestNothingToSay(t *testing.T) {
	t.Parallel()
	one, two := newUpstream(t, mute(2)), newUpstream(t, says("application/json", messagesAnswer))
	s := serveText(t, fmt.Sprintf(`
providers:
  one: {plugin: anthropic, base_url: %q, credentials: [{name: a, api_key: sk-one-aaaaaaaa}]}
  two: {plugin: anthropic, base_url: %q, credentials: [{name: a, api_key: sk-two-aaaaaaaa}]}
models:
  alone: {deployments: [{provider: one, model: m}]}
  pair: {deployments: [{provider: one, model: m}, {provider: two, model: m}]}
keys: [{name: test, secret: %s}]
breaker: {failures: 2}
retry: {attempts: 3, backoff: {first: 1ms, max: 1ms}}
`, one.URL, two.URL, testKey))
	const (
		call    = `{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}`
		chat    = `{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t","content":"done"}`
		plain   = `{"role":"user","content":"x"}`
		message = "/v1/messages"
		chats   = "/v1/chat/completions"
	)
	f := func(path, model, messages string, stream bool, want string, status int) {
		t.Helper()
		before := one.count()
		a := s.post(path, fmt.Sprintf(`{"model":%q,"max_tokens":99,"stream":%v,"messages":[%s]}`, model, stream, messages))
		if a.status != status || !strings.Contains(a.body, want) {
			t.Errorf("%s of %s, stream %v: %d %s, want %d %s", path, model, stream, a.status, a.body, status, want)
		}
		if n := one.count() - before; status == 200 && n != 1 {
			t.Errorf("%s of %s, stream %v: asked %d times, want once", path, model, stream, n)
		}
	}
	for range 3 { // more often than the breaker bears failures
		f(message, "pair", call, false, `"content":[],"stop_reason":"end_turn"`, 200)
		f(message, "pair", call, true, `"stop_reason":"end_turn"`, 200)
		f(chats, "pair", chat, false, `"finish_reason":"stop"`, 200)
		f(chats, "pair", chat, true, `"finish_reason":"stop"`, 200)
		f(message, "alone", plain, false, `"content":[],"stop_reason":"end_turn"`, 200)
		f(message, "alone", plain, true, `"stop_reason":"end_turn"`, 200)
	}
	f(message, "pair", plain, false, "Hello", 200)
	one.answer = mute(0)
	f(message, "alone", call, false, "says nothing", 502)
}

// TestNothingComes: neither the text of an error that does not come nor white space, which some services send while they keep
// one waiting, keeps a request from its next deployment.
func TestNothingComes(t *testing.T) {
	t.Parallel()
	f := func(name, timeout string, waits http.HandlerFunc) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := newUpstream(t, waits), newUpstream(t, answers("from two"))
			s := serveText(t, pair(one, two, "", timeout))
			if a := s.post("/v1/chat/completions", askWhole); a.status != 200 || !strings.Contains(a.body, "from two") {
				t.Errorf("%d %s, want the answer of the second", a.status, a.body)
			}
		})
	}
	f("error", "timeout: {first_content: 40s, total: 20s}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f("white space", "timeout: {first_content: 4s, total: 20s}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			io.WriteString(w, " \n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(100 * time.Millisecond): // as such a service does
			}
		}
	})
}

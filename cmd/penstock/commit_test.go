package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pair is one model with two deployments at two upstreams.
func pair(first, second *upstream, model, settings string) string {
	return fmt.Sprintf(`
providers:
  one: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-one-aaaaaaaa}, {name: b, api_key: sk-one-bbbbbbbb}]}
  two: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-two-aaaaaaaa}]}
models:
  m:
    %s
    deployments: [{provider: one, model: m}, {provider: two, model: m}]
keys: [{name: test, secret: %s}]
server_timing: attempts
%s
`, first.URL+"/v1", second.URL+"/v1", model, testKey, settings)
}

const (
	askWhole  = `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	askStream = `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
	roleChunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n"
	lastChunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

// answers gives an answer with a text, in the form that is asked for.
func answers(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "event-stream") {
			streams(roleChunk, fmt.Sprintf(chatChunk, text), lastChunk)(w, r)
			return
		}
		says("application/json", fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, text))(w, r)
	}
}

// breaks sends pieces of a stream and then breaks the connection.
func breaks(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		streams(pieces...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// silent says nothing until it is left, and then tells.
func silent(left chan<- struct{}) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		left <- struct{}{}
	}
}

// TestHedge: a deployment that says nothing for the delay has the next one asked beside it; the first with content
// serves, and the call of the other is ended.
func TestHedge(t *testing.T) {
	t.Parallel()
	left := make(chan struct{}, 8)
	one, two := newUpstream(t, silent(left)), newUpstream(t, answers("from two"))
	s := serveText(t, pair(one, two, "hedge: 30ms", ""))
	for _, body := range []string{askWhole, askStream} {
		a := s.post("/v1/chat/completions", body)
		if a.status != 200 || !strings.Contains(a.body, "from two") || a.header.Get("x-penstock-attempts") != "2" || a.header.Get("x-penstock-provider") != "two" {
			t.Errorf("%s: %d %v %s, want the answer of the second", body, a.status, a.header, a.body)
		}
		if st := a.header.Get("Server-Timing"); !strings.Contains(st, "hedge;dur=") {
			t.Errorf("Server-Timing %q: want the loser as a hedge entry", st)
		}
		select {
		case <-left:
		case <-time.After(10 * time.Second):
			t.Fatal("the call of the loser goes on")
		}
	}
}

// TestHedgeFirstWins: the one that was asked first serves when it is the first with content, and a failure of the one
// beside it is nobody's.
func TestHedgeFirstWins(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 8)
	one := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		<-asked
		answers("from one")(w, r)
	})
	two := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		asked <- struct{}{}
	})
	s := serveText(t, pair(one, two, "hedge: 30ms", ""))
	for _, body := range []string{askWhole, askStream} {
		if a := s.post("/v1/chat/completions", body); a.status != 200 || !strings.Contains(a.body, "from one") {
			t.Errorf("%s: %d %s, want the answer of the first", body, a.status, a.body)
		}
	}
}

// TestHedgeAllFail: when all that run beside each other have failed, the client is told of a failure, once.
func TestHedgeAllFail(t *testing.T) {
	t.Parallel()
	for _, body := range []string{askWhole, askStream} {
		var both sync.WaitGroup
		both.Add(2)
		fails := func(w http.ResponseWriter, _ *http.Request) {
			both.Done()
			both.Wait() // so that both run
			w.WriteHeader(500)
		}
		one, two := newUpstream(t, fails), newUpstream(t, fails)
		s := serveText(t, pair(one, two, "hedge: 10ms", "retry: {attempts: 2}"))
		if a := s.post("/v1/chat/completions", body); a.status < 500 || !strings.Contains(a.body, `"error"`) {
			t.Errorf("%s: %d %s, want an error", body, a.status, a.body)
		}
	}
}

// TestHedgeGoesOn: where the one that was asked beside the first fails, the next takes its place at once, unless nobody
// could do better.
func TestHedgeGoesOn(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	left := make(chan struct{}, 8)
	quiet, fails, serves := newUpstream(t, silent(left)), newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		io.WriteString(w, `{"error":{"message":"so it is","type":"invalid_request_error"}}`)
	}), newUpstream(t, answers("from three"))
	policy := filepath.Join(t.TempDir(), "three.star")
	text := `"""three: the second is asked beside the first, and the third beside nobody."""

def route(_req, _models):
    """The one model."""
    return ["m"]

def plan(req, targets):
    """Only the first is hedged."""
    attempt(targets[0], hedge = 0.03, first_content = 20 if req.stream else 1)
`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveText(t, fmt.Sprintf(`
providers:
  one: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-one-aaaaaaaa}]}
  two: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-two-aaaaaaaa}]}
  three: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-three-aaaaaa}]}
models:
  m: {deployments: [{provider: one, model: m}, {provider: two, model: m}, {provider: three, model: m}]}
routers: {r: {policy: %q}}
keys: [{name: test, secret: %s}]
`, quiet.URL+"/v1", fails.URL+"/v1", serves.URL+"/v1", policy, testKey))
	status.Store(500)
	ask := strings.Replace(askStream, `"m"`, `"r"`, 1)
	if a := s.post("/v1/chat/completions", ask); a.status != 200 || !strings.Contains(a.body, "from three") || a.header.Get("x-penstock-attempts") != "3" {
		t.Errorf("the second fails: %d %v %s, want the answer of the third", a.status, a.header, a.body)
	}
	status.Store(400)
	ask = strings.Replace(askWhole, `"m"`, `"r"`, 1)
	if a := s.post("/v1/chat/completions", ask); a.status != 400 || !strings.Contains(a.body, "so it is") || serves.count() != 1 {
		t.Errorf("the second refuses the request: %d %s, and the third was asked %d times; want the refusal, and no more calls", a.status, a.body, serves.count()-1)
	}
}

// TestCommitRules: up to the commit point a break is another deployment's to mend, and after it the client's to see.
func TestCommitRules(t *testing.T) {
	t.Parallel()
	some := fmt.Sprintf(chatChunk, "some")
	for _, c := range []struct {
		rule   string
		pieces []string
		mended bool
	}{
		{"content", []string{roleChunk}, true},
		{"content", []string{roleChunk, some}, false},
		{"first_byte", []string{roleChunk}, false},
		{"bytes:100000", []string{roleChunk, some, some}, true},
		{"bytes:10", []string{roleChunk, some}, false},
		{"time:1m", []string{roleChunk, some, some}, true},
		{"time:0.001ms", []string{roleChunk, some}, false},
		{"whole", []string{roleChunk, some, some, some}, true},
	} {
		one, two := newUpstream(t, breaks(c.pieces...)), newUpstream(t, answers("from two"))
		s := serveText(t, pair(one, two, "commit: "+c.rule, ""))
		a := s.post("/v1/chat/completions", askStream)
		mended := strings.Contains(a.body, "from two") && !strings.Contains(a.body, "some") && strings.HasSuffix(a.body, "data: [DONE]\n\n")
		told := strings.Contains(a.body, `"error"`) && !strings.Contains(a.body, "[DONE]") && !strings.Contains(a.body, "from two")
		if a.status != 200 || mended != c.mended || told == c.mended {
			t.Errorf("%s after %d pieces: %d %q, mended %v told %v", c.rule, len(c.pieces), a.status, a.body, mended, told)
		}
	}
}

// TestCommitTimeWaits: a rule of time holds content until its time has come, and no longer.
func TestCommitTimeWaits(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	one := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, roleChunk+chatChunk, "first")
		w.(http.Flusher).Flush()
		<-goOn
		io.WriteString(w, lastChunk)
	})
	s := serveText(t, pair(one, newUpstream(t, answers("from two")), "commit: time:50ms", ""))
	req, err := http.NewRequest("POST", s.API+"/v1/chat/completions", strings.NewReader(askStream))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, len(roleChunk)+10) // it comes while the upstream says nothing more
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if rest, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the rest: %q %v", rest, err)
	}
}

// TestOtherCredential: what is held against one account is no reason to leave the deployment.
func TestOtherCredential(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 429} {
		one := newUpstream(t, nil)
		one.answer = func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Authorization"), "aaaa") {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(status)
				return
			}
			answers("from b")(w, r)
		}
		two := newUpstream(t, answers("from two"))
		s := serveText(t, pair(one, two, "", ""))
		a := s.post("/v1/chat/completions", askWhole)
		if a.status != 200 || !strings.Contains(a.body, "from b") || two.count() != 0 {
			t.Errorf("%d: %d %s, want the answer of the other credential", status, a.status, a.body)
		}
	}
}

// TestContinuation: an answer that breaks off goes on with the next deployment in the same stream, from what the client
// has, and the last event tells where.
func TestContinuation(t *testing.T) {
	t.Parallel()
	begun := []string{roleChunk, fmt.Sprintf(chatChunk, "The answer"), fmt.Sprintf(chatChunk, " is ")}
	one, two := newUpstream(t, breaks(begun...)), newUpstream(t, streams(roleChunk, fmt.Sprintf(chatChunk, "forty"), fmt.Sprintf(chatChunk, "-two"), lastChunk))
	s := serveText(t, pair(one, two, "on_break: continue", ""))
	a := s.post("/v1/chat/completions", askStream)
	var text strings.Builder
	for line := range strings.Lines(a.body) {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &chunk) == nil && len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	if text.String() != "The answer is forty-two" || !strings.HasSuffix(a.body, "data: [DONE]\n\n") || strings.Contains(a.body, `"error"`) {
		t.Errorf("%d %q, want one answer of both", a.status, a.body)
	}
	if n := strings.Count(a.body, `"role":"assistant"`); n != 1 || strings.Count(a.body, `"finish_reason":"stop"`) != 1 || !strings.Contains(a.body, `"penstock":{"seams":[14]}`) {
		t.Errorf("%d beginnings in %q, want one, one end, and the seam after 14 bytes", n, a.body)
	}
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(two.last().body), &asked); err != nil || len(asked.Messages) != 2 || asked.Messages[1].Role != "assistant" || asked.Messages[1].Content != "The answer is" {
		t.Errorf("the second was asked %q, want the answer so far as the beginning of its own", two.last().body)
	}
}

// TestContinuationFails: where nobody can go on, the client is told in the stream, once.
func TestContinuationFails(t *testing.T) {
	t.Parallel()
	begun := []string{roleChunk, fmt.Sprintf(chatChunk, "The answer")}
	for name, second := range map[string]http.HandlerFunc{
		"fails too":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"breaks too":  breaks(roleChunk, fmt.Sprintf(chatChunk, " is")),
		"says naught": streams(roleChunk, lastChunk),
	} {
		one, two := newUpstream(t, breaks(begun...)), newUpstream(t, second)
		s := serveText(t, pair(one, two, "on_break: continue", "retry: {attempts: 2}"))
		a := s.post("/v1/chat/completions", askStream)
		if a.status != 200 || strings.Count(a.body, `"error":`) != 1 || strings.Contains(a.body, "[DONE]") || !strings.Contains(a.body, "The answer") {
			t.Errorf("%s: %d %q, want what came and one error", name, a.status, a.body)
		}
	}
}

// TestContinuationOfForms: an answer that must follow a form, or is one of several, is not gone on with: what another
// deployment writes would begin anew. What is left of the output limit is asked for, and white space comes once.
func TestContinuationOfForms(t *testing.T) {
	t.Parallel()
	one, two := newUpstream(t, breaks(roleChunk, fmt.Sprintf(chatChunk, "The answer is "))), newUpstream(t, streams(roleChunk, fmt.Sprintf(chatChunk, " forty-two"), lastChunk))
	s := serveText(t, pair(one, two, "on_break: continue", "breaker: {failures: 1000}"))
	f := func(members string, goesOn bool, asked string) {
		t.Helper()
		before := two.count()
		a := s.post("/v1/chat/completions", strings.Replace(askStream, "{", "{"+members, 1))
		if ends := strings.HasSuffix(a.body, "data: [DONE]\n\n"); a.status != 200 || ends != goesOn || strings.Contains(a.body, `"error":`) == goesOn || (two.count() > before) != goesOn {
			t.Errorf("%s: %d %q, want that it goes on: %v", members, a.status, a.body, goesOn)
		}
		if goesOn && (!strings.Contains(a.body, `"content":"forty-two"`) || !strings.Contains(two.last().body, asked)) {
			t.Errorf("%s: %q of %q, want the white space once, and %s asked for", members, a.body, two.last().body, asked)
		}
	}
	f("", true, "")
	f(`"response_format":{"type":"text"},`, true, "")
	f(`"max_completion_tokens":9,`, true, `"max_completion_tokens":6`)
	f(`"response_format":{"type":"json_object"},`, false, "")
	f(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},`, false, "")
	f(`"n":2,`, false, "")
}

// TestBrokenFrame: a frame that is no JSON is not passed on, before the commit point or after it.
func TestBrokenFrame(t *testing.T) {
	t.Parallel()
	some, broken := fmt.Sprintf(chatChunk, "some"), "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{}\n\n"
	one, two := newUpstream(t, nil), newUpstream(t, answers("from two"))
	s := serveText(t, pair(one, two, "", ""))
	one.answer = streams(roleChunk, broken, some, lastChunk)
	if a := s.post("/v1/chat/completions", askStream); a.status != 200 || !strings.Contains(a.body, "from two") || strings.Contains(a.body, broken) {
		t.Errorf("before content: %d %q, want the answer of the second", a.status, a.body)
	}
	one.answer = streams(roleChunk, some, broken, some, lastChunk)
	if a := s.post("/v1/chat/completions", askStream); !strings.Contains(a.body, `"error"`) || strings.Contains(a.body, "[DONE]") || strings.Contains(a.body, broken) {
		t.Errorf("after content: %d %q, want the dialect's error", a.status, a.body)
	}
}

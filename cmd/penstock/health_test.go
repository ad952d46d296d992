package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/health"
)

// carefully is a configuration with two upstreams, of which the first is preferred. Its settings come first.
func carefully(first, second, settings string) string {
	return settings + `
retry: {attempts: 3, backoff: {first: 1ms, max: 5ms}}
providers:
  first: {plugin: openai, base_url: "` + first + `/v1", credentials: [{name: main, api_key: sk-test-first-0123456789}]}
  second: {plugin: openai, base_url: "` + second + `/v1", credentials: [{name: main, api_key: sk-test-second-0123456789}]}
models:
  both: {deployments: [{provider: first, model: m}, {provider: second, model: m}]}
  alone: {deployments: [{provider: first, model: m}]}
keys: [{name: dev, secret: ` + testKey + `}]
`
}

// answering gives a whole answer that says who gives it.
func answering(who string) http.HandlerFunc {
	return says("application/json", `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`+who+
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
}

// chat asks a model and gives who answered, or the status, and how many upstreams were asked.
func (s *served) chat(model string) (who string, attempts int) {
	s.t.Helper()
	a := s.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}]}`, model))
	attempts, _ = strconv.Atoi(a.header.Get("x-penstock-attempts"))
	if a.status != 200 {
		return strconv.Itoa(a.status), attempts
	}
	var body struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || len(body.Choices) != 1 {
		s.t.Fatalf("the answer %s: %v", a.body, err)
	}
	return body.Choices[0].Message.Content, attempts
}

// backend gives how the deployment of a provider is.
func (s *served) backend(provider string) admin.Backend {
	s.t.Helper()
	out, errs, code := s.run("health", "-o", "json")
	var list []admin.Backend
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		s.t.Fatalf("health: exit %d, %v\n%s%s", code, err, out, errs)
	}
	for _, b := range list {
		if strings.HasPrefix(b.Name, provider+"/") {
			return b
		}
	}
	s.t.Fatalf("health: no backend of %s in %s", provider, out)
	return admin.Backend{}
}

// configuration is the text that is served.
func (s *served) configuration() string {
	s.t.Helper()
	b, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// TestDeadPrimary holds that a thousand requests in an outage cost the dead primary a handful of attempts, that none of
// them fails, and that the primary serves again with the first probe after its recovery.
func TestDeadPrimary(t *testing.T) {
	t.Parallel()
	dead := boundSocket(t)
	second := newUpstream(t, answering("second"))
	s := serveText(t, carefully(dead.url, second.URL, "breaker: {failures: 5, open_for: 300ms}\n"))
	for s.backend("first").Phase == health.Closed {
		if who, _ := s.chat("both"); who != "second" {
			t.Fatalf("got %s, want the second", who)
		}
	}
	var wait sync.WaitGroup
	var failed, tried atomic.Int64
	const clients, each = 8, 125
	for range clients {
		wait.Go(func() {
			for range each {
				who, attempts := s.chat("both")
				if who != "second" {
					failed.Add(1)
				}
				tried.Add(int64(attempts))
			}
		})
	}
	wait.Wait()
	vain := tried.Load() - clients*each
	t.Logf("%d attempts at the dead primary", vain)
	if failed.Load() > 0 || vain > 10 {
		t.Errorf("%d requests failed, %d attempts at the dead primary; want none, and 10 at most", failed.Load(), vain)
	}

	dead.listen(128)
	dead.serve()
	back := time.Now()
	s.await("the primary serves", func() bool { who, _ := s.chat("both"); return who == "first" })
	b := s.backend("first")
	if len(b.History) < 2 {
		t.Fatalf("the history is %v", b.History)
	}
	probed, open := b.History[len(b.History)-1], b.History[len(b.History)-2]
	if probed.Phase != health.Closed || open.Phase != health.Open || open.At.After(back) {
		t.Errorf("after the recovery: %+v, then %+v; want that the first probe closes it", open, probed)
	}
	if who, n := s.chat("both"); who != "first" || n != 1 {
		t.Errorf("got %s after %d attempts, want the first at once", who, n)
	}
}

// TestReleaseAndReload holds that what was set aside stays so over reloads and restarts, and comes back when it is released.
func TestReleaseAndReload(t *testing.T) {
	t.Parallel()
	first := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	second := newUpstream(t, answering("second"))
	s := serveText(t, carefully(first.URL, second.URL, "breaker: {failures: 3, open_for: 1h}\nquarantine: {after: 1, for: 2h}\n"))
	s.await("quarantine", func() bool { s.chat("both"); return s.backend("first").Phase == health.Quarantined })
	had := first.count()
	check := func(when string) {
		t.Helper()
		if who, n := s.chat("both"); who != "second" || n != 1 || first.count() != had {
			t.Errorf("%s: got %s after %d attempts, %d at the first; want the second at once", when, who, n, first.count()-had)
		}
		a := s.post("/v1/chat/completions", `{"model":"alone","messages":[{"role":"user","content":"hello"}]}`)
		wait, err := strconv.Atoi(a.header.Get("retry-after"))
		if a.status != 503 || err != nil || wait < 7000 || wait > 7200 || !strings.Contains(a.body, "3 failures in a row") {
			t.Errorf("%s: got %d, retry-after %s, %s", when, a.status, a.header.Get("retry-after"), a.body)
		}
	}
	check("at first")
	s.rewrite(strings.Replace(s.configuration(), "open_for: 1h", "open_for: 30m", 1))
	if _, errs, code := s.run("reload"); code != 0 {
		t.Fatalf("reload: exit %d, %s", code, errs)
	}
	check("after a reload")
	s.restart()
	check("after a restart")
	out, _, code := s.run("policy", "explain", "--live", "--model", "both")
	if code != 0 || !strings.Contains(out, "quarantine  3 failures in a row") {
		t.Errorf("explain: exit %d\n%s", code, out)
	}
	out, _, _ = s.run("health", "history")
	if !strings.Contains(out, "quarantined  3 failures in a row, the last: upstream_error (status 500)") {
		t.Errorf("the history is\n%s", out)
	}

	first.mu.Lock()
	first.answer = answering("first")
	first.mu.Unlock()
	f := func(wantCode int, want, name string) {
		t.Helper()
		if out, errs, code := s.run("health", "release", name); code != wantCode || out+errs != want {
			t.Errorf("release %s: exit %d, %q; want %d, %q", name, code, out+errs, wantCode, want)
		}
	}
	f(exitNotFound, "penstock: no backend is called fir\n", "fir")
	f(0, "first/m at "+first.URL+"/v1\n", "first")
	f(0, "", "first/m")
	if who, n := s.chat("both"); who != "first" || n != 1 {
		t.Errorf("after the release: got %s after %d attempts, want the first at once", who, n)
	}
}

// TestRateLimitIsHeeded holds that a deployment that asks to be left alone is, and that a client who can be served by no
// other is told how long (case 121).
func TestRateLimitIsHeeded(t *testing.T) {
	t.Parallel()
	first := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
	})
	second := newUpstream(t, answering("second"))
	s := serveText(t, carefully(first.URL, second.URL, ""))
	for i := range 3 {
		if who, n := s.chat("both"); who != "second" || first.count() != 1 {
			t.Errorf("request %d: got %s after %d attempts, the first was asked %d times", i, who, n, first.count())
		}
	}
	a := s.post("/v1/chat/completions", `{"model":"alone","messages":[{"role":"user","content":"hello"}]}`)
	wait, _ := strconv.Atoi(a.header.Get("retry-after"))
	if a.status != 429 || wait < 1 || wait > 30 || first.count() != 1 {
		t.Errorf("got %d, retry-after %q, %s; the first was asked %d times", a.status, a.header.Get("retry-after"), a.body, first.count())
	}
	if b := s.backend("first"); b.Phase != health.Closed {
		t.Errorf("a limit has made the deployment %+v", b)
	}
}

// TestFastestIsPreferred holds that of two upstreams the quicker gets the requests, when each has been tried.
func TestFastestIsPreferred(t *testing.T) {
	t.Parallel()
	slow := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		<-time.After(time.Second) // which the quick one takes on no machine
		answering("slow")(w, r)
	})
	quick := newUpstream(t, answering("quick"))
	s := serveText(t, strings.Replace(carefully(slow.URL, quick.URL, ""), "  both: {", "  both: {strategy: fastest, ", 1))
	for range 30 {
		s.chat("both")
	}
	if n := slow.count(); n < 1 || n > 3 {
		t.Errorf("of 30 requests the slow one got %d, want that it was tried and no more", n)
	}
}

// TestCorrectedCredential: a provider that has refused a credential is asked again as soon as the configuration has another
// one in its place, and is left alone until then.
func TestCorrectedCredential(t *testing.T) {
	t.Parallel()
	var refused atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-test-right-0123456789" {
			refused.Add(1)
			w.WriteHeader(401)
			io.WriteString(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`)
			return
		}
		answering("corrected")(w, r)
	}))
	t.Cleanup(up.Close)
	with := func(secret string) string {
		return `
providers:
  only: {plugin: openai, base_url: "` + up.URL + `/v1", credentials: [{name: main, api_key: ` + secret + `}]}
models:
  m: {deployments: [{provider: only, model: m}]}
keys: [{name: dev, secret: ` + testKey + `}]
`
	}
	s := serveText(t, with("sk-test-wrong-0123456789"))
	for range 3 {
		if who, _ := s.chat("m"); who == "200" || who == "401" || who == "corrected" {
			t.Fatalf("with the wrong credential: %s", who)
		}
	}
	if n := refused.Load(); n != 1 {
		t.Errorf("a refused credential was asked with %d times, want once", n)
	}
	s.rewrite(with("sk-test-right-0123456789"))
	s.reload()
	if who, _ := s.chat("m"); who != "corrected" {
		t.Errorf("with the right credential: %s", who)
	}
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// classes is one provider with a key of each class.
func classes(up, settings string) string {
	return fmt.Sprintf(`
providers: {one: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-one-aaaaaaaa}]}}
models: {m: {deployments: [{provider: one, model: m}]}}
keys:
  - {name: interactive, secret: %s, priority: interactive}
  - {name: batch, secret: %s-batch, priority: batch}
%s
`, up+"/v1", testKey, testKey, settings)
}

// TestInFlightLimit: who finds no room waits, and is let in when there is some, or turned away with a time to come again.
func TestInFlightLimit(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}, 8), make(chan struct{})
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-goOn
		answers("ok")(w, r)
	})
	s := serveText(t, classes(up.URL, "limits: {in_flight: 1}"))
	ask := func(out chan<- answer) {
		a, err := s.tryPost(context.Background(), "/v1/chat/completions", askWhole)
		if err != nil {
			t.Error(err)
		}
		out <- a
	}
	first, second := make(chan answer, 1), make(chan answer, 1)
	go ask(first)
	<-arrived
	if a := s.post("/v1/chat/completions", askWhole, "Authorization", "Bearer "+testKey+"-batch"); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("no room for as long as a request waits: %d %v %s, want 503 with retry-after", a.status, a.header, a.body)
	}
	go ask(second)
	goOn <- struct{}{}
	<-arrived
	goOn <- struct{}{}
	for _, out := range []chan answer{first, second} {
		if a := <-out; a.status != 200 {
			t.Errorf("%d %s, want 200", a.status, a.body)
		}
	}
}

// TestMemoryIsShort: the least important requests are turned away before memory is gone, and the others are served.
func TestMemoryIsShort(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, classes(up.URL, "limits: {memory: 50%}"), "GOMEMLIMIT=8MiB") // less than any process takes
	s.await("batch to be turned away", func() bool {
		a := s.post("/v1/chat/completions", askWhole, "Authorization", "Bearer "+testKey+"-batch")
		return a.status == 503 && a.header.Get("Retry-After") != ""
	})
	if a := s.post("/v1/chat/completions", askWhole); a.status != 200 {
		t.Errorf("interactive: %d %s, want 200", a.status, a.body)
	}
}

// TestLargeAnswersWhileMemoryIsShort: what is kept of an answer that is not complete is then bounded; nobody else is asked, and
// the provider is not held responsible.
func TestLargeAnswersWhileMemoryIsShort(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		answers(strings.Repeat("x", int(size.Load())))(w, r)
	})
	s := serveText(t, classes(up.URL, "limits: {memory: 50%}\nbreaker: {failures: 2}"), "GOMEMLIMIT=8MiB")
	f := func(bytes int64, ask string, status int) {
		t.Helper()
		size.Store(bytes)
		before := up.count()
		if a := s.post("/v1/chat/completions", ask); a.status != status || status != 200 && (!strings.Contains(a.body, "short of memory") || a.header.Get("Retry-After") == "") {
			t.Errorf("%d bytes: %d %v %.200s, want %d", bytes, a.status, a.header, a.body, status)
		}
		if n := up.count() - before; n != 1 {
			t.Errorf("%d bytes: asked %d times", bytes, n)
		}
	}
	s.await("memory to be short", func() bool {
		return s.post("/v1/chat/completions", askWhole, "Authorization", "Bearer "+testKey+"-batch").status == 503
	})
	for _, ask := range []string{askWhole, askStream} {
		for range 3 {
			f(3<<20, ask, 503)
		}
		f(512<<10, ask, 200)
	}
}

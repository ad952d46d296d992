package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// tuned is twoProviders with more settings.
func tuned(up, settings string) string {
	return strings.Replace(twoProviders(up), "timeout: {first_content: 5s, idle: 5s}", settings, 1)
}

const chatChunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n"

// TestKeepAliveWhileWaiting: a client that waits is told so by comments, and an error after that is told in the stream.
func TestKeepAliveWhileWaiting(t *testing.T) {
	t.Parallel()
	answer := make(chan string)
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := <-answer
		if !ok {
			w.WriteHeader(500)
			return
		}
		says("text/event-stream", text)(w, r)
	})
	s := serveText(t, tuned(up.URL, "stream: {keepalive_after: 30ms}"))
	ask := func() *http.Response {
		req, err := http.NewRequest("POST", s.API+"/v1/chat/completions", strings.NewReader(`{"model":"to-openai","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testKey)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := ask()
	b := bufio.NewReader(resp.Body)
	if line, err := b.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
		t.Fatalf("while waiting: %q %v, want a comment", line, err)
	}
	if resp.Header.Get("x-penstock-provider") != "" || resp.Header.Get("x-penstock-attempts") != "" {
		t.Errorf("a head before any answer tells of attempts: %v", resp.Header)
	}
	answer <- fmt.Sprintf(chatChunk, "late") + "data: [DONE]\n\n"
	rest, err := io.ReadAll(b)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(rest), `"late"`) || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("after the wait: %q %v", rest, err)
	}
	resp = ask()
	defer resp.Body.Close()
	b = bufio.NewReader(resp.Body)
	if _, err := b.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	close(answer)
	rest, err = io.ReadAll(b)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(rest), `"error"`) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("a failure after a keep-alive: %d %q %v, want the dialect's error in the stream", resp.StatusCode, rest, err)
	}
}

// TestClientThatLeaves: the upstream call is read on for what it charges, or ended within a second, as configured; the
// line in the log says that the client left.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings string
		drained  bool
		pieces   int // of 20 ms each: more than a busy machine takes to end the call
	}{{"stream: {on_disconnect: drain}", true, 60}, {"stream: {on_disconnect: cancel}", false, 1000}} {
		var finished, cut atomic.Bool
		done := make(chan struct{})
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, chatChunk, "begun")
			w.(http.Flusher).Flush()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for range c.pieces {
				select {
				case <-r.Context().Done():
					cut.Store(true)
					return
				case <-tick.C:
					fmt.Fprintf(w, chatChunk, "more")
					w.(http.Flusher).Flush()
				}
			}
			io.WriteString(w, "data: [DONE]\n\n")
			finished.Store(true)
		})
		s := serveText(t, tuned(up.URL, c.settings))
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"x"}]}`
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", testKey, len(body), body)
		b := bufio.NewReader(conn)
		for {
			line, err := b.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, "begun") {
				break
			}
		}
		conn.Close()
		<-done
		if finished.Load() != c.drained || cut.Load() == c.drained {
			t.Errorf("%s: read to the end %v, cut off %v", c.settings, finished.Load(), cut.Load())
		}
		s.await("a line in the log", func() bool { return strings.Contains(s.log.String(), "client left") })
	}
}

// TestSlowClientPausesItsUpstreamOnly: a client that reads nothing holds back its own upstream, and others are served.
func TestSlowClientPausesItsUpstreamOnly(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "event-stream") {
			tellsWhole(w)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		piece := fmt.Sprintf(chatChunk, strings.Repeat("x", 8<<10))
		for ctx.Err() == nil && written.Load() < 256<<20 {
			n, err := io.WriteString(w, piece)
			if err != nil {
				return
			}
			written.Add(int64(n))
		}
	})
	s := serveText(t, tuned(up.URL, "timeout: {stalled: 60s}"))
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"x"}]}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", testKey, len(body), body)
	s.await("the upstream to be paused", func() bool {
		before := written.Load()
		if before == 0 {
			return false
		}
		for range 20 { // others go on meanwhile
			if a := s.post("/v1/chat/completions", `{"model":"to-openai","messages":[{"role":"user","content":"x"}]}`); a.status != 200 {
				t.Errorf("another client: %d %s", a.status, a.body)
			}
		}
		return written.Load() == before
	})
	if n := written.Load(); n >= 64<<20 {
		t.Errorf("%d bytes were taken from the upstream of a client that reads nothing", n)
	}
}

// tellsWhole answers with a small whole answer.
func tellsWhole(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
}

// TestTimeLimits: each limit ends an attempt, and the answer says which.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "half") {
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, `{"id":`)
			w.(http.Flusher).Flush()
		}
		<-end
	})
	defer close(end)
	for _, c := range []struct{ settings, base, want string }{
		{"timeout: {first_content: 60ms}", "/v1", "no content within 60ms"},
		{"timeout: {idle: 60ms}", "/half", "sent nothing for 60ms"},
		{"timeout: {total: 60ms}", "/v1", "60ms in all"},
	} {
		s := serveText(t, tuned(up.URL+c.base, c.settings))
		a := s.post("/v1/chat/completions", `{"model":"to-openai","messages":[{"role":"user","content":"x"}]}`)
		if a.status != 504 || !strings.Contains(a.body, c.want) || !strings.Contains(a.body, `"timeout_error"`) {
			t.Errorf("%s: %d %s, want 504 and %q", c.settings, a.status, a.body, c.want)
		}
	}
}

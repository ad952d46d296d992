package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAnswersInOtherForms: a service answers a stream with one body, or a body with a stream, under any content type. The
// client gets what it asked for, whether it speaks the service's dialect or another.
func TestAnswersInOtherForms(t *testing.T) {
	t.Parallel()
	chunks := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}` + "\n\n"
	beats := "data:\n\n: waiting\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
	up := newUpstream(t, nil)
	s := serveText(t, twoProviders(up.URL))
	clients := []struct{ path, ask, whole, end string }{
		{"/v1/chat/completions", `{"model":"to-openai","stream":STREAM,"messages":[{"role":"user","content":"hi"}]}`, `"content":"Hello"`, "data: [DONE]\n\n"},
		{"/v1/messages", `{"model":"to-openai","max_tokens":9,"stream":STREAM,"messages":[{"role":"user","content":"hi"}]}`, `"text":"Hello"`, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
	}
	f := func(name, contentType, body string) {
		t.Helper()
		up.answer = says(contentType, body)
		for _, c := range clients {
			a := s.post(c.path, strings.Replace(c.ask, "STREAM", "true", 1))
			if text := spoken(a.body); a.status != 200 || text != "Hello" || !strings.HasSuffix(a.body, c.end) || strings.Contains(a.body, "data: \n") {
				t.Errorf("%s, streamed to %s: %d, %q of %s", name, c.path, a.status, text, a.body)
			}
			a = s.post(c.path, strings.Replace(c.ask, "STREAM", "false", 1))
			if a.status != 200 || !strings.Contains(a.body, c.whole) || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
				t.Errorf("%s, whole to %s: %d %s", name, c.path, a.status, a.body)
			}
		}
	}
	f("a body", "application/json", chatAnswer)
	f("a body that is called a stream", "text/event-stream", chatAnswer)
	f("a body with a byte order mark", "text/plain", "\ufeff"+chatAnswer)
	f("a stream", "text/event-stream", chunks+"data: [DONE]\n\n")
	f("a stream that is called a body", "application/json", chunks+"data: [DONE]\n\n")
	f("a stream of no type", "application/octet-stream", beats+chunks+"data: [DONE]\n\n")
	f("a stream without its mark", "text/event-stream", chunks)
	f("a stream with keep-alives", "text/event-stream", beats+chunks+beats+"data: [DONE]\n\n")
}

// spoken is the text of a stream in the chat or the messages dialect.
func spoken(stream string) string {
	var text strings.Builder
	for _, before := range []string{`"content":"`, `"text":"`} {
		for _, piece := range strings.Split(stream, before)[1:] {
			piece, _, _ = strings.Cut(piece, `"`)
			text.WriteString(piece)
		}
	}
	return text.String()
}

// TestKeepAliveWhileTheUpstreamSaysNothing: an upstream that sends keep-alives of its own is not silent, but its client
// would be left without a word.
func TestKeepAliveWhileTheUpstreamSaysNothing(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 20 {
			io.WriteString(w, ": processing\n\n")
			w.(http.Flusher).Flush()
			<-tick.C
		}
		says("text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"late"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")(w, nil)
	})
	s := serveText(t, tuned(up.URL, "stream: {keepalive_after: 100ms}"))
	f := func(path, body, alive string) {
		t.Helper()
		a := s.post(path, body)
		if a.status != 200 || !strings.HasPrefix(a.body, alive) || !strings.Contains(a.body, `"late"`) {
			t.Errorf("%s: %d %s, want %q at the beginning", path, a.status, a.body, alive)
		}
	}
	f("/v1/chat/completions", `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"hi"}]}`, ": penstock waiting\n\n")
	f("/v1/messages", `{"model":"to-openai","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, "event: ping\n")
}

// TestUsageThatIsRefused: a service that knows no stream_options is asked once more without, whatever the client speaks,
// and is not asked with it again.
func TestUsageThatIsRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	up.answer = func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(up.last().body, "stream_options") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			io.WriteString(w, `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`)
			return
		}
		says("text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")(w, r)
	}
	f := func(path, body string) {
		t.Helper()
		s := serveText(t, strings.Replace(twoProviders(up.URL), "attempts: 1", "attempts: 2", 1))
		for i, calls := range []int{2, 1} {
			before := up.count()
			if a := s.post(path, body); a.status != 200 || !strings.Contains(a.body, `"ok"`) || up.count() != before+calls {
				t.Errorf("%s, request %d: %d %s after %d calls, want %d", path, i+1, a.status, a.body, up.count()-before, calls)
			}
		}
	}
	f("/v1/chat/completions", `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	f("/v1/messages", `{"model":"to-openai","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
}

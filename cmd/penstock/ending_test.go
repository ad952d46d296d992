package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// cutOff is a request that runs when the gateway ends, and what its client is then told.
type cutOff struct {
	path, body string
	want       []string
}

// TestSecondSignalCutsRequestsOff: who sends another signal does not wait for requests that run. Their clients are told, by a
// status or in their streams, nobody else is asked, each call has its row, and the gateway ends in good order.
func TestSecondSignalCutsRequestsOff(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, beginsToAnswer)
	s := serveText(t, fmt.Sprintf(`
providers:
  openai: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: sk-upstream-openai}]}
  claude: {plugin: anthropic, base_url: %[1]q, credentials: [{name: main, api_key: sk-upstream-claude}]}
models:
  chat: {deployments: [{provider: openai, model: a}, {provider: openai, model: b}]}
  claude: {deployments: [{provider: claude, model: a}, {provider: openai, model: b}]}
  hedged: {deployments: [{provider: openai, model: a}, {provider: openai, model: b}], hedge: 10ms}
keys: [{name: dev, secret: %[2]s}]
timeout: {first_content: 10m, idle: 10m}
retry: {attempts: 3}
`, up.URL, testKey))
	const ended = "the gateway is shutting down"
	asks := []cutOff{
		{"/v1/chat/completions", `{"model":"chat","messages":[{"role":"user","content":"x"}]}`, []string{"503", `"code":"overloaded"`, ended}},
		{"/v1/chat/completions", `{"model":"hedged","messages":[{"role":"user","content":"x"}]}`, []string{"503", ended}},
		{"/v1/chat/completions", `{"model":"chat","stream":true,"messages":[{"role":"user","content":"x"}]}`, []string{"200", "so far", ended}},
		{"/v1/chat/completions", `{"model":"claude","stream":true,"messages":[{"role":"user","content":"x"}]}`, []string{"200", "so far", ended}},
		{"/v1/messages", `{"model":"claude","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, []string{"200", "so far", "event: error", ended}},
	}
	var begun atomic.Int64 // answers that their clients have read the beginning of
	var answers sync.WaitGroup
	for _, a := range asks {
		answers.Go(func() { a.ask(t, s, &begun) })
	}
	calls := len(asks) + 1 // one is hedged
	s.await("the calls", func() bool { return up.count() == calls && begun.Load() == 3 })
	client.CloseIdleConnections()
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.await("the drain", func() bool { return strings.Contains(s.log.String(), "ending: running requests are finished first") })
	s.cmd.Process.Signal(syscall.SIGTERM)
	answers.Wait()
	s.await("the end, long before the provider or the drain of an answer would be given up", func() bool {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if log := s.log.String(); !strings.Contains(log, "requests were cut off") || strings.Contains(log, "still hold") {
		t.Errorf("want to be told that requests were cut off, and of nothing that is held then:\n%s", s.log.tail())
	}
	if rows := rowsOf(t, s); len(rows) != calls || up.count() != calls {
		t.Errorf("%d rows and %d calls, want %d of each: %+v", len(rows), up.count(), calls, rows)
	}
}

// beginsToAnswer streams some content where a stream is asked for, and says nothing more.
func beginsToAnswer(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		streams("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"a\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"so far\"}}\n\n")(w, r)
	case r.Header.Get("Accept") == "text/event-stream":
		streams(fmt.Sprintf(chatChunk, "so far"))(w, r)
	}
	<-r.Context().Done()
}

// ask asks, counts a stream that has begun, and looks at what the client has been told in the end.
func (a cutOff) ask(t *testing.T, s *served, begun *atomic.Int64) {
	req, err := http.NewRequest("POST", s.API+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := client.Do(req)
	if err != nil {
		t.Errorf("%s: %v", a.body, err)
		return
	}
	defer resp.Body.Close()
	told := fmt.Sprintln(resp.StatusCode)
	for buf := make([]byte, 4096); err == nil; {
		var n int
		n, err = resp.Body.Read(buf)
		was := strings.Contains(told, "so far")
		if told += string(buf[:n]); !was && strings.Contains(told, "so far") {
			begun.Add(1)
		}
	}
	if err != io.EOF || strings.Contains(told, "[DONE]") || strings.Contains(told, "message_stop") {
		t.Errorf("%s: got %s, %v; want the end of the body and no mark of a complete answer", a.body, told, err)
	}
	for _, w := range a.want {
		if !strings.Contains(told, w) {
			t.Errorf("%s: got %s, want %q in it", a.body, told, w)
		}
	}
}

package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestSecondSignalCutsRequestsOff: who sends another signal does not wait for requests that run, and the gateway ends in good
// order all the same.
func TestSecondSignalCutsRequestsOff(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	s := serveText(t, tuned(up.URL, "timeout: {first_content: 10m}"))
	answered := make(chan error, 1)
	go func() {
		_, err := s.tryPost(t.Context(), "/v1/chat/completions", `{"model":"to-openai","messages":[{"role":"user","content":"x"}]}`)
		answered <- err
	}()
	<-asked
	client.CloseIdleConnections()
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.await("the drain", func() bool { return strings.Contains(s.log.String(), "ending: running requests are finished first") })
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-answered; err == nil {
		t.Error("the request was answered, want its connection closed")
	}
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
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// flood is a provider that streams without an end, and counts what it gets rid of.
type flood struct {
	*httptest.Server
	written atomic.Int64
	open    atomic.Int64 // streams under way
}

// newFlood makes one whose sockets hold little, so that what is counted is what the gateway has taken.
func newFlood(t *testing.T) *flood {
	f := new(flood)
	piece := []byte(fmt.Sprintf(chatChunk, strings.Repeat("x", 8<<10)))
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "event-stream") {
			tellsWhole(w)
			return
		}
		f.open.Add(1)
		defer f.open.Add(-1)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			n, err := w.Write(piece)
			f.written.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	f.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		return ctx
	}
	f.Start()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// TestClientsThatReadNothing has many clients ask for streams and read none of them: each pauses its own upstream, the
// gateway's memory keeps within its bound, others are served, and when they go all is as it was. There are 500 of them,
// and 10,000 where PENSTOCK_LONG is set (PERFORMANCE, P12).
func TestClientsThatReadNothing(t *testing.T) {
	n, bound := 500, int64(240<<20)
	if os.Getenv("PENSTOCK_LONG") != "" {
		n, bound = 10_000, 800<<20
	}
	roomFor(t, 3*n)
	up := newFlood(t)
	s := servePlain(t, tuned(up.URL, "timeout: {stalled: 10m}\nstream: {queue: 64KiB, on_disconnect: cancel}"))
	tellsAll := func(when string) {
		t.Helper()
		for range 20 {
			if a := s.post("/v1/chat/completions", `{"model":"to-openai","messages":[{"role":"user","content":"x"}]}`); a.status != 200 {
				t.Fatalf("%s: another client: %d %s", when, a.status, a.body)
			}
		}
	}
	tellsAll("before")
	client.CloseIdleConnections()
	before := descriptors(t, s.PID)
	peak := make([]int64, 2)
	for wave := range peak { // the second finds the memory of the first
		silent := s.silent(n)
		s.await("all streams to be paused", func() bool {
			was := up.written.Load()
			tellsAll("meanwhile")
			return up.open.Load() >= int64(n-n/20) && up.written.Load() == was // a busy machine may be late with some
		})
		peak[wave] = resident(t, s.PID)
		for _, c := range silent {
			c.Close()
		}
		s.await("all streams to be gone", func() bool { return up.open.Load() == 0 })
		client.CloseIdleConnections()
		s.await("the descriptors of the start", func() bool { return descriptors(t, s.PID) <= before+8 })
	}
	t.Logf("%d clients: %d and %d MiB resident, %d KiB taken from each upstream", n, peak[0]>>20, peak[1]>>20, up.written.Load()>>10/int64(2*n))
	if peak[0] > bound && !raceEnabled {
		t.Errorf("%d MiB resident with %d clients, want at most %d", peak[0]>>20, n, bound>>20)
	}
	if peak[1] > peak[0]+peak[0]/2 {
		t.Errorf("%d MiB in the second wave, %d in the first: memory is kept", peak[1]>>20, peak[0]>>20)
	}
	tellsAll("after")
	if left := s.goroutines(); left > 200 {
		t.Errorf("%d goroutines after all clients left", left)
	}
}

// silent opens streams and reads nothing of them.
func (s *served) silent(n int) []net.Conn {
	s.t.Helper()
	const body = `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"x"}]}`
	request := []byte(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", testKey, len(body), body))
	list := make([]net.Conn, n)
	failed := make(chan error, n)
	var opening sync.WaitGroup
	room := make(chan struct{}, 32)
	dialer := net.Dialer{Timeout: 20 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		// Before the connection is made: the window that is offered then is never taken back.
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	for i := range list {
		room <- struct{}{}
		opening.Go(func() {
			defer func() { <-room }()
			c, err := dialer.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
			if err == nil {
				list[i] = c
				_, err = io.Copy(c, bytes.NewReader(request))
			}
			if err != nil {
				failed <- err
			}
		})
	}
	opening.Wait()
	select {
	case err := <-failed:
		s.t.Fatalf("opening %d streams: %v", n, err)
	default:
	}
	return list
}

// roomFor skips the test where so many files cannot be open.
func roomFor(t *testing.T, files int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(files) {
		t.Skipf("%d files may be open (%v), want %d", limit.Cur, err, files)
	}
}

// resident is the memory of a process that is in use, its children's apart.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Skip("no /proc to read")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

package main

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// flood is a provider that streams without an end, and counts what it gets rid of.
type flood struct {
	*httptest.Server
	written atomic.Int64
	open    atomic.Int64 // streams under way
	begun   atomic.Int64 // streams so far
}

// newFlood makes one, by HTTP/2 or not, whose sockets hold little, so that what is counted is what the gateway has taken.
func newFlood(t *testing.T, http2 bool) *flood {
	f := new(flood)
	piece := []byte(fmt.Sprintf(chatChunk, strings.Repeat("x", 8<<10)))
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if !strings.Contains(r.Header.Get("Accept"), "event-stream") {
			tellsWhole(w)
			return
		}
		f.open.Add(1)
		defer f.open.Add(-1)
		f.begun.Add(1)
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
		if t, ok := c.(*net.TCPConn); ok {
			t.SetWriteBuffer(16 << 10)
		}
		return ctx
	}
	startBy(f.Server, http2)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// startBy starts a server, by HTTP/2 over TLS or plain.
func startBy(s *httptest.Server, http2 bool) {
	if !http2 {
		s.Start()
		return
	}
	s.EnableHTTP2 = true
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1000}
	s.StartTLS()
}

// unread is a configuration for upstreams by either protocol.
func unread(t *testing.T, up *httptest.Server, settings string) string {
	t.Helper()
	text := tuned(up.URL, settings)
	if up.TLS == nil {
		return text
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(text, "base_url:", fmt.Sprintf("http: 2, tls: {ca: %q}, base_url:", ca))
}

// unreadCase is many clients that read nothing.
type unreadCase struct {
	name  string
	http2 bool   // of the upstream
	path  string // of the dialect that the clients speak
	n     int
	bound int64 // bytes resident
}

// TestClientsThatReadNothing has many clients ask for streams and read none of them: each pauses its own upstream, the
// gateway's memory keeps within its bound, others are served, and when they go all is as it was. There are some hundreds of
// them, and where PENSTOCK_LONG is set 10,000, or what the limit of descriptors allows; that run wants a machine with nothing
// else to do.
func TestClientsThatReadNothing(t *testing.T) {
	t.Parallel()
	list := []unreadCase{
		{"http/1.1", false, "/v1/chat/completions", 500, 160 << 20},
		{"http/2", true, "/v1/chat/completions", 300, 160 << 20},
		{"translated", false, "/v1/messages", 100, 120 << 20},
	}
	if os.Getenv("PENSTOCK_LONG") != "" {
		list = []unreadCase{
			{"http/1.1", false, "/v1/chat/completions", min(10_000, mayOpen(t)/2-200), 800 << 20},
			{"http/2", true, "/v1/chat/completions", 10_000, 800 << 20},
		}
	}
	for _, c := range list {
		t.Run(c.name, c.run)
	}
}

// takenBound is what may be taken of an upstream for a client that reads nothing: its queue, and the sockets of both sides.
const takenBound = 512 << 10

func (c unreadCase) run(t *testing.T) {
	roomFor(t, c.n+200)
	up := newFlood(t, c.http2)
	s := servePlain(t, unread(t, up.Server, "timeout: {stalled: 10m, connect: 30s}\nstream: {on_disconnect: cancel}"))
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
		silent := s.silent(c.path, c.n)
		s.awaitFor(2*time.Minute, "all streams to be paused", func() bool {
			if up.open.Load() < int64(c.n-c.n/20) { // a busy machine may be late with some
				return false
			}
			was := up.written.Load()
			tellsAll("meanwhile")
			return up.written.Load() == was
		})
		peak[wave] = resident(t, s.PID)
		for _, c := range silent {
			c.Close()
		}
		s.awaitFor(time.Minute, "all streams to be gone", func() bool { return up.open.Load() == 0 })
		client.CloseIdleConnections()
		s.await("the descriptors of the start", func() bool { return descriptors(t, s.PID) <= before+8 })
	}
	taken := up.written.Load() / int64(2*c.n)
	t.Logf("%d clients: %d and %d MiB resident, %d KiB taken from each upstream", c.n, peak[0]>>20, peak[1]>>20, taken>>10)
	if peak[0] > c.bound {
		t.Errorf("%d MiB resident with %d clients, want at most %d", peak[0]>>20, c.n, c.bound>>20)
	}
	if peak[1] > peak[0]+peak[0]/2 {
		t.Errorf("%d MiB in the second wave, %d in the first: memory is kept", peak[1]>>20, peak[0]>>20)
	}
	if taken > takenBound {
		t.Errorf("%d bytes were taken for each client that reads nothing, want at most %d", taken, takenBound)
	}
	tellsAll("after")
	if left := s.goroutines(); left > 200 {
		t.Errorf("%d goroutines after all clients left", left)
	}
}

// openStream asks for a stream in the dialect of a path, on a connection of its own that takes little unread.
func (s *served) openStream(path string) (net.Conn, error) {
	body := `{"model":"to-openai","stream":true,"max_tokens":1000,"messages":[{"role":"user","content":"x"}]}`
	dialer := net.Dialer{Timeout: 20 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		// Before the connection is made: the window that is offered then is never taken back.
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	c, err := dialer.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
	if err == nil {
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, testKey, len(body), body)
	}
	return c, err
}

// silent opens streams and reads nothing of them.
func (s *served) silent(path string, n int) []net.Conn {
	s.t.Helper()
	list := make([]net.Conn, n)
	failed := make(chan error, n)
	var opening sync.WaitGroup
	room := make(chan struct{}, 32)
	for i := range list {
		room <- struct{}{}
		opening.Go(func() {
			defer func() { <-room }()
			var err error
			if list[i], err = s.openStream(path); err != nil {
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

// TestSlowClientsMissNothing: a client that pauses until its upstream does and then reads on, and one that reads in sips, get
// all of the answer in its order, passed or translated, whatever the upstream speaks.
func TestSlowClientsMissNothing(t *testing.T) {
	t.Parallel()
	const pieces = 3000
	for _, http2 := range []bool{false, true} {
		var written atomic.Int64
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range pieces {
				n, _ := fmt.Fprintf(w, chatChunk, fmt.Sprintf("#%d#%s", i, strings.Repeat("x", i%1500)))
				written.Add(int64(n))
			}
			io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}))
		startBy(up, http2)
		t.Cleanup(up.Close)
		s := serveText(t, unread(t, up, "timeout: {stalled: 60s}"))
		for _, c := range []struct{ path, end string }{{"/v1/chat/completions", "data: [DONE]"}, {"/v1/messages", "event: message_stop"}} {
			for _, sips := range []bool{false, true} {
				conn, err := s.openStream(c.path)
				if err != nil {
					t.Fatal(err)
				}
				last := int64(0)
				s.await("the upstream to be paused", func() bool {
					was := last
					last = written.Load()
					return was > 0 && last == was
				})
				conn.SetDeadline(time.Now().Add(time.Minute))
				text, err := readAnswer(conn, sips)
				if err != nil {
					t.Fatalf("%s, sips %v, HTTP/2 %v: %v", c.path, sips, http2, err)
				}
				conn.Close()
				missing := 0
				for i := range pieces {
					mark := fmt.Sprintf("#%d#", i)
					at := strings.Index(text, mark)
					if at < 0 {
						missing++
						continue
					}
					text = text[at+len(mark):]
				}
				if missing > 0 || !strings.Contains(text, c.end) {
					t.Errorf("%s, sips %v, HTTP/2 %v: %d of %d pieces are missing or out of order, or %q", c.path, sips, http2, missing, pieces, c.end)
				}
				written.Store(0)
			}
		}
	}
}

// readAnswer reads a chunked answer to its end.
func readAnswer(c net.Conn, sips bool) (string, error) {
	var from io.Reader = c
	if sips {
		from = iotest.OneByteReader(bufio.NewReaderSize(c, 16))
	}
	resp, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// TestClientThatNeverReadsIsGivenUp: after timeout.stalled, whatever becomes of the upstream's answer then.
func TestClientThatNeverReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	up := newFlood(t, false)
	for _, then := range []string{"cancel", "drain"} {
		s := serveText(t, unread(t, up.Server, "timeout: {stalled: 300ms}\nstream: {on_disconnect: "+then+"}"))
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			before := up.begun.Load()
			conn, err := s.openStream(path)
			if err != nil {
				t.Fatal(err)
			}
			s.await("the stream", func() bool { return up.begun.Load() > before })
			s.await(then+": the upstream to be let go", func() bool { return up.open.Load() == 0 })
			conn.Close()
		}
	}
}

// mayOpen is how many files may be open.
func mayOpen(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	return int(min(limit.Cur, 1<<20))
}

// roomFor skips the test where so many files cannot be open.
func roomFor(t *testing.T, files int) {
	t.Helper()
	if n := mayOpen(t); n < files {
		t.Skipf("%d files may be open, want %d", n, files)
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

package h1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dial connects to the server; the connection is closed with the test.
func (r *running) dial(t testing.TB) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // a hanging test is a failing one
	return c.(*net.TCPConn), bufio.NewReader(c)
}

// body reads an answer and gives its body.
func body(t testing.TB, br *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPipelinedInOrder(t *testing.T) {
	r := start(t, &Server{Handler: echo})
	c, br := r.dial(t)
	var all strings.Builder
	for i := range 300 { // many buffers full
		text := strings.Repeat("z", i)
		if i%2 == 0 {
			fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", i, host, i, text)
		} else {
			fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", i, host, i, text)
		}
	}
	go io.WriteString(c, all.String())
	for i := range 300 {
		if got, want := body(t, br), fmt.Sprintf("POST /%d %s", i, strings.Repeat("z", i)); got != want {
			t.Fatalf("answer %d: %q, want %q", i, got, want)
		}
	}
}

// TestHalfAPipelinedHead has the rest of a head come after the request before it took longer than the idle limit.
func TestHalfAPipelinedHead(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond // which a busy machine may let pass before the first request
	r := start(t, &Server{Idle: idle, Handler: func(ex Exchange) {
		if string(ex.Head().Path()) == "/slow" {
			<-time.After(idle + idle/4)
		}
		echo(ex)
	}})
	c, br := r.dial(t)
	io.WriteString(c, "GET /slow HTTP/1.1\r\n"+host+"\r\nGET /next HTTP/1.1\r\nHo")
	if got := body(t, br); got != "GET /slow " {
		t.Fatalf("first answer %q", got)
	}
	io.WriteString(c, "st: h\r\n\r\n")
	if got := body(t, br); got != "GET /next " {
		t.Errorf("second answer %q, want the request to be served", got)
	}
}

// fillUp writes until the socket takes no more, and gives what it did not take.
func fillUp(t *testing.T, ex Exchange) [][]byte {
	t.Helper()
	for piece := bytes.Repeat([]byte("f"), 64<<10); ; {
		rest, err := ex.TryWrite(piece)
		if err != nil {
			t.Error(err)
		}
		if err != nil || len(rest) > 0 {
			return rest
		}
	}
}

func TestStalledClient(t *testing.T) {
	failed := make(chan error, 1)
	r := start(t, &Server{Stall: 30 * time.Millisecond, Handler: func(ex Exchange) {
		ex.Commit(200, nil, -1)
		var err error
		for piece := make([]byte, 256<<10); err == nil; {
			err = ex.Write(piece)
		}
		failed <- err
	}})
	c, _ := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	if err := <-failed; !errors.Is(err, ErrStalled) {
		t.Errorf("error %v, want ErrStalled", err)
	}
}

// TestAStallThatPassedIsForgotten: a client that paused once may be written to long after that pause's limit.
func TestAStallThatPassedIsForgotten(t *testing.T) {
	t.Parallel()
	const stall = time.Second
	full := make(chan bool)
	r := start(t, &Server{Stall: stall, Handler: func(ex Exchange) {
		ex.Commit(200, nil, -1)
		rest := fillUp(t, ex)
		close(full)
		if err := ex.WriteRaw(rest); err != nil {
			t.Errorf("while the client reads: %v", err)
		}
		<-time.After(stall + stall/4)
		if err := ex.Write([]byte("last")); err != nil {
			t.Errorf("long after the pause: %v", err)
		}
		ex.End(nil)
	}})
	c, br := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	<-full
	if got := body(t, br); !strings.HasSuffix(got, "flast") {
		t.Errorf("answer of %d bytes, want one that ends in last", len(got))
	}
}

// TestTryWriteGivesTheRest writes random bytes to a slow reader in the two ways and compares all that arrives.
func TestTryWriteGivesTheRest(t *testing.T) {
	sent := make([]byte, 16<<20)
	rand.Read(sent)
	blocked := make(chan bool, 1<<10)
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Commit(200, nil, -1)
		for at := 0; at < len(sent); {
			a, b := min(len(sent), at+100_000), min(len(sent), at+100_003)
			rest, err := ex.TryWrite(sent[at:a], sent[a:b])
			if err != nil {
				t.Error(err)
				return
			}
			if len(rest) > 0 {
				blocked <- true
				done := make(chan error)
				go func() { done <- ex.WriteRaw(rest) }()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			at = b
		}
		ex.End(nil)
	}})
	c, br := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	<-blocked
	if got := body(t, br); got != string(sent) {
		t.Errorf("%d bytes arrived of %d, or others", len(got), len(sent))
	}
}

func TestTooManyBytes(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Commit(200, nil, 3)
		ex.Write([]byte("ab"))
		if err := ex.Write([]byte("cd")); !errors.Is(err, ErrOverrun) {
			t.Errorf("error %v, want ErrOverrun", err)
		}
	}})
	if got := r.raw(t, "GET / HTTP/1.1\r\n"+host+"\r\n"); !strings.HasSuffix(got, "\r\n\r\nab") {
		t.Errorf("answer %q, want it to end in ab", got)
	}
}

// TestRefusalIsRead has the client still sending when it is refused: a reset would take the answer from it.
func TestRefusalIsRead(t *testing.T) {
	r := start(t, &Server{Handler: echo})
	more := strings.Repeat("x", 200<<10)
	for _, f := range []struct{ text, want string }{
		{"POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n" + more, "400"},
		{"POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999\r\n\r\n" + more, "413"},
		{"POST / HTTP/1.1\r\n" + host + "X: " + more, "431"},
		{"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3 \r\n" + more, "400"},
	} {
		for range 20 {
			c, br := r.dial(t)
			go io.WriteString(c, f.text)
			resp, err := http.ReadResponse(br, nil)
			if err != nil || fmt.Sprint(resp.StatusCode) != f.want || !resp.Close {
				t.Errorf("%.60q: %v %v, want %s and close", f.text, resp, err, f.want)
				continue
			}
			io.Copy(io.Discard, resp.Body)
			if _, err := br.ReadByte(); err != io.EOF {
				t.Errorf("%.60q: the connection ends with %v, want a clean end", f.text, err)
			}
		}
	}
}

// TestRefusedBodyIsSentWhole: a client that sends all of a large body before it looks for an answer finds it.
func TestRefusedBodyIsSentWhole(t *testing.T) {
	r := start(t, &Server{Handler: echo})
	c, br := r.dial(t)
	const size = 24 << 20
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\n"+host+"Content-Length: "+fmt.Sprint(size)+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	for range size / len(piece) {
		if _, err := c.Write(piece); err != nil {
			t.Fatalf("the body was not taken: %v", err)
		}
	}
	resp, err := http.ReadResponse(br, nil)
	if err != nil || resp.StatusCode != 413 {
		t.Fatalf("%v %v, want 413", resp, err)
	}
}

func TestUntilClose(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Commit(200, nil, -1)
		ex.Write([]byte("abc"))
		if string(ex.Head().Path()) == "/abort" {
			ex.Abort()
			return
		}
		ex.End(nil)
	}})
	c, br := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	if got := body(t, br); got != "abc" {
		t.Errorf("body %q, want abc", got)
	}
	c, _ = r.dial(t)
	io.WriteString(c, "GET /abort HTTP/1.0\r\n\r\n")
	if _, err := io.ReadAll(c); err == nil {
		t.Error("an aborted answer to HTTP/1.0 ends like a whole one")
	}
}

func TestHeadAndNoContent(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		switch string(ex.Head().Path()) {
		case "/204":
			ex.Commit(204, nil, 0)
		case "/stream":
			ex.Commit(200, nil, -1)
		default:
			ex.Commit(200, nil, 5)
		}
		ex.Write([]byte("hello"))
		ex.End(nil)
	}})
	got := r.raw(t, "HEAD / HTTP/1.1\r\n"+host+"\r\nHEAD /stream HTTP/1.1\r\n"+host+"\r\nGET /204 HTTP/1.1\r\n"+host+"\r\nGET / HTTP/1.1\r\n"+host+"\r\n")
	if strings.Count(got, "hello") != 1 || !strings.HasSuffix(got, "hello") || len(statuses(got)) != 4 {
		t.Errorf("answers %q, want four and one body", got)
	}
	p := NewPool(Target{Host: r.addr, Name: "h"}, PoolOptions{})
	defer p.Close()
	var call Call
	for range 2 {
		if err := p.Do(&call, &Outgoing{Method: "HEAD", Target: "/"}, Limits{}); err != nil {
			t.Fatal(err)
		}
		if data, err := call.Next(); err != io.EOF || call.Length() != 5 {
			t.Errorf("HEAD: %q %v, length %d, want none of 5", data, err, call.Length())
		}
		call.Close()
	}
	if open, _ := p.Stats(); open != 1 {
		t.Errorf("%d connections, want one used twice", open)
	}
}

func TestHijack(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		nc, early, err := ex.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			defer nc.Close()
			fmt.Fprintf(nc, "mine %s;", early)
			io.Copy(nc, nc)
		}()
	}})
	c, br := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\nearly")
	if got, err := br.ReadString(';'); got != "mine early;" {
		t.Fatalf("%q %v", got, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Drain(ctx); err != nil { // does not wait for what is no longer the server's
		t.Error(err)
	}
	io.WriteString(c, "late;")
	if got, err := br.ReadString(';'); got != "late;" {
		t.Errorf("after the drain: %q %v", got, err)
	}
	c.CloseWrite()
	io.Copy(io.Discard, br) // until the other side is done
}

// TestAtClose: what is to be done when the server is closed is done once, also where it comes later, and not where it is
// cancelled.
func TestAtClose(t *testing.T) {
	type hold struct {
		ex   *exchange
		goOn chan struct{}
	}
	holds := make(chan hold)
	r := start(t, &Server{Handler: func(ex Exchange) {
		h := hold{ex.(*exchange), make(chan struct{})}
		holds <- h
		<-h.goOn
	}})
	c, _ := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	h := <-holds
	done, late := make(chan string, 3), make(chan string, 1)
	cancel := h.ex.AtClose(func() { done <- "cancelled" })
	if !cancel() || cancel() {
		t.Error("want to be told once that it is cancelled")
	}
	cancel = h.ex.AtClose(func() {
		done <- "at the close"
		h.ex.AtClose(func() { late <- "after it" })
		close(h.goOn) // Close waits for the handler
	})
	r.Close()
	if got := <-late; len(done) != 1 || <-done != "at the close" || got != "after it" || cancel() {
		t.Errorf("%q, and %d are left", got, len(done))
	}
}

func TestWatchBehindEarlyBytes(t *testing.T) {
	gone := make(chan bool)
	r := start(t, &Server{Handler: func(ex Exchange) {
		left := make(chan bool)
		ex.Watch(func() { close(left) })
		<-left
		gone <- true
	}})
	c, _ := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	io.WriteString(c, "GET /next HTTP/1.1\r\n") // not the end of the watch
	c.Close()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the client's leaving was not noticed")
	}
}

func TestWatchKeepsEarlyBytes(t *testing.T) {
	arrived := make(chan bool)
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Watch(func() { t.Error("gone, though the client is there") })
		<-arrived
		if c := ex.(*exchange).c; string(ex.Head().Path()) != "/19" && c.r == c.w {
			for c.sock.quiet() { // until the next request is there
				runtime.Gosched()
			}
			<-time.After(time.Millisecond) // for a watch that is wrong to notice
		}
		ex.Unwatch()
		echo(ex)
	}})
	c, br := r.dial(t)
	for i := range 20 {
		fmt.Fprintf(c, "GET /%d HTTP/1.1\r\n%s\r\n", i, host)
		if i == 0 {
			continue // one request ahead
		}
		arrived <- true
		if got, want := body(t, br), fmt.Sprintf("GET /%d ", i-1); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	arrived <- true
	body(t, br)
}

func TestPanicInReject(t *testing.T) {
	r := start(t, &Server{Handler: echo, Reject: func(Exchange, *RequestError) { panic("again") }})
	r.raw(t, "nonsense\r\n\r\n")
	if got := statuses(r.raw(t, "GET / HTTP/1.1\r\n"+host+"\r\n")); len(got) != 1 || got[0] != "200" {
		t.Errorf("after the panic: %v, want 200", got)
	}
}

func TestMaxConns(t *testing.T) {
	r := start(t, &Server{Handler: echo, MaxConns: 2})
	a, abr := r.dial(t)
	_, _ = r.dial(t)
	io.WriteString(a, "GET / HTTP/1.1\r\n"+host+"\r\n")
	body(t, abr)
	for {
		r.mu.Lock()
		n := len(r.conns)
		r.mu.Unlock()
		if n == 2 {
			break
		}
	}
	c, _ := r.dial(t)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a third connection was served")
	}
	a.Close()
	for {
		c, _ = r.dial(t)
		io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
		if b, _ := io.ReadAll(io.LimitReader(c, 12)); string(b) == "HTTP/1.1 200" {
			return // there is room again
		}
	}
}

// TestDrainWaits begins a drain with a request in the handler and a body half sent.
func TestDrainWaits(t *testing.T) {
	entered, release := make(chan bool), make(chan bool)
	r := start(t, &Server{Handler: func(ex Exchange) {
		entered <- true
		<-release
		echo(ex)
	}})
	c, br := r.dial(t)
	io.WriteString(c, "POST / HTTP/1.1\r\n"+host+"Content-Length: 4\r\n\r\nab")
	idle, ibr := r.dial(t)
	<-entered
	var drained atomic.Bool
	done := make(chan error, 1)
	go func() {
		err := r.Drain(context.Background())
		drained.Store(true)
		done <- err
	}()
	if _, err := ibr.ReadByte(); err != io.EOF { // after the soft close
		t.Errorf("idle connection: %v, want its end", err)
	}
	idle.Close()
	if drained.Load() {
		t.Error("drained with a request running")
	}
	release <- true
	io.WriteString(c, "cd")
	resp, err := http.ReadResponse(br, nil)
	if err != nil || !resp.Close {
		t.Fatalf("%v %v, want an answer that closes", resp, err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "POST / abcd" {
		t.Errorf("body %q", b)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLastLook serves a request that came just as the idle limit was met.
func TestLastLook(t *testing.T) {
	r := start(t, &Server{Handler: echo, Idle: time.Nanosecond})
	served := 0
	for range 50 {
		c, br := r.dial(t)
		io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
		if _, err := http.ReadResponse(br, nil); err == nil {
			served++
		}
		c.Close()
	}
	if int64(served) != r.calls.Load() {
		t.Errorf("%d answers for %d requests served", served, r.calls.Load())
	}
}

// TestWatchEndsWithTheServer: a handler that waits for its client to leave does not keep a server from closing.
func TestWatchEndsWithTheServer(t *testing.T) {
	watched := make(chan struct{})
	r := start(t, &Server{Handler: func(ex Exchange) {
		gone := make(chan struct{})
		ex.Watch(func() { close(gone) })
		close(watched)
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Error("nobody has told the handler that the server is closed")
		}
	}})
	c, _ := r.dial(t)
	io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n")
	<-watched
	r.Close()
}

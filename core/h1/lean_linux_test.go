package h1

import (
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inPieces is an upstream that sends an answer's chunks as they are asked for; "" ends an answer.
func inPieces(t *testing.T, pieces <-chan string) *scripted {
	s := script(t, func(int64) string { return "HTTP/1.1 200 OK\r\nX-Field: v\r\nTransfer-Encoding: chunked\r\n\r\n" })
	s.afterwards = func(c net.Conn) {
		for p := range pieces {
			fmt.Fprintf(c, "%x\r\n%s\r\n", len(p), p)
			if p == "" {
				return
			}
		}
	}
	return s
}

// option reads an option of a call's socket.
func option(t *testing.T, u *upstream, level, name int) (n int) {
	t.Helper()
	var err error
	u.sock.raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), level, name) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// isNarrow holds that little of an answer waits in the kernel, and that there is always room for a segment of it.
func isNarrow(t *testing.T, u *upstream) {
	t.Helper()
	if n := option(t, u, unix.SOL_SOCKET, unix.SO_RCVBUF); n != 2*narrowWindow {
		t.Errorf("a receive buffer of %d bytes, want %d", n, 2*narrowWindow)
	}
	if n := option(t, u, unix.IPPROTO_TCP, unix.TCP_MAXSEG); n > narrowWindow/2 {
		t.Errorf("segments of %d bytes, for which a narrow window often has no room", n)
	}
}

// TestLeanCallHoldsLittle: a lean answer has no buffer while nothing comes, and only little in the kernel once it is narrow;
// its connection is as good as before afterwards.
func TestLeanCallHoldsLittle(t *testing.T) {
	pieces := make(chan string)
	s := inPieces(t, pieces)
	p := s.pool(PoolOptions{})
	defer p.Close()
	var c Call
	defer c.Close()
	lim := Limits{Idle: 10 * time.Second}
	if err := p.Do(&c, &Outgoing{Method: "POST", Target: "/"}, lim); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		go func() { pieces <- want }()
		for want != "" {
			got, err := c.Next()
			if err != nil || !strings.HasPrefix(want, string(got)) {
				t.Fatalf("next: %.40q, %v, want %.40q", got, err, want)
			}
			want = want[len(got):]
		}
	}
	next(strings.Repeat("large ", 20<<10)) // more than the first buffer holds
	c.Lean()
	if len(c.Fields()) > 0 || c.headOf != nil {
		t.Errorf("the head is still there: %d fields", len(c.Fields()))
	}
	next("after the head is gone")
	if len(c.buf) > upstreamBuffer {
		t.Errorf("a buffer of %d bytes, want at most %d", len(c.buf), upstreamBuffer)
	}
	if c.Spare(); c.block != nil {
		t.Error("Spare leaves the buffer")
	}
	next("behind Spare")
	if ready, err := c.Wait(time.Millisecond); ready || err != nil || c.block != nil {
		t.Errorf("while nothing comes: ready %v, %v, a buffer %v", ready, err, c.block != nil)
	}
	c.Narrow()
	isNarrow(t, c.up)
	next("through a narrow window")
	u := c.up
	go func() { pieces <- "" }()
	if _, err := c.Next(); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
	c.Close()
	if locked := option(t, u, unix.SOL_SOCKET, unix.SO_BUF_LOCK); locked != 0 {
		t.Errorf("SO_BUF_LOCK %d on a connection that is kept, want 0: its buffer may grow again", locked)
	}
	if err := p.Do(&c, &Outgoing{Method: "POST", Target: "/"}, lim); err != nil || s.conns.Load() != 1 {
		t.Errorf("the next call: %v over %d connections", err, s.conns.Load())
	}
	if string(c.Get("x-field")) != "v" || c.lean || c.narrow {
		t.Error("the next call is lean from its start")
	}
}

// TestClientThatDoesNotReadCostsLittle: the kernel takes little of an answer of which nothing is read.
func TestClientThatDoesNotReadCostsLittle(t *testing.T) {
	const size, bound = 8 << 20, 256 << 10
	taken := make(chan int, 1)
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Commit(200, nil, size)
		n := 0
		for part := make([]byte, 4<<10); n < size; n += len(part) {
			if rest, err := ex.TryWrite(part); err != nil || len(rest) > 0 {
				break
			}
		}
		taken <- n
		ex.Abort()
	}})
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	c, err := d.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if n := <-taken; n > bound {
		t.Errorf("%d bytes were taken, want at most %d", n, bound)
	}
}

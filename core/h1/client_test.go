package h1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scripted is an upstream that answers each request on a connection with the next text, byte for byte.
type scripted struct {
	net.Listener
	requests   atomic.Int64
	conns      atomic.Int64
	afterwards func(net.Conn) // called after the first answer; nil: nothing
}

// script starts an upstream. An answer that ends in closeMark closes its connection, in resetMark resets it.
func script(t testing.TB, answer func(n int64) string) *scripted {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go s.serve(c, answer)
		}
	}()
	return s
}

const (
	closeMark = "\x00close"
	resetMark = "\x00reset"
)

func (s *scripted) serve(c net.Conn, answer func(int64) string) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		n := s.requests.Add(1)
		text, closing := strings.CutSuffix(answer(n), closeMark)
		text, resetting := strings.CutSuffix(text, resetMark)
		io.WriteString(c, text)
		if resetting {
			c.(*net.TCPConn).SetLinger(0)
		}
		if closing || resetting {
			return
		}
		if n == 1 && s.afterwards != nil {
			s.afterwards(c)
		}
	}
}

func (s *scripted) pool(o PoolOptions) *Pool {
	return NewPool(Target{Host: s.Addr().String(), Name: "up"}, o)
}

// fetch makes a call and reads the whole answer.
func fetch(p *Pool, lim Limits, segs ...string) (status int, body string, err error) {
	var c Call
	defer c.Close()
	out := &Outgoing{Method: "POST", Target: "/x", Fields: []byte("A: b\r\n")}
	for _, s := range segs {
		out.Segments = append(out.Segments, []byte(s))
	}
	if err := p.Send(&c, out, lim); err != nil {
		return 0, "", err
	}
	if err := c.ReadHead(); err != nil {
		return 0, "", err
	}
	var b strings.Builder
	for {
		data, err := c.Next()
		b.Write(data)
		if err == io.EOF {
			return c.Status(), b.String(), nil
		}
		if err != nil {
			return c.Status(), b.String(), err
		}
	}
}

func always(text string) func(int64) string { return func(int64) string { return text } }

func TestAnswers(t *testing.T) {
	f := func(text string, status int, body string, fails bool) {
		t.Helper()
		s := script(t, always(text))
		p := s.pool(PoolOptions{})
		defer p.Close()
		got, b, err := fetch(p, Limits{Connect: time.Second, FirstByte: 5 * time.Second, Idle: 5 * time.Second}, "ab", "c")
		if (err != nil) != fails || !fails && (got != status || b != body) {
			t.Errorf("%q: %d %q %v, want %d %q, an error %v", text, got, b, err, status, body, fails)
		}
	}
	f("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", false)
	f("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", false)
	f("HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", false)
	f("HTTP/1.1 204 No\r\n\r\n", 204, "", false)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;e=f\r\nde\r\n0\r\nT: v\r\n\r\n", 200, "abcde", false)
	// Chunks' framing as some servers have it: padded, with white space before an extension, with line feeds alone.
	for _, body := range []string{"3  \r\nabc\r\n0\r\n\r\n", "3 ; e=f\r\nabc\r\n0\t\r\n\r\n", "3\nabc\n0\n\n", "3;e=f\nabc\r\n0\r\nT: v\n\r\n"} {
		f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+body, 200, "abc", false)
	}
	for _, body := range []string{" 3\r\nabc\r\n0\r\n\r\n", "3 4\r\nabc\r\n0\r\n\r\n", "3 x\r\nabc\r\n0\r\n\r\n", "3\rabc\r\n0\r\n\r\n", "3\r\nabcd\n0\r\n\r\n"} {
		f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+body, 0, "", true)
	}
	f("HTTP/1.0 200 OK\r\n\r\nabc"+closeMark, 200, "abc", false)
	f("HTTP/1.1 200 OK\r\n\r\nabc"+closeMark, 200, "abc", false)
	f("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", false)
	f("HTTP/1.1 302 Found\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n", 302, "", false)
	f("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"+closeMark, 0, "", true)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"+closeMark, 0, "", true)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"+closeMark, 0, "", true)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"+closeMark, 0, "", true)
	f("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, "abc", false)
	f("HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", false)
	f("HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd", 0, "", true)
	f("HTTP/1.1 200 OK\r\nContent-Length: 3,\r\n\r\nabc", 0, "", true)
	f("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 0, "", true)
	f("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab", 0, "", true)
	// Heads as old servers write them: line feeds alone, folded lines, white space before a colon.
	for _, head := range []string{"\nContent-Length: 3\n\n", "\r\nContent-Length: 3\n\r\n", "\nContent-Length: 3\r\n\n", "\r\nX: a\r\n b\r\n\tc\r\nContent-Length:\r\n 3\r\n\r\n",
		"\r\nContent-Length \t: 3\r\n\r\n", "\nX:\n \n a\nContent-Length: 3\n \n\n"} {
		f("HTTP/1.1 200 OK"+head+"abc", 200, "abc", false)
	}
	for _, head := range []string{"\r\n X: a\r\nContent-Length: 3\r\n\r\n", "\r\nX: a\rb\r\nContent-Length: 3\r\n\r\n", "\r\nX\r\nContent-Length: 3\r\n\r\n",
		"\r\n: a\r\nContent-Length: 3\r\n\r\n", "\r\n : a\r\nContent-Length: 3\r\n\r\n", "\r\nX Y: a\r\nContent-Length: 3\r\n\r\n", "\r\nContent-Length: 3\r\n 4\r\n\r\n"} {
		f("HTTP/1.1 200 OK"+head+"abc"+closeMark, 0, "", true)
	}
	f("HTTP/1.1 101 Switching\r\n\r\n", 0, "", true)
	f(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), 0, "", true)
	f("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 70<<10)+"\r\n\r\n", 0, "", true)
	f("ICY 200 OK\r\n\r\n", 0, "", true)
	f("HTTP/1.1 99 X\r\n\r\n", 0, "", true)
	f(closeMark, 0, "", true)
}

// TestCutEverywhere ends the connection behind each byte of an answer: no cut may pass as complete.
func TestCutEverywhere(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
	} {
		s := script(t, func(n int64) string { return text[:min(int(n)-1, len(text))] + closeMark })
		p := s.pool(PoolOptions{})
		for i := range len(text) {
			if _, b, err := fetch(p, Limits{}); err == nil {
				t.Errorf("cut at %d of %q: %q without an error", i, text, b)
			}
		}
		if _, b, err := fetch(p, Limits{}); err != nil || b != "abcde" {
			t.Errorf("whole: %q %v", b, err)
		}
		p.Close()
	}
}

func TestConnectionsAreKept(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"))
	p := s.pool(PoolOptions{})
	defer p.Close()
	for range 20 {
		if _, b, err := fetch(p, Limits{}); err != nil || b != "abc" {
			t.Fatalf("%q %v", b, err)
		}
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections for 20 calls in a row, want 1", n)
	}
	if open, idle := p.Stats(); open != 1 || idle != 1 {
		t.Errorf("open %d, idle %d, want 1 and 1", open, idle)
	}
}

func TestDoubtfulAnswersAreNotReused(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", // a byte too many
		"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\nabc", // where others may see other lines
		"HTTP/1.1 200 OK\r\nContent-Length:\r\n 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc",
	} {
		s := script(t, always(answer))
		p := s.pool(PoolOptions{})
		for range 5 {
			if _, b, err := fetch(p, Limits{}); err != nil || b != "abc" {
				t.Fatalf("%q: %q %v", answer, b, err)
			}
		}
		if n := s.conns.Load(); n != 5 {
			t.Errorf("%q: %d connections for 5 answers, want 5", answer, n)
		}
		p.Close()
	}
}

func TestClosedIdleConnectionsAreReplaced(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"+closeMark))
	p := s.pool(PoolOptions{})
	defer p.Close()
	for i := range 20 {
		if _, b, err := fetch(p, Limits{}); err != nil || b != "abc" {
			t.Fatalf("call %d: %q %v", i, b, err)
		}
		for deadline := time.Now().Add(2 * time.Second); ; { // until the close has arrived
			p.mu.Lock()
			gone := len(p.idle) == 1 && !p.idle[0].quiet(0)
			p.mu.Unlock()
			if gone || time.Now().After(deadline) {
				break
			}
		}
	}
	if n := s.requests.Load(); n != 20 {
		t.Errorf("the upstream got %d requests for 20 calls", n)
	}
}

// TestNothingIsRepeated: an upstream that reads a request and resets has got it, whatever the headers say.
func TestNothingIsRepeated(t *testing.T) {
	s := script(t, func(n int64) string {
		if n == 1 {
			return "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
		}
		return closeMark
	})
	p := s.pool(PoolOptions{})
	defer p.Close()
	fetch(p, Limits{})
	if _, _, err := fetch(p, Limits{}); err == nil || NotSent(err) {
		t.Errorf("error %v, want one that says the request was sent", err)
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("the upstream got %d requests for 2 calls", n)
	}
}

func TestLimits(t *testing.T) {
	f := func(what, text string, lim Limits, phase string) {
		t.Helper()
		s := script(t, always(text))
		p := s.pool(PoolOptions{})
		defer p.Close()
		_, _, err := fetch(p, lim)
		var late *TimeoutError
		if !errors.As(err, &late) || late.Phase != phase {
			t.Errorf("%s: %v, want a time limit at %s", what, err, phase)
		}
	}
	const soon = 100 * time.Millisecond
	f("no head", "", Limits{FirstByte: soon}, "head")
	f("half a head", "HTTP/1.1 200 OK\r\nCont", Limits{Idle: soon}, "head")
	f("half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", Limits{Idle: soon}, "body")
	f("total", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", Limits{Idle: time.Hour, Total: time.Now().Add(10 * soon)}, "body")
}

func TestRefusedConnection(t *testing.T) {
	// Port 1 is nobody's, and given to nobody; one that a listener has had is soon another's.
	_, _, err := fetch(NewPool(Target{Host: "127.0.0.1:1", Name: "x"}, PoolOptions{}), Limits{Connect: 10 * time.Second})
	if err == nil || !NotSent(err) {
		t.Errorf("error %v, want one that says nothing was sent", err)
	}
}

func TestAbortAndWait(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"))
	p := s.pool(PoolOptions{})
	defer p.Close()
	var c Call
	if err := p.Send(&c, &Outgoing{Method: "POST", Target: "/"}, Limits{Idle: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	if data, err := c.Next(); string(data) != "ab" || err != nil {
		t.Fatalf("%q %v", data, err)
	}
	if ready, err := c.Wait(5 * time.Millisecond); ready || err != nil {
		t.Errorf("Wait: %v %v, want not ready", ready, err)
	}
	go c.Abort()
	if _, err := c.Next(); !errors.Is(err, ErrAborted) {
		t.Errorf("Next: %v, want ErrAborted", err)
	}
	c.Close()
	if open, _ := p.Stats(); open != 0 {
		t.Errorf("%d connections open after an abort, want none", open)
	}
}

func TestLargeBodyInSegments(t *testing.T) {
	var got atomic.Int64
	l := start(t, &Server{Handler: func(ex Exchange) {
		b, err := ex.Body(64 << 20)
		got.Store(int64(len(b)))
		if err != nil {
			answer(ex, 400, err.Error())
			return
		}
		answer(ex, 200, fmt.Sprint(strings.Count(string(b), "x")))
	}})
	p := NewPool(Target{Host: l.addr, Name: "up"}, PoolOptions{})
	defer p.Close()
	segs := make([]string, 3000)
	for i := range segs {
		segs[i] = strings.Repeat("y", 1000) + "x"
	}
	status, body, err := fetch(p, Limits{}, segs...)
	if status != 200 || body != "3000" || err != nil || got.Load() != 3000*1001 {
		t.Errorf("%d %q %v with %d bytes, want 200 and 3000", status, body, err, got.Load())
	}
}

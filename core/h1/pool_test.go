package h1

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// took makes a call whose connection was found quiet, and was then closed by the upstream before the request left: the
// moment that no check can rule out.
func took(t *testing.T, p *Pool, closeIt func()) (status int, err error) {
	t.Helper()
	var c Call
	defer c.Close()
	u := p.take()
	if u == nil {
		t.Fatal("no idle connection")
	}
	closeIt()
	for u.quiet(0) {
		// The close has not arrived yet.
	}
	c.begin(p, &Outgoing{Method: "POST", Target: "/", Segments: [][]byte{[]byte("abc")}}, Limits{})
	if err := c.sendOn(u); err != nil {
		return 0, err
	}
	if err := c.ReadHead(); err != nil {
		return 0, err
	}
	return c.Status(), nil
}

func TestClosedBeforeTheRequestCame(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	hold := make(chan bool)
	s := script(t, always(ok))
	s.afterwards = func(c net.Conn) { // of the first answer
		<-hold
		c.Close()
	}
	p := s.pool(PoolOptions{})
	defer p.Close()
	if _, _, err := fetch(p, Limits{}); err != nil {
		t.Fatal(err)
	}
	status, err := took(t, p, func() { close(hold) })
	if status != 200 || err != nil {
		t.Errorf("status %d, %v, want the request to be repeated on a new connection", status, err)
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("the upstream got %d requests for 2 calls", n)
	}
}

// TestResetIsNotRepeated: a reset may follow a request that was read.
func TestResetIsNotRepeated(t *testing.T) {
	s := script(t, func(n int64) string {
		if n == 1 {
			return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		}
		return resetMark
	})
	p := s.pool(PoolOptions{})
	defer p.Close()
	for range 2 {
		_, _, err := fetch(p, Limits{})
		if s.requests.Load() == 2 && (err == nil || NotSent(err)) {
			t.Errorf("error %v, want one that does not say that nothing was sent", err)
		}
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("the upstream got %d requests for 2 calls", n)
	}
}

func TestUnaskedBytesEndAnIdleConnection(t *testing.T) {
	again := make(chan bool)
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"))
	s.afterwards = func(c net.Conn) {
		<-again
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		again <- true
	}
	p := s.pool(PoolOptions{})
	defer p.Close()
	fetch(p, Limits{})
	again <- true
	<-again
	if _, b, err := fetch(p, Limits{}); b != "a" || err != nil {
		t.Errorf("body %q, %v, want the second request's own answer", b, err)
	}
}

// TestAbortEverywhere aborts a call from another goroutine in each thing that it can wait for.
func TestAbortEverywhere(t *testing.T) {
	silent := script(t, always(""))
	half := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"))
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // accepts by the kernel alone, reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	dialing := make(chan bool, 1)
	never := func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialing <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	large := make([]byte, 32<<20)
	for _, f := range []struct {
		what  string
		p     *Pool
		body  []byte
		begun func(*Pool) bool // the wait has, most likely
	}{
		{"connect", NewPool(Target{Host: "x:1", Name: "x"}, PoolOptions{Dial: never}), nil, func(*Pool) bool { <-dialing; return true }},
		{"write", NewPool(Target{Host: deaf.Addr().String(), Name: "x"}, PoolOptions{}), large, func(p *Pool) bool { open, _ := p.Stats(); return open > 0 }},
		{"head", silent.pool(PoolOptions{}), nil, func(*Pool) bool { return silent.requests.Load() > 0 }},
		{"body", half.pool(PoolOptions{}), nil, func(*Pool) bool { return half.requests.Load() > 0 }},
	} {
		var c Call
		go func() {
			for !f.begun(f.p) {
				runtime.Gosched()
			}
			<-time.After(5 * time.Millisecond)
			c.Abort()
		}()
		err := f.p.Do(&c, &Outgoing{Method: "POST", Target: "/", Segments: [][]byte{f.body}}, Limits{})
		for err == nil {
			_, err = c.Next()
		}
		if !errors.Is(err, ErrAborted) {
			t.Errorf("%s: %v, want ErrAborted", f.what, err)
		}
		c.Close()
		if open, _ := f.p.Stats(); open != 0 {
			t.Errorf("%s: %d connections open, want none", f.what, open)
		}
		f.p.Close()
	}
}

// TestAbortRaces aborts calls at any moment; under the race detector it shows that Abort is for any goroutine.
func TestAbortRaces(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"))
	p := s.pool(PoolOptions{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				var c Call
				done := make(chan bool)
				go func() { c.Abort(); close(done) }()
				err := p.Do(&c, &Outgoing{Method: "POST", Target: "/"}, Limits{})
				for err == nil {
					_, err = c.Next()
				}
				<-done
				if err != io.EOF && !errors.Is(err, ErrAborted) {
					t.Errorf("%v, want an end or ErrAborted", err)
				}
				c.Close()
			}
		})
	}
	all.Wait()
	p.Close()
	if open, idle := p.Stats(); open != 0 || idle != 0 {
		t.Errorf("%d open, %d idle after all, want none", open, idle)
	}
}

func TestWaitingForAConnection(t *testing.T) {
	var now, most atomic.Int64
	r := start(t, &Server{Handler: func(ex Exchange) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		echo(ex)
		now.Add(-1)
	}})
	p := NewPool(Target{Host: r.addr, Name: "x"}, PoolOptions{MaxConns: 3})
	defer p.Close()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				if status, _, err := fetch(p, Limits{Connect: 10 * time.Second}, "a"); status != 200 {
					t.Error(status, err)
				}
			}
		})
	}
	all.Wait()
	if open, idle := p.Stats(); open > 3 || open != idle || most.Load() > 3 {
		t.Errorf("%d open, %d idle, %d at once, want at most 3", open, idle, most.Load())
	}
}

func TestWaitingHasALimit(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"))
	p := s.pool(PoolOptions{MaxConns: 1, MaxWaiting: 1})
	defer p.Close()
	var c Call
	if err := p.Do(&c, &Outgoing{Method: "POST", Target: "/"}, Limits{}); err != nil {
		t.Fatal(err)
	}
	_, _, err := fetch(p, Limits{Connect: 10 * time.Millisecond})
	var late *TimeoutError
	if !errors.As(err, &late) || !NotSent(err) {
		t.Errorf("error %v, want a time limit with nothing sent", err)
	}
	first := make(chan error)
	go func() {
		_, _, err := fetch(p, Limits{Connect: 10 * time.Second, Idle: 100 * time.Millisecond})
		first <- err
	}()
	for waiting := 0; waiting == 0; {
		p.mu.Lock()
		waiting = len(p.waiting)
		p.mu.Unlock()
	}
	if _, _, err := fetch(p, Limits{Connect: 10 * time.Second}); !errors.Is(err, errTooMany) {
		t.Errorf("error %v, want too many", err)
	}
	c.Close() // not read to its end: its leave goes to the one that waits
	if err := <-first; !errors.As(err, &late) || late.Phase != "body" {
		t.Errorf("error %v, want the answer's own", err)
	}
	if open, _ := p.Stats(); open != 0 {
		t.Errorf("%d open, want none", open)
	}
}

func TestIdleConnectionsAreReaped(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	p := s.pool(PoolOptions{Idle: 20 * time.Millisecond, MaxIdle: 2})
	defer p.Close()
	var held [4]Call
	for i := range held {
		if err := p.Do(&held[i], &Outgoing{Method: "POST", Target: "/"}, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range held {
		held[i].Close()
	}
	if open, idle := p.Stats(); open > 2 || idle != open {
		t.Errorf("%d open, %d idle, want at most 2", open, idle)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		open, _ := p.Stats()
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are still open", open)
		}
		<-time.After(time.Millisecond)
	}
}

// cutConn gives the first bytes of an answer apart from the others.
type cutConn struct {
	net.Conn
	first int // bytes to the cut
}

// Read stops at the cut.
func (c *cutConn) Read(b []byte) (int, error) {
	if c.first == 0 {
		return c.Conn.Read(b)
	}
	n, err := c.Conn.Read(b[:min(len(b), c.first)])
	c.first -= n
	return n, err
}

// TestAnswerSplit reads an answer in two parts, cut at each place.
func TestAnswerSplit(t *testing.T) {
	text := "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n"
	s := script(t, always(text))
	var conn *cutConn
	p := s.pool(PoolOptions{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		conn = &cutConn{Conn: nc, first: len(text)}
		return conn, err
	}})
	defer p.Close()
	for i := len(text); i >= 0; i-- {
		if conn != nil {
			conn.first = i
		}
		if status, b, err := fetch(p, Limits{}); status != 200 || b != "abcde" || err != nil {
			t.Errorf("cut at %d: %d %q %v", i, status, b, err)
		}
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestLargeAnswers(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 1<<16)
	r := start(t, &Server{Handler: func(ex Exchange) {
		length := int64(len(want))
		if string(ex.Head().Path()) == "/chunked" {
			length = -1
		}
		ex.Commit(200, []byte("X-Long: "+strings.Repeat("h", 14<<10)+"\r\n"), length)
		for at := 0; at < len(want); at += 1 << 15 {
			ex.Write([]byte(want[at:at+1<<14]), []byte(want[at+1<<14:at+1<<15]))
		}
		ex.End(nil)
	}})
	p := NewPool(Target{Host: r.addr, Name: "x"}, PoolOptions{})
	defer p.Close()
	for _, target := range []string{"/sized", "/chunked"} {
		var c Call
		if err := p.Do(&c, &Outgoing{Method: "POST", Target: target}, Limits{}); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		var err error
		for err == nil {
			var data []byte
			data, err = c.Next()
			got.Write(data)
		}
		if err != io.EOF || got.String() != want || len(c.Get("x-long")) != 14<<10 {
			t.Errorf("%s: %d bytes of %d, %v, field of %d", target, got.Len(), len(want), err, len(c.Get("x-long")))
		}
		c.Close()
	}
	if open, _ := p.Stats(); open != 1 {
		t.Errorf("%d connections, want 1", open)
	}
}

// certified gives a certificate and those who trust it.
func certified(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	trust := x509.NewCertPool()
	trust.AddCert(s.Certificate())
	return s.TLS.Certificates[0], trust
}

// overTLS starts a server with TLS and gives a pool to it.
func overTLS(t *testing.T, s *Server, o PoolOptions) *Pool {
	t.Helper()
	cert, trust := certified(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(l, &tls.Config{Certificates: []tls.Certificate{cert}}) }()
	p := NewPool(Target{Host: l.Addr().String(), Name: "example.com", TLS: &tls.Config{RootCAs: trust, ServerName: "example.com"}}, o)
	t.Cleanup(func() {
		p.Close()
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestUpstreamTLS(t *testing.T) {
	for _, o := range []PoolOptions{{}, {HTTP2: true}} {
		p := overTLS(t, &Server{Handler: func(ex Exchange) {
			b, err := ex.Body(4 << 20)
			if err != nil {
				answer(ex, 500, err.Error())
				return
			}
			ex.DeclareTrailer("X-End")
			ex.Commit(200, []byte("X-Len: "+fmt.Sprint(len(b))+"\r\n"), -1)
			for len(b) > 0 {
				n := min(len(b), 100_000)
				if err := ex.Write(b[:n]); err != nil {
					t.Error(err)
				}
				b = b[n:]
			}
			ex.End([]byte("X-End: yes\r\n"))
		}}, o)
		for _, size := range []int{0, 10, 5000, 3 << 20} {
			want := strings.Repeat("k", size)
			var c Call
			err := p.Do(&c, &Outgoing{Method: "POST", Target: "/x?y", Segments: [][]byte{[]byte(want[:size/2]), []byte(want[size/2:])}}, Limits{Connect: 10 * time.Second, FirstByte: 10 * time.Second, Idle: 10 * time.Second})
			if err != nil {
				t.Fatalf("HTTP2 %v, %d bytes: %v", o.HTTP2, size, err)
			}
			var got strings.Builder
			for err == nil {
				var data []byte
				data, err = c.Next()
				got.Write(data)
			}
			if err != io.EOF || got.String() != want || string(c.Get("x-len")) != fmt.Sprint(size) || string(get(c.Trailers(), "x-end")) != "yes" {
				t.Errorf("HTTP2 %v: %d bytes of %d, %v, trailers %q", o.HTTP2, got.Len(), size, err, c.Trailers())
			}
			c.Close()
		}
		if open, _ := p.Stats(); open > 1 {
			t.Errorf("%d connections, want one", open)
		}
	}
}

func TestWrongCertificate(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var calls atomic.Int64
		p := overTLS(t, &Server{Handler: func(ex Exchange) { calls.Add(1); echo(ex) }}, PoolOptions{})
		wrong := NewPool(Target{Host: p.target.Host, Name: "x", TLS: &tls.Config{ServerName: "other.invalid"}}, PoolOptions{HTTP2: http2})
		if _, _, err := fetch(wrong, Limits{Connect: 10 * time.Second}); err == nil || !NotSent(err) {
			t.Errorf("HTTP2 %v: error %v, want one that says nothing was sent", http2, err)
		}
		wrong.Close()
		if calls.Load() != 0 {
			t.Error("a request reached an upstream with a wrong certificate")
		}
	}
}

func TestUpstreamHTTP2Limits(t *testing.T) {
	release := make(chan bool)
	p := overTLS(t, &Server{Handler: func(ex Exchange) {
		switch string(ex.Head().Path()) {
		case "/silent":
		case "/abort":
			ex.Commit(200, nil, -1)
			ex.Write([]byte("ab"))
			ex.Abort()
			return
		default:
			ex.Commit(200, nil, -1)
			ex.Write([]byte("ab"))
		}
		gone := make(chan bool)
		ex.Watch(func() { close(gone) })
		<-gone // by the reset of the stream
		release <- true
	}}, PoolOptions{HTTP2: true})
	f := func(target string, lim Limits, ends bool, want func(error) bool) {
		t.Helper()
		var c Call
		err := p.Do(&c, &Outgoing{Method: "POST", Target: target, Segments: [][]byte{[]byte("abc")}}, lim)
		if err == nil {
			if ready, err := c.Wait(10 * time.Second); !ready || err != nil {
				t.Errorf("%s: Wait: %v %v", target, ready, err)
			}
		}
		for err == nil {
			_, err = c.Next()
		}
		if !want(err) || NotSent(err) {
			t.Errorf("%s: unexpected error %v", target, err)
		}
		c.Close()
		if ends {
			<-release
		}
	}
	late := func(phase string) func(error) bool {
		return func(err error) bool {
			var e *TimeoutError
			return errors.As(err, &e) && e.Phase == phase
		}
	}
	f("/silent", Limits{FirstByte: 200 * time.Millisecond}, true, late("head"))
	f("/half", Limits{FirstByte: 10 * time.Second, Idle: 100 * time.Millisecond}, true, late("body"))
	f("/abort", Limits{}, false, func(err error) bool { return err != io.EOF && err != nil })
}

func TestHTTP2ServerIsStrict(t *testing.T) {
	var calls atomic.Int64
	p := overTLS(t, &Server{Handler: func(ex Exchange) { calls.Add(1); echo(ex) }}, PoolOptions{HTTP2: true})
	f := func(method, fields string, want int) {
		t.Helper()
		var c Call
		defer c.Close()
		err := p.Do(&c, &Outgoing{Method: method, Target: "/x", Fields: []byte(fields)}, Limits{FirstByte: 10 * time.Second})
		if err != nil || c.Status() != want {
			t.Errorf("%s with %q: %d %v, want %d", method, fields, c.Status(), err, want)
		}
	}
	f("GET", "A: b\r\n", 200)
	f("GET", "A_b: c\r\n", 400)
	f("GET", "Authorization: a\r\nAuthorization: b\r\n", 400)
	f("TRACE", "", 405)
	if calls.Load() != 1 {
		t.Errorf("the handler ran %d times, want once", calls.Load())
	}
}

// TestHandlerBehindNetHTTP serves the handler by net/http's own server.
func TestHandlerBehindNetHTTP(t *testing.T) {
	s := httptest.NewServer(NewHTTPHandler(&Server{Handler: echo}))
	defer s.Close()
	resp, err := webClient.Post(s.URL+"/p?q", "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "POST /p body" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}

package h1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// echo answers with the method, the path and the body.
func echo(ex Exchange) {
	body, err := ex.Body(1 << 20)
	var bad *RequestError
	switch {
	case errors.Is(err, ErrBodyTooLarge):
		answer(ex, 413, "too large")
		return
	case errors.As(err, &bad):
		answer(ex, bad.Status, bad.Msg)
		return
	case err != nil:
		return
	}
	h := ex.Head()
	answer(ex, 200, fmt.Sprintf("%s %s %s", h.Method, h.Path(), body))
}

func answer(ex Exchange, status int, text string) {
	if ex.Commit(status, []byte("Content-Type: text/plain\r\n"), int64(len(text))) == nil && ex.Write([]byte(text)) == nil {
		ex.End(nil)
	}
}

// webClient leaves no connection behind.
var webClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server on loopback with a count of its handler's calls.
type running struct {
	*Server
	addr  string
	calls atomic.Int64
}

func start(t testing.TB, s *Server) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, addr: l.Addr().String()}
	h := s.Handler
	s.Handler = func(ex Exchange) { r.calls.Add(1); h(ex) }
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// raw sends bytes and gives all that comes back until the server closes or a second of silence.
func (r *running) raw(t testing.TB, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		return ""
	}
	c.(*net.TCPConn).CloseWrite()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	b, _ := io.ReadAll(c) // a reset after an answer is one way to end
	return string(b)
}

func statuses(answer string) []string {
	var list []string
	for _, part := range strings.Split(answer, "HTTP/1.1 ")[1:] {
		if part[0] >= '1' && part[0] <= '5' {
			list = append(list, part[:3])
		}
	}
	return list
}

func TestHeadLimits(t *testing.T) {
	r := start(t, &Server{Handler: echo, HeadBytes: 4 << 10, MaxFields: 10})
	big := "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 5000) + "\r\n\r\n"
	many := "GET / HTTP/1.1\r\n" + host + strings.Repeat("X: a\r\n", 10) + "\r\n"
	for name, text := range map[string]string{"large": big, "many": many} {
		if got := statuses(r.raw(t, text)); len(got) != 1 || got[0] != "431" {
			t.Errorf("%s head: %v, want 431", name, got)
		}
	}
	fits := "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 3900) + "\r\n\r\n"
	if got := statuses(r.raw(t, fits)); len(got) != 1 || got[0] != "200" {
		t.Errorf("a head within the limit: %v, want 200", got)
	}
}

func TestSlowHeadAndBody(t *testing.T) {
	r := start(t, &Server{Handler: echo, HeadTimeout: 30 * time.Millisecond, BodyGrace: 30 * time.Millisecond, BodyRate: 1 << 20})
	for name, text := range map[string]string{"head": "GET / HTTP/1.1\r\nHo", "body": "POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\nabc"} {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, text)
		b, _ := io.ReadAll(c)
		c.Close()
		if got := statuses(string(b)); len(got) != 1 || got[0] != "408" {
			t.Errorf("slow %s: %q, want 408", name, b)
		}
	}
}

func TestExpect(t *testing.T) {
	r := start(t, &Server{Handler: echo})
	f := func(length int, want string) {
		t.Helper()
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\n"+host+"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", length)
		b := bufio.NewReader(c)
		line, err := b.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("length %d: %q %v, want %q", length, line, err, want)
		}
		if want != "HTTP/1.1 100" {
			return
		}
		io.WriteString(c, strings.Repeat("a", length))
		b.ReadString('\n')
		if line, _ = b.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 200") {
			t.Errorf("after the body: %q, want 200", line)
		}
	}
	f(5, "HTTP/1.1 100")
	f(100<<10, "HTTP/1.1 100")
	f(2<<20, "HTTP/1.1 413")
}

func TestPanicIsOneRequests(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		if string(ex.Head().Path()) == "/panic" {
			panic("no")
		}
		if string(ex.Head().Path()) == "/late" {
			ex.Commit(200, nil, -1)
			ex.Write([]byte("some"))
			panic("late")
		}
		echo(ex)
	}})
	if got := statuses(r.raw(t, "GET /panic HTTP/1.1\r\n"+host+"\r\n")); len(got) != 1 || got[0] != "500" {
		t.Errorf("panic: %v, want 500", got)
	}
	if got := r.raw(t, "GET /late HTTP/1.1\r\n"+host+"\r\n"); strings.Contains(got, "\r\n0\r\n") {
		t.Errorf("a panic inside an answer ends it clean: %q", got)
	}
	if got := statuses(r.raw(t, "GET /ok HTTP/1.1\r\n"+host+"\r\n")); len(got) != 1 || got[0] != "200" {
		t.Errorf("after a panic: %v, want 200", got)
	}
}

func TestChunkedAnswerWithTrailer(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.DeclareTrailer("X-End")
		ex.Commit(200, nil, -1)
		for _, s := range []string{"a", strings.Repeat("b", 40<<10), "c"} {
			ex.Write([]byte(s))
		}
		ex.End([]byte("X-End: yes\r\n"))
	}})
	resp, err := webClient.Get("http://" + r.addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || len(b) != 2+40<<10 || resp.Trailer.Get("X-End") != "yes" {
		t.Errorf("%d bytes, %v, trailer %v", len(b), err, resp.Trailer)
	}
}

func TestIncompleteAnswersAreSeen(t *testing.T) {
	r := start(t, &Server{Handler: func(ex Exchange) {
		if string(ex.Head().Path()) == "/sized" {
			ex.Commit(200, nil, 10)
		} else {
			ex.Commit(200, nil, -1)
		}
		ex.Write([]byte("abc"))
		if string(ex.Head().Path()) == "/abort" {
			ex.Abort()
		}
	}})
	for _, path := range []string{"/sized", "/chunked", "/abort"} {
		resp, err := webClient.Get("http://" + r.addr + path)
		if err != nil {
			continue
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: read to its end without an error", path)
		}
		resp.Body.Close()
	}
}

func TestWatch(t *testing.T) {
	gone, unwatched := make(chan bool, 4), make(chan bool)
	r := start(t, &Server{Handler: func(ex Exchange) {
		left := make(chan struct{})
		ex.Watch(func() { close(left) })
		if string(ex.Head().Path()) == "/short" {
			ex.Unwatch()
			answer(ex, 200, "ok")
			unwatched <- true
			return
		}
		<-left
		gone <- true
	}})
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	for range 3 { // the connection serves on after a watch
		io.WriteString(c, "GET /short HTTP/1.1\r\n"+host+"\r\n")
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("after a watch: %v %v", resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		<-unwatched
	}
	io.WriteString(c, "GET /long HTTP/1.1\r\n"+host+"\r\n")
	c.Close()
	<-gone
}

func TestDrainLosesNothing(t *testing.T) {
	r := start(t, &Server{Handler: echo})
	var sent, lost atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := net.Dial("tcp", r.addr)
				if err != nil {
					return // no longer listening
				}
				br := bufio.NewReader(c)
				for {
					if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"+host+"\r\n"); err != nil {
						break
					}
					resp, err := http.ReadResponse(br, nil)
					if err != nil {
						lost.Add(1)
						break
					}
					io.Copy(io.Discard, resp.Body)
					sent.Add(1)
					if resp.Close {
						break
					}
				}
				c.Close()
			}
		})
	}
	for sent.Load() < 200 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
	close(stop)
	clients.Wait()
	if lost.Load() != 0 || sent.Load() != r.calls.Load() {
		t.Errorf("%d requests were lost; %d were answered of %d that were served", lost.Load(), sent.Load(), r.calls.Load())
	}
}

func TestTLS(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	cert := pair.TLS.Certificates
	pair.Close()
	s := &Server{Handler: echo}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(l, &tls.Config{Certificates: cert}) }()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		p := new(http.Protocols)
		p.SetHTTP1(proto == "HTTP/1.1")
		p.SetHTTP2(proto == "HTTP/2.0")
		client := &http.Client{Transport: &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		for range 2 {
			resp, err := client.Post("https://"+l.Addr().String()+"/x", "text/plain", strings.NewReader("abc"))
			if err != nil {
				t.Fatalf("%s: %v", proto, err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(b) != "POST /x abc" || resp.Proto != proto {
				t.Errorf("%s: %s %q", proto, resp.Proto, b)
			}
		}
		client.CloseIdleConnections()
	}
	s.Close()
	if err := <-done; err != nil {
		t.Errorf("ServeTLS: %v", err)
	}
}

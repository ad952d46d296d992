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

const host = "Host: h\r\n"

// wireCases are what is sent, and what must come of it: the statuses in order, and how often the handler ran.
var wireCases = []struct {
	name, text, want string
	calls            int64
}{
	{"plain", "GET /a HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"two in one", "GET /a HTTP/1.1\r\n" + host + "\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"body", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "200", 1},
	{"body, then another", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"chunks, then another", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"chunk extension", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n", "200", 1},
	{"trailer ignored", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nAuthorization: x\r\n\r\n", "200", 1},
	{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "200", 1},
	{"absolute form", "GET http://h/x HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"empty line first", "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"query", "GET /a?b=/c?d HTTP/1.1\r\n" + host + "\r\n", "200", 1},

	{"length and coding", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"coding and length", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "400", 0},
	{"two lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400", 0},
	{"a list of lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3, 3\r\n\r\nabc", "400", 0},
	{"length with a sign", "POST / HTTP/1.1\r\n" + host + "Content-Length: +3\r\n\r\nabc", "400", 0},
	{"length in hexadecimal", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0x3\r\n\r\nabc", "400", 0},
	{"length negative", "POST / HTTP/1.1\r\n" + host + "Content-Length: -3\r\n\r\nabc", "400", 0},
	{"length empty", "POST / HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\nabc", "400", 0},
	{"length huge", "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\nabc", "400", 0},
	{"coding identity", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\n\r\n", "501", 0},
	{"coding list", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501", 0},
	{"coding twice", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"coding with vertical tab", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"bare line feeds", "GET / HTTP/1.1\n" + "Host: h\n\n", "400", 0},
	{"bare line feed in a header", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "400", 0},
	{"bare carriage return", "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", "400", 0},
	{"NUL in a value", "GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", "400", 0},
	{"folded line", "GET / HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n", "400", 0},
	{"space before the colon", "GET / HTTP/1.1\r\n" + host + "X : a\r\n\r\n", "400", 0},
	{"no colon", "GET / HTTP/1.1\r\n" + host + "X\r\n\r\n", "400", 0},
	{"empty name", "GET / HTTP/1.1\r\n" + host + ": a\r\n\r\n", "400", 0},
	{"name with an underscore", "GET / HTTP/1.1\r\n" + host + "X_Org: a\r\n\r\n", "400", 0},
	{"name no token", "GET / HTTP/1.1\r\n" + host + "X(: a\r\n\r\n", "400", 0},
	{"no host", "GET / HTTP/1.1\r\n\r\n", "400", 0},
	{"two hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", "400", 0},
	{"host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", "400", 0},
	{"another host in the target", "GET http://other/ HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"two authorizations", "GET / HTTP/1.1\r\n" + host + "Authorization: a\r\nAuthorization: b\r\n\r\n", "400", 0},
	{"body with GET", "GET / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "400", 0},
	{"HTTP/1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", "505", 0},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", 0},
	{"lower-case version", "GET / http/1.1\r\n" + host + "\r\n", "505", 0},
	{"no version", "GET /\r\n\r\n", "400", 0},
	{"two spaces", "GET  / HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"tab", "GET\t/ HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"no slash", "GET a HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"fragment", "GET /#a HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"high byte in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"CONNECT", "CONNECT h:443 HTTP/1.1\r\n" + host + "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", "405", 0},
	{"TRACE", "TRACE / HTTP/1.1\r\n" + host + "\r\n", "405", 0},
	{"unknown expectation", "POST / HTTP/1.1\r\n" + host + "Expect: x\r\nContent-Length: 0\r\n\r\n", "417", 0},

	{"chunk size with a space", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "400", 1},
	{"chunk size bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk size with 0x", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk size huge", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk data too long", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "400", 1},
	{"chunk end bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", "400", 1},
	{"extension bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"trailers over their bound", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + strings.Repeat("a", maxSkipped+1) + "\r\n\r\n", "400", 1},
	{"body over the handler's limit", "POST / HTTP/1.1\r\n" + host + "Content-Length: 9999999\r\n\r\nabcGET /b HTTP/1.1\r\n" + host + "\r\n", "413", 1},
}

func TestWire(t *testing.T) {
	for _, c := range wireCases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, &Server{Handler: echo})
			got := strings.Join(statuses(r.raw(t, c.text)), " ")
			if got != c.want || r.calls.Load() != c.calls {
				t.Errorf("statuses %q with %d calls of the handler, want %q with %d", got, r.calls.Load(), c.want, c.calls)
			}
			// What is refused must end the connection: a request behind it is never read.
			if c.want == "200" || strings.HasPrefix(c.want, "200 ") {
				return
			}
			before := r.calls.Load()
			got = strings.Join(statuses(r.raw(t, c.text+"GET /behind HTTP/1.1\r\n"+host+"\r\n")), " ")
			if got != c.want || r.calls.Load()-before != c.calls {
				t.Errorf("with another request behind: statuses %q, want %q", got, c.want)
			}
		})
	}
}

// TestSplit sends good requests with the bytes cut at every place.
func TestSplit(t *testing.T) {
	text := "POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\nPOST /y HTTP/1.1\r\n" + host + "Content-Length: 2\r\nConnection: close\r\n\r\nhi"
	r := start(t, &Server{Handler: echo})
	for i := 1; i < len(text); i++ {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.(*net.TCPConn).SetNoDelay(true)
		io.WriteString(c, text[:i])
		io.WriteString(c, text[i:])
		b, err := io.ReadAll(c)
		c.Close()
		if s := string(b); err != nil || !strings.Contains(s, "POST /x abcde") || !strings.HasSuffix(s, "POST /y hi") {
			t.Fatalf("cut at %d: %q, %v", i, s, err)
		}
	}
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
	resp, err := http.Get("http://" + r.addr + "/")
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
		resp, err := http.Get("http://" + r.addr + path)
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

package h1

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// handshakeLimit bounds a TLS handshake.
const handshakeLimit = 10 * time.Second

// ServeTLS serves TLS connections: those that speak HTTP/1.1 by this package, those that agree on h2 by net/http, with
// the same handler. The configuration's NextProtos are set here. It returns when Drain or Close has ended all of them.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	h2 := newHandoff(l.Addr())
	web := s.http2Server()
	s.mu.Lock()
	s.closers = append(s.closers, func() { web.Close() }) // its error is of listeners, which are ours
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	var served sync.WaitGroup
	served.Go(func() { web.Serve(h2) }) // ends when h2 is closed
	err := s.Serve(&tlsListener{Listener: l, config: config, h2: h2})
	h2.Close()
	web.Shutdown(context.Background()) // lets streams end; cut short by Close
	served.Wait()
	return err
}

// http2Server is the server of the standard library with limits for a listener that faces the world:
// a stream's window is small, the connection's is not bound by it.
func (s *Server) http2Server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // the listener gives connections whose TLS has been dealt with
	return &http.Server{
		Handler:           NewHTTPHandler(s),
		Protocols:         protocols,
		ReadHeaderTimeout: or(s.HeadTimeout, 10*time.Second),
		IdleTimeout:       or(s.Idle, time.Minute),
		MaxHeaderBytes:    or(s.HeadBytes, 64<<10),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReceiveBufferPerStream: 64 << 10, MaxReadFrameSize: 16 << 10,
			SendPingTimeout: 30 * time.Second, WriteByteTimeout: or(s.Stall, 30*time.Second)},
	}
}

// tlsListener hands h2 connections over and keeps the others. Handshakes run beside each other.
type tlsListener struct {
	net.Listener
	config *tls.Config
	h2     *handoff
}

// Accept gives a connection whose handshake is still to come; see secured.
func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &secured{Conn: tls.Server(nc, l.config), h2: l.h2}, nil
}

// secured is a TLS connection before its protocol is known.
type secured struct {
	*tls.Conn
	h2 *handoff
}

// errHandedOver says that the connection is served elsewhere.
var errHandedOver = errors.New("connection handed over")

// agree shakes hands and passes an h2 connection on.
func (c *secured) agree() error {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		return err
	}
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		return nil
	}
	if err := c.h2.put(c.Conn); err != nil {
		return err
	}
	return errHandedOver
}

// handoff is a listener that gives the connections that are put into it.
type handoff struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newHandoff(addr net.Addr) *handoff {
	return &handoff{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (h *handoff) put(c net.Conn) error {
	select {
	case h.conns <- c:
		return nil
	case <-h.done:
		return net.ErrClosed
	}
}

// Accept gives the next connection.
func (h *handoff) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handoff) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr is the real listener's.
func (h *handoff) Addr() net.Addr { return h.addr }

// NewHTTPHandler gives the server's handler to net/http, which serves HTTP/2 with it.
func NewHTTPHandler(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &webExchange{srv: s, w: w, r: r, rc: http.NewResponseController(w), arrived: time.Now()}
		defer x.Unwatch()
		s.handle(x, x.makeHead())
		if !x.committed || !x.ended && x.left != 0 {
			x.Abort()
		}
		if x.aborted.Load() {
			panic(http.ErrAbortHandler) // net/http's way to end a stream unclean
		}
	})
}

// webExchange is an Exchange over net/http.
type webExchange struct {
	srv       *Server
	w         http.ResponseWriter
	r         *http.Request
	rc        *http.ResponseController
	head      Head
	arrived   time.Time
	read      bool
	committed bool
	ended     bool
	noBody    bool        // HEAD, 204, 304
	left      int64       // bytes of a declared length that are still to come; -1: none was declared
	aborted   atomic.Bool // perhaps by a writer in another goroutine
	trailer   string
	stop      func() bool
	watching  sync.WaitGroup
}

// makeHead builds the head from what net/http has parsed, by the rules of our own parser where they are stricter.
func (x *webExchange) makeHead() *RequestError {
	r := x.r
	x.head = Head{Method: []byte(r.Method), Target: []byte(r.RequestURI), Minor: 1, Host: []byte(r.Host), Length: r.ContentLength}
	if r.Method == "CONNECT" || r.Method == "TRACE" {
		return &RequestError{Status: 405, Msg: "method " + r.Method + ": not served"}
	}
	if len(r.Header["Authorization"]) > 1 {
		return bad("authorization: stands more than once")
	}
	for name, values := range r.Header {
		if strings.Contains(name, "_") {
			return bad("header field %q: underscore in the name", name)
		}
		for _, v := range values {
			x.head.Fields = append(x.head.Fields, Field{[]byte(name), []byte(v)})
		}
	}
	host := x.head.Host
	if e := x.head.splitTarget(); e != nil {
		return e
	}
	x.head.Host = host
	if x.head.Length != 0 && (r.Method == "GET" || r.Method == "HEAD") {
		return bad("body: not with method %s", r.Method)
	}
	return nil
}

func (x *webExchange) Head() *Head                 { return &x.head }
func (x *webExchange) Arrived() time.Time          { return x.arrived }
func (x *webExchange) RemoteAddr() string          { return x.r.RemoteAddr }
func (x *webExchange) Committed() bool             { return x.committed }
func (x *webExchange) DeclareTrailer(names string) { x.trailer = names }

func (x *webExchange) Body(limit int64) ([]byte, error) {
	if x.read {
		return nil, errTwice
	}
	x.read = true
	if x.r.ContentLength > limit {
		return nil, ErrBodyTooLarge
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(&webPace{x: x, start: time.Now()}, limit+1))
	switch {
	case n > limit:
		return nil, ErrBodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &RequestError{Status: 408, Msg: "body: came too slowly"}
	case err != nil:
		return nil, err
	}
	x.rc.SetReadDeadline(time.Time{})
	return b.Bytes(), nil
}

// ForgetBody does nothing: the body is its reader's alone.
func (x *webExchange) ForgetBody() {}

// Spare does nothing: what the request was read to is the standard library's.
func (x *webExchange) Spare() {}

// webPace holds a body to its least rate, as pace does.
type webPace struct {
	x     *webExchange
	start time.Time
	total int64
}

// Read sets the deadline by what has come and reads.
func (p *webPace) Read(b []byte) (int, error) {
	earned := time.Duration(float64(p.total) / float64(or(p.x.srv.BodyRate, 1<<10)) * float64(time.Second))
	p.x.rc.SetReadDeadline(p.start.Add(or(p.x.srv.BodyGrace, 10*time.Second) + earned))
	n, err := p.x.r.Body.Read(b)
	p.total += int64(n)
	return n, err
}

func (x *webExchange) Commit(status int, fields []byte, length int64) error {
	if x.committed {
		return errTwice
	}
	x.committed = true
	x.noBody = status == 204 || status == 304 || x.r.Method == "HEAD"
	if x.left = max(length, -1); x.noBody {
		x.left = 0
	}
	h := x.w.Header()
	for name, value := range lines(fields) {
		h.Add(name, value)
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(length, 10))
	} else if x.trailer != "" {
		h.Set("Trailer", x.trailer)
	}
	x.w.WriteHeader(status)
	return nil
}

func (x *webExchange) Write(segs ...[]byte) error {
	if err := x.open(); err != nil {
		return err
	}
	if x.noBody {
		return x.rc.Flush()
	}
	x.rc.SetWriteDeadline(time.Now().Add(or(x.srv.Stall, 30*time.Second)))
	for _, s := range segs {
		if x.left >= 0 {
			if x.left -= int64(len(s)); x.left < 0 {
				x.Abort()
				return ErrOverrun
			}
		}
		if _, err := x.w.Write(s); err != nil {
			return x.outcome(err)
		}
	}
	return x.outcome(x.rc.Flush())
}

func (x *webExchange) open() error {
	if x.ended || !x.committed || x.aborted.Load() {
		return ErrAborted
	}
	return nil
}

func (x *webExchange) outcome(err error) error {
	if err == nil {
		return nil
	}
	x.Abort()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrStalled
	}
	return err
}

// TryWrite gives everything back: net/http has no write that does not wait.
func (x *webExchange) TryWrite(segs ...[]byte) ([][]byte, error) { return segs, x.open() }

func (x *webExchange) WriteRaw(segs [][]byte) error { return x.Write(segs...) }

func (x *webExchange) Flush() error { return x.outcome(x.rc.Flush()) }

func (x *webExchange) End(trailers []byte) error {
	switch err := x.open(); {
	case err != nil:
		return err
	case x.left > 0:
		x.Abort()
		return ErrTruncated
	}
	x.ended = true
	if x.trailer != "" {
		for name, value := range lines(trailers) {
			x.w.Header().Set(name, value)
		}
	}
	return nil
}

func (x *webExchange) Abort() { x.aborted.Store(true) }

// AtClose is as that of the other exchange.
func (x *webExchange) AtClose(do func()) (cancel func() bool) { return x.srv.closings.add(do) }

// Hijack has nothing to give: a stream is one of many on its connection.
func (x *webExchange) Hijack() (net.Conn, []byte, error) { return nil, nil, errors.ErrUnsupported }

func (x *webExchange) Watch(gone func()) {
	if x.stop != nil {
		return
	}
	x.watching.Add(1)
	stop := context.AfterFunc(x.r.Context(), func() {
		defer x.watching.Done()
		gone()
	})
	x.stop = stop
}

func (x *webExchange) Unwatch() {
	if x.stop == nil {
		return
	}
	if x.stop() {
		x.watching.Done()
	}
	x.watching.Wait()
	x.stop = nil
}

// lines gives the fields of "Name: value\r\n" lines.
func lines(fields []byte) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range bytes.SplitSeq(fields, crlf) {
			name, value, ok := bytes.Cut(line, []byte{':'})
			if ok && !yield(string(name), string(trim(value))) {
				return
			}
		}
	}
}

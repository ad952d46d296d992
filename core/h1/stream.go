package h1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
)

// transport is net/http's, for HTTP/2 alone. It neither follows redirects nor decompresses, and repeats no request whose
// body it may have sent, since it cannot get the body anew.
func (p *Pool) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(p.target.TLS != nil)
	protocols.SetUnencryptedHTTP2(p.target.TLS == nil)
	return &http.Transport{
		DialContext:            p.dialFar,
		TLSClientConfig:        p.target.TLS,
		TLSHandshakeTimeout:    connectLimit,
		Protocols:              protocols,
		DisableCompression:     true,
		IdleConnTimeout:        p.opt.Idle,
		MaxResponseHeaderBytes: int64(p.opt.HeadBytes),
		// A small window for each stream bounds what a slow client makes us hold; the connection's own is left wide, so
		// that no slow stream stops the others.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: farWindow, SendPingTimeout: 30 * time.Second, WriteByteTimeout: connectLimit},
	}
}

// stream is a call over HTTP/2. A goroutine of its own, whom closeFar waits for, drives net/http, so that what waits can
// have limits.
type stream struct {
	cancel    context.CancelFunc
	connected atomic.Bool // a connection was had: something may have been sent
	answered  chan struct{}
	resp      *http.Response // once answered
	err       error          // likewise

	pieces chan []byte   // of the body; closed at its end, with end set
	taken  chan struct{} // the last piece is no longer needed
	end    error
	piece  []byte // received by Wait, not given yet
	lent   bool   // a piece has been given that is not taken yet

	done sync.WaitGroup // the goroutine, and the request's body
}

// sendFar begins an HTTP/2 call.
func (c *Call) sendFar() error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{cancel: cancel, answered: make(chan struct{}), pieces: make(chan []byte), taken: make(chan struct{}, 1)}
	s.done.Add(1) // the request's body, which net/http closes when it needs it no more
	req := c.farRequest(ctx, s)
	c.far, c.sent = s, time.Now()
	c.setCancel(cancel)
	s.done.Go(func() { s.run(ctx, c.pool.h2, req) })
	return nil
}

// farRequest puts the request into net/http's form.
func (c *Call) farRequest(ctx context.Context, s *stream) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.connected.Store(true) }})
	body := &outgoingBody{segs: c.out.Segments, closed: sync.OnceFunc(s.done.Done)}
	scheme := "http"
	if c.pool.target.TLS != nil {
		scheme = "https"
	}
	req := &http.Request{
		Method: c.out.Method,
		// The address of the connection; what the upstream is told is Host.
		URL:        &url.URL{Scheme: scheme, Host: c.pool.target.Host, Opaque: c.out.Target},
		Host:       c.pool.target.Name,
		ProtoMajor: 2,
		Header:     http.Header{"User-Agent": nil}, // nil: none of net/http's own
		Body:       body,
	}
	for _, seg := range c.out.Segments {
		req.ContentLength += int64(len(seg))
	}
	for name, value := range lines(c.out.Fields) {
		req.Header.Add(name, value)
	}
	if req.ContentLength == 0 {
		body.Close()
		req.Body = http.NoBody
	}
	return req.WithContext(ctx)
}

// outgoingBody reads a request's segments.
type outgoingBody struct {
	mu     sync.Mutex // guards segs against a Close beside a Read
	segs   [][]byte
	at     int
	closed func()
}

// Read gives the next bytes.
func (b *outgoingBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n < len(p) && len(b.segs) > 0 {
		m := copy(p[n:], b.segs[0][b.at:])
		n += m
		if b.at += m; b.at == len(b.segs[0]) {
			b.segs, b.at = b.segs[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close lets the segments go.
func (b *outgoingBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.segs = nil
	b.closed()
	return nil
}

// run makes the call and hands on the body.
func (s *stream) run(ctx context.Context, h2 *http.Transport, req *http.Request) {
	defer close(s.pieces)
	if !s.ask(h2, req) {
		return
	}
	defer s.resp.Body.Close()
	block := getBlock(farPiece)
	defer putBlock(block)
	for s.end == nil {
		var n int
		n, s.end = s.resp.Body.Read(block.b)
		if n == 0 {
			continue
		}
		select {
		case s.pieces <- block.b[:n]:
		case <-ctx.Done():
			return
		}
		select {
		case <-s.taken:
		case <-ctx.Done():
			return
		}
	}
}

// ask makes the call; false where there is no answer. A panic of net/http's ends this call alone.
func (s *stream) ask(h2 *http.Transport, req *http.Request) bool {
	defer close(s.answered)
	defer func() {
		if p := recover(); p != nil {
			s.err = fmt.Errorf("HTTP/2 call: panic: %v\n%s", p, debug.Stack())
			req.Body.Close()
		}
	}()
	faultpoint.Reach(faultpoint.FarCall)
	s.resp, s.err = h2.RoundTrip(req)
	return s.err == nil
}

// await waits for a channel until a time, zero: for ever.
func await[T any](c <-chan T, until time.Time) (v T, open bool, err error) {
	var late <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		late = t.C
	}
	select {
	case v, open = <-c:
		return v, open, nil
	case <-late:
		return v, false, os.ErrDeadlineExceeded
	}
}

func (c *Call) readFarHead() error {
	s := c.far
	by := c.until(time.Now())
	if c.lim.Connect > 0 && !s.connected.Load() {
		_, _, err := await(s.answered, earlier(c.sent.Add(c.lim.Connect), by))
		if err != nil && !s.connected.Load() {
			return c.fault("connect", err, true)
		}
	}
	if _, _, err := await(s.answered, by); err != nil {
		return c.fault(s.phase(), err, !s.connected.Load())
	}
	if s.err != nil {
		return c.fault(s.phase(), s.err, !s.connected.Load())
	}
	c.heard, c.status, c.length = true, s.resp.StatusCode, s.resp.ContentLength
	c.fields = appendHeader(c.fields[:0], s.resp.Header)
	return nil
}

// phase is how far a call without an answer has come.
func (s *stream) phase() string {
	if s.connected.Load() {
		return "head"
	}
	return "connect"
}

func appendHeader(fields []Field, h http.Header) []Field {
	for name, values := range h {
		for _, v := range values {
			fields = append(fields, Field{[]byte(name), []byte(v)})
		}
	}
	return fields
}

// next receives the next piece of the body, if none is there already.
func (s *stream) next(until time.Time) error {
	if s.piece != nil {
		return nil
	}
	if s.lent {
		s.lent = false
		s.taken <- struct{}{} // has room for one
	}
	piece, open, err := await(s.pieces, until)
	switch {
	case err != nil:
		return err
	case open:
		s.piece = piece
		return nil
	case s.end == nil: // left by cancel
		return ErrAborted
	}
	return s.end
}

func (c *Call) nextFar() ([]byte, error) {
	s := c.far
	if c.status == 0 {
		return nil, c.fault("body", errNotSent, false)
	}
	switch err := s.next(c.until(time.Now())); {
	case err == nil:
	case err == io.EOF:
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF) && !c.aborted.Load():
		return nil, ErrTruncated
	default:
		return nil, c.fault("body", err, false)
	}
	piece := s.piece
	s.piece, s.lent = nil, true
	return piece, nil
}

func (c *Call) waitFar(d time.Duration) (ready bool, err error) {
	s, now := c.far, time.Now()
	by, limit := now.Add(d), c.until(now)
	last := !limit.IsZero() && !limit.After(by)
	phase := "body"
	if c.status == 0 {
		phase = s.phase()
		_, _, err = await(s.answered, earlier(by, limit))
	} else {
		err = s.next(earlier(by, limit))
	}
	switch {
	case c.aborted.Load():
		return false, ErrAborted
	case err == os.ErrDeadlineExceeded && !last:
		return false, nil
	case err == os.ErrDeadlineExceeded:
		return false, c.fault(phase, err, !s.connected.Load())
	}
	return true, nil // with an error: Next will find it again
}

// closeFar ends the stream and waits until nothing of it runs: net/http may read the request's body for a while yet.
func (c *Call) closeFar() {
	c.far.cancel()
	c.far.done.Wait()
	c.setCancel(nil)
	c.far = nil
}

func (s *stream) trailers() []Field {
	if s.resp == nil {
		return nil
	}
	return appendHeader(nil, s.resp.Trailer)
}

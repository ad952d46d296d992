package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/h2"
)

// farClient is the pool's, for HTTP/2.
func (p *Pool) farClient() *h2.Client {
	scheme := "http"
	if p.target.TLS != nil {
		scheme = "https"
	}
	return h2.NewClient(h2.Options{Dial: p.dialFar, Scheme: scheme, Authority: p.target.Name, MaxConns: p.opt.MaxConns, MaxIdle: p.opt.MaxIdle,
		MaxWaiting: p.opt.MaxWaiting, Idle: p.opt.Idle, HeadBytes: p.opt.HeadBytes})
}

// errOtherProtocol says that an upstream does not agree to HTTP/2.
var errOtherProtocol = errors.New("the upstream does not agree to HTTP/2")

// dialFar connects for HTTP/2, in its turn.
func (p *Pool) dialFar(ctx context.Context) (net.Conn, error) {
	if got := p.turn(ctx, connectLimit); got.err != nil {
		return nil, got.err
	}
	began := time.Now()
	nc, err := p.reach(ctx)
	if tc, ok := nc.(*tls.Conn); ok && tc.ConnectionState().NegotiatedProtocol != "h2" {
		nc.Close()
		err = &CallError{Phase: "tls", Err: errOtherProtocol, unsent: true}
	}
	p.dialed(began, err)
	if err != nil {
		return nil, err
	}
	return nc, nil
}

// sendFar sends the request over HTTP/2. Where the upstream has not taken it up, since it ended the connection before, it is
// sent again, once, here or in ReadHead.
func (c *Call) sendFar() error {
	err := c.sendFarOnce()
	if c.far != nil && c.farAgain(err) {
		return c.sendFarOnce()
	}
	return err
}

// farAgain says whether a call that failed may be made once more, and parts from what has failed.
func (c *Call) farAgain(err error) bool {
	if err == nil || c.again || c.aborted.Load() || !c.far.Unsent() {
		return false
	}
	c.again = true
	c.closeFar()
	return true
}

func (c *Call) sendFarOnce() error {
	s, err := c.openFar()
	if err != nil {
		return err
	}
	c.far = s
	if err := c.holdFar(s); err != nil {
		return err
	}
	req := &h2.Request{Method: c.out.Method, Target: c.out.Target, Fields: c.farFields(), Body: c.out.Segments, Wide: c.out.Whole}
	err = s.Send(req, or(c.lim.Idle, connectLimit), c.lim.Total)
	c.sent = time.Now()
	if err != nil {
		return c.fault("write", err, s.Unsent())
	}
	return nil
}

// openFar gets a place on a connection.
func (c *Call) openFar() (s *h2.Stream, err error) {
	err = c.connecting(func(ctx context.Context, limit time.Duration) error {
		c.pool.asks()
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		s, err = c.pool.far.Open(ctx, limit)
		return farError(ctx, err)
	})
	return s, err
}

// farError says how far a call came that has no place on a connection.
func farError(ctx context.Context, err error) error {
	var call *CallError
	var late *TimeoutError
	switch {
	case err == nil, errors.As(err, &call), errors.As(err, &late), errors.Is(err, ErrAborted):
		return err
	case errors.Is(err, h2.ErrFull):
		return connectError(ctx, "wait", err)
	}
	return connectError(ctx, "connect", err)
}

// holdFar takes a place for the call.
func (c *Call) holdFar(s *h2.Stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted.Load() {
		return ErrAborted
	}
	c.cancel = s.Abort
	return nil
}

// secretFields are never put into the tables of header compression (RFC 7541, 7.1.3).
var secretFields = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"}

func (c *Call) farFields() []h2.Field {
	var list []h2.Field
	for name, value := range lines(c.out.Fields) {
		name = strings.ToLower(name)
		list = append(list, h2.Field{Name: name, Value: value, Sensitive: slices.Contains(secretFields, name)})
	}
	return list
}

func (c *Call) readFarHead() error {
	for {
		status, fields, err := c.far.Head(c.until(time.Now()))
		if err == nil {
			c.heard, c.status, c.length = true, status, c.far.Length()
			c.fields = appendFar(c.fields[:0], fields)
			return nil
		}
		if !c.farAgain(err) {
			return c.headFault(c.farFault("head", err))
		}
		if err := c.sendFarOnce(); err != nil {
			return err
		}
	}
}

// farFault is fault for a call over HTTP/2.
func (c *Call) farFault(phase string, err error) error {
	return c.fault(phase, err, c.far.Unsent())
}

func appendFar(fields []Field, list []h2.Field) []Field {
	for _, f := range list {
		fields = append(fields, Field{[]byte(f.Name), []byte(f.Value)})
	}
	return fields
}

func (c *Call) nextFar() ([]byte, error) {
	if c.status == 0 {
		return nil, c.fault("body", errNotSent, false)
	}
	data, err := c.far.Next(c.until(time.Now()))
	switch {
	case err == nil:
		return data, nil
	case err == io.EOF:
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF) && !c.aborted.Load():
		return nil, ErrTruncated
	}
	return nil, c.fault("body", err, false)
}

func (c *Call) waitFar(d time.Duration) (ready bool, err error) {
	now := time.Now()
	by, limit := now.Add(d), c.until(now)
	last := !limit.IsZero() && !limit.After(by)
	switch err := c.far.Wait(earlier(by, limit)); {
	case c.aborted.Load():
		return false, ErrAborted
	case err == nil:
		return true, nil
	case !last:
		return false, nil
	default:
		return false, c.farFault(c.phase(), err)
	}
}

// closeFar ends the stream.
func (c *Call) closeFar() {
	c.setCancel(nil)
	c.far.Close()
	c.far = nil
}

package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Target is an upstream authority.
type Target struct {
	Host string      // host:port to connect to
	Name string      // for the Host field: host, or host:port where the port is not the scheme's own
	TLS  *tls.Config // nil: plain
}

// PoolOptions bound a pool; a zero takes the default.
type PoolOptions struct {
	MaxIdle    int           // connections kept for later; 256
	MaxConns   int           // in all; 20,000
	Idle       time.Duration // that a connection is kept; 90 s
	HeadBytes  int           // of an answer's head; 64 KiB
	RecvBuffer int           // SO_RCVBUF; 0: the system's
	// Dial connects; nil: the system's dialer. An address guard sits here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Pool keeps connections to one upstream. The one used last is used first, so that those too many grow old and are let
// go. It is safe for concurrent use.
type Pool struct {
	target Target
	opt    PoolOptions

	mu     sync.Mutex  // guards what follows
	idle   []*upstream // oldest first
	open   int
	closed bool
}

// upstreamBuffer holds an answer's head and, most often, its body.
const upstreamBuffer = 16 << 10

// upstream is a connection to an upstream.
type upstream struct {
	pool   *Pool
	nc     net.Conn
	raw    syscall.RawConn // nil for TLS
	since  time.Time       // idle since
	used   bool            // has answered a request before
	peekOK bool
	peek   func(fd uintptr) bool
}

// NewPool makes a pool; nothing is connected yet.
func NewPool(t Target, o PoolOptions) *Pool {
	o.MaxIdle, o.MaxConns, o.Idle, o.HeadBytes = or(o.MaxIdle, 256), or(o.MaxConns, 20000), or(o.Idle, 90*time.Second), or(o.HeadBytes, 64<<10)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	if t.TLS != nil {
		c := t.TLS.Clone()
		if c.ClientSessionCache == nil {
			c.ClientSessionCache = tls.NewLRUClientSessionCache(64)
		}
		c.NextProtos = []string{"http/1.1"}
		t.TLS = c
	}
	return &Pool{target: t, opt: o}
}

// Stats tells how many connections are open, and how many of them idle.
func (p *Pool) Stats() (open, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open, len(p.idle)
}

// Close closes idle connections now and the others when their calls end.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.open -= len(idle)
	p.mu.Unlock()
	for _, u := range idle {
		u.nc.Close()
	}
}

// take gives an idle connection that is still open; nil where there is none.
func (p *Pool) take() *upstream {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			return nil
		}
		u := p.idle[n-1]
		p.idle = p.idle[:n-1]
		old := p.expired(time.Now())
		p.mu.Unlock()
		for _, o := range old {
			o.nc.Close()
		}
		if u.alive() {
			return u
		}
		p.drop(u)
	}
}

// expired takes the connections out that have been idle too long. The pool is locked.
func (p *Pool) expired(now time.Time) []*upstream {
	n := 0
	for n < len(p.idle) && now.Sub(p.idle[n].since) > p.opt.Idle {
		n++
	}
	if n == 0 {
		return nil
	}
	old := append([]*upstream(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	p.open -= n
	return old
}

// give keeps a connection for later.
func (p *Pool) give(u *upstream) {
	u.used, u.since = true, time.Now()
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < p.opt.MaxIdle
	if keep {
		p.idle = append(p.idle, u)
	} else {
		p.open--
	}
	p.mu.Unlock()
	if !keep {
		u.nc.Close()
	}
}

// drop closes a connection.
func (p *Pool) drop(u *upstream) {
	u.nc.Close()
	p.mu.Lock()
	p.open--
	p.mu.Unlock()
}

// errTooMany says that a pool has all the connections it may have.
var errTooMany = errors.New("upstream: too many connections")

// connect opens a connection within a limit.
func (p *Pool) connect(ctx context.Context, limit time.Duration) (*upstream, error) {
	p.mu.Lock()
	full := p.open >= p.opt.MaxConns
	if !full {
		p.open++
	}
	p.mu.Unlock()
	if full {
		return nil, &CallError{Phase: "connect", Err: errTooMany}
	}
	u, err := p.dial(ctx, limit)
	if err != nil {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	}
	return u, err
}

func (p *Pool) dial(ctx context.Context, limit time.Duration) (*upstream, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	nc, err := p.opt.Dial(ctx, "tcp", p.target.Host)
	if err != nil {
		return nil, connectError(ctx, "connect", err)
	}
	if t, ok := nc.(*net.TCPConn); ok && p.opt.RecvBuffer > 0 {
		t.SetReadBuffer(p.opt.RecvBuffer) // the system's size serves too
	}
	u := &upstream{pool: p, nc: nc}
	if p.target.TLS != nil {
		tc := tls.Client(nc, p.target.TLS)
		if err := tc.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, connectError(ctx, "tls", err)
		}
		u.nc = tc
		return u, nil
	}
	if sc, ok := nc.(syscall.Conn); ok {
		if u.raw, err = sc.SyscallConn(); err != nil {
			u.raw = nil
		}
	}
	u.peek = u.tryPeek
	return u, nil
}

func connectError(ctx context.Context, phase string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &TimeoutError{Phase: phase}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ErrAborted
	}
	return &CallError{Phase: phase, Err: err}
}

// alive says whether an idle connection has neither been closed by the upstream nor been sent bytes that nobody asked
// for. It costs one system call.
func (u *upstream) alive() bool {
	if u.raw == nil {
		return time.Since(u.since) < 30*time.Second // under TLS a peek says nothing
	}
	u.peekOK = false
	u.raw.Read(u.peek)
	return u.peekOK
}

func (u *upstream) tryPeek(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	u.peekOK = err == syscall.EAGAIN
	return true
}

// CallError says that a call failed, and how far it had come.
type CallError struct {
	Phase string // connect, tls, write, head, body
	Err   error
}

// Error names the phase and the cause.
func (e *CallError) Error() string { return fmt.Sprintf("upstream: %s: %v", e.Phase, e.Err) }

// Unwrap gives the cause.
func (e *CallError) Unwrap() error { return e.Err }

// TimeoutError says that a limit of a call was met.
type TimeoutError struct {
	Phase string // connect, tls, write, head, body
}

// Error names the phase.
func (e *TimeoutError) Error() string { return "upstream: time limit met at " + e.Phase }

// NotSent says whether an error proves that no byte of the request has reached the upstream.
func NotSent(err error) bool {
	var late *TimeoutError
	var call *CallError
	switch {
	case errors.As(err, &late):
		return late.Phase == "connect" || late.Phase == "tls"
	case errors.As(err, &call):
		return call.Phase == "connect" || call.Phase == "tls"
	}
	return false
}

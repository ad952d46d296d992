package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/h2"
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
	MaxConns   int           // in all; 20,000. A call waits for one of them, as long as it may for a connection
	MaxWaiting int           // calls that wait so; 1,024
	MaxDials   int           // connections that begin at once, see turns; 64
	Idle       time.Duration // that a connection is kept; 90 s
	HeadBytes  int           // of an answer's head; 64 KiB
	// HTTP2 speaks HTTP/2, many calls over each connection. MaxIdle then counts the calls that idle connections have room
	// for.
	HTTP2 bool
	// Dial connects; nil: the system's dialer. An address guard sits here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Pool keeps connections to one upstream. The one used last is used first, so that those too many grow old and are let
// go. It is safe for concurrent use.
type Pool struct {
	target Target
	opt    PoolOptions
	far    *h2.Client // of HTTP2; nil else

	mu      sync.Mutex  // guards what follows
	idle    []*upstream // oldest first
	waiting []chan *upstream
	open    int // connections, and leave to open one
	turns   turns
	ready   int       // connections that are to be idle; 0: nobody keeps any
	asked   time.Time // when a call wanted a connection of its own, or had done with one
	closed  bool
	reaper  *time.Timer // lets old ones go while none is asked for; nil before the first is idle
	reaping bool        // the reaper is set

	lack chan struct{} // holds a token when there is work for KeepReady
}

// upstream is a connection to an upstream.
type upstream struct {
	wire
	pool  *Pool
	since time.Time // idle since
	used  bool      // has been idle: what closes it now may have done so before
	base  int64     // bytes written before the present request
}

// NewPool makes a pool; nothing is connected yet.
func NewPool(t Target, o PoolOptions) *Pool {
	o.MaxIdle, o.MaxConns, o.MaxWaiting = or(o.MaxIdle, 256), or(o.MaxConns, 20000), or(o.MaxWaiting, 1024)
	o.MaxDials, o.Idle, o.HeadBytes = or(o.MaxDials, 64), or(o.Idle, 90*time.Second), or(o.HeadBytes, 64<<10)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: 30 * time.Second, Control: boundSegments}).DialContext
	}
	if t.TLS != nil {
		c := t.TLS.Clone()
		if c.ClientSessionCache == nil {
			c.ClientSessionCache = tls.NewLRUClientSessionCache(64)
		}
		if c.NextProtos = []string{"http/1.1"}; o.HTTP2 {
			c.NextProtos = []string{"h2"}
		}
		t.TLS = c
	}
	p := &Pool{target: t, opt: o, turns: turns{most: o.MaxDials}, lack: make(chan struct{}, 1)}
	if o.HTTP2 {
		p.far = p.farClient()
	}
	return p
}

// Stats tells how many connections are open, and how many of them idle.
func (p *Pool) Stats() (open, idle int) {
	if p.far != nil {
		return p.far.Stats()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open, len(p.idle)
}

// Close closes idle connections now and the others when their calls end.
func (p *Pool) Close() {
	if p.far != nil {
		p.far.Close()
		return
	}
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.open -= len(idle)
	if p.reaper != nil {
		p.reaper.Stop()
	}
	p.mu.Unlock()
	closeAll(idle)
}

func closeAll(list []*upstream) {
	for _, u := range list {
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
		p.lacking()
		p.mu.Unlock()
		if age := time.Since(u.since); age < p.opt.Idle && u.quiet(age) {
			return u
		}
		p.drop(u)
	}
}

// give takes back a connection that a call has done with.
func (p *Pool) give(u *upstream) {
	u.since = time.Now()
	p.mu.Lock()
	p.asked = u.since
	surplus := p.store(u)
	p.mu.Unlock()
	if surplus != nil {
		surplus.nc.Close()
	}
}

// store keeps a connection for later, or hands it to a call that waits. Where too many are kept the oldest is given, to be
// closed. The pool is locked.
func (p *Pool) store(u *upstream) (surplus *upstream) {
	u.used = true
	switch {
	case p.closed:
		p.open--
		return u
	case len(p.waiting) > 0:
		p.handOver(u)
		return nil
	case p.turns.hand(granted{u: u}):
		p.open-- // the leave of the call that waited
		return nil
	}
	if len(p.idle) == p.opt.MaxIdle {
		surplus = p.idle[0]
		p.idle = append(p.idle[:0], p.idle[1:]...)
		p.open--
	}
	p.idle = append(p.idle, u)
	p.setReaper()
	return surplus
}

// drop closes a connection.
func (p *Pool) drop(u *upstream) {
	u.nc.Close()
	p.free()
}

// free gives back the leave to have a connection.
func (p *Pool) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.handOver(nil)
		return
	}
	p.open--
}

// handOver gives the call that waits longest a connection, or with nil the leave to open one. The pool is locked.
func (p *Pool) handOver(u *upstream) {
	p.waiting[0] <- u // has room for one
	p.waiting = p.waiting[1:]
}

// setReaper sees that the reaper comes when the oldest idle connection is too old. The pool is locked.
func (p *Pool) setReaper() {
	switch {
	case p.reaping || p.closed:
		return
	case p.reaper == nil:
		p.reaper = time.AfterFunc(p.opt.Idle, p.reap)
	default:
		p.reaper.Reset(max(p.opt.Idle-time.Since(p.idle[0].since), time.Millisecond))
	}
	p.reaping = true
}

// reap closes connections that have been idle too long.
func (p *Pool) reap() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) >= p.opt.Idle {
		n++
	}
	old := append([]*upstream(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	p.open -= n
	p.reaping = false
	if len(p.idle) > 0 {
		p.setReaper()
	}
	p.lacking()
	p.mu.Unlock()
	closeAll(old)
}

// blindAge is how long a connection is trusted that cannot be looked at.
const blindAge = 5 * time.Second

// quiet says that the upstream has neither closed an idle connection nor sent bytes that nobody asked for, which would be
// taken for the next answer. It costs one system call.
func (u *upstream) quiet(age time.Duration) bool {
	if s := u.peer(); s.ok() {
		return s.quiet()
	}
	return age < blindAge
}

// untaken says whether it is certain that the upstream has got no byte of the present request: it had closed its side
// when nothing of the request had been acknowledged. A reset proves nothing, since it may come before an acknowledgement.
func (u *upstream) untaken(err error) bool {
	const syn = 1
	acked, known := u.sock.acked()
	return err == io.EOF && known && acked <= u.base+syn
}

// CallError says that a call failed, and how far it had come.
type CallError struct {
	Phase string // wait (for leave to connect), lookup, connect, tls, write, head, body
	Err   error

	unsent bool // no byte of the request has reached the upstream
}

// Error names the phase and the cause.
func (e *CallError) Error() string { return fmt.Sprintf("upstream: %s: %v", e.Phase, e.Err) }

// Unwrap gives the cause.
func (e *CallError) Unwrap() error { return e.Err }

// TimeoutError says that a limit of a call was met.
type TimeoutError struct {
	Phase string // wait (for leave to connect), lookup, connect, tls, write, head, body

	unsent bool
}

// Error names the phase.
func (e *TimeoutError) Error() string { return "upstream: time limit met at " + e.Phase }

// NotSent says whether an error proves that no byte of the request has reached the upstream, so that it is safe to send it
// again.
func NotSent(err error) bool {
	if err == nil {
		return false // without the allocations of what follows
	}
	var late *TimeoutError
	var call *CallError
	return errors.As(err, &late) && late.unsent || errors.As(err, &call) && call.unsent
}

// Unreached says whether an error proves that the upstream could not be reached: by a connection of its own, not for want
// of leave to open one.
func Unreached(err error) bool {
	phase := phaseOf(err)
	return phase == "lookup" || phase == "connect" || phase == "tls"
}

// Crowded says whether a call failed since its pool had no connection free and might open none, which says nothing of the
// upstream.
func Crowded(err error) bool { return phaseOf(err) == "wait" }

func phaseOf(err error) string {
	var late *TimeoutError
	if errors.As(err, &late) {
		return late.Phase
	}
	var call *CallError
	if errors.As(err, &call) {
		return call.Phase
	}
	return ""
}

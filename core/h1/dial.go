package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"os"
	"slices"
	"time"
)

// connectLimit bounds waiting and connecting where a call names no limit.
const connectLimit = 30 * time.Second

// errTooMany says that a pool has all the connections it may have, and all the calls that may wait for one.
var errTooMany = errors.New("too many connections")

// connect opens a connection within a limit, waiting first for leave to and then for its turn.
func (p *Pool) connect(ctx context.Context, limit time.Duration) (*upstream, error) {
	limit = or(limit, connectLimit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	u, err := p.leave(ctx)
	if u != nil || err != nil {
		return u, err
	}
	got := p.turn(ctx, limit)
	if got == (granted{}) {
		began := time.Now()
		got.u, got.err = p.dial(ctx)
		p.dialed(began, got.err)
	}
	if got.err != nil {
		p.free()
	}
	return got.u, got.err
}

// leave gets leave to open a connection, or one that another call has done with.
func (p *Pool) leave(ctx context.Context) (*upstream, error) {
	p.mu.Lock()
	p.asked = time.Now()
	p.lacking()
	switch {
	case p.open < p.opt.MaxConns:
		p.open++
		p.mu.Unlock()
		return nil, nil
	case len(p.waiting) >= p.opt.MaxWaiting:
		p.mu.Unlock()
		return nil, &CallError{Phase: "wait", Err: errTooMany, unsent: true}
	}
	turn := make(chan *upstream, 1)
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case u := <-turn:
		return u, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.mu.Unlock()
		return nil, connectError(ctx, "wait", ctx.Err())
	}
	p.mu.Unlock()
	if u := <-turn; u != nil { // the turn came at the last moment
		p.give(u)
	} else {
		p.free()
	}
	return nil, connectError(ctx, "wait", ctx.Err())
}

// turns has connections begun a few at a time. Where the upstream answers, each that comes through makes room for one more
// beside it, so that a burst is held up for a few round trips at most; where it does not, a burst costs few sockets, and
// the silence is waited for once: those who wait for their turn then share the verdict. A pool's lock guards it.
type turns struct {
	dialing int
	most    int // that may be dialing
	passed  time.Time
	waiting []*turn // longest first
}

// turn is the place of a call that waits.
type turn struct {
	limit time.Duration // of its waiting and connecting
	got   chan granted  // has room for one
}

// granted is what a call that waited gets: a connection that another call has done with, the failure of others, or, where
// it is zero, its turn.
type granted struct {
	u   *upstream
	err error
}

// hand gives the call that waits longest something; false where none waits.
func (t *turns) hand(g granted) bool {
	if len(t.waiting) == 0 {
		return false
	}
	t.waiting[0].got <- g
	t.waiting = t.waiting[1:]
	return true
}

// ended takes note of a connection that was begun.
func (t *turns) ended(began, now time.Time, err error, first int) {
	t.dialing--
	var late *TimeoutError
	switch {
	case err == nil:
		t.most++
		t.passed = now
	case errors.Is(err, ErrAborted): // it says nothing of the upstream
	case errors.As(err, &late) && t.passed.Before(began):
		t.giveUp(err, now.Sub(began))
		fallthrough
	default:
		t.most = first
	}
	if t.dialing == 0 {
		t.most = first
	}
	for t.dialing < t.most && t.hand(granted{}) {
		t.dialing++
	}
}

// giveUp fails the calls that would wait for what another has waited for in vain: at least half of their own limit, in
// which nobody came through.
func (t *turns) giveUp(err error, took time.Duration) {
	t.waiting = slices.DeleteFunc(t.waiting, func(w *turn) bool {
		if took < w.limit/2 {
			return false
		}
		w.got <- granted{err: err}
		return true
	})
}

// turn waits until the call may dial.
func (p *Pool) turn(ctx context.Context, limit time.Duration) granted {
	p.mu.Lock()
	t := &p.turns
	if t.dialing < t.most {
		t.dialing++
		p.mu.Unlock()
		return granted{}
	}
	w := &turn{limit: limit, got: make(chan granted, 1)}
	t.waiting = append(t.waiting, w)
	p.mu.Unlock()
	select {
	case g := <-w.got:
		return g
	case <-ctx.Done():
	}
	err := connectError(ctx, "connect", ctx.Err())
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return granted{err: err}
	}
	g := <-w.got // at the last moment
	if g == (granted{}) {
		t.ended(time.Now(), time.Now(), err, p.opt.MaxDials)
		g.err = err
	}
	return g
}

// dialed ends a turn.
func (p *Pool) dialed(began time.Time, err error) {
	p.mu.Lock()
	p.turns.ended(began, time.Now(), err, p.opt.MaxDials)
	p.mu.Unlock()
}

func (p *Pool) dial(ctx context.Context) (*upstream, error) {
	nc, err := p.reach(ctx)
	if err != nil {
		return nil, err
	}
	u := &upstream{pool: p}
	u.open(nc)
	return u, nil
}

// reach opens a connection, through the TLS handshake.
func (p *Pool) reach(ctx context.Context) (net.Conn, error) {
	nc, err := p.opt.Dial(ctx, "tcp", p.target.Host)
	if err != nil {
		return nil, connectError(ctx, "connect", err)
	}
	if p.target.TLS == nil {
		return nc, nil
	}
	tc := tls.Client(nc, p.target.TLS)
	if err := tc.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, connectError(ctx, "tls", err)
	}
	if t := httptrace.ContextClientTrace(ctx); t != nil && t.TLSHandshakeDone != nil {
		t.TLSHandshakeDone(tc.ConnectionState(), nil)
	}
	return tc, nil
}

// connectError says how far a connection came that could not be opened.
func connectError(ctx context.Context, phase string, err error) error {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		phase = "lookup"
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return &TimeoutError{Phase: phase, unsent: true}
	case errors.Is(ctx.Err(), context.Canceled):
		return ErrAborted
	}
	return &CallError{Phase: phase, Err: err, unsent: true}
}

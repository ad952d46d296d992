package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"os"
	"sync"
	"time"
)

// How connections are kept ready.
const (
	lookEvery  = 5 * time.Second  // after the upstream closes an idle connection, the next is open within this time
	restAfter  = 10 * time.Minute // without a call nothing is opened any more, so that an idle gateway leaves upstreams alone
	readyLimit = 10 * time.Second // to open one
	firstPause = time.Second      // after one could not be opened, or was closed before it was used; doubled up to
	mostPause  = time.Minute
	mostSettle = time.Second // that a TLS upstream may take to send what follows its handshake
)

// KeepReady keeps n connections idle, resolved, open and through the TLS handshake, so that a call need not wait for them,
// until ctx ends. It opens one at a time and never beside a call's own wait, leaves an upstream that refuses alone for
// longer and longer, and rests while no call has come for ten minutes. What several keep ready of one pool adds up. With
// HTTP2 it keeps room for n calls, on connections that others may be using.
func (p *Pool) KeepReady(ctx context.Context, n int) {
	if n <= 0 {
		return
	}
	p.addReady(n)
	defer p.addReady(-n)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var vain int // tries of late
	var last time.Time
	for ctx.Err() == nil {
		var pause time.Duration
		if !p.rests() {
			if lost := p.look(); !p.fill(ctx) || lost {
				pause, last = min(firstPause<<min(vain, 6), mostPause), time.Now()
				vain++
			} else if time.Since(last) > 2*mostPause {
				vain = 0
			}
		}
		if pause > 0 {
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			continue
		}
		timer.Reset(lookEvery)
		select {
		case <-timer.C:
		case <-p.lack:
		case <-ctx.Done():
		}
	}
}

func (p *Pool) addReady(n int) {
	p.mu.Lock()
	p.ready += n
	p.asked = time.Now()
	p.mu.Unlock()
}

// asks takes note of a call over HTTP/2.
func (p *Pool) asks() {
	p.mu.Lock()
	p.asked = time.Now()
	p.mu.Unlock()
}

// lacking calls KeepReady where there are fewer idle connections than there should be. The pool is locked.
func (p *Pool) lacking() {
	if len(p.idle) < p.ready {
		select {
		case p.lack <- struct{}{}:
		default: // it has been called
		}
	}
}

// rests says whether it is long since a call came.
func (p *Pool) rests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.asked) >= restAfter
}

// mostLooked bounds the idle connections that are looked at: those that calls take next.
const mostLooked = 64

// look closes idle connections that the upstream has closed, and says whether one of them had never been used.
func (p *Pool) look() (lost bool) {
	if p.far != nil {
		return p.far.Lost()
	}
	var stirred []*upstream
	p.mu.Lock()
	kept := p.idle[:max(0, len(p.idle)-mostLooked)]
	for _, u := range p.idle[len(kept):] {
		if s := u.peer(); s.ok() && !s.quiet() {
			stirred = append(stirred, u)
		} else {
			kept = append(kept, u)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.mu.Unlock()
	for _, u := range stirred {
		if u.settle(mostSettle / 100) {
			p.stock(u)
			continue
		}
		lost = lost || u.sock.wrote == 0
		p.drop(u)
	}
	return lost
}

// fill opens connections until enough are idle; false where one could not be opened.
func (p *Pool) fill(ctx context.Context) bool {
	for p.wants() {
		if _, err := p.openIdle(ctx); err != nil {
			return false
		}
	}
	return true
}

// Distance is how long it took to open a connection.
type Distance struct {
	Connect time.Duration // TCP: a round trip
	TLS     time.Duration // the handshake behind it; 0 where there is none
}

// Measure opens a connection, within ctx and ten seconds, and tells how long that took, without the look-up of the name.
// The connection is kept for a call.
func (p *Pool) Measure(ctx context.Context) (Distance, error) {
	if p.far != nil {
		return p.openIdle(ctx)
	}
	p.mu.Lock()
	full := p.open >= p.opt.MaxConns || p.closed
	if !full {
		p.open++
	}
	p.mu.Unlock()
	if full {
		return Distance{}, &CallError{Phase: "wait", Err: errTooMany, unsent: true}
	}
	return p.openIdle(ctx)
}

// openIdle opens a connection, for which it has leave, and keeps it.
func (p *Pool) openIdle(ctx context.Context) (Distance, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if p.far != nil {
		return p.measured(ctx, func(ctx context.Context) error { return farError(ctx, p.far.Connect(ctx)) })
	}
	var u *upstream
	far, err := p.measured(ctx, func(ctx context.Context) (err error) {
		u, err = p.dial(ctx)
		return err
	})
	switch {
	case err != nil:
		p.free()
	case !u.settle(min(2*(far.Connect+far.TLS)+mostSettle/100, mostSettle)):
		p.drop(u)
		err = &CallError{Phase: "tls", Err: errUnsettled, unsent: true}
	default:
		p.stock(u)
	}
	return far, err
}

// errUnsettled says that an upstream ends connections before they are used, or says something on them unasked.
var errUnsettled = errors.New("closed or written to by the upstream before a request")

// measured has a connection opened, and gives the time that it takes.
func (p *Pool) measured(ctx context.Context, open func(ctx context.Context) error) (Distance, error) {
	var mu sync.Mutex // of several addresses of a name that are tried beside each other
	begun, last := map[string]time.Time{}, time.Now()
	var far Distance
	trace := &httptrace.ClientTrace{
		ConnectStart: func(_, addr string) {
			mu.Lock()
			defer mu.Unlock()
			begun[addr] = time.Now()
		},
		ConnectDone: func(_, addr string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				last = time.Now()
				far.Connect = last.Sub(begun[addr])
			}
		},
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			mu.Lock()
			defer mu.Unlock()
			far.TLS = time.Since(last)
		},
	}
	err := open(httptrace.WithClientTrace(ctx, trace))
	mu.Lock()
	defer mu.Unlock()
	return far, err
}

// wants takes leave to open a connection where too few are idle.
func (p *Pool) wants() bool {
	if p.far != nil {
		return p.lacksRoom()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= min(p.ready, p.opt.MaxIdle) || p.open >= p.opt.MaxConns || p.closed {
		return false
	}
	p.open++
	return true
}

// lacksRoom says whether fewer calls over HTTP/2 would find room than should.
func (p *Pool) lacksRoom() bool {
	p.mu.Lock()
	n := min(p.ready, p.opt.MaxIdle)
	p.mu.Unlock()
	open, _ := p.far.Stats()
	return open < p.opt.MaxConns && p.far.Room() < n
}

// stock keeps a connection that no call has had.
func (p *Pool) stock(u *upstream) {
	u.since = time.Now()
	p.mu.Lock()
	surplus := p.store(u)
	p.mu.Unlock()
	if surplus != nil {
		surplus.nc.Close()
	}
}

// settle waits for what a TLS upstream sends behind its handshake, which would look like bytes that nobody asked for: the
// tickets of TLS 1.3 come unasked (RFC 8446, 4.6.1). It says whether the connection is good for a request.
func (u *upstream) settle(d time.Duration) bool {
	tc, ok := u.nc.(*tls.Conn)
	if !ok {
		s := u.peer()
		return !s.ok() || s.quiet()
	}
	if tc.ConnectionState().Version >= tls.VersionTLS13 {
		tc.SetReadDeadline(time.Now().Add(d))
		_, err := tc.Read(make([]byte, 1))
		tc.SetReadDeadline(time.Time{})
		u.readBy = time.Time{}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	s := u.peer()
	return !s.ok() || s.quiet()
}

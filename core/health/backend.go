package health

import (
	"sync"
	"sync/atomic"
	"time"
)

// Backend is one thing that can fail by itself. It is used by pointer and lasts as long as somebody keeps it, whatever
// generations come and go.
type Backend struct {
	ID string

	registry *Registry
	keepers  int         // guarded by the registry
	account  bool        // a credential
	theirs   atomic.Bool // one that a tenant brings

	// What admission reads. gate is 0 where all requests pass, else the time before which none does, in nanoseconds of the
	// registry's clock: a backend that is well, or surely is not, costs no lock.
	gate     atomic.Int64
	epoch    atomic.Uint32
	inFlight atomic.Int64
	requests meter

	mu      sync.Mutex // guards what follows
	breaker breaker
	retries meter
	timings timings
}

// Pass is a request that was admitted. It ends by one Done.
type Pass struct {
	backend  *Backend
	settings *Settings
	epoch    uint32
	probe    bool
}

// retryWindow is the time over which retries are compared with requests.
const retryWindow = 10 * time.Second

// Admit lets a request through, or refuses it: while the backend is held, open or quarantined, or when its one probe is
// out. It keeps s.
func (b *Backend) Admit(now time.Time, s *Settings) (Pass, bool) {
	p := Pass{backend: b, settings: s, epoch: b.epoch.Load()}
	if gate := b.gate.Load(); gate != 0 {
		if b.registry.since(now) < gate {
			return Pass{}, false
		}
		b.mu.Lock()
		probe, ok := b.breaker.admit(now)
		b.publish(now)
		p.probe, p.epoch = probe, b.breaker.epoch
		b.mu.Unlock()
		if !ok {
			return Pass{}, false
		}
	}
	b.inFlight.Add(1)
	b.requests.add(now, retryWindow)
	return p, true
}

// Probe lets an active probe through, which is no request: while the backend is well, and in the place of the one request
// that would find out whether it is again, somewhat before that could come. It keeps s.
func (b *Backend) Probe(now time.Time, s *Settings) (Pass, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	due, ok := b.breaker.probeDue(now, s)
	if !ok || due.After(now) {
		return Pass{}, false
	}
	if b.breaker.until.After(now) {
		b.breaker.until = now
	}
	p := Pass{backend: b, settings: s}
	p.probe, _ = b.breaker.admit(now)
	p.epoch = b.breaker.epoch
	b.publish(now)
	b.inFlight.Add(1)
	return p, true
}

// ProbeDue is when the backend, which is set aside, may be brought back by Probe; false: it is not, or not to be probed.
func (b *Backend) ProbeDue(now time.Time, s *Settings) (time.Time, bool) {
	if b.gate.Load() == 0 {
		return time.Time{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.phase == Closed {
		return time.Time{}, false
	}
	return b.breaker.probeDue(now, s)
}

// Probing says whether the pass is the one by which a backend that was set aside comes back, or does not.
func (p *Pass) Probing() bool { return p.probe }

// publish makes the breaker's state what admission reads. The caller holds mu.
func (b *Backend) publish(now time.Time) {
	gate := int64(0)
	if until := b.breaker.refuses(now); !until.IsZero() {
		gate = max(b.registry.since(until), 1)
	} else if b.breaker.phase != Closed {
		gate = 1
	}
	b.epoch.Store(b.breaker.epoch)
	b.gate.Store(gate)
}

// Content says that the answer has begun to come. It is not needed, but a probe that streams for minutes need not be over
// before others are let through. Done follows.
func (p *Pass) Content(now time.Time) {
	if b := p.backend; b != nil && p.probe {
		b.settle(p, &Outcome{OK: true, Ended: now}, good, false)
		p.probe = false // the epoch has passed with it: how the answer ends says nothing of the breaker
	}
}

// Done says what became of the request. It counts once: further calls, and those on a pass that was refused, do nothing.
func (p *Pass) Done(o Outcome) {
	b := p.backend
	if b == nil {
		return
	}
	p.backend = nil
	b.inFlight.Add(-1)
	v := judge(&o)
	if v == bad && b.account {
		v = nothing
	}
	b.settle(p, &o, v, true)
}

// settle tells the breaker of an outcome, and measures one that is the end.
func (b *Backend) settle(p *Pass, o *Outcome, v verdict, ended bool) {
	b.mu.Lock()
	if ended {
		b.timings.take(o, v)
	}
	var changed, held Event
	if p.epoch == b.breaker.epoch {
		changed = b.breaker.count(v, o, p.settings, p.probe)
	}
	if o.Hold > 0 && v != good {
		held = b.breaker.hold(o, p.settings)
	}
	if b.gate.Load() != 0 || b.breaker.phase != Closed || o.Hold > 0 {
		b.publish(o.Ended)
	}
	b.mu.Unlock()
	b.registry.tell(b, changed)
	b.registry.tell(b, held)
}

// Ready says whether a request would be admitted. It takes no lock.
func (b *Backend) Ready(now time.Time) bool {
	gate := b.gate.Load()
	return gate == 0 || b.registry.since(now) >= gate
}

// Hold leaves the backend alone for the outcome's Hold after its end, whatever its breaker says.
func (b *Backend) Hold(o Outcome, s *Settings) {
	if o.Hold <= 0 {
		return
	}
	b.mu.Lock()
	e := b.breaker.hold(&o, s)
	b.publish(o.Ended)
	b.mu.Unlock()
	b.registry.tell(b, e)
}

// Look gives the state at a time.
func (b *Backend) Look(now time.Time) State {
	if b.gate.Load() == 0 {
		return State{OK: true, Phase: Closed}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.breaker.state(now)
}

// RetryAllowed takes a retry out of the backend's budget, or says that it is spent: retries must not multiply an outage.
func (b *Backend) RetryAllowed(now time.Time, s *Settings) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	had := b.retries.sum(now, retryWindow)
	if had+1 > max(float64(s.RetryLeast), b.requests.sum(now, retryWindow)*float64(s.RetryPercent)/100) {
		return false
	}
	b.retries.add(now, retryWindow)
	return true
}

// released begins the reason of a release.
const released = "released by "

// Release brings the backend back at once, whatever it has been set aside for, and says whether it had been.
func (b *Backend) Release(now time.Time, by string) bool {
	b.mu.Lock()
	was := b.breaker.phase != Closed || b.breaker.held.After(now)
	var e Event
	if was {
		b.breaker.held = time.Time{}
		b.breaker.quarantined = true // its openings are forgiven
		e = b.breaker.close(now, released+by)
		b.publish(now)
	}
	b.mu.Unlock()
	b.registry.tell(b, e)
	return was
}

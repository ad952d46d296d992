package health

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/sdk"
)

// flight is a request under way in the model.
type flight struct {
	pass  Pass
	at    time.Time
	probe bool
}

// modelled is a backend with what is known of it without its breaker: who was let through, and how they ended.
type modelled struct {
	*bench
	out    []flight
	streak int // failures in a row, of all that ended since the backend was well
}

// admits asks for admission and holds it against what was seen just before.
func (m *modelled) admits(t *rapid.T) (flight, bool) {
	before := m.Look(m.now)
	if got := m.Ready(m.now); got != before.OK {
		t.Fatalf("ready %t in %+v", got, before)
	}
	p, ok := m.Admit(m.now, m.s)
	if ok != before.OK {
		t.Fatalf("admitted %t in %+v", ok, before)
	}
	if !ok {
		if wait := before.Until.Sub(m.now); wait <= 0 || wait > maxHold {
			t.Fatalf("refused for %v", wait)
		}
		return flight{}, false
	}
	if p.probe != (before.Phase == HalfOpen) {
		t.Fatalf("a probe: %t, in %+v", p.probe, before)
	}
	for _, f := range m.out {
		if p.probe && f.probe && f.pass.epoch == m.epoch.Load() && m.now.Sub(f.at) < probeLimit {
			t.Fatal("two probes at once")
		}
	}
	return flight{p, m.now, p.probe}, true
}

// ends ends a request, and holds what became of the backend against what the request said.
func (m *modelled) ends(t *rapid.T, f *flight, o Outcome) {
	before := m.breaker.phase
	counts := f.pass.epoch == m.epoch.Load()
	o.Started, o.Ended = f.at, m.now
	f.pass.Done(o)
	after := m.breaker.phase
	v := judge(&o)
	if counts && before == Closed {
		switch v {
		case good:
			m.streak = 0
		case bad:
			m.streak++
		}
	}
	opened := before == Closed && after != Closed
	switch {
	case !counts && after != before:
		t.Fatalf("an outcome of an earlier epoch made it %s, which was %s", after, before)
	case f.probe && counts && v == good && after != Closed:
		t.Fatalf("a probe was answered, and it is %s", after)
	case f.probe && counts && v == bad && m.Ready(m.now):
		t.Fatalf("a probe failed, and it is %s", after)
	case opened && v != bad:
		t.Fatalf("%+v opened it", o)
	case before == Closed && counts && m.streak >= m.s.Failures && !opened:
		t.Fatalf("%d failures in a row, and it is %s", m.streak, after)
	case opened && m.streak < m.s.Failures && m.breaker.attempts.cur+m.breaker.attempts.old < ratioLeast:
		t.Fatalf("%d failures in a row of few attempts, and it is %s", m.streak, after)
	case o.Hold > 0 && v != good && m.Ready(m.now):
		t.Fatalf("held for %v, and it is ready", o.Hold)
	}
	if before != Closed && after == Closed {
		m.streak = 0
	}
}

var drawnOutcomes = [...]Outcome{fine, fine, fine, broken, broken, broken, broken, {Kind: sdk.Timeout}, {Kind: sdk.BadRequest, Status: 400}, {Neutral: true},
	{Kind: sdk.UpstreamRate, Status: 429, Hold: 3 * time.Second}, {Kind: sdk.UpstreamRate, Status: 429}, {Kind: sdk.Overloaded, Status: 503, Hold: 48 * time.Hour},
	{Kind: sdk.UpstreamMoney, Status: 402, Hold: 48 * time.Hour}}

// TestModel draws requests, their outcomes in any order, and time, and holds what must hold of every history.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelled{bench: newBench(t)}
		m.s.Failures, m.s.QuarantineAfter = rapid.IntRange(1, 6).Draw(t, "failures"), rapid.IntRange(1, 5).Draw(t, "quarantine after")
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				if f, ok := m.admits(t); ok {
					m.out = append(m.out, f)
				}
			},
			"end": func(t *rapid.T) {
				if len(m.out) == 0 {
					t.Skip("none is out")
				}
				i := rapid.IntRange(0, len(m.out)-1).Draw(t, "which")
				m.ends(t, &m.out[i], rapid.SampledFrom(drawnOutcomes[:]).Draw(t, "outcome"))
				m.out = append(m.out[:i], m.out[i+1:]...)
			},
			"whole": func(t *rapid.T) {
				if f, ok := m.admits(t); ok {
					m.ends(t, &f, rapid.SampledFrom(drawnOutcomes[:]).Draw(t, "outcome"))
				}
			},
			"wait": func(t *rapid.T) {
				m.sleep(rapid.SampledFrom([]time.Duration{1, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, 24 * time.Hour}).Draw(t, "time"))
			},
			"until": func(t *rapid.T) { // it may be asked again
				if s := m.Look(m.now); !s.OK && s.Phase != HalfOpen {
					m.now = s.Until
					if f, ok := m.admits(t); !ok {
						t.Fatalf("not admitted at the time that was named in %+v", s)
					} else {
						m.out = append(m.out, f)
					}
				}
			},
			"release": func(t *rapid.T) {
				if m.Release(m.now, "a test") {
					m.streak = 0
				}
				if s := m.Look(m.now); s.Phase != Closed {
					t.Fatalf("released, and it is %+v", s)
				}
			},
			"": func(t *rapid.T) {
				if n := m.inFlight.Load(); n != int64(len(m.out)) {
					t.Fatalf("%d in flight, want %d", n, len(m.out))
				}
				if len(m.breaker.history) > maxHistory || len(m.breaker.openings) > maxOpenings {
					t.Fatal("memory without a bound")
				}
			},
		})
	})
}

// TestTogether has many use backends at once: nothing is lost, and a backend that always fails is asked no more often than
// its probes are due.
func TestTogether(t *testing.T) {
	down, well := newBench(t), newBench(t)
	down.s.OpenFor = time.Hour
	down.fail(5)
	var admitted atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range 2000 {
				now := well.now.Add(time.Duration(i) * time.Millisecond)
				p, ok := well.Admit(now, well.s)
				if ok {
					p.Content(now)
					o := fine
					if rand.IntN(4) == 0 {
						o = drawnOutcomes[rand.IntN(len(drawnOutcomes))]
					}
					o.Started, o.Ended, o.OutputTokens = now, now, 100
					p.Done(o)
				}
				if _, ok := down.Admit(now, down.s); ok {
					admitted.Add(1)
				}
				switch i % 100 {
				case 0:
					well.Release(now, "a test")
				case 10:
					well.RetryAllowed(now, well.s)
				case 20:
					well.Record()
				case 30:
					well.registry.Backends()
				case 40:
					well.registry.Backend("another").Keep()()
				}
				well.Look(now)
				well.Stats(now)
				well.Load(now)
			}
		})
	}
	wait.Wait()
	if n := well.inFlight.Load(); n != 0 {
		t.Errorf("%d in flight at the end", n)
	}
	if admitted.Load() != 0 {
		t.Errorf("%d were let through to a backend that is down", admitted.Load())
	}
}

// TestOneOfManyIsTheProbe has many ask at the moment when a backend may be probed.
func TestOneOfManyIsTheProbe(t *testing.T) {
	down := newBench(t)
	down.fail(5)
	down.sleep(10 * time.Second)
	var admitted atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				if _, ok := down.Admit(down.now, down.s); ok {
					admitted.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if admitted.Load() != 1 {
		t.Errorf("%d probes at once, want 1", admitted.Load())
	}
}

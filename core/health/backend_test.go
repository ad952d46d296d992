package health

import (
	"log/slog"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// bench is a backend whose time goes on as it is told.
type bench struct {
	t interface {
		Helper()
		Errorf(format string, args ...any)
	}
	*Backend
	s   *Settings
	now time.Time
}

func newBench(t interface {
	Helper()
	Errorf(format string, args ...any)
}) *bench {
	r := NewRegistry(slog.New(slog.DiscardHandler))
	return &bench{t, r.Backend(DeploymentID("p", "http://h", "m")), Defaults(), r.start.Add(time.Hour)}
}

func (b *bench) sleep(d time.Duration) { b.now = b.now.Add(d) }

// ask sends a request that ends at once; false where it was refused.
func (b *bench) ask(o Outcome) bool {
	p, ok := b.Admit(b.now, b.s)
	o.Started, o.Ended = b.now, b.now
	p.Done(o)
	return ok
}

func (b *bench) fail(n int) {
	for range n {
		b.ask(broken)
	}
}

var (
	fine   = Outcome{OK: true, Status: 200}
	broken = Outcome{Kind: sdk.UpstreamError, Status: 500}
)

// looks checks what is seen from outside.
func (b *bench) looks(p Phase, reason string, in time.Duration) {
	b.t.Helper()
	s := b.Look(b.now)
	if s.Phase != p || s.Reason != reason || s.OK != (in == 0) || !s.OK && s.Until.Sub(b.now) != in {
		b.t.Errorf("got %s %q ok %t in %v, want %s %q in %v", s.Phase, s.Reason, s.OK, s.Until.Sub(b.now), p, reason, in)
	}
	if ok := b.registry.since(b.now) >= b.gate.Load(); ok != s.OK {
		b.t.Errorf("the gate says %t, the state %t", ok, s.OK)
	}
}

func TestOpensAfterFailuresInARow(t *testing.T) {
	b := newBench(t)
	b.fail(4)
	b.ask(fine)
	b.fail(4)
	b.ask(Outcome{Kind: sdk.BadRequest, Status: 400}) // says nothing
	b.ask(Outcome{Kind: sdk.UpstreamError, Neutral: true})
	b.looks(Closed, "", 0)
	b.fail(1)
	b.looks(Open, "5 failures in a row, the last: upstream_error (status 500)", 10*time.Second)
	if b.ask(fine) {
		t.Error("an open breaker admits")
	}
	b.sleep(10 * time.Second)
	b.looks(HalfOpen, "5 failures in a row, the last: upstream_error (status 500)", 0)
	if !b.ask(fine) {
		t.Error("no probe is let through")
	}
	b.looks(Closed, "", 0)
}

func TestOpensAtAShareOfFailures(t *testing.T) {
	b := newBench(t)
	for range 9 {
		b.ask(fine)
		b.ask(broken)
	}
	b.ask(fine)
	b.looks(Closed, "", 0)
	b.ask(broken)
	b.looks(Open, "10 of 20 attempts failed, the last: upstream_error (status 500)", 10*time.Second)
}

// TestOneProbe holds that a half-open backend gets one request at a time, and what its outcome does.
func TestOneProbe(t *testing.T) {
	b := newBench(t)
	b.fail(5)
	b.sleep(10 * time.Second)
	probe, ok := b.Admit(b.now, b.s)
	if !ok || b.ask(fine) {
		t.Fatal("want one probe and no more")
	}
	b.looks(HalfOpen, "5 failures in a row, the last: upstream_error (status 500)", probeSoon)
	probe.Done(Outcome{Kind: sdk.UpstreamRate, Status: 429, Ended: b.now}) // frees the slot
	if !b.ask(broken) {
		t.Fatal("the slot was not freed")
	}
	b.looks(Open, "a probe failed: upstream_error (status 500)", 20*time.Second)
	probe.Done(Outcome{OK: true, Ended: b.now}) // a second time: nothing
	b.looks(Open, "a probe failed: upstream_error (status 500)", 20*time.Second)

	b.sleep(20 * time.Second)
	lost, _ := b.Admit(b.now, b.s)
	b.sleep(probeLimit)
	second, ok := b.Admit(b.now, b.s)
	if !ok {
		t.Fatal("a probe that nobody heard of again keeps the backend out")
	}
	lost.Done(Outcome{OK: true, Ended: b.now})
	if s := b.Look(b.now); s.OK {
		t.Error("a probe that was given up counts")
	}
	second.Content(b.now)
	b.looks(Closed, "", 0)
	second.Done(Outcome{Kind: sdk.UpstreamError, Ended: b.now})
	b.looks(Closed, "", 0)
	if n := b.inFlight.Load(); n != 0 {
		t.Errorf("%d in flight at the end", n)
	}
}

func TestProbesGrowApart(t *testing.T) {
	b := newBench(t)
	b.fail(5)
	for _, want := range []time.Duration{10, 20, 40, 60, 60, 60} {
		if got := b.Look(b.now).Until.Sub(b.now); got != want*time.Second {
			t.Errorf("the next probe is in %v, want %v", got, want*time.Second)
		}
		b.sleep(want * time.Second)
		b.ask(broken)
	}
	for _, c := range []struct{ first, most time.Duration }{{time.Second, 8 * time.Second}, {5 * time.Minute, 5 * time.Minute}} {
		if got := interval(c.first, 1000); got != c.most {
			t.Errorf("from %v: at most %v, want %v", c.first, got, c.most)
		}
	}
}

// TestQuarantine holds that openings add up where a backend comes back in between, and that one long outage does not.
func TestQuarantine(t *testing.T) {
	b := newBench(t)
	b.s.QuarantineAfter = 3
	const why = "5 failures in a row, the last: upstream_error (status 500)"
	for range 2 {
		b.fail(5)
		b.looks(Open, why, 10*time.Second)
		b.sleep(10 * time.Second)
		b.fail(1) // the outage lasts
		b.sleep(20 * time.Second)
		b.ask(fine)
	}
	b.fail(5)
	b.looks(Quarantined, "opened 3 times in an hour; "+why, 10*time.Minute)
	b.sleep(10 * time.Minute)
	b.fail(1)
	b.looks(Quarantined, "a probe failed: upstream_error (status 500)", 10*time.Minute)
	b.sleep(10 * time.Minute)
	b.ask(fine)
	b.looks(Closed, "", 0)
	b.fail(5)
	b.looks(Open, why, 10*time.Second)

	slow := newBench(t)
	slow.s.QuarantineAfter = 3
	for range 10 {
		slow.fail(5)
		slow.looks(Open, why, 10*time.Second)
		slow.sleep(10 * time.Second)
		slow.ask(fine)
		slow.sleep(31 * time.Minute)
	}
}

func TestHold(t *testing.T) {
	b := newBench(t)
	b.ask(Outcome{Kind: sdk.UpstreamRate, Status: 429, Hold: 2 * time.Second})
	b.looks(Held, "upstream_rate (status 429)", 2*time.Second)
	b.sleep(2 * time.Second)
	b.looks(Closed, "", 0)
	b.fail(3)
	b.ask(Outcome{Kind: sdk.UpstreamRate, Status: 429, Hold: 24 * time.Hour})
	b.looks(Held, "upstream_rate (status 429)", 10*time.Minute)
	b.sleep(10 * time.Minute)
	b.fail(1)
	b.looks(Closed, "", 0) // a limit is no failure: four in a row
	b.ask(Outcome{Kind: sdk.UpstreamMoney, Status: 402, Hold: 48 * time.Hour})
	b.looks(Held, "upstream_money (status 402)", 24*time.Hour)
	if !b.Release(b.now, "a test") || b.Release(b.now, "a test") {
		t.Error("want a release once")
	}
	b.looks(Closed, "", 0)
	b.ask(Outcome{Kind: sdk.Overloaded, Status: 503, Hold: time.Minute}) // asked to wait, and a failure
	b.looks(Held, "overloaded (status 503)", time.Minute)
}

// TestEarlierEpoch holds that requests that were under way when the breaker opened change nothing when they end after it
// has closed again.
func TestEarlierEpoch(t *testing.T) {
	b := newBench(t)
	var late []Pass
	for range 10 {
		p, _ := b.Admit(b.now, b.s)
		late = append(late, p)
	}
	b.fail(5)
	b.sleep(10 * time.Second)
	b.ask(fine)
	for i := range late {
		late[i].Done(Outcome{Kind: sdk.Timeout, Ended: b.now})
	}
	b.looks(Closed, "", 0)
}

func TestRetryBudget(t *testing.T) {
	b := newBench(t)
	allowed := func() (n int) {
		for b.RetryAllowed(b.now, b.s) {
			n++
		}
		return n
	}
	if n := allowed(); n != 3 {
		t.Errorf("%d retries of a quiet backend, want 3", n)
	}
	b.sleep(time.Minute)
	for range 1000 {
		b.ask(fine)
	}
	if n := allowed(); n != 200 {
		t.Errorf("%d retries beside 1000 requests, want 200", n)
	}
	b.sleep(time.Minute)
	if n := allowed(); n != 3 {
		t.Errorf("%d retries after a minute, want 3", n)
	}
}

// BenchmarkAdmit is the healthy path, and the refusal of a backend that is down.
func BenchmarkAdmit(b *testing.B) {
	b.Run("healthy", func(b *testing.B) {
		on, now := newBench(b), time.Now()
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := on.Admit(now, on.s); !ok {
				b.Fatal("refused")
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		on := newBench(b)
		on.fail(5)
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := on.Admit(on.now, on.s); ok {
				b.Fatal("admitted")
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		on, now := newBench(b), time.Now()
		b.ReportAllocs()
		for b.Loop() {
			if !on.Look(now).OK {
				b.Fatal("down")
			}
		}
	})
	b.Run("done", func(b *testing.B) {
		on := newBench(b)
		b.ReportAllocs()
		for b.Loop() {
			p, _ := on.Admit(on.now, on.s)
			p.Done(Outcome{OK: true, Started: on.now, FirstContent: on.now.Add(time.Second), Ended: on.now.Add(2 * time.Second), OutputTokens: 100})
		}
	})
}

// TestCredentialOnlyHolds holds that failures of the service do not count against the account that asked.
func TestCredentialOnlyHolds(t *testing.T) {
	b := newBench(t)
	b.Backend = b.registry.Credential(CredentialID("p", "main", ""))
	b.fail(100)
	b.looks(Closed, "", 0)
	b.ask(Outcome{Kind: sdk.UpstreamAuth, Status: 401, Hold: time.Minute})
	b.looks(Held, "upstream_auth (status 401)", time.Minute)
}

// TestActiveProbe: a probe that is no request comes through before one, holds the door while it is out, and what it finds
// is no measurement of answers; the record says whether the backend could not even be reached.
func TestActiveProbe(t *testing.T) {
	b := newBench(t)
	if _, ok := b.ProbeDue(b.now, b.s); ok {
		t.Error("a backend that is well is waited for")
	}
	if p, ok := b.Probe(b.now, b.s); !ok || p.Probing() {
		t.Error("want a probe that decides nothing")
	} else {
		p.Done(Outcome{OK: true, Neutral: true, Ended: b.now})
	}
	away := Outcome{Kind: sdk.UpstreamError, Unsent: true}
	for range b.s.Failures {
		b.ask(away)
	}
	if !b.Look(b.now).Unsent || !b.Record().Unsent {
		t.Errorf("it could not be reached, and that is not known: %+v", b.Look(b.now))
	}
	due, ok := b.ProbeDue(b.now, b.s)
	if want := b.now.Add(b.s.OpenFor - probeLead); !ok || !due.Equal(want) {
		t.Errorf("the probe is due at %v, want %v", due, want)
	}
	if _, ok := b.Probe(due.Add(-1), b.s); ok {
		t.Error("a probe is let through before it is due")
	}
	b.now = due
	p, ok := b.Probe(b.now, b.s)
	if !ok || !p.Probing() {
		t.Fatal("the probe is not let through")
	}
	if _, ok := b.Probe(b.now, b.s); ok {
		t.Error("a second probe is let through")
	}
	if _, ok := b.ProbeDue(b.now, b.s); ok {
		t.Error("another is due while one is out")
	}
	if b.sleep(probeLead); b.ask(fine) {
		t.Error("a request is let through beside the probe")
	}
	p.Done(Outcome{Kind: sdk.UpstreamError, Status: 500, Ended: b.now})
	b.looks(Open, "a probe failed: upstream_error (status 500)", 20*time.Second)
	if b.Look(b.now).Unsent {
		t.Error("it answered, and that is not known")
	}
	b.sleep(20*time.Second - probeLead)
	p, _ = b.Probe(b.now, b.s)
	p.Done(Outcome{OK: true, Ended: b.now})
	b.looks(Closed, "", 0)
	if s := b.Stats(b.now); s.P50 != 0 || s.InFlight != 0 {
		t.Errorf("probes were measured as answers: %+v", s)
	}
}

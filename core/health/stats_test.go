package health

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// answer has a request take some time.
func (b *bench) answer(first, whole time.Duration, tokens int64) {
	p, _ := b.Admit(b.now, b.s)
	p.Done(Outcome{OK: true, Started: b.now.Add(-whole), FirstContent: b.now.Add(first - whole), Ended: b.now, OutputTokens: tokens})
}

// TestBuckets holds that every duration lies in a bucket whose middle is within a sixteenth of it, or 32 µs.
func TestBuckets(t *testing.T) {
	last := 0
	for d := time.Duration(0); d < 2*time.Hour; d += d/64 + 5*time.Microsecond {
		i := bucketOf(d)
		if i < last || i > last+1 {
			t.Fatalf("%v is in bucket %d, what is a little shorter in %d", d, i, last)
		}
		last = i
		if off := (middleOf(i) - d).Abs(); off > 32*time.Microsecond && off > d/16 {
			t.Fatalf("%v is taken for %v", d, middleOf(i))
		}
	}
	if i := bucketOf(math.MaxInt64); i != numBuckets-1 {
		t.Errorf("the longest is in bucket %d", i)
	}
	if i := bucketOf(-time.Second); i != 0 {
		t.Errorf("a negative one is in bucket %d", i)
	}
}

// TestQuantiles compares with the exact ones of drawn durations.
func TestQuantiles(t *testing.T) {
	var h histogram
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now()
	var all []time.Duration
	for range 5000 {
		d := time.Duration(math.Exp(random.NormFloat64()) * float64(time.Second))
		all = append(all, d)
		h.add(now, d)
	}
	slices.Sort(all)
	for _, share := range []float64{0, 0.5, 0.99, 1} {
		want := all[min(int(share*float64(len(all))), len(all)-1)]
		if got := h.quantile(share); (got - want).Abs() > want/8 {
			t.Errorf("the quantile of %v is %v, want %v", share, got, want)
		}
	}
}

// TestOldAnswersFade holds that new answers outweigh old ones in minutes, and that the last are not forgotten.
func TestOldAnswersFade(t *testing.T) {
	var h histogram
	now := time.Now()
	for range 100_000 {
		h.add(now, time.Second)
	}
	for range 10 {
		now = now.Add(time.Minute)
		for range 200 {
			h.add(now, 100*time.Millisecond)
		}
	}
	if got := h.quantile(0.5); got > 110*time.Millisecond {
		t.Errorf("ten minutes later the median is %v", got)
	}
	h.add(now.Add(48*time.Hour), 100*time.Millisecond)
	if h.sum < leastWeight || h.quantile(0.99) == 0 {
		t.Errorf("of a quiet backend %d is left", h.sum)
	}
	for range 20_000_000 / sampleWeight {
		h.add(now, time.Second)
	}
	if h.sum > maxWeight+sampleWeight {
		t.Errorf("it has grown to %d", h.sum)
	}
}

func TestStats(t *testing.T) {
	b := newBench(t)
	if s := b.Stats(b.now); s != (Stats{}) {
		t.Errorf("of a new backend: %+v", s)
	}
	for range 50 {
		b.answer(200*time.Millisecond, 1200*time.Millisecond, 100)
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	s := b.Stats(b.now)
	near("p50", s.P50.Seconds(), 1.2, 0.08)
	near("p99", s.P99.Seconds(), 1.2, 0.08)
	near("first content", s.FirstContent.Seconds(), 0.2, 0.02)
	near("speed", s.TokensPerSecond, 100, 1)
	near("cost", b.Load(b.now).Cost, 0.2, 0.001)
	b.answer(900*time.Millisecond, 900*time.Millisecond, 90) // all at once
	near("speed", b.Stats(b.now).TokensPerSecond, 100, 1)
	near("cost after a slow answer", b.Load(b.now).Cost, 0.9, 0.001)
	b.sleep(30 * time.Second)
	near("cost half a minute later", b.Load(b.now).Cost, 0.36, 0.05)
	b.sleep(time.Hour)
	if c := b.Load(b.now).Cost; c <= 0 || c > 0.001 {
		t.Errorf("of a backend that nobody asks the cost is %v", c)
	}
	b.answer(200*time.Millisecond, 1200*time.Millisecond, 4) // too short to tell the speed
	near("speed", b.Stats(b.now).TokensPerSecond, 100, 1)

	b.fail(4)
	near("error rate", b.Stats(b.now).ErrorRate, 1-math.Pow(0.9, 4), 0.001)
	p, _ := b.Admit(b.now, b.s)
	near("cost of a failing backend", b.Load(b.now).Cost, 2*b.timings.cost(b.now)/math.Pow(0.9, 4), 0.001)
	p.Done(Outcome{Kind: sdk.Timeout, Started: b.now, Ended: b.now.Add(time.Minute)})
	b.sleep(time.Minute)
	near("cost after a time-out", b.timings.cost(b.now), 60, 0.001)
	rate := b.Stats(b.now).ErrorRate
	b.sleep(time.Minute)
	near("error rate a minute later", b.Stats(b.now).ErrorRate, rate/2, 0.001)
	if n := b.Stats(b.now).InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// TestFailuresAreNoAnswers holds that a backend that refuses at once is not taken for a quick one.
func TestFailuresAreNoAnswers(t *testing.T) {
	b := newBench(t)
	for range 4 {
		p, _ := b.Admit(b.now, b.s)
		p.Done(Outcome{Kind: sdk.UpstreamError, Started: b.now.Add(-time.Millisecond), Ended: b.now})
	}
	if s := b.Stats(b.now); s.P50 != 0 || s.FirstContent != 0 {
		t.Errorf("of failures alone is measured %+v", s)
	}
	if c := b.Load(b.now).Cost; !math.IsInf(c, 1) {
		t.Errorf("after as many trials as there may be the cost is %v", c)
	}
	b.answer(time.Second, time.Second, 10)
	b.ask(broken)
	if c := b.Load(b.now).Cost; c < 1 {
		t.Errorf("a quick failure has made the cost %v", c)
	}
}

func TestBackendsAreForgotten(t *testing.T) {
	b := newBench(t)
	r := b.registry
	release := b.Keep()
	again := b.Keep()
	for i := range maxIdle + 10 {
		r.Backend(string(rune('A' + i)))
	}
	if n := len(r.Backends()); n != maxIdle+1 || r.Backend(b.ID) != b.Backend {
		t.Errorf("%d are remembered, want %d and the one that is kept", n, maxIdle+1)
	}
	release()
	release()
	if n := len(r.idle); n != maxIdle {
		t.Errorf("released twice by one keeper: %d are kept by nobody, want %d", n, maxIdle)
	}
	again()
	if r.Backend(b.ID) != b.Backend {
		t.Error("it is forgotten at once")
	}
	for i := range maxIdle {
		r.Backend(string(rune(0x4000 + i)))
	}
	if r.Backend(b.ID) == b.Backend {
		t.Error("it is remembered for ever")
	}
}

func TestReleaseByName(t *testing.T) {
	b := newBench(t)
	r := b.registry
	for _, id := range []string{DeploymentID("open", "https://a/v1", "m/1"), DeploymentID("open", "https://a/v1", "m/12"), CredentialID("open", "main", ""), CredentialID("open", "main", "m"), DeploymentID("openai", "https://b", "m")} {
		r.Backend(id).Hold(Outcome{Kind: sdk.UpstreamRate, Hold: time.Minute, Ended: b.now}, b.s)
	}
	f := func(name string, found bool, want ...string) {
		t.Helper()
		got, ok := r.Release(b.now, name, "a test")
		if !slices.Equal(got, want) || ok != found {
			t.Errorf("%s: got %q, found %t; want %q", name, got, ok, want)
		}
	}
	f("ope", false)
	f("", false)
	f("open/m/1", true, "open/m/1 at https://a/v1")
	f("open/m/1", true)
	f("open credential main for m", true, "open credential main for m")
	f("open", true, "open credential main", "open/m/12 at https://a/v1")
	f("openai", true, "openai/m at https://b")
}

package health

import (
	"math"
	"time"
)

// Stats is what was measured of a backend. A duration or rate of 0 was not measured yet.
type Stats struct {
	P50, P99        time.Duration // of whole answers
	FirstContent    time.Duration // median
	TokensPerSecond float64
	ErrorRate       float64 // of recent attempts, 0 to 1; forgotten with errorHalf
	InFlight        int64
}

// How fast what was measured is forgotten.
const (
	errorHalf  = time.Minute
	peakHalf   = 7 * time.Second // a peak of latency; Finagle's 10 s to 1/e
	staleHalf  = 5 * time.Minute // of the latency of a backend that is not asked: slow ones are tried again now and then
	errorShare = 0.1             // that one attempt has in the error rate
	speedShare = 0.2             // that one answer has in averages
	leastSpeed = 8               // tokens that an answer has to have to say anything of the speed
)

// timings is what is measured of answers.
type timings struct {
	whole, first histogram
	speed        float64 // tokens a second
	errors       float64
	errorsAt     time.Time

	mean, peak float64 // seconds to the first content
	at         time.Time
}

// take measures an outcome.
func (t *timings) take(o *Outcome, v verdict) {
	switch v {
	case nothing, limited:
		return
	case bad:
		t.fail(o.Ended, 1)
		if took := o.Ended.Sub(o.Started); t.mean > 0 && o.FirstContent.IsZero() && took.Seconds() > t.mean {
			t.wait(o.Ended, took) // a failure is no quick answer, but a late one is slow
		}
		return
	}
	t.fail(o.Ended, 0)
	if o.Started.IsZero() {
		return
	}
	all, first := o.Ended.Sub(o.Started), o.Ended.Sub(o.Started)
	if !o.FirstContent.IsZero() {
		first = o.FirstContent.Sub(o.Started)
	}
	t.whole.add(o.Ended, all)
	t.first.add(o.Ended, first)
	t.wait(o.Ended, first)
	if o.OutputTokens >= leastSpeed {
		t.pace(o.OutputTokens, all, first)
	}
}

// pace measures the speed: over the time that the tokens came in, or over all where they came at once.
func (t *timings) pace(tokens int64, all, first time.Duration) {
	took := all - first
	if took < time.Millisecond {
		took = max(all, time.Microsecond)
	}
	speed := float64(tokens) / took.Seconds()
	if t.speed > 0 {
		speed = t.speed + speedShare*(speed-t.speed)
	}
	t.speed = speed
}

func (t *timings) fail(now time.Time, share float64) {
	e := t.errorRate(now)
	t.errors, t.errorsAt = e+errorShare*(share-e), now
}

func (t *timings) errorRate(now time.Time) float64 {
	return t.errors * decay(now.Sub(t.errorsAt), errorHalf)
}

// wait measures latency by peak EWMA: a rise counts at once and in full, a fall slowly
// (https://twitter.github.io/finagle/guide/Clients.html, "P2C + Peak EWMA").
func (t *timings) wait(now time.Time, d time.Duration) {
	s := d.Seconds()
	if t.mean == 0 {
		t.mean, t.peak, t.at = s, s, now
		return
	}
	peak := t.mean + (t.peak-t.mean)*decay(now.Sub(t.at), peakHalf)
	t.mean += speedShare * (s - t.mean)
	t.peak, t.at = max(peak, s, t.mean), now
}

// cost is the latency that a request is to expect, in seconds; 0 where none was measured.
func (t *timings) cost(now time.Time) float64 {
	idle := now.Sub(t.at)
	return (t.mean + (t.peak-t.mean)*decay(idle, peakHalf)) * decay(idle, staleHalf)
}

func decay(d, half time.Duration) float64 {
	if d <= 0 {
		return 1
	}
	return math.Exp2(-float64(d) / float64(half))
}

// Stats gives what was measured.
func (b *Backend) Stats(now time.Time) Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.timings
	return Stats{P50: t.whole.quantile(0.5), P99: t.whole.quantile(0.99), FirstContent: t.first.quantile(0.5),
		TokensPerSecond: t.speed, ErrorRate: t.errorRate(now), InFlight: b.inFlight.Load()}
}

// maxUntried bounds the requests to a backend of which no latency is known: in flight at once, and within retryWindow.
const maxUntried = 3

// Load is what backends are compared by for speed.
type Load struct {
	// Cost is what a request to the backend is expected to take until its first content, in seconds: the latency by peak
	// EWMA, times the requests in flight and this one, over the share that succeeds. It is 0 where nothing was measured yet,
	// so that the backend is tried, and infinite when maxUntried requests are finding out.
	Cost float64
	// Speed is in tokens a second; 0 where nothing was measured yet.
	Speed float64
}

// Load gives what is expected now.
func (b *Backend) Load(now time.Time) Load {
	const leastShare = 0.05
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Load{Cost: b.timings.cost(now), Speed: b.timings.speed}
	n := b.inFlight.Load()
	switch {
	case l.Cost > 0:
		l.Cost *= float64(n+1) / max(1-b.timings.errorRate(now), leastShare)
	case n >= maxUntried || b.requests.sum(now, retryWindow) >= maxUntried:
		l.Cost = math.Inf(1)
	}
	return l
}

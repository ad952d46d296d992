package pluginhost

import (
	"math"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk/wire"
)

// TestLateness: a long wait counts for a time and is then forgotten.
func TestLateness(t *testing.T) {
	waits, now := uint64(7), time.Now()
	l := newLateness(now, func() uint64 { return waits })
	f := func(after time.Duration, more uint64, want bool) {
		t.Helper()
		now, waits = now.Add(after), waits+more
		if got := l.late(now); got != want {
			t.Errorf("late: %v, want %v", got, want)
		}
	}
	f(time.Second, 0, false)
	f(time.Second, 1, true)
	f(time.Second, 0, true)
	f(time.Second, 0, true)
	f(time.Second, 0, false)
	f(time.Hour, 2, true) // the last look was long ago
	f(2*time.Second, 0, true)
	f(time.Second, 0, false)
}

func TestLongWaits(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{1, 2, 4, 8, 16}, Buckets: []float64{math.Inf(-1), 0, 0.01, 0.1, 0.2, math.Inf(1)}}
	if got := longWaits(h); got != 8+16 {
		t.Errorf("%d, want 24", got)
	}
	schedulingWaits() // has the form that is counted on
}

// late is a lateness that always is, or never.
func late(always bool) *lateness {
	n := uint64(0)
	return newLateness(time.Now(), func() uint64 {
		if always {
			n++
		}
		return n
	})
}

// TestSignsOfLife: where this process is late itself more than one must be missed, and any answer is one, late or not.
func TestSignsOfLife(t *testing.T) {
	ours, theirs := net.Pipe()
	pings := make(chan uint64, 100)
	plugin := wire.NewConn(theirs, time.Minute)
	received := make(chan struct{})
	go func() {
		defer close(received)
		plugin.Receive(func(f *wire.Frame) error { pings <- f.Call; return nil })
	}()
	in := &instance{plane: wire.NewCaller(ours, time.Minute), self: late(true)}
	defer func() { in.plane.Close(); plugin.Close(); <-received }()
	f := func(silences int) {
		t.Helper()
		if err := in.alive(time.Millisecond); err != nil || in.silences != silences {
			t.Errorf("%v, %d signs are missed; want %d", err, in.silences, silences)
		}
	}
	f(1)
	f(2)
	plugin.Send(&wire.Frame{Op: wire.Pong, Call: <-pings})
	until(t, "the answer that is late", func() bool { return in.plane.Heard() == 1 })
	f(0)
	for n := range patience - 1 {
		f(n + 1)
	}
}

package pluginhost

import (
	"runtime/metrics"
	"sync"
	"time"
)

// lateness tells whether this process has been short of processors of late. Answers of plugins have then waited to be read,
// and what did not come in time is no sign that a plugin hangs.
type lateness struct {
	waits func() uint64 // how often a goroutine has waited lateBy for a processor

	mu    sync.Mutex // guards what follows
	marks [2]mark    // the newest last
}

// mark is what waits said at a time.
type mark struct {
	at    time.Time
	waits uint64
}

// What counts as late, and for how long at least.
const (
	lateBy  = 100 * time.Millisecond
	lateFor = 2 * time.Second
)

func newLateness(now time.Time, waits func() uint64) *lateness {
	m := mark{now, waits()}
	return &lateness{waits: waits, marks: [2]mark{m, m}}
}

// late says whether a goroutine has waited too long of late. It is asked at intervals, and so knows from when on.
func (l *lateness) late(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, was := l.waits(), l.marks[0].waits
	if now.Sub(l.marks[1].at) >= lateFor {
		l.marks[0], l.marks[1] = l.marks[1], mark{now, n}
	}
	return n > was
}

// schedulingWaits counts, of the goroutines that the runtime looks at, those that were ready to run for lateBy before they ran.
func schedulingWaits() uint64 {
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	return longWaits(s[0].Value.Float64Histogram())
}

// longWaits counts what took lateBy or longer.
func longWaits(h *metrics.Float64Histogram) (n uint64) {
	for i, count := range h.Counts {
		if h.Buckets[i] >= lateBy.Seconds() {
			n += count
		}
	}
	return n
}

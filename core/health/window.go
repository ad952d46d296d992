package health

import (
	"sync/atomic"
	"time"
)

// window is a sum over the recent past in two halves of a fixed grid: it holds between a half and the whole of its span,
// and takes no memory per event.
type window struct {
	half     int64 // number of the current half
	cur, old float64
}

func (w *window) roll(now time.Time, span time.Duration) {
	switch n := now.UnixNano() / int64(span/2); {
	case n == w.half+1:
		w.old, w.cur, w.half = w.cur, 0, n
	case n > w.half:
		w.old, w.cur, w.half = 0, 0, n
	}
}

func (w *window) add(now time.Time, span time.Duration) {
	w.roll(now, span)
	w.cur++
}

func (w *window) sum(now time.Time, span time.Duration) float64 {
	w.roll(now, span)
	return w.cur + w.old
}

// meter counts events per interval without a lock. Beside a change of interval a few may be counted in the neighbour.
type meter struct {
	interval atomic.Int64
	cur, old atomic.Int64
}

// add counts one event.
func (m *meter) add(now time.Time, span time.Duration) {
	m.roll(now.UnixNano() / int64(span))
	m.cur.Add(1)
}

func (m *meter) roll(n int64) {
	was := m.interval.Load()
	if n <= was || !m.interval.CompareAndSwap(was, n) {
		return
	}
	last := m.cur.Swap(0)
	if n != was+1 {
		last = 0
	}
	m.old.Store(last)
}

// sum estimates the events in the span before a time.
func (m *meter) sum(now time.Time, span time.Duration) float64 {
	ns := now.UnixNano()
	m.roll(ns / int64(span))
	through := float64(ns%int64(span)) / float64(span)
	return float64(m.cur.Load()) + float64(m.old.Load())*(1-through)
}

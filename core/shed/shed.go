// Package shed decides who is served when there is more to do than there is room for: requests wait in order of their
// class in a queue that is bounded in length and in time, and the least important are turned away first, at once, long
// before the kernel would decide.
//
// It counts requests and knows nothing of them. What a key's class is and what a refused client is told is the
// gateway's; how much memory is in use is told by its owner.
package shed

import (
	"sync"
	"sync/atomic"
	"time"
)

// Class is how important a request is.
type Class uint8

// The classes, least important first.
const (
	Batch Class = iota
	Default
	Interactive
)

// ParseClass gives the class of a name in configuration; Default for any other.
func ParseClass(name string) Class {
	switch name {
	case "batch":
		return Batch
	case "interactive":
		return Interactive
	}
	return Default
}

// MaxWait is the longest that a request waits for room: longer, and its client had better come again.
const MaxWait = 2 * time.Second

// maxQueue bounds the requests that wait.
const maxQueue = 1024

// Gate lets requests in. The zero Gate is open.
type Gate struct {
	inFlight atomic.Int64
	tight    atomic.Bool  // memory is short
	waiting  atomic.Int64 // in queues; read without mu to keep the way out short

	mu     sync.Mutex
	queues [Interactive + 1][]*waiter // oldest first
}

// waiter is a request that waits. verdict is sent once, by whoever takes it out of its queue.
type waiter struct{ verdict chan bool }

// Enter waits for room among limit requests (0: there is no limit). It gives false where there is none for this class
// now; else the request is in and ends with Leave. While memory is short nobody but the most important enters: the
// others wait, and batch is turned away at once.
func (g *Gate) Enter(c Class, limit int) bool {
	if n := g.inFlight.Add(1); (limit == 0 || n <= int64(limit)) && (c == Interactive || !g.tight.Load()) {
		return true
	}
	g.inFlight.Add(-1)
	w := g.line(c)
	if w == nil {
		return false
	}
	g.admit(limit) // room may have come before the request stood in line
	t := time.NewTimer(MaxWait)
	defer t.Stop()
	select {
	case in := <-w.verdict:
		return in
	case <-t.C:
	}
	if g.unline(c, w) {
		return false
	}
	return <-w.verdict // it was let in, or turned away, at the last moment
}

// line puts a request at the end of its class's queue; nil where it is not to wait. A full queue turns the youngest of the
// least important away, which may be this one.
func (g *Gate) line(c Class) *waiter {
	if c == Batch && g.tight.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting.Load() >= maxQueue && !g.evict(c) {
		return nil
	}
	w := &waiter{verdict: make(chan bool, 1)}
	g.queues[c] = append(g.queues[c], w)
	g.waiting.Add(1)
	return w
}

// evict turns away the youngest of the least important that waits, if it is less important than c.
func (g *Gate) evict(c Class) bool {
	for k := range c {
		if n := len(g.queues[k]); n > 0 {
			g.queues[k][n-1].verdict <- false
			g.queues[k] = g.queues[k][:n-1]
			g.waiting.Add(-1)
			return true
		}
	}
	return false
}

// unline takes a request out of its queue; false where somebody else has.
func (g *Gate) unline(c Class, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, o := range g.queues[c] {
		if o == w {
			g.queues[c] = append(g.queues[c][:i], g.queues[c][i+1:]...)
			g.waiting.Add(-1)
			return true
		}
	}
	return false
}

// Leave ends a request that was let in, and lets the next one in. limit is as in Enter.
func (g *Gate) Leave(limit int) {
	g.inFlight.Add(-1)
	if g.waiting.Load() > 0 {
		g.admit(limit)
	}
}

// admit lets in who waits while there is room, the most important and oldest first.
func (g *Gate) admit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := Interactive; ; c-- {
		for len(g.queues[c]) > 0 && (c == Interactive || !g.tight.Load()) {
			if n := g.inFlight.Add(1); limit > 0 && n > int64(limit) {
				g.inFlight.Add(-1)
				return
			}
			g.queues[c][0].verdict <- true
			g.queues[c] = g.queues[c][1:]
			g.waiting.Add(-1)
		}
		if c == Batch {
			return
		}
	}
}

// Tighten says whether memory is short.
func (g *Gate) Tighten(short bool) { g.tight.Store(short) }

// Short says whether memory is short.
func (g *Gate) Short() bool { return g.tight.Load() }

// InFlight is the number of requests that are in.
func (g *Gate) InFlight() int64 { return g.inFlight.Load() }

// Waiting is the number of requests that wait.
func (g *Gate) Waiting() int64 { return g.waiting.Load() }

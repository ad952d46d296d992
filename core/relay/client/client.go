// Package client is the writing side of an exchange: it keeps up with a client that reads, waits within bounds for one that
// reads slowly, and notices one that leaves.
//
// What is written, and what a client's leaving means for the upstream call, is core/relay's.
package client

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/bytequeue"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/h1"
)

// Client is the writing side of an exchange. While the client's socket takes what it is given, writes go straight to
// it from the goroutine that reads the upstream. When it does not, a goroutine of its own drains a queue that is bounded
// in bytes, and a full queue pauses the reading of the upstream.
//
// A client that left is no error: writes to it do nothing, so that the upstream can be read to its end for what it
// charges.
type Client struct {
	ex         h1.Exchange
	limit      bytequeue.Limit
	stall      time.Duration // that the queue may be full
	watching   bool
	isGone     atomic.Bool
	ending     atomic.Bool   // its server is about to be closed
	wake       chan struct{} // closed when the client leaves, or its server is about to be closed; made by Watch
	unwarned   func()        // cancels that the latter is told; nil: it is not
	stalled    bool          // left because it did not read
	queue      *bytequeue.Queue
	done       chan error // the writer goroutine's end
	drainTimer *time.Timer
	drainEnd   func() bool            // cancels what is done where the server is closed before; nil: nothing is
	drained    chan struct{}          // closed when what drainTimer does has been done
	fault      atomic.Pointer[string] // of a panic in one of its goroutines
}

// Init makes the client of an exchange ready, of which as many bytes as limit says wait for a slow client, which may
// take nothing for as long as stall.
func (c *Client) Init(ex h1.Exchange, limit bytequeue.Limit, stall time.Duration) {
	c.ex, c.limit, c.stall, c.watching, c.stalled = ex, limit, stall, false, false
	c.isGone.Store(false)
	c.ending.Store(false)
	c.unwarned = nil
	c.wake, c.queue, c.done, c.drainTimer, c.drainEnd = nil, nil, nil, nil, nil
	c.fault.Store(nil)
}

// Gone says whether the client has left, or has been given up.
func (c *Client) Gone() bool { return c.isGone.Load() }

// Lose marks the client as gone.
func (c *Client) Lose() { c.isGone.Store(true) }

// Ending says whether the client's server is about to be closed: there is just time to tell the client.
func (c *Client) Ending() bool { return c.ending.Load() }

// Watch begins to look for the client's leaving, and for the end of its server; over is then called once, from another
// goroutine.
func (c *Client) Watch(over func()) {
	c.watching = true
	wake := make(chan struct{})
	c.wake = wake
	once := sync.OnceFunc(func() {
		defer close(wake)
		if over != nil {
			c.guard(over)
		}
	})
	c.ex.Watch(func() {
		c.Lose()
		once()
	})
	if ex, ok := c.ex.(closes); ok {
		told := make(chan struct{})
		cancel := ex.AtClose(func() {
			defer close(told)
			c.ending.Store(true)
			once()
		})
		c.unwarned = func() {
			if !cancel() {
				<-told
			}
		}
	}
}

// Unwatch ends the watch; nothing of it runs once it has returned.
func (c *Client) Unwatch() {
	if !c.watching {
		return
	}
	c.watching = false
	c.ex.Unwatch()
	if c.unwarned != nil {
		c.unwarned()
	}
}

// Sleep waits for d; false at once when the client leaves or its server is about to be closed.
func (c *Client) Sleep(d time.Duration) bool {
	if c.Gone() || c.Ending() {
		return false
	}
	if d <= 0 {
		return true
	}
	c.Unwatch()
	c.Watch(nil)
	defer c.Unwatch()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return !c.Gone()
	case <-c.wake:
		return false
	}
}

// Write sends bytes of an answer with a chunked body. It does not wait: see Await.
func (c *Client) Write(segs ...[]byte) {
	switch {
	case c.Gone() || len(segs) == 0:
		return
	case c.queue != nil:
		c.push(segs)
		return
	}
	rest, err := c.ex.TryWrite(segs...)
	if err != nil {
		c.Lose()
		return
	}
	if len(rest) > 0 {
		c.slow(rest)
	}
}

// slow starts the queue with what the socket did not take, which is framed already.
func (c *Client) slow(rest [][]byte) {
	c.queue, c.done = bytequeue.New(c.limit), make(chan error, 1)
	c.queue.Push(rest...) // is taken whatever it is: the queue is new
	clear(rest)           // or the exchange keeps what they lie in
	framed := c.queue.Len()
	go func() {
		err := errPanicked
		c.guard(func() { err = c.drain(framed) })
		if err != nil {
			c.queue.Abort(err)
		}
		c.done <- err
	}()
}

// errPanicked is the end of a writer that panicked.
var errPanicked = errors.New("client: the writing of its answer panicked")

// guard has something done in another goroutine than the request's. A panic there is the request's all the same: the client
// is given up, and Release raises it again.
func (c *Client) guard(do func()) {
	defer func() {
		if p := recover(); p != nil {
			c.Lose()
			text := fmt.Sprintf("%v\n%s", p, debug.Stack())
			c.fault.Store(&text)
		}
	}()
	do()
}

// drain writes all that comes through the queue, of which the first bytes are framed.
func (c *Client) drain(framed int) (err error) {
	faultpoint.Reach(faultpoint.Slow)
	var b bytequeue.Batch
	for err == nil {
		if c.queue.Take(&b) != nil {
			return nil // closed by the producer, and empty
		}
		raw, rest := cut(b.Bufs, framed)
		if len(raw) > 0 {
			for _, p := range raw {
				framed -= len(p)
			}
			err = c.ex.WriteRaw(raw)
		}
		if err == nil && len(rest) > 0 {
			err = c.ex.Write(rest...)
		}
		b.Release()
	}
	return err
}

// cut divides segments behind n bytes.
func cut(segs [][]byte, n int) (before, after [][]byte) {
	for i, s := range segs {
		if n < len(s) {
			if n > 0 {
				before = append(slices.Clip(segs[:i]), s[:n])
				segs[i] = s[n:]
			}
			return before, segs[i:]
		}
		n -= len(s)
	}
	return segs, nil
}

// Slow says whether the client has once not taken at once what it was given.
func (c *Client) Slow() bool { return c.queue != nil }

// Full says whether so much is queued for a slow client, and kept for it elsewhere, that n bytes more have no room.
func (c *Client) Full(n, elsewhere int) bool {
	c.queue.Beside(elsewhere)
	return !c.queue.Fits(n)
}

// Await waits until n bytes more have room. A client that takes nothing for too long is given up.
func (c *Client) Await(n int) {
	if err := c.queue.Await(n, c.stall); err != nil {
		c.stalled = true
		c.Lose()
	}
}

// push queues bytes for a slow client, whether there is room or not: who writes much awaits it before.
func (c *Client) push(segs [][]byte) {
	if err := c.queue.Push(segs...); err != nil {
		c.stalled = true
		c.Lose()
	}
}

// Settle waits until all has been written; the queue is then gone.
func (c *Client) Settle() {
	if c.queue == nil {
		return
	}
	c.queue.Close(nil)
	if err := <-c.done; err != nil {
		c.stalled = true
		c.Lose()
	}
	c.queue = nil
}

// Release ends what still runs, and panics where a goroutine of the client's has.
func (c *Client) Release() {
	defer func() {
		if text := c.fault.Load(); text != nil {
			panic(*text)
		}
	}()
	c.Unwatch()
	if t := c.drainTimer; t != nil {
		stopped := t.Stop()
		if c.drainEnd != nil && !c.drainEnd() {
			stopped = false
		}
		if !stopped {
			<-c.drained
		}
	}
	if c.queue != nil {
		c.queue.Abort(h1.ErrAborted)
		<-c.done
		c.queue = nil
	}
}

// Watching says whether somebody looks for the client's leaving.
func (c *Client) Watching() bool { return c.watching }

// Over is closed when the client leaves, or its server is about to be closed, while it is watched.
func (c *Client) Over() <-chan struct{} { return c.wake }

// Stalled says whether the client was given up because it did not read.
func (c *Client) Stalled() bool { return c.stalled }

// closes is an exchange whose server tells when it is closed.
type closes interface {
	AtClose(do func()) (cancel func() bool)
}

// After has something done a while after the client left, or when the server is closed, unless Release comes first. It is not
// done when Release has returned: what it is about may then be another request's.
func (c *Client) After(d time.Duration, do func()) {
	done := make(chan struct{})
	once := sync.OnceFunc(func() {
		defer close(done)
		c.guard(do)
	})
	c.drained = done
	c.drainTimer = time.AfterFunc(d, once)
	if ex, ok := c.ex.(closes); ok {
		c.drainEnd = ex.AtClose(once)
	}
}

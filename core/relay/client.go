package relay

import (
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/bytequeue"
	"github.com/penstock-gateway/penstock/core/h1"
)

// client is the writing side of an exchange. While the client's socket takes what it is given, writes go straight to
// it from the goroutine that reads the upstream. When it does not, a goroutine of its own drains a queue that is bounded
// in bytes, and a full queue pauses the reading of the upstream.
//
// A client that left is no error: writes to it do nothing, so that the upstream can be read to its end for what it
// charges.
type client struct {
	ex         h1.Exchange
	limit      int
	stall      time.Duration // that the queue may be full
	watching   bool
	isGone     atomic.Bool
	wake       chan struct{} // closed when the client leaves; made by watch
	stalled    bool          // left because it did not read
	queue      *bytequeue.Queue
	done       chan error // the writer goroutine's end
	drainTimer *time.Timer
}

func (c *client) init(ex h1.Exchange, limit int, stall time.Duration) {
	c.ex, c.limit, c.stall, c.watching, c.stalled = ex, limit, stall, false, false
	c.isGone.Store(false)
	c.wake, c.queue, c.done, c.drainTimer = nil, nil, nil, nil
}

func (c *client) gone() bool { return c.isGone.Load() }

// lose marks the client as gone.
func (c *client) lose() { c.isGone.Store(true) }

// watch begins to look for the client's leaving; left is then called once, from another goroutine.
func (c *client) watch(left func()) {
	c.watching = true
	c.wake = make(chan struct{})
	c.ex.Watch(func() {
		c.lose()
		if left != nil {
			left()
		}
		close(c.wake)
	})
}

// unwatch ends the watch.
func (c *client) unwatch() {
	if c.watching {
		c.ex.Unwatch()
		c.watching = false
	}
}

// sleep waits for d; false at once when the client leaves.
func (c *client) sleep(d time.Duration) bool {
	if c.gone() {
		return false
	}
	if d <= 0 {
		return true
	}
	c.unwatch()
	c.watch(nil)
	defer c.unwatch()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return !c.gone()
	case <-c.wake:
		return false
	}
}

// write sends bytes of an answer with a chunked body.
func (c *client) write(segs ...[]byte) {
	switch {
	case c.gone() || len(segs) == 0:
		return
	case c.queue != nil:
		c.push(segs)
		return
	}
	rest, err := c.ex.TryWrite(segs...)
	if err != nil {
		c.lose()
		return
	}
	if len(rest) > 0 {
		c.slow(rest)
	}
}

// slow starts the queue with what the socket did not take.
func (c *client) slow(rest [][]byte) {
	var first []byte
	for _, s := range rest {
		first = append(first, s...)
	}
	c.queue, c.done = bytequeue.New(c.limit), make(chan error, 1)
	go func() { c.done <- c.drain(first) }()
}

// drain writes first, which is framed already, and then all that comes through the queue.
func (c *client) drain(first []byte) error {
	err := c.ex.WriteRaw([][]byte{first})
	var b bytequeue.Batch
	for err == nil {
		if c.queue.Take(&b) != nil {
			return nil // closed by the producer, and empty
		}
		err = c.ex.Write(b.Bufs...)
		b.Release()
	}
	c.queue.Abort(err)
	return err
}

func (c *client) push(segs [][]byte) {
	for _, s := range segs {
		var until time.Time // none
		if c.stall > 0 {
			until = time.Now().Add(c.stall)
		}
		if err := c.queue.PushUntil(s, until); err != nil {
			c.stalled = true
			c.lose()
			return
		}
	}
}

// settle waits until all has been written; the queue is then gone.
func (c *client) settle() {
	if c.queue == nil {
		return
	}
	c.queue.Close(nil)
	if err := <-c.done; err != nil {
		c.stalled = true
		c.lose()
	}
	c.queue = nil
}

// release ends what still runs.
func (c *client) release() {
	c.unwatch()
	if c.drainTimer != nil {
		c.drainTimer.Stop()
	}
	if c.queue != nil {
		c.queue.Abort(h1.ErrAborted)
		<-c.done
		c.queue = nil
	}
}

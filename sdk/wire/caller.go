package wire

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Caller is the gateway's side of a data plane: many goroutines ask at once, and each waits for its own answer.
type Caller struct {
	conn    carrier
	slots   chan struct{} // one for each call in flight
	ids     atomic.Uint64
	heard   atomic.Uint64 // answers
	streams atomic.Uint32
	waiters sync.Pool // of *waiter
	done    chan struct{}
	reader  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	pending map[uint64]*waiter
	err     error
}

// waiter is a call that waits for its answer.
type waiter struct {
	reply []byte
	op    Op
	err   error
	ready chan struct{} // of one place
	timer *time.Timer
}

// errAnswer is a plugin that answers what was not asked.
var errAnswer = errors.New("an answer of a kind that has not been asked for")

// NewCaller makes the asking side of a plane, and reads it until Close or its end. A write that is not done within stall
// ends it.
func NewCaller(nc net.Conn, stall time.Duration) *Caller { return askOver(NewConn(nc, stall)) }

// askOver makes the asking side over a carrier and reads it.
func askOver(conn carrier) *Caller {
	c := &Caller{
		conn:    conn,
		slots:   make(chan struct{}, MaxCalls),
		waiters: sync.Pool{New: func() any { return newWaiter() }},
		done:    make(chan struct{}),
		pending: make(map[uint64]*waiter),
	}
	c.reader.Go(c.read)
	return c
}

func newWaiter() *waiter {
	w := &waiter{ready: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

// NextStream gives a number that no other stream of the plane has had, until 2^32 have been.
func (c *Caller) NextStream() uint32 { return c.streams.Add(1) }

// Done is closed when the plane has ended; Err then says why.
func (c *Caller) Done() <-chan struct{} { return c.done }

// Err gives the reason of the plane's end, which is an ErrGone; nil before it.
func (c *Caller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Heard is how many answers have come, those among them that came too late.
func (c *Caller) Heard() uint64 { return c.heard.Load() }

// Call asks and waits for the answer, no longer than limit. The answer's body is put into the memory of reply, or into
// more where it is too small. An answer of another kind than Fault and the one that belongs to op ends the plane.
func (c *Caller) Call(f Frame, reply []byte, limit time.Duration) (Op, []byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return 0, reply, ErrBusy
	}
	w := c.waiters.Get().(*waiter)
	w.reply, w.op, w.err = reply[:0], f.Op, nil
	f.Call = c.ids.Add(1)
	if err := c.register(f.Call, w); err != nil {
		return 0, reply, err
	}
	w.timer.Reset(limit)
	if err := c.conn.Send(&f); err != nil && !errors.Is(err, ErrGone) { // an end comes by the reader, to all alike
		c.abandon(f.Call, w, err)
	}
	select {
	case <-w.ready:
	case <-w.timer.C:
		c.abandon(f.Call, w, ErrTimeout)
		<-w.ready
	}
	w.timer.Stop()
	op, body, err := w.op, w.reply, w.err
	w.reply = nil
	c.waiters.Put(w)
	return op, body, err
}

// Post sends a message that has no answer.
func (c *Caller) Post(op Op, stream uint32) error { return c.conn.Send(&Frame{Op: op, Stream: stream}) }

// Ping asks whether the other side reads its calls.
func (c *Caller) Ping(limit time.Duration) error {
	_, _, err := c.Call(Frame{Op: Ping}, nil, limit)
	return err
}

func (c *Caller) register(id uint64, w *waiter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.pending[id] = w
	return nil
}

// abandon ends a call that is not answered yet; ready is certain then.
func (c *Caller) abandon(id uint64, w *waiter, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] == w {
		delete(c.pending, id)
		w.err = err
		w.ready <- struct{}{}
	}
}

// read hands answers to those who wait for them, and the plane's end to all.
func (c *Caller) read() {
	err := c.conn.Receive(c.answer)
	if err == nil {
		err = &gone{errOtherSide}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, w := range c.pending {
		delete(c.pending, id)
		w.err = err
		w.ready <- struct{}{}
	}
	close(c.done)
}

// answer gives one answer to its call. One that nobody waits for any more came too late.
func (c *Caller) answer(f *Frame) error {
	c.heard.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.pending[f.Call]
	if w == nil {
		if f.Call == 0 || f.Call > c.ids.Load() {
			return errAnswer
		}
		return nil
	}
	if !answers(f.Op, w.op) {
		return errAnswer
	}
	delete(c.pending, f.Call)
	w.op, w.reply = f.Op, append(w.reply, f.Body...)
	w.ready <- struct{}{}
	return nil
}

// answers says whether an answer is of the kind that was asked for.
func answers(answer, asked Op) bool {
	switch asked {
	case Encode:
		return answer == Plan || answer == Fault
	case Decode, End:
		return answer == Events || answer == Fault
	case Ping:
		return answer == Pong
	}
	return false
}

// Close ends the plane; calls in flight fail. It waits for the goroutines of the plane.
func (c *Caller) Close() {
	c.conn.Close()
	c.reader.Wait()
}

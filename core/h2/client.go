package h2

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Client has the connections to one upstream. It is safe for concurrent use.
type Client struct {
	opt  Options
	stop context.CancelFunc // of dials
	ctx  context.Context    // of dials, which are nobody's call alone

	mu      sync.Mutex // guards what follows, and the places of connections; it is taken with no connection locked
	conns   []*conn    // that take calls, oldest first
	usual   int        // calls that a connection of this upstream takes; 0: not known yet
	dialing int
	dials   sync.WaitGroup
	waiting []*waiter // longest first
	lost    bool      // a connection that had no call yet, since that was asked last
	closed  bool
	reaper  *time.Timer // nil before the first connection is idle
	reaping bool
}

// places are the calls of a connection. The client's lock guards them.
type places struct {
	taken int
	most  int
	fresh bool      // the upstream has not said yet how many there may be
	used  bool      // has had a call
	gone  bool      // takes no more calls
	dead  bool      // has ended
	since time.Time // without a call
}

// waiter is a call that waits for a place.
type waiter struct{ got chan grant } // has room for one

type grant struct {
	conn *conn
	err  error
}

// NewClient makes a client; nothing is connected yet.
func NewClient(o Options) *Client {
	cl := &Client{opt: o}
	cl.ctx, cl.stop = context.WithCancel(context.Background())
	return cl
}

// Open gives a place for a call, for which it may have to wait, and must be closed. A connection that is opened for it has
// limit. Where ctx ends while all connections are in use the error is ErrFull too.
func (cl *Client) Open(ctx context.Context, limit time.Duration) (*Stream, error) {
	cl.mu.Lock()
	if c := cl.free(); c != nil {
		cl.take(c)
		cl.mu.Unlock()
		return newStream(c), nil
	}
	full := len(cl.conns)+cl.dialing >= cl.opt.MaxConns
	switch {
	case cl.closed:
		cl.mu.Unlock()
		return nil, errClosed
	case full && len(cl.waiting) >= cl.opt.MaxWaiting:
		cl.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{make(chan grant, 1)}
	cl.waiting = append(cl.waiting, w)
	cl.grow(limit)
	cl.mu.Unlock()
	select {
	case g := <-w.got:
		return g.stream()
	case <-ctx.Done():
	}
	cl.mu.Lock()
	i := slices.Index(cl.waiting, w)
	if i < 0 {
		cl.mu.Unlock()
		return (<-w.got).stream() // at the last moment
	}
	cl.waiting = slices.Delete(cl.waiting, i, i+1)
	full = full && len(cl.conns)+cl.dialing >= cl.opt.MaxConns
	cl.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%w: %w", ErrFull, ctx.Err())
	}
	return nil, ctx.Err()
}

func (g grant) stream() (*Stream, error) {
	if g.err != nil {
		return nil, g.err
	}
	return newStream(g.conn), nil
}

// free gives a connection that has a place. The oldest are filled first, so that those too many become idle.
func (cl *Client) free() *conn {
	for _, c := range cl.conns {
		if c.taken < c.most {
			return c
		}
	}
	return nil
}

func (cl *Client) take(c *conn) {
	c.taken++
	c.used = true
}

// grow opens connections for those who wait: one until it is known how many calls a connection takes.
func (cl *Client) grow(limit time.Duration) {
	for !cl.closed && len(cl.conns)+cl.dialing < cl.opt.MaxConns && cl.expected() < len(cl.waiting) {
		cl.dialing++
		cl.dials.Go(func() { cl.dial(limit) })
	}
}

// expected is how many of those who wait will have a place on connections that are on their way.
func (cl *Client) expected() int {
	coming := cl.dialing
	for _, c := range cl.conns {
		if c.fresh {
			coming++
		}
	}
	if cl.usual == 0 && coming > 0 {
		return len(cl.waiting)
	}
	return coming * cl.usual
}

// dial opens a connection for those who wait.
func (cl *Client) dial(limit time.Duration) {
	ctx, cancel := context.WithTimeout(cl.ctx, limit)
	defer cancel()
	c, err := cl.connect(ctx)
	cl.mu.Lock()
	cl.dialing--
	if err != nil {
		cl.fail(err)
		cl.grow(limit)
	}
	unwanted := cl.add(c)
	cl.mu.Unlock()
	shutAll(unwanted)
}

func (cl *Client) connect(ctx context.Context) (*conn, error) {
	nc, err := cl.opt.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return cl.start(nc), nil
}

// fail tells those who waited for a connection that it could not be opened: one of them where other connections may have a
// place for the rest soon, else all that nothing else is on its way for.
func (cl *Client) fail(err error) {
	n := len(cl.waiting) - cl.expected()
	if len(cl.conns) > 0 {
		n = min(n, 1)
	}
	for range max(n, 0) {
		cl.waiting[0].got <- grant{err: err}
		cl.waiting = cl.waiting[1:]
	}
}

// add takes in a new connection, nil: none, and gives those that are too many.
func (cl *Client) add(c *conn) (unwanted []*conn) {
	switch {
	case c == nil || c.gone:
		return nil
	case cl.closed:
		return []*conn{c}
	}
	c.since = time.Now()
	cl.conns = append(cl.conns, c)
	return cl.settle()
}

// settle gives places to those who wait, and gives the idle connections that are too many, which take no calls any more.
func (cl *Client) settle() (unwanted []*conn) {
	for len(cl.waiting) > 0 {
		c := cl.free()
		if c == nil {
			break
		}
		cl.take(c)
		cl.waiting[0].got <- grant{conn: c}
		cl.waiting = cl.waiting[1:]
	}
	cl.grow(dialLimit)
	return cl.dismiss()
}

// dismiss takes connections without a call out: those that have had none for too long, and the youngest where the others
// have room enough, since the oldest are used first.
func (cl *Client) dismiss() (unwanted []*conn) {
	room, now := 0, time.Now()
	next := time.Duration(-1)
	cl.conns = slices.DeleteFunc(cl.conns, func(c *conn) bool {
		if c.taken > 0 {
			return false
		}
		left := cl.opt.Idle - now.Sub(c.since)
		if cl.closed || room >= cl.opt.MaxIdle || left <= 0 {
			unwanted = append(unwanted, c)
			return true
		}
		room += c.most
		if next < 0 || left < next {
			next = left
		}
		return false
	})
	switch {
	case next < 0 || cl.reaping:
	case cl.reaper == nil:
		cl.reaper, cl.reaping = time.AfterFunc(next, cl.reap), true
	default:
		cl.reaper.Reset(next)
		cl.reaping = true
	}
	return unwanted
}

// reap closes connections that have had no call for too long.
func (cl *Client) reap() {
	cl.mu.Lock()
	cl.reaping = false
	unwanted := cl.dismiss()
	cl.mu.Unlock()
	shutAll(unwanted)
}

func shutAll(list []*conn) {
	for _, c := range list {
		c.shut()
	}
}

// change is what has become of a connection's places.
type change struct {
	left int  // calls that have ended
	told bool // the upstream has said how many there may be
	most int  // where it has
	gone bool // no more calls are taken
	dead bool // it has ended
}

// note takes note of a change.
func (cl *Client) note(c *conn, ch change) {
	cl.mu.Lock()
	c.taken -= ch.left
	if ch.left > 0 {
		c.since = time.Now()
	}
	if ch.told {
		c.most, c.fresh = min(ch.most, mostStreams), false
		cl.usual = max(c.most, 1)
	}
	c.dead = c.dead || ch.dead
	if (ch.gone || ch.dead) && !c.gone {
		c.gone = true
		cl.remove(c)
	}
	unwanted := cl.settle()
	if c.gone && c.taken == 0 && !c.dead {
		unwanted = append(unwanted, c)
	}
	cl.mu.Unlock()
	shutAll(unwanted)
}

func (cl *Client) remove(c *conn) {
	if i := slices.Index(cl.conns, c); i >= 0 {
		cl.conns = slices.Delete(cl.conns, i, i+1)
		cl.lost = cl.lost || !c.used
	}
}

// Connect opens a connection for calls to come, and waits until the upstream has said how many it takes.
func (cl *Client) Connect(ctx context.Context) error {
	cl.mu.Lock()
	full := cl.closed || len(cl.conns)+cl.dialing >= cl.opt.MaxConns
	if !full {
		cl.dialing++
	}
	cl.mu.Unlock()
	if full {
		return ErrFull
	}
	c, err := cl.connect(ctx)
	cl.mu.Lock()
	cl.dialing--
	unwanted := cl.add(c)
	cl.mu.Unlock()
	shutAll(unwanted)
	if err != nil {
		return err
	}
	select {
	case <-c.greeted:
		return c.ending()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats tells how many connections take calls, and how many of them have none.
func (cl *Client) Stats() (open, idle int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, c := range cl.conns {
		if c.taken == 0 {
			idle++
		}
	}
	return len(cl.conns), idle
}

// Room is how many calls would find a place at once.
func (cl *Client) Room() int {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	n := 0
	for _, c := range cl.conns {
		n += max(c.most-c.taken, 0)
	}
	return n
}

// Lost says whether a connection has ended that had no call, since it was asked last.
func (cl *Client) Lost() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	lost := cl.lost
	cl.lost = false
	return lost
}

// Close ends the connections that have no call, and waits for them; the others end with their calls. Those who wait for a
// place wait in vain.
func (cl *Client) Close() {
	cl.stop()
	cl.mu.Lock()
	cl.closed = true
	if cl.reaper != nil {
		cl.reaper.Stop()
	}
	waiting := cl.waiting
	cl.waiting = nil
	unwanted := cl.dismiss()
	cl.mu.Unlock()
	for _, w := range waiting {
		w.got <- grant{err: errClosed}
	}
	shutAll(unwanted)
	for _, c := range unwanted {
		c.tasks.Wait()
	}
	cl.dials.Wait()
}

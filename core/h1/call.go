package h1

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/h2"
)

// upstreamBuffer holds an answer's head and, most often, its body; largeBuffer is for bodies that fill it.
const (
	upstreamBuffer = 16 << 10
	largeBuffer    = 128 << 10
)

// Outgoing is a request to an upstream. Host and Content-Length are added. A call needs it until the answer's head has been
// read or the call closed.
type Outgoing struct {
	Method   string
	Target   string
	Fields   []byte   // "Name: value\r\n" lines that the caller has checked
	Segments [][]byte // of the body
	Whole    bool     // the answer is taken as it comes, however large: over HTTP/2 more of it may then be on its way
}

// Limits bound a call; a zero is none, but 30 s to connect and between bytes of the request.
type Limits struct {
	Connect   time.Duration // with the wait for a connection where the pool has no more to give
	FirstByte time.Duration // from the request's end to the first byte of the answer
	Idle      time.Duration // between bytes of the request, and of the answer
	Total     time.Time
}

// Call is one request to an upstream and its answer. The zero value is ready; after Close it may be used again. It is
// for one goroutine but for Abort.
type Call struct {
	pool *Pool
	up   *upstream
	far  *h2.Stream // of an HTTP/2 call, which has no upstream
	out  *Outgoing
	lim  Limits
	head []byte // of the request
	segs [][]byte

	buf     []byte // unread bytes lie in buf[r:w]
	r, w    int
	block   *block // buf's
	headOf  *block // the answer's head's, where buf is another
	bodyAt  int    // where in buf the body may be read to; -1: not decided yet
	brimful bool   // the last read left no room: the body is large
	lean    bool   // little is held of the answer, and nothing of its head
	narrow  bool   // nor does the kernel hold much

	sent   time.Time
	heard  bool // a byte of the answer has come
	status int
	fields []Field
	length int64 // -1: not known beforehand
	left   int64
	framed bodyFraming
	chunks chunkDecoder
	reuse  bool  // the connection
	again  bool  // it has been sent a second time, over HTTP/2
	ended  bool  // the body has been read to its end
	broken error // of the body's framing, behind what was given last

	aborted atomic.Bool
	mu      sync.Mutex         // guards what follows
	cancel  context.CancelFunc // while connecting, and of an HTTP/2 call
	live    *upstream          // to be stopped
}

type bodyFraming uint8

const (
	noBody bodyFraming = iota
	sizedBody
	chunkedBody
	untilClose
)

// Status is the answer's.
func (c *Call) Status() int { return c.status }

// Fields are the answer's header fields, valid until Close.
func (c *Call) Fields() []Field { return c.fields }

// Get gives the first value of a field by its lower-case name.
func (c *Call) Get(lower string) []byte { return get(c.fields, lower) }

// Length is the length of the answer's body; -1 where it is not known beforehand.
func (c *Call) Length() int64 { return c.length }

// Trailers are the fields behind a chunked body, once it has been read to its end.
func (c *Call) Trailers() []Field {
	if c.far != nil {
		return appendFar(nil, c.far.Trailers())
	}
	return c.chunks.fields()
}

// SetTotal changes the time by which the answer must have ended; zero: never.
func (c *Call) SetTotal(t time.Time) { c.lim.Total = t }

// SetIdle changes the limit between bytes.
func (c *Call) SetIdle(d time.Duration) { c.lim.Idle = d }

// Do is Send and ReadHead. A redirect is an answer like others.
func (p *Pool) Do(c *Call, out *Outgoing, lim Limits) error {
	if err := p.Send(c, out, lim); err != nil {
		return err
	}
	return c.ReadHead()
}

// Send sends a request on a pooled or new connection. A pooled connection that was closed before it took a byte is replaced
// once, here or in ReadHead, and nothing else is ever repeated. A call that has been sent must be closed, and one that was
// not may be.
func (p *Pool) Send(c *Call, out *Outgoing, lim Limits) error {
	c.begin(p, out, lim)
	if p.far != nil {
		return c.sendFar()
	}
	if u := p.take(); u != nil {
		if err := c.sendOn(u); !NotSent(err) {
			return err
		}
	}
	return c.sendAnew()
}

// begin makes the call ready.
func (c *Call) begin(p *Pool, out *Outgoing, lim Limits) {
	c.pool, c.out, c.lim = p, out, lim
	c.r, c.w, c.bodyAt, c.brimful, c.lean, c.narrow = 0, 0, -1, false, false, false
	c.status, c.fields, c.length, c.left, c.framed = 0, c.fields[:0], 0, 0, noBody
	c.chunks.reset()
	c.heard, c.reuse, c.again, c.ended, c.broken = false, false, false, false, nil
	c.aborted.Store(false)
}

// sendAnew sends the request on a connection of its own.
func (c *Call) sendAnew() error {
	u, err := c.connect()
	if err != nil {
		return err
	}
	return c.sendOn(u)
}

// sendOn sends the request on a connection, and parts from it where that fails.
func (c *Call) sendOn(u *upstream) error {
	if err := c.hold(u); err != nil {
		return err
	}
	u.base = u.sock.wrote
	err := c.write(c.out)
	c.sent = time.Now()
	if err == nil {
		return nil
	}
	untouched := u.sock.wrote == u.base
	c.letGo(false)
	return c.fault("write", err, untouched)
}

func (c *Call) connect() (u *upstream, err error) {
	err = c.connecting(func(ctx context.Context, limit time.Duration) error {
		u, err = c.pool.connect(ctx, limit)
		return err
	})
	return u, err
}

// connecting has something done that Abort cancels, and gives it its limit.
func (c *Call) connecting(do func(ctx context.Context, limit time.Duration) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.setCancel(cancel)
	defer c.setCancel(nil)
	limit := or(c.lim.Connect, connectLimit)
	if !c.lim.Total.IsZero() {
		limit = max(min(limit, time.Until(c.lim.Total)), time.Nanosecond)
	}
	return do(ctx, limit)
}

// setCancel names what Abort cancels; a call that is aborted already is cancelled at once.
func (c *Call) setCancel(cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel = cancel; cancel != nil && c.aborted.Load() {
		cancel()
	}
}

// hold takes a connection for the call.
func (c *Call) hold(u *upstream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted.Load() {
		u.pool.drop(u)
		return ErrAborted
	}
	c.up, c.live = u, u
	return nil
}

// letGo parts from the connection.
func (c *Call) letGo(keep bool) {
	u := c.up
	if u == nil {
		return
	}
	c.mu.Lock()
	c.up, c.live = nil, nil
	keep = keep && !c.aborted.Load()
	c.mu.Unlock()
	if keep {
		u.pool.give(u)
	} else {
		u.pool.drop(u)
	}
}

// Abort ends the call, from any goroutine: what waits, and what comes later, returns ErrAborted.
func (c *Call) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted.Store(true)
	if c.cancel != nil {
		c.cancel()
	}
	if c.live != nil {
		c.live.stop()
	}
}

// Close ends the call and waits until nothing of the request is needed any more. The connection is kept where the answer
// was read to its end. The answer's fields are no longer valid.
func (c *Call) Close() {
	if c.far != nil {
		c.closeFar()
	}
	keep := c.ended && c.reuse && c.r == c.w
	if keep && c.narrow && c.up != nil {
		c.up.peer().widen()
	}
	c.letGo(keep)
	putBlock(c.block)
	putBlock(c.headOf)
	c.block, c.headOf, c.buf, c.r, c.w = nil, nil, nil, 0, 0
	c.out, c.fields = nil, c.fields[:0]
	clear(c.segs[:cap(c.segs)]) // they point into the caller's memory
}

// write sends head and body, at best in one system call.
func (c *Call) write(out *Outgoing) error {
	n := 0
	for _, s := range out.Segments {
		n += len(s)
	}
	b := append(c.head[:0], out.Method...)
	b = append(b, ' ')
	b = append(b, out.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, c.pool.target.Name...)
	b = append(b, crlf...)
	if n > 0 || out.Method != "GET" && out.Method != "HEAD" {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, crlf...)
	}
	b = append(b, out.Fields...)
	b = append(b, crlf...)
	segs := c.segs[:0]
	if len(b)+n > c.up.joinBelow() {
		segs = append(append(segs, b), out.Segments...)
	} else {
		for _, s := range out.Segments {
			b = append(b, s...)
		}
		segs = append(segs, b)
	}
	c.head, c.segs = b, segs
	return c.up.wire.write(segs, or(c.lim.Idle, connectLimit), c.lim.Total)
}

// fault turns an error of the connection into one of the call.
func (c *Call) fault(phase string, err error, unsent bool) error {
	switch {
	case c.aborted.Load():
		return ErrAborted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &TimeoutError{Phase: phase, unsent: unsent}
	}
	return &CallError{Phase: phase, Err: err, unsent: unsent}
}

// fill reads once behind what is there.
func (c *Call) fill(until time.Time) error {
	n, err := c.up.read(c, until)
	if n > 0 {
		c.w += n
		c.heard, c.brimful = true, c.w == len(c.buf)
	}
	return err
}

// room gives the free part of the buffer.
func (c *Call) room() []byte {
	if c.block == nil {
		c.block = getBlock(upstreamBuffer)
		c.buf = c.block.b
	}
	return c.buf[c.w:]
}

// vacate gives the buffer back while nothing of the answer has come, or nothing more of a lean one.
func (c *Call) vacate() {
	switch {
	case !c.heard:
		putBlock(c.block)
		c.block, c.buf = nil, nil
	case c.lean && c.r == c.w:
		c.dropBlock()
	}
}

// until is when what is waited for now is late. Idle counts from the call of what waits.
func (c *Call) until(now time.Time) time.Time {
	switch {
	case c.status == 0 && !c.heard && c.lim.FirstByte > 0:
		return earlier(c.sent.Add(c.lim.FirstByte), c.lim.Total)
	case (c.status != 0 || c.heard) && c.lim.Idle > 0:
		return earlier(now.Add(c.lim.Idle), c.lim.Total)
	}
	return c.lim.Total
}

// Wait waits at most d for more bytes of the answer, without giving them; ready says whether there are any, or the
// answer has ended. The call's own limits hold as well.
func (c *Call) Wait(d time.Duration) (ready bool, err error) {
	if c.far != nil {
		return c.waitFar(d)
	}
	if c.r < c.w || c.ended || c.up == nil {
		return true, nil
	}
	if c.status != 0 {
		c.behindHead()
	}
	now := time.Now()
	by, limit := now.Add(d), c.until(now)
	last := !limit.IsZero() && !limit.After(by)
	err = c.fill(earlier(by, limit))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && !last && !c.aborted.Load():
		return false, nil
	case err == io.EOF:
		return true, nil // Next or ReadHead will find it again
	}
	return false, c.fault(c.phase(), err, false)
}

func (c *Call) phase() string {
	if c.status == 0 {
		return "head"
	}
	return "body"
}

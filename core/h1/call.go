package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// Outgoing is a request to an upstream. Host and Content-Length are added.
type Outgoing struct {
	Method   string
	Target   string
	Fields   []byte   // "Name: value\r\n" lines that the caller has checked
	Segments [][]byte // of the body; changed while it is written
}

// Limits bound a call; a zero is none.
type Limits struct {
	Connect   time.Duration
	FirstByte time.Duration // from the request's end to the first byte of the answer
	Idle      time.Duration // between bytes of the answer
	Total     time.Time
}

// Call is one request to an upstream and its answer. The zero value is ready; after Close it may be used again. It is
// for one goroutine but for Abort.
type Call struct {
	up   *upstream
	lim  Limits
	own  *[]byte
	buf  []byte // unread bytes lie in buf[r:w]
	r, w int

	status int
	fields []Field
	length int64 // -1: not known beforehand
	left   int64
	chunks chunkDecoder
	framed bodyFraming
	reuse  bool
	ended  bool // the body has been read to its end
	head   []byte
	bodyAt int // where in buf the body may be read to
	sent   time.Time
	heard  bool // a byte of the answer has come

	mu      sync.Mutex // guards what follows
	aborted bool
	cancel  context.CancelFunc // while connecting
	live    *upstream          // to be interrupted
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
func (c *Call) Trailers() []Field { return c.chunks.fields() }

// SetTotal changes the time by which the answer must have ended; zero: never.
func (c *Call) SetTotal(t time.Time) { c.lim.Total = t }

// SetIdle changes the limit between bytes.
func (c *Call) SetIdle(d time.Duration) { c.lim.Idle = d }

// Send sends a request on a pooled or new connection. A pooled connection that turns out to be closed before a byte was
// taken is replaced once.
func (p *Pool) Send(c *Call, out *Outgoing, lim Limits) error {
	c.begin(lim)
	for u := p.take(); ; u = nil {
		if u == nil {
			var err error
			if u, err = c.connect(p); err != nil {
				return err
			}
		}
		if err := c.hold(u); err != nil {
			return err
		}
		err := c.write(out)
		if err == nil {
			c.sent = time.Now()
			return nil
		}
		stale := u.used && !c.isAborted()
		c.letGo(false)
		if !stale || !errors.Is(err, errUntouched) {
			return c.fault("write", err)
		}
	}
}

// begin makes the call ready.
func (c *Call) begin(lim Limits) {
	c.lim, c.status, c.length, c.left, c.ended, c.heard, c.reuse = lim, 0, 0, 0, false, false, false
	c.fields, c.framed = c.fields[:0], noBody
	c.chunks = chunkDecoder{keep: true}
	c.r, c.w, c.bodyAt = 0, 0, 0
	c.mu.Lock()
	c.aborted = false
	c.mu.Unlock()
}

func (c *Call) connect(p *Pool) (*upstream, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.cancel = cancel
	stop := c.aborted
	c.mu.Unlock()
	if stop {
		return nil, ErrAborted
	}
	limit := c.lim.Connect
	if !c.lim.Total.IsZero() {
		if left := time.Until(c.lim.Total); limit <= 0 || left < limit {
			limit = max(left, time.Nanosecond)
		}
	}
	u, err := p.connect(ctx, limit)
	c.mu.Lock()
	c.cancel = nil
	c.mu.Unlock()
	return u, err
}

// hold takes a connection for the call.
func (c *Call) hold(u *upstream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.live = u, u
	if c.aborted {
		c.up, c.live = nil, nil
		u.pool.drop(u)
		return ErrAborted
	}
	return nil
}

// letGo parts from the connection.
func (c *Call) letGo(keep bool) {
	if c.up == nil {
		return
	}
	u := c.up
	c.mu.Lock()
	c.up, c.live = nil, nil
	keep = keep && !c.aborted
	c.mu.Unlock()
	if keep {
		u.pool.give(u)
	} else {
		u.pool.drop(u)
	}
}

func (c *Call) isAborted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Abort ends the call from another goroutine: what waits returns ErrAborted.
func (c *Call) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	if c.cancel != nil {
		c.cancel()
	}
	if c.live != nil {
		c.live.nc.SetDeadline(past)
	}
}

// Close ends the call. The connection is kept where the answer was read to its end.
func (c *Call) Close() {
	c.letGo(c.ended && c.reuse && c.r == c.w)
	if c.own != nil {
		poolOf := c.own
		c.own, c.buf = nil, nil
		callBuffers.Put(poolOf)
	}
	c.r, c.w = 0, 0
}

// callBuffers is one for the process: calls of all pools need buffers of one size.
var callBuffers = sync.Pool{New: func() any { b := make([]byte, upstreamBuffer); return &b }}

// errUntouched says that a write failed before the upstream took anything.
var errUntouched = errors.New("nothing was taken")

// write sends head and body. Little is joined into one write; more goes as segments.
func (c *Call) write(out *Outgoing) error {
	n := 0
	for _, s := range out.Segments {
		n += len(s)
	}
	b := append(c.head[:0], out.Method...)
	b = append(b, ' ')
	b = append(b, out.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, c.up.pool.target.Name...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, "\r\n"...)
	b = append(b, out.Fields...)
	b = append(b, "\r\n"...)
	nc := c.up.nc
	if limit := c.writeLimit(); !limit.IsZero() && n > joinBelow {
		nc.SetWriteDeadline(limit)
		defer nc.SetWriteDeadline(time.Time{})
	}
	if len(b)+n <= joinBelow || c.up.raw == nil && n <= 1<<20 {
		for _, s := range out.Segments {
			b = append(b, s...)
		}
		c.head = b
		return untouched(nc.Write(b))
	}
	c.head = b
	return untouched(writeSegments(nc, b, out.Segments))
}

// writeLimit is the time by which a large body must have been taken.
func (c *Call) writeLimit() time.Time {
	t := c.lim.Total
	if c.lim.Idle > 0 {
		if by := time.Now().Add(c.lim.Idle); t.IsZero() || by.Before(t) {
			t = by
		}
	}
	return t
}

func untouched[N int | int64](n N, err error) error {
	if err != nil && n == 0 {
		return errors.Join(errUntouched, err)
	}
	return err
}

// fault turns an error of the connection into one of the call.
func (c *Call) fault(phase string, err error) error {
	switch {
	case c.isAborted():
		return ErrAborted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &TimeoutError{Phase: phase}
	}
	return &CallError{Phase: phase, Err: err}
}

// arm sets the read deadline for what is waited for next.
func (c *Call) arm(limit time.Duration, from time.Time) {
	t := c.lim.Total
	if limit > 0 {
		if by := from.Add(limit); t.IsZero() || by.Before(t) {
			t = by
		}
	}
	c.setReadDeadline(t)
}

func (c *Call) setReadDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted {
		t = past
	}
	c.up.nc.SetReadDeadline(t)
}

// fill reads once behind what is there.
func (c *Call) fill() error {
	if c.own == nil && c.buf == nil {
		c.own = callBuffers.Get().(*[]byte)
		c.buf = *c.own
	}
	n, err := c.up.nc.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		c.heard = true
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// Wait waits at most d for more bytes of the answer, without giving them; ready says whether there are any, or the
// answer has ended. The call's own limits hold as well.
func (c *Call) Wait(d time.Duration) (ready bool, err error) {
	if c.r < c.w || c.ended || c.up == nil {
		return true, nil
	}
	now := time.Now()
	by := now.Add(d)
	mine := c.lim.Total
	if limit, from := c.current(now); limit > 0 {
		if t := from.Add(limit); mine.IsZero() || t.Before(mine) {
			mine = t
		}
	}
	last := !mine.IsZero() && !mine.After(by)
	if last {
		by = mine
	}
	c.setReadDeadline(by)
	if c.status != 0 {
		c.r, c.w = c.bodyStart(), c.bodyStart()
	}
	err = c.fill()
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && !last && !c.isAborted():
		return false, nil
	case errors.Is(err, io.EOF):
		return true, nil // Next or ReadHead will find it again
	}
	return false, c.fault(c.phase(), err)
}

func (c *Call) phase() string {
	if c.status == 0 {
		return "head"
	}
	return "body"
}

// current is the limit that counts now, and from when. Idle counts from the call of what waits.
func (c *Call) current(now time.Time) (time.Duration, time.Time) {
	if c.status == 0 && !c.heard {
		return c.lim.FirstByte, c.sent
	}
	return c.lim.Idle, now
}

// writeSegments writes a head and a body's pieces with as few system calls as the connection allows.
func writeSegments(nc net.Conn, head []byte, segs [][]byte) (int64, error) {
	bufs := make(net.Buffers, 0, len(segs)+1)
	bufs = append(append(bufs, head), segs...)
	return bufs.WriteTo(nc)
}

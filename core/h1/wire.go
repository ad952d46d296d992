package h1

import (
	"errors"
	"io"
	"math/bits"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// wire is a connection as both sides use it: reads with a time by which they end, into a buffer that is only taken when
// there is something to read; vectored writes that wait as long as the peer takes some. It is for one reader and one
// writer; stop and nudge are for anyone.
type wire struct {
	nc      net.Conn
	sock    socket
	under   socket    // of the connection that TLS runs on: to look at, not to read
	readBy  time.Time // the read deadline as it was set last; zero: none
	writeBy time.Time // likewise, of a connection without a socket
	stopped atomic.Bool
	nudged  atomic.Bool
}

// room is where a read puts its bytes.
type room interface {
	// room gives the place, taking a buffer where there is none.
	room() []byte
	// vacate is called when there is nothing to read yet: a buffer that holds nothing may be given back.
	vacate()
}

// place is a room that is there already.
type place struct{ b []byte }

func (p *place) room() []byte { return p.b }
func (p *place) vacate()      {}

// past is a time that is over.
var past = time.Unix(1, 0)

// errNudged says that a read was asked to return, with nothing.
var errNudged = errors.New("read nudged")

func (w *wire) open(nc net.Conn) {
	w.nc = nc
	w.sock.open(nc)
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		w.under.open(t.NetConn())
	}
}

// peer is the socket that shows what the peer does.
func (w *wire) peer() *socket {
	if w.sock.ok() {
		return &w.sock
	}
	return &w.under
}

// stop makes all that waits, and all that comes later, return ErrAborted.
func (w *wire) stop() {
	w.stopped.Store(true)
	w.nc.SetDeadline(past)
}

// nudge makes the read that waits, or the next one, return errNudged.
func (w *wire) nudge() {
	w.nudged.Store(true)
	w.nc.SetReadDeadline(past)
}

// arm sees that a read ends by a time, the latest. To set a deadline is a timer's work, so an earlier one that leaves at
// least half of the time is kept: where it fires, read goes on.
func (w *wire) arm(now, until time.Time) {
	switch {
	case until.IsZero():
		if w.readBy.IsZero() {
			return
		}
	case !w.readBy.IsZero() && !w.readBy.After(until) && w.readBy.Sub(now) >= until.Sub(now)/2:
		return
	}
	w.readBy = until
	w.nc.SetReadDeadline(until)
}

// read waits for bytes until a time, zero: for ever. Its error is io.EOF, os.ErrDeadlineExceeded, ErrAborted, errNudged or
// the connection's.
func (w *wire) read(to room, until time.Time) (int, error) {
	for {
		w.arm(time.Now(), until)
		if w.stopped.Load() {
			return 0, ErrAborted
		}
		if w.nudged.Load() {
			w.nudged.Store(false)
			w.readBy = past
			return 0, errNudged
		}
		n, err := w.readOnce(to)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.ErrNoProgress
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case !until.IsZero() && !time.Now().Before(until) && !w.stopped.Load():
			return 0, err
		}
		w.readBy = past // an earlier deadline that was kept, or one that stop or nudge has set
	}
}

func (w *wire) readOnce(to room) (int, error) {
	if w.sock.ok() {
		return w.sock.read(to)
	}
	return w.nc.Read(to.room())
}

// write sends all segments. It waits as long as the peer takes some within stall, and until a time, zero: any. The error
// is os.ErrDeadlineExceeded, ErrAborted or the connection's. Segs' elements are changed.
func (w *wire) write(segs [][]byte, stall time.Duration, until time.Time) error {
	if w.stopped.Load() {
		return ErrAborted
	}
	if !w.sock.ok() {
		return w.writeThrough(segs, stall, until)
	}
	rest, err := w.sock.write(segs, false)
	if err != nil || len(rest) == 0 {
		return err
	}
	for err == nil && len(rest) > 0 {
		w.nc.SetWriteDeadline(earlier(time.Now().Add(stall), until))
		if w.stopped.Load() {
			return ErrAborted
		}
		rest, err = w.sock.write(rest, true)
	}
	if w.stopped.Load() {
		return ErrAborted
	}
	w.nc.SetWriteDeadline(time.Time{}) // one that has passed would fail later writes
	return err
}

// tryWrite sends what the connection takes without waiting and gives the rest, which is segs' memory.
func (w *wire) tryWrite(segs [][]byte) ([][]byte, error) {
	if w.stopped.Load() {
		return nil, ErrAborted
	}
	if !w.sock.ok() {
		return segs, nil
	}
	return w.sock.write(segs, false)
}

// pieceThrough bounds one write of a connection without a socket, so that its limit is one of progress.
const pieceThrough = 64 << 10

// writeThrough writes by net.Conn. TLS does not survive a write that met its deadline, so one is set with some time to
// spare and kept as long as it leaves the whole stall.
func (w *wire) writeThrough(segs [][]byte, stall time.Duration, until time.Time) error {
	for _, s := range segs {
		for len(s) > 0 {
			now := time.Now()
			if by := earlier(now.Add(stall), until); w.writeBy.Before(by) || !until.IsZero() && w.writeBy.After(until) {
				w.writeBy = earlier(by.Add(stall/4), until)
				w.nc.SetWriteDeadline(w.writeBy)
			}
			if w.stopped.Load() {
				return ErrAborted
			}
			n, err := w.nc.Write(s[:min(len(s), pieceThrough)])
			w.sock.wrote += int64(n)
			if err != nil {
				return err
			}
			s = s[n:]
		}
	}
	return nil
}

// joinBelow is the size up to which bytes are joined before they are written: a copy is then cheaper than another segment,
// and under TLS than another record.
func (w *wire) joinBelow() int {
	if w.sock.ok() {
		return 4 << 10
	}
	return 16 << 10
}

// earlier gives the earlier of two times, of which the second may be zero: none.
func earlier(t, until time.Time) time.Time {
	if !until.IsZero() && until.Before(t) {
		return until
	}
	return t
}

// block is a pooled buffer.
type block struct{ b []byte }

// The sizes of blocks are powers of two between these; larger ones are not pooled.
const (
	smallBlock = 8 << 10
	largeBlock = 1 << 20
)

// blocks are kept for the process and not for a server or a pool: their buffers are alike, and a connection's buffer on one
// side is free just when the other side needs one.
var blocks [8]sync.Pool

// getBlock gives a buffer of at least n bytes.
func getBlock(n int) *block {
	if n > largeBlock {
		return &block{make([]byte, n)}
	}
	class := blockClass(n)
	if b, ok := blocks[class].Get().(*block); ok {
		return b
	}
	return &block{make([]byte, smallBlock<<class)}
}

// putBlock gives a buffer back; nil is none.
func putBlock(b *block) {
	if b != nil && len(b.b) <= largeBlock {
		blocks[blockClass(len(b.b))].Put(b)
	}
}

func blockClass(n int) int { return bits.Len(uint((max(n, 1) - 1) / smallBlock)) }

// work is what a connection needs while it has a request: an idle one holds nothing.
type work struct {
	buf    []byte
	fields []Field
	out    []byte // an answer's head and framing
	segs   [][]byte
}

// maxKeptOut bounds the out buffer that goes back to the pool.
const maxKeptOut = 32 << 10

// bufferSize holds a head and a small body.
const bufferSize = 8 << 10

func (s *Server) getWork() *work {
	if w, ok := s.works.Get().(*work); ok {
		return w
	}
	return new(work)
}

func (s *Server) putWork(w *work) {
	if cap(w.out) > maxKeptOut {
		w.out = nil
	}
	clear(w.segs[:cap(w.segs)]) // they point into the handler's memory
	s.works.Put(w)
}

// room gives the free part of buf.
func (c *conn) room() []byte {
	if c.work == nil {
		c.work = c.srv.getWork()
	}
	if c.buf == nil {
		if c.work.buf == nil {
			c.work.buf = make([]byte, bufferSize)
		}
		c.buf = c.work.buf
	}
	return c.buf[c.w:]
}

// vacate gives all buffers back between requests.
func (c *conn) vacate() {
	if !c.begun {
		c.putWork()
	}
}

// makeRoom sees that buf can take more bytes of a head.
func (c *conn) makeRoom(limit int) {
	switch {
	case c.w < len(c.buf):
	case c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	default:
		bigger := getBlock(min(2*len(c.buf), limit+smallBlock))
		copy(bigger.b, c.buf)
		putBlock(c.big)
		c.big, c.buf = bigger, bigger.b
	}
}

// retire makes a larger block the buffer and keeps the present one until the exchange ends.
func (c *conn) retire(bigger *block) {
	putBlock(c.prev)
	c.prev, c.big, c.buf = c.big, bigger, bigger.b
}

// putWork gives the buffers back; nothing in them is needed any more.
func (c *conn) putWork() {
	if c.work == nil {
		return
	}
	putBlock(c.big)
	putBlock(c.prev)
	c.big, c.prev = nil, nil
	c.work.fields = c.ex.head.Fields
	c.srv.putWork(c.work)
	c.ex.head = Head{}
	c.work, c.buf, c.r, c.w = nil, nil, 0, 0
}

// write sends bytes and waits for the client to take them, at most the stall limit without progress.
func (c *conn) write(segs [][]byte) error {
	err := c.wire.write(segs, or(c.srv.Stall, 30*time.Second), time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrStalled
	}
	return err
}

// What is still read after an answer that came before the end of what the client sends. Most clients send all of a body
// before they look for an answer: where the connection ends before, they see a reset and never the answer.
const (
	lingerBytes = 64 << 20
	lingerTime  = 10 * time.Second
	lingerIdle  = time.Second // without a byte
)

// linger closes the sending side and reads on for a time where the client may still be sending.
func (c *conn) linger() {
	if c.stopped.Load() || !c.ex.broken && c.ex.bodyDone && c.r == c.w {
		return
	}
	if t, ok := c.nc.(interface{ CloseWrite() error }); !ok || t.CloseWrite() != nil {
		return
	}
	c.room()
	end := time.Now().Add(lingerTime)
	for total := 0; total < lingerBytes; {
		n, err := c.fill(c.work.buf, earlier(time.Now().Add(lingerIdle), end))
		if total += n; err != nil {
			return
		}
	}
}

package h1

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a client's connection.
type conn struct {
	srv    *Server
	nc     net.Conn
	raw    syscall.RawConn // nil where there is none: TLS
	buf    []byte          // what has been read lies in buf[r:w]; nil while the connection is idle
	own    *[]byte         // the pool's, where buf is it
	r, w   int
	bodyAt int         // where in buf a chunked body is read to
	idle   atomic.Bool // waiting for a request
	ex     exchange

	deadline time.Time // for reading, as it is set; zero: none
	readErr  error     // of readSome
	readN    int
	readable func(fd uintptr) bool
	writable func(fd uintptr) bool
	out      []byte // for writable
	outN     int
	outErr   error
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc}
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	if t, ok := nc.(*net.TCPConn); ok && s.SendBuffer > 0 {
		t.SetWriteBuffer(s.SendBuffer) // the system's size serves too
	}
	c.readable, c.writable = c.tryRead, c.tryWrite
	c.ex.c = c
	return c
}

// errIdle says that a connection ended between requests.
var errIdle = errors.New("idle connection closed")

// serve answers requests one after the other.
func (c *conn) serve() {
	for {
		head, err := c.readHead()
		if err != nil {
			c.refuse(err)
			c.putBuffer()
			return
		}
		c.ex.begin(head)
		if e := c.ex.head.parse(head, or(c.srv.MaxFields, 256)); e != nil {
			c.ex.broken = true
			c.srv.reject(&c.ex, e)
		} else {
			c.srv.handle(&c.ex, func() { c.srv.Handler(&c.ex) })
		}
		again := c.ex.finish()
		if !again {
			c.linger()
			c.putBuffer()
			return
		}
		if c.r == c.w {
			c.putBuffer()
		}
	}
}

// refuse answers a head that could not be read whole, where the client can still be told.
func (c *conn) refuse(err error) {
	var e *RequestError
	if !errors.As(err, &e) {
		return
	}
	c.ex.begin(nil)
	c.ex.broken = true
	c.srv.reject(&c.ex, e)
	c.ex.finish()
	c.linger()
}

// readHead reads up to the blank line and gives the head without it. The head stays in buf.
func (c *conn) readHead() ([]byte, error) {
	scanned, begun := 0, c.w > c.r
	if !begun {
		c.r, c.w = 0, 0
	}
	limit := or(c.srv.HeadBytes, 64<<10)
	for {
		if begun {
			for c.r < c.w && scanned == 0 && c.buf[c.r] == '\r' || c.r < c.w && scanned == 0 && c.buf[c.r] == '\n' {
				if c.r+1 == c.w || c.buf[c.r] == '\n' || c.buf[c.r+1] != '\n' {
					break
				}
				c.r += 2 // an empty line before the request line is skipped (RFC 9112 2.2)
			}
			text := c.buf[c.r:c.w]
			if i := bytes.Index(text[max(0, scanned-3):], []byte("\r\n\r\n")); i >= 0 {
				i += max(0, scanned-3)
				c.r += i + 4
				if i+4 > limit {
					return nil, &RequestError{Status: 431, Msg: "head: larger than its limit"}
				}
				return text[:i+2], nil
			}
			if bytes.Contains(text, []byte("\n\n")) {
				return nil, bad("header: bare line feed, want CRLF")
			}
			if scanned = len(text); scanned >= limit {
				return nil, &RequestError{Status: 431, Msg: "head: larger than its limit"}
			}
		}
		if err := c.more(begun, limit); err != nil {
			return nil, c.headError(err, begun)
		}
		if !begun {
			begun = true
			if !c.headWhole() {
				c.setReadDeadline(time.Now().Add(or(c.srv.HeadTimeout, 10*time.Second)))
			}
		}
	}
}

// headWhole says whether what has been read ends a head, so that no time limit need be set for the rest.
func (c *conn) headWhole() bool { return bytes.Contains(c.buf[c.r:c.w], []byte("\r\n\r\n")) }

func (c *conn) headError(err error, begun bool) error {
	switch {
	case !begun:
		return errIdle
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &RequestError{Status: 408, Msg: "head: not complete within its time limit"}
	}
	return err
}

// more reads more of a head. Before its first byte the connection is idle and holds no buffer while it waits.
func (c *conn) more(begun bool, limit int) error {
	if begun {
		c.makeRoom(limit)
		return c.fill()
	}
	c.idle.Store(true)
	defer c.idle.Store(false)
	c.armIdle()
	if c.srv.draining.Load() { // Drain may have looked before the deadline was set
		c.softClose()
	}
	return c.fill()
}

// makeRoom sees that buf can take more bytes of a head.
func (c *conn) makeRoom(limit int) {
	if c.buf == nil || c.w < len(c.buf) {
		return
	}
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
		return
	}
	bigger := make([]byte, min(2*len(c.buf), limit+bufferSize))
	copy(bigger, c.buf)
	c.dropBuffer()
	c.buf = bigger
}

// fill reads once, into a buffer that is taken when there is something to read.
func (c *conn) fill() error {
	if c.raw == nil {
		c.takeBuffer()
		n, err := c.nc.Read(c.buf[c.w:])
		c.w += n
		if n > 0 {
			return nil
		}
		return err
	}
	if err := c.raw.Read(c.readable); err != nil {
		return err
	}
	switch {
	case c.readErr != nil:
		return c.readErr
	case c.readN == 0:
		return io.EOF
	}
	c.w += c.readN
	return nil
}

// tryRead is RawConn.Read's: it reads without waiting, and gives a fresh buffer back when there is nothing.
func (c *conn) tryRead(fd uintptr) bool {
	fresh := c.takeBuffer()
	for {
		c.readN, c.readErr = syscall.Read(int(fd), c.buf[c.w:])
		switch c.readErr {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			if fresh {
				c.putBuffer()
			}
			return false
		}
		return true
	}
}

// takeBuffer makes sure that there is a buffer; true where it was taken now.
func (c *conn) takeBuffer() bool {
	if c.buf != nil {
		return false
	}
	c.own = c.srv.getBuffer()
	c.buf, c.r, c.w = *c.own, 0, 0
	return true
}

// putBuffer gives the buffer back; nothing in it is needed any more.
func (c *conn) putBuffer() {
	c.dropBuffer()
	c.buf, c.r, c.w = nil, 0, 0
}

func (c *conn) dropBuffer() {
	if c.own != nil {
		c.srv.buffers.Put(c.own)
		c.own = nil
	}
}

// armIdle sets the limit of an idle connection. Setting a deadline costs a timer's work, so one that still leaves most of
// the time stays.
func (c *conn) armIdle() {
	idle := or(c.srv.Idle, time.Minute)
	now := time.Now()
	if left := c.deadline.Sub(now); left < idle*3/4 || left > idle {
		c.setReadDeadline(now.Add(idle))
	}
}

func (c *conn) setReadDeadline(t time.Time) {
	c.deadline = t
	c.nc.SetReadDeadline(t)
}

// wakeIdle shortens the wait of an idle connection; called by Drain.
func (c *conn) wakeIdle() {
	if c.idle.Load() {
		c.softClose()
	}
}

// softClose leaves a last moment for a request that may be on its way.
func (c *conn) softClose() { c.nc.SetReadDeadline(time.Now().Add(or(c.srv.SoftClose, time.Second))) }

// past is a time that is over.
var past = time.Unix(1, 0)

// lingerBytes and lingerTime bound what is still read after an answer that came before the body's end, so that the
// client reads the answer and not a reset.
const (
	lingerBytes = 256 << 10
	lingerTime  = time.Second
)

// linger closes the sending side and reads on for a little.
func (c *conn) linger() {
	if c.ex.aborted || c.ex.bodyDone {
		return
	}
	if t, ok := c.nc.(interface{ CloseWrite() error }); !ok || t.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	c.takeBuffer()
	for total := 0; total < lingerBytes; {
		n, err := c.nc.Read(c.buf)
		if total += n; err != nil {
			return
		}
	}
}

// write sends bytes and waits for the client to take them, at most the stall limit without progress.
func (c *conn) write(segs [][]byte) error {
	rest, err := c.tryWriteAll(segs)
	for err == nil && len(rest) > 0 {
		var n int
		c.nc.SetWriteDeadline(time.Now().Add(or(c.srv.Stall, 30*time.Second)))
		n, err = c.nc.Write(rest[0][:min(len(rest[0]), 64<<10)])
		rest[0] = rest[0][n:]
		if len(rest[0]) == 0 {
			rest = rest[1:]
		}
		if n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrStalled
	}
	return err
}

// tryWriteAll sends what the socket takes now and gives the rest, which is segs' own memory.
func (c *conn) tryWriteAll(segs [][]byte) ([][]byte, error) {
	if c.raw == nil {
		return segs, nil
	}
	for len(segs) > 0 {
		if len(segs[0]) == 0 {
			segs = segs[1:]
			continue
		}
		c.out = segs[0]
		if err := c.raw.Write(c.writable); err != nil {
			return segs, err
		}
		if c.outErr != nil {
			if c.outErr == syscall.EAGAIN {
				return segs, nil
			}
			return segs, c.outErr
		}
		if segs[0] = segs[0][c.outN:]; len(segs[0]) > 0 {
			return segs, nil
		}
		segs = segs[1:]
	}
	return nil, nil
}

// tryWrite is RawConn.Write's: one write without waiting.
func (c *conn) tryWrite(fd uintptr) bool {
	for {
		c.outN, c.outErr = syscall.Write(int(fd), c.out)
		if c.outErr != syscall.EINTR {
			if c.outErr != nil {
				c.outN = 0
			}
			return true
		}
	}
}

// closedByPeer waits until the connection is closed or reset by the peer, has bytes to read, or meets its read deadline;
// it says whether it was the first. Nothing is taken off the connection.
func (c *conn) closedByPeer() bool {
	closed := false
	err := c.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN || err == syscall.EINTR:
			return false
		case err != nil || n == 0:
			closed = true
		}
		return true
	})
	return err == nil && closed
}

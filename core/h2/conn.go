package h2

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn is a connection. One goroutine reads frames, another writes what has been put into out.
type conn struct {
	client  *Client
	places  // the client's lock guards them
	nc      net.Conn
	in      *http2.Framer // of the reading goroutine
	tasks   sync.WaitGroup
	greeted chan struct{} // closed when the upstream's settings have come, or will not

	mu      sync.Mutex // guards what follows, and the connection's streams
	some    sync.Cond  // the writing goroutine waits here for frames, or for the end
	frames  *http2.Framer
	out     bytes.Buffer // frames that are to be written
	passed  int64        // bytes that were in out before those that are
	written int64        // bytes that the socket has taken
	fields  *hpack.Encoder
	block   bytes.Buffer // what fields writes to

	streams map[uint32]*Stream
	sending []*Stream // wait for room in the connection's window, or in out
	next    uint32    // stream
	credit  int64     // what may be sent on all streams
	initial int64     // what may be sent on a new stream
	came    uint32    // bytes to be given back to the upstream's window
	told    bool      // the upstream's settings have come
	leaving bool      // the upstream takes no more streams
	err     error     // why it has ended
	change  change    // not noted yet by the client
}

// start begins to speak HTTP/2.
func (cl *Client) start(nc net.Conn) *conn {
	c := &conn{client: cl, nc: nc, greeted: make(chan struct{}), streams: map[uint32]*Stream{}, next: 1, credit: 65535, initial: 65535}
	c.places = places{most: 1, fresh: true}
	c.some.L = &c.mu
	c.frames = http2.NewFramer(&c.out, nil)
	c.fields = hpack.NewEncoder(&c.block)
	c.in = http2.NewFramer(nil, bufio.NewReaderSize(&watchful{c: c}, 2*frameSize))
	c.in.SetReuseFrames()
	c.in.SetMaxReadFrameSize(frameSize)
	c.in.MaxHeaderListSize = uint32(cl.opt.HeadBytes)
	c.in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.WriteString(http2.ClientPreface)
	c.frames.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: FirstWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(cl.opt.HeadBytes)},
	)
	c.frames.WriteWindowUpdate(0, connWindow-65535)
	c.tasks.Go(c.read)
	c.tasks.Go(c.write)
	return c
}

// unlock unlocks the connection and tells the client what has changed.
func (c *conn) unlock() {
	ch := c.change
	c.change = change{}
	c.mu.Unlock()
	if ch != (change{}) {
		c.client.note(c, ch)
	}
}

// say has what has been put into out written. The connection is locked, as in what follows where it is not said.
func (c *conn) say() { c.some.Signal() }

// fail ends the connection and its streams.
func (c *conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.greet()
	c.change.dead = true
	for _, s := range c.streams {
		s.fail(err, c.written < s.begun)
	}
	c.nc.SetWriteDeadline(time.Now().Add(byeLimit))
	c.some.Signal()
}

func (c *conn) greet() {
	if !c.told {
		c.told = true
		close(c.greeted)
	}
}

// ending is why the connection has ended; nil: it has not. It is called unlocked.
func (c *conn) ending() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// broke ends the connection for a fault of the upstream's.
func (c *conn) broke(err error) {
	var code http2.ConnectionError
	switch {
	case c.err != nil:
		return
	case errors.As(err, &code):
		c.frames.WriteGoAway(0, http2.ErrCode(code), nil)
	case errors.Is(err, http2.ErrFrameTooLarge):
		c.frames.WriteGoAway(0, http2.ErrCodeFrameSize, nil)
	}
	c.fail(err)
}

// shut ends a connection that has no streams. It is called unlocked.
func (c *conn) shut() {
	c.mu.Lock()
	defer c.unlock()
	if c.err == nil {
		c.frames.WriteGoAway(0, http2.ErrCodeNo, nil)
		c.fail(errClosed)
	}
}

// guard turns a panic of the connection's goroutine into its end: other connections are not to suffer.
func (c *conn) guard() {
	if p := recover(); p != nil {
		c.mu.Lock()
		defer c.unlock()
		c.fail(fmt.Errorf("HTTP/2 connection: panic: %v\n%s", p, debug.Stack()))
	}
}

// write is the goroutine that writes, and closes the connection when it has ended.
func (c *conn) write() {
	defer c.guard()
	defer c.nc.Close()
	var spare bytes.Buffer
	for {
		c.mu.Lock()
		for c.out.Len() == 0 && c.err == nil {
			c.some.Wait()
		}
		if c.out.Len() == 0 {
			c.mu.Unlock()
			return
		}
		if c.err == nil {
			c.nc.SetWriteDeadline(time.Now().Add(writeLimit))
		}
		c.out, spare = spare, c.out
		c.passed += int64(spare.Len())
		c.wakeSenders()
		c.mu.Unlock()
		n, err := c.nc.Write(spare.Bytes())
		c.wrote(n, err)
		if spare.Reset(); spare.Cap() > sendBuffer {
			spare = bytes.Buffer{}
		}
		if err != nil {
			return
		}
	}
}

// wrote takes note of bytes that the socket took. It is called unlocked.
func (c *conn) wrote(n int, err error) {
	c.mu.Lock()
	defer c.unlock()
	if c.written += int64(n); err != nil {
		c.fail(err)
	}
}

func (c *conn) wakeSenders() {
	for _, s := range c.sending {
		s.stirred()
	}
}

// watchful reads from the connection, and when nothing comes for a time asks whether the upstream is there.
type watchful struct{ c *conn }

// Read gives what has come.
func (w *watchful) Read(p []byte) (int, error) {
	limit := pingAfter
	for {
		w.c.nc.SetReadDeadline(time.Now().Add(limit))
		n, err := w.c.nc.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || limit == pingLimit {
			return n, err
		}
		limit = pingLimit
		w.c.ping()
	}
}

// ping is called unlocked.
func (c *conn) ping() {
	c.mu.Lock()
	defer c.unlock()
	c.frames.WritePing(false, [8]byte{'a', 'l', 'i', 'v', 'e'})
	c.say()
}

// head puts the head of a request into out, as one frame and others that continue it.
func (c *conn) head(s *Stream, r *Request, ends bool) {
	c.block.Reset()
	put := func(name, value string, secret bool) {
		c.fields.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: secret})
	}
	put(":method", r.Method, false)
	put(":scheme", c.client.opt.Scheme, false)
	put(":authority", c.client.opt.Authority, false)
	put(":path", r.Target, false)
	if !ends || r.Method != "GET" && r.Method != "HEAD" {
		n := 0
		for _, seg := range r.Body {
			n += len(seg)
		}
		put("content-length", strconv.Itoa(n), false)
	}
	for i := range r.Fields {
		c.fields.WriteField(r.Fields[i])
	}
	for first := true; first || c.block.Len() > 0; first = false {
		part := c.block.Next(frameSize)
		last := c.block.Len() == 0
		if first {
			c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: part, EndStream: ends, EndHeaders: last})
		} else {
			c.frames.WriteContinuation(s.id, last, part)
		}
	}
}

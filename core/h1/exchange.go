package h1

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Exchange is one request and its answer. It is not for concurrent use but where a method says so.
type Exchange interface {
	// Head is valid until the exchange's end.
	Head() *Head
	// Arrived is when the last byte of the head had been read.
	Arrived() time.Time
	// RemoteAddr is the client's host:port.
	RemoteAddr() string
	// Body reads the whole body, once; it is valid until the handler returns. It asks for the body where the client
	// waits to be asked and the length is within the limit. The error is ErrBodyTooLarge or a *RequestError, or the
	// connection's.
	Body(limit int64) ([]byte, error)
	// ForgetBody ends the validity of what Body gave, so that the memory of a large one is free while the answer is on its way.
	ForgetBody()
	// Spare lets go of all memory that the answer does not need, for one that takes its time, once the body has been forgotten.
	// Nobody else may be at the head meanwhile.
	Spare()
	// Commit sets status and fields of the answer, complete "Name: value\r\n" lines that the caller has checked. A
	// length of 0 or more is the body's; -1 is chunked. Nothing is sent before the first Write, Flush or End: head and
	// first bytes leave in one write. Framing, Date and Connection are added here.
	Commit(status int, fields []byte, length int64) error
	// DeclareTrailer names the trailer's fields; before Commit, of chunked answers.
	DeclareTrailer(names string)
	Committed() bool
	// Write sends bytes of the body, of a chunked one as one chunk. It waits while the client takes some within the
	// limit, then ErrStalled; more than the declared length is ErrOverrun. Segs are not kept, nor changed.
	Write(segs ...[]byte) error
	// TryWrite is Write without waiting: what was not taken is returned, framed already, for WriteRaw. A connection
	// that cannot do this returns all of it. The rest holds segs' bytes and is valid until the next write.
	TryWrite(segs ...[]byte) (rest [][]byte, err error)
	// WriteRaw goes on with what TryWrite left, perhaps in another goroutine, never beside another write.
	WriteRaw(segs [][]byte) error
	// Flush sends the head where it has not been sent.
	Flush() error
	// End ends the answer; trailers are lines as Commit's fields.
	End(trailers []byte) error
	// Abort ends the connection so that the client sees that the answer is not complete. What waits in WriteRaw or Write in
	// another goroutine returns ErrAborted.
	Abort()
	// Watch calls gone once, from another goroutine, when the client closes its connection before Unwatch or the end, or the
	// server is closed. Early bytes of a next request are kept.
	Watch(gone func())
	// Unwatch ends the watch; gone is not running, and will not be called, once it has returned. Not to be called by gone.
	Unwatch()
	// Hijack gives the connection away, with what has been read of it beyond this request; before Commit. Where several
	// exchanges share a connection, the error is errors.ErrUnsupported.
	Hijack() (net.Conn, []byte, error)
}

// Handler answers one request. The exchange ends when it returns.
type Handler func(Exchange)

// exchange is the Exchange of a connection of our own. What writes an answer may be another goroutine than what began it,
// but never two at once.
type exchange struct {
	c        *conn
	head     Head
	arrived  time.Time
	broken   bool // the request's framing cannot be trusted
	bodyRead bool // Body was called
	bodyDone bool // all of the request's body has been read
	bodyGone bool // ForgetBody was called
	spared   bool // so was Spare: there is no buffer
	body     *block

	committed bool
	sentHead  bool
	ended     bool
	hijacked  bool
	keep      bool // the connection
	chunked   bool
	noBody    bool  // HEAD, 204, 304
	left      int64 // bytes of a declared length that are still to come; -1: none was declared
	trailer   string

	watching bool
	watch    sync.WaitGroup // of the goroutine that looks for the client's leaving
}

// begin makes the exchange ready for a request whose head has just been read. It is emptied where it is: a literal would lie on
// the stack of every idle connection, and keep it at twice its size.
func (x *exchange) begin() {
	c := x.c
	*x = exchange{}
	x.c, x.head.Fields, x.arrived = c, c.work.fields[:0], time.Now()
}

// finish ends the exchange after its handler; it says whether another request may follow on the connection.
func (x *exchange) finish() (again bool) {
	x.Unwatch()
	if !x.hijacked && !x.ended && !x.c.stopped.Load() {
		if !x.committed || x.chunked || x.left > 0 && !x.noBody {
			x.Abort() // the handler left the answer incomplete
		} else {
			x.End(nil) // whose failure stops the connection
		}
	}
	x.bodyDone = x.bodyDone || x.head.Length == 0
	putBlock(x.body)
	putBlock(x.c.prev)
	x.body, x.c.prev = nil, nil
	x.c.work.fields = x.head.Fields
	return x.keep && x.ended && !x.broken && x.bodyDone && !x.c.stopped.Load()
}

func (x *exchange) Head() *Head                 { return &x.head }
func (x *exchange) Arrived() time.Time          { return x.arrived }
func (x *exchange) RemoteAddr() string          { return x.c.nc.RemoteAddr().String() }
func (x *exchange) Committed() bool             { return x.committed }
func (x *exchange) DeclareTrailer(names string) { x.trailer = names }

func (x *exchange) Commit(status int, fields []byte, length int64) error {
	if x.committed || x.hijacked {
		return errTwice
	}
	x.committed = true
	x.noBody = status == 204 || status == 304 || string(x.head.Method) == "HEAD"
	x.chunked = length < 0 && x.head.Minor == 1 && !x.noBody
	x.left = max(length, -1)
	untilClose := length < 0 && !x.chunked && !x.noBody
	early := x.broken || x.head.Length != 0 && !x.bodyDone // the client may still be sending
	x.keep = !x.head.close && !early && !untilClose && x.c.srv.softEnd.Load() == nil
	b := append(x.c.work.out[:0], "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	b = append(b, "\r\nDate: "...)
	b = append(b, x.c.srv.date.at(time.Now())...)
	b = append(b, crlf...)
	b = append(b, fields...)
	switch {
	case x.chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		if x.trailer != "" {
			b = append(b, "Trailer: "...)
			b = append(b, x.trailer...)
			b = append(b, crlf...)
		}
	case length >= 0 && status != 204 && status != 304:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, length, 10)
		b = append(b, crlf...)
	}
	if !x.keep {
		b = append(b, "Connection: close\r\n"...)
	} else if x.head.Minor == 0 {
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	x.c.work.out = append(b, crlf...)
	return nil
}

var crlf = []byte("\r\n")

// frame puts what is still to be sent of the head, and a chunk's framing, around bytes of the body. Little is joined into
// one piece.
func (x *exchange) frame(segs [][]byte) ([][]byte, error) {
	n := 0
	for _, s := range segs {
		n += len(s)
	}
	switch {
	case x.noBody:
		segs, n = nil, 0
	case x.left >= 0 && int64(n) > x.left:
		return nil, ErrOverrun
	case x.left >= 0:
		x.left -= int64(n)
	}
	w := x.c.work
	if x.sentHead {
		w.out = w.out[:0]
	}
	x.sentHead = true
	chunk := x.chunked && n > 0
	if chunk {
		w.out = strconv.AppendInt(w.out, int64(n), 16)
		w.out = append(w.out, crlf...)
	}
	if len(w.out)+n > x.c.joinBelow() {
		w.segs = append(append(w.segs[:0], w.out), segs...)
		if chunk {
			w.segs = append(w.segs, crlf)
		}
		return w.segs, nil
	}
	for _, s := range segs {
		w.out = append(w.out, s...)
	}
	if chunk {
		w.out = append(w.out, crlf...)
	}
	w.segs = w.segs[:0]
	if len(w.out) > 0 {
		w.segs = append(w.segs, w.out)
	}
	return w.segs, nil
}

// open says why nothing can be written, if so.
func (x *exchange) open() error {
	if x.ended || !x.committed || x.c.stopped.Load() {
		return ErrAborted
	}
	return nil
}

// outcome makes a failed write the end of the connection.
func (x *exchange) outcome(err error) error {
	if err != nil {
		x.Abort()
	}
	return err
}

func (x *exchange) Write(segs ...[]byte) error {
	if err := x.open(); err != nil {
		return err
	}
	framed, err := x.frame(segs)
	if err == nil {
		err = x.c.write(framed)
	}
	return x.outcome(err)
}

func (x *exchange) TryWrite(segs ...[]byte) (rest [][]byte, err error) {
	if err := x.open(); err != nil {
		return nil, err
	}
	framed, err := x.frame(segs)
	if err == nil {
		rest, err = x.c.tryWrite(framed)
		clear(framed[:len(framed)-len(rest)]) // what is written is the caller's again, and need not be kept
	}
	return rest, x.outcome(err)
}

func (x *exchange) WriteRaw(segs [][]byte) error { return x.outcome(x.c.write(segs)) }

func (x *exchange) Flush() error {
	if x.sentHead {
		return nil
	}
	return x.Write()
}

func (x *exchange) End(trailers []byte) error {
	if err := x.open(); err != nil {
		return err
	}
	if x.left > 0 && !x.noBody {
		return x.outcome(ErrTruncated)
	}
	w := x.c.work
	if x.sentHead {
		w.out = w.out[:0]
	}
	x.sentHead = true
	if x.chunked {
		w.out = append(w.out, "0\r\n"...)
		if x.trailer != "" {
			w.out = append(w.out, trailers...)
		}
		w.out = append(w.out, crlf...)
	}
	x.ended = true
	if len(w.out) == 0 {
		return nil
	}
	w.segs = append(w.segs[:0], w.out)
	return x.outcome(x.c.write(w.segs))
}

func (x *exchange) Abort() {
	if x.committed && !x.ended && !x.chunked && x.left < 0 {
		// The end of the connection would be the answer's clean end. A reset is not.
		nc := x.c.nc
		if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
			nc = t.NetConn()
		}
		if t, ok := nc.(*net.TCPConn); ok {
			t.SetLinger(0)
			t.Close()
		}
	}
	x.c.stop()
}

// AtClose has something done when the server is closed, at once where it has been, by another goroutine. cancel says whether it
// will not be done.
func (x *exchange) AtClose(do func()) (cancel func() bool) { return x.c.srv.closings.add(do) }

// closings are what is to be done when a server is closed.
type closings struct {
	mu     sync.Mutex // guards what follows
	closed bool
	todo   map[*func()]bool
}

func (c *closings) add(do func()) (cancel func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		go do()
		return func() bool { return false }
	}
	if c.todo == nil {
		c.todo = map[*func()]bool{}
	}
	c.todo[&do] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		waits := c.todo[&do]
		delete(c.todo, &do)
		return waits
	}
}

func (c *closings) run() {
	c.mu.Lock()
	todo := c.todo
	c.closed, c.todo = true, nil
	c.mu.Unlock()
	for do := range todo {
		(*do)()
	}
}

func (x *exchange) Watch(gone func()) {
	if x.watching || !x.c.peer().ok() {
		return
	}
	x.watching = true
	x.c.readBy = time.Time{}
	x.c.nc.SetReadDeadline(time.Time{})
	x.watch.Go(func() {
		if x.c.peer().waitGone() || x.c.stopped.Load() {
			gone()
		}
	})
}

func (x *exchange) Unwatch() {
	if !x.watching {
		return
	}
	x.watching = false
	x.c.readBy = past
	x.c.nc.SetReadDeadline(past)
	x.watch.Wait()
}

func (x *exchange) Hijack() (net.Conn, []byte, error) {
	if x.committed || x.hijacked || x.c.stopped.Load() {
		return nil, nil, errTwice
	}
	x.Unwatch()
	x.hijacked = true
	x.c.nc.SetDeadline(time.Time{})
	return x.c.nc, bytes.Clone(x.c.buf[x.c.r:x.c.w]), nil
}

// dateLine keeps the text of the Date field for its second.
type dateLine struct{ last atomic.Pointer[dated] }

type dated struct {
	second int64
	text   []byte
}

func (d *dateLine) at(t time.Time) []byte {
	sec := t.Unix()
	if l := d.last.Load(); l != nil && l.second == sec {
		return l.text
	}
	l := &dated{second: sec, text: t.UTC().AppendFormat(nil, http.TimeFormat)}
	d.last.Store(l)
	return l.text
}

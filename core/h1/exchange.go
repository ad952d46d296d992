package h1

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is the Exchange of a connection of our own.
type exchange struct {
	c        *conn
	head     Head
	arrived  time.Time
	broken   bool // the request's framing cannot be trusted
	bodyDone bool // all of the request's body has been read
	body     bodyReader

	committed bool
	sentHead  bool
	ended     bool
	aborted   bool
	keep      bool
	chunked   bool
	noBody    bool  // HEAD, 204, 304
	left      int64 // bytes of a declared length that are still to come
	out       []byte
	trailer   string
	segs      [][]byte

	watch watcher
}

// begin makes the exchange ready for the next request.
func (x *exchange) begin(_ []byte) {
	fields := x.head.Fields[:0]
	*x = exchange{c: x.c, head: Head{Fields: fields}, out: x.out[:0], segs: x.segs[:0], body: bodyReader{buf: x.body.buf}}
	x.arrived = time.Now()
	x.c.bodyAt = 0
}

// finish ends the exchange after its handler; it says whether another request may follow on the connection.
func (x *exchange) finish() bool {
	x.Unwatch()
	if !x.committed {
		x.Abort()
	}
	if !x.ended && !x.aborted {
		if x.chunked || x.left > 0 {
			x.Abort() // the handler left the answer incomplete
		} else {
			x.End(nil)
		}
	}
	x.bodyDone = x.bodyDone || x.head.Length == 0
	x.body.release()
	if cap(x.out) > 64<<10 {
		x.out = nil
	}
	return x.keep && x.ended && !x.broken && x.bodyDone && !x.aborted
}

func (x *exchange) Head() *Head        { return &x.head }
func (x *exchange) Arrived() time.Time { return x.arrived }
func (x *exchange) RemoteAddr() string { return x.c.nc.RemoteAddr().String() }
func (x *exchange) Committed() bool    { return x.committed }

func (x *exchange) DeclareTrailer(names string) { x.trailer = names }

func (x *exchange) Commit(status int, fields []byte, length int64) error {
	if x.committed {
		return errTwice
	}
	x.committed = true
	x.noBody = status == 204 || status == 304 || string(x.head.Method) == "HEAD"
	x.chunked = length < 0 && x.head.Minor == 1 && !x.noBody
	x.left = max(length, 0)
	whole := x.head.Length == 0 || x.bodyDone
	x.keep = !x.head.close && !x.broken && whole && (length >= 0 || x.chunked || x.noBody) && !x.c.srv.draining.Load()
	b := append(x.out[:0], "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	b = append(b, "\r\nDate: "...)
	b = append(b, dates.now(x.arrived)...)
	b = append(b, "\r\n"...)
	b = append(b, fields...)
	switch {
	case x.chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		if x.trailer != "" {
			b = append(b, "Trailer: "...)
			b = append(b, x.trailer...)
			b = append(b, "\r\n"...)
		}
	case length >= 0 && status != 204 && status != 304:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, length, 10)
		b = append(b, "\r\n"...)
	}
	if !x.keep {
		b = append(b, "Connection: close\r\n"...)
	} else if x.head.Minor == 0 {
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	x.out = append(b, "\r\n"...)
	return nil
}

// frame puts what is still to be sent of the head, and the chunk's framing, around bytes of the body. Little is joined
// into one piece; out is then the whole.
func (x *exchange) frame(segs [][]byte) [][]byte {
	n := 0
	for _, s := range segs {
		n += len(s)
	}
	switch {
	case x.noBody || n == 0 && x.sentHead:
		segs, n = nil, 0
	case !x.chunked:
		x.left -= int64(n)
	}
	if x.sentHead {
		x.out = x.out[:0]
	}
	x.sentHead = true
	if x.chunked && n > 0 {
		x.out = strconv.AppendInt(x.out, int64(n), 16)
		x.out = append(x.out, "\r\n"...)
	}
	if len(x.out)+n <= joinBelow {
		for _, s := range segs {
			x.out = append(x.out, s...)
		}
		if x.chunked && n > 0 {
			x.out = append(x.out, "\r\n"...)
		}
		if len(x.out) == 0 {
			return nil
		}
		return append(x.segs[:0], x.out)
	}
	x.segs = append(x.segs[:0], x.out)
	x.segs = append(x.segs, segs...)
	if x.chunked {
		x.segs = append(x.segs, crlf)
	}
	return x.segs
}

var crlf = []byte("\r\n")

// joinBelow is the size up to which copying is cheaper than writing several pieces.
const joinBelow = 16 << 10

func (x *exchange) Write(segs ...[]byte) error {
	if err := x.writable(); err != nil {
		return err
	}
	return x.failed(x.c.write(x.frame(segs)))
}

func (x *exchange) TryWrite(segs ...[]byte) ([][]byte, error) {
	if err := x.writable(); err != nil {
		return nil, err
	}
	rest, err := x.c.tryWriteAll(x.frame(segs))
	return rest, x.failed(err)
}

func (x *exchange) WriteRaw(segs [][]byte) error { return x.failed(x.c.write(segs)) }

func (x *exchange) writable() error {
	if x.ended || x.aborted || !x.committed {
		return ErrAborted
	}
	return nil
}

// failed makes a failed write the end of the connection.
func (x *exchange) failed(err error) error {
	if err != nil {
		x.Abort()
	}
	return err
}

func (x *exchange) Flush() error {
	if x.sentHead {
		return nil
	}
	return x.Write()
}

func (x *exchange) End(trailers []byte) error {
	if err := x.writable(); err != nil {
		return err
	}
	if !x.chunked && !x.noBody && x.left > 0 {
		x.Abort()
		return ErrTruncated
	}
	segs := x.frame(nil)
	if x.chunked {
		if len(segs) == 0 {
			x.out = x.out[:0]
		}
		x.out = append(x.out, "0\r\n"...)
		if x.trailer != "" {
			x.out = append(x.out, trailers...)
		}
		x.out = append(x.out, "\r\n"...)
		segs = append(x.segs[:0], x.out)
	}
	x.ended = true
	if len(segs) == 0 {
		return nil
	}
	return x.failed(x.c.write(segs))
}

func (x *exchange) Abort() {
	if x.aborted {
		return
	}
	x.aborted, x.keep = true, false
	if t, ok := x.c.nc.(interface{ SetLinger(int) error }); ok && x.committed && !x.ended {
		t.SetLinger(0) // a reset: no reader takes what came for the whole
	}
	x.c.nc.SetDeadline(past)
}

// dateLine keeps the Date of the second.
type dateLine struct {
	mu   sync.Mutex // guards what follows while it is made anew
	last atomic.Pointer[dated]
}

type dated struct {
	second int64
	text   []byte
}

// dates is one for the process: the time is the same for all servers.
var dates dateLine

func (d *dateLine) now(t time.Time) []byte {
	sec := t.Unix()
	if l := d.last.Load(); l != nil && l.second == sec {
		return l.text
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := &dated{second: sec, text: t.UTC().AppendFormat(nil, http.TimeFormat)}
	d.last.Store(l)
	return l.text
}

// watcher looks for the client's leaving while the handler waits for something else.
type watcher struct {
	running bool
	done    sync.WaitGroup
}

func (x *exchange) Watch(gone func()) {
	if x.watch.running || x.c.raw == nil || x.c.w > x.c.r {
		return // bytes of a next request are there: the client has not left
	}
	x.watch.running = true
	x.c.setReadDeadline(time.Time{})
	x.watch.done.Go(func() {
		if x.c.closedByPeer() {
			gone()
		}
	})
}

func (x *exchange) Unwatch() {
	if !x.watch.running {
		return
	}
	x.watch.running = false
	x.c.nc.SetReadDeadline(past)
	x.watch.done.Wait()
	x.c.deadline = past // to be set anew before the next read
}

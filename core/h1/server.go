package h1

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves HTTP/1.1 connections, a goroutine each. Its fields are set before Serve.
type Server struct {
	Handler Handler
	// Reject answers a request that was refused before the handler, or whose handler panicked; nil: a plain text. The
	// exchange's head may be empty.
	Reject func(Exchange, *RequestError)
	Log    *slog.Logger // nil: nothing is logged

	HeadBytes   int           // of a request's head; 64 KiB
	MaxFields   int           // of a head; 256
	HeadTimeout time.Duration // for the whole head, from its first byte; 10 s
	Idle        time.Duration // between requests; 60 s
	SoftClose   time.Duration // that an idle connection may still send a request once Drain has begun; 1 s
	BodyGrace   time.Duration // before the body's rate counts; 10 s
	BodyRate    int64         // bytes a second that a body must come at; 1 KiB
	Stall       time.Duration // that a client may take nothing of an answer; 30 s
	LastWords   time.Duration // that answers may take to end once Close has begun; 1 s
	MaxConns    int           // 20,000
	Unsent      int           // bytes that a client's socket takes beyond what it can send at once; 16 KiB

	mu        sync.Mutex // guards listeners, conns and closers
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	closers   []func()                  // of what serves connections beside this server
	softEnd   atomic.Pointer[time.Time] // set once Drain or Close has begun: when idle connections end
	running   sync.WaitGroup            // Serve's callers and connections
	closings  closings
	works     sync.Pool // *work
	date      dateLine
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

func (s *Server) logger() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// Serve accepts connections until the listener is closed by Drain or Close; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.listeners == nil {
		s.listeners, s.conns = map[net.Listener]bool{}, map[*conn]bool{}
	}
	s.listeners[l] = true
	s.running.Add(1) // so that Drain, once it waits, counts the last connection that is accepted
	s.mu.Unlock()
	defer s.running.Done()
	if s.softEnd.Load() != nil {
		l.Close()
	}
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.serveConn(nc)
			continue
		case s.softEnd.Load() != nil || errors.Is(err, net.ErrClosed):
			return nil
		}
		// Out of descriptors, most likely: connections that end will free some.
		s.logger().Warn("accept", "error", err)
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		time.Sleep(pause)
	}
}

// serveConn starts a connection's goroutine, or closes it at once where there are too many.
func (s *Server) serveConn(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	full := len(s.conns) >= or(s.MaxConns, 20000)
	if !full {
		s.conns[c] = true
		s.running.Add(1)
	}
	s.mu.Unlock()
	if full {
		nc.Close()
		return
	}
	go func() {
		defer s.running.Done()
		if c.run() {
			c.nc.Close()
		}
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
}

// run serves a connection to its end; it says whether it is still ours to close.
func (c *conn) run() (ours bool) {
	defer func() {
		if p := recover(); p != nil { // in Reject, where a panic of the handler's is being answered
			c.srv.logger().Error("connection: panic", "panic", p, "stack", string(debug.Stack()))
			ours = true
		}
	}()
	if t, ok := c.nc.(*secured); ok {
		if err := t.agree(); err != nil {
			return err != errHandedOver
		}
	}
	return c.serve()
}

// Drain stops accepting, answers with "Connection: close" from now on, gives idle connections a moment for a request that
// is on its way, and waits until all have ended or ctx has. A request that has been read is answered.
func (s *Server) Drain(ctx context.Context) error {
	s.shut(time.Now().Add(or(s.SoftClose, time.Second)), (*conn).nudgeIdle)
	return s.ended(ctx)
}

// ended waits until all connections have ended or ctx has.
func (s *Server) ended(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the last connection, as Close does
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close tells the handlers that asked for it (AtClose), gives those that run LastWords to end their answers, and then ends
// all connections. It waits for their goroutines, so for handlers too.
func (s *Server) Close() {
	s.closings.run()
	s.shut(past, (*conn).nudgeIdle)
	ctx, cancel := context.WithTimeout(context.Background(), or(s.LastWords, time.Second))
	defer cancel()
	if s.ended(ctx) == nil {
		return
	}
	s.shut(past, func(c *conn) {
		c.stop()
		c.nc.Close()
	})
	s.mu.Lock()
	closers := s.closers
	s.mu.Unlock()
	for _, f := range closers {
		f()
	}
	s.running.Wait()
}

// shut closes the listeners and does something to each connection.
func (s *Server) shut(end time.Time, each func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.softEnd.Store(&end)
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		each(c)
	}
}

// handle has a request answered: by Reject where it was refused. A panic ends this exchange alone.
func (s *Server) handle(ex Exchange, refused *RequestError) {
	defer s.recovered(ex)
	if refused != nil {
		s.reject(ex, refused)
		return
	}
	s.Handler(ex)
}

// recovered deals with a panic of the handler's.
func (s *Server) recovered(ex Exchange) {
	p := recover()
	if p == nil {
		return
	}
	s.logger().Error("request: panic", "panic", p, "stack", string(debug.Stack()))
	if ex.Committed() {
		ex.Abort()
		return
	}
	s.reject(ex, &RequestError{Status: 500, Msg: "internal error"})
}

// reject answers a request that the handler does not see, or has failed on.
func (s *Server) reject(ex Exchange, e *RequestError) {
	if s.Reject != nil {
		s.Reject(ex, e)
	}
	if ex.Committed() {
		return
	}
	if ex.Commit(e.Status, []byte("Content-Type: text/plain; charset=utf-8\r\n"), int64(len(e.Msg))) == nil && ex.Write([]byte(e.Msg)) == nil {
		ex.End(nil)
	}
}

// conn is a client's connection.
type conn struct {
	wire
	srv     *Server
	work    *work  // nil while the connection is idle
	buf     []byte // what has been read lies in buf[r:w]; work's, or big's
	big     *block // where a head did not fit work's buffer
	prev    *block // likewise, of which the present head still needs bytes
	r, w    int
	headEnd int         // in buf, of the present request
	begun   bool        // a byte of the present request has come
	idle    atomic.Bool // waiting for a request
	into    place       // of reads that do not go to buf
	ex      exchange
}

// unsent keeps a socket busy whose peer reads, and makes one whose peer does not cost the kernel little: without it an answer
// of which nothing is read may fill a send buffer of megabytes.
const unsent = 16 << 10

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s}
	c.open(nc)
	c.peer().limitUnsent(or(s.Unsent, unsent))
	c.ex.c = c
	return c
}

// errIdle says that a connection ended between requests.
var errIdle = errors.New("idle connection closed")

// serve answers requests one after the other. It says whether the connection is still ours to close.
func (c *conn) serve() (ours bool) {
	defer c.putWork()
	for {
		if !c.begun {
			if err := c.await(); err != nil {
				return true
			}
			c.begun = true
		}
		head, err := c.readHead()
		if err != nil {
			c.refuse(err)
			return true
		}
		c.ex.begin()
		refused := c.ex.head.parse(head, or(c.srv.MaxFields, 256))
		c.ex.broken = refused != nil
		c.srv.handle(&c.ex, refused)
		switch again := c.ex.finish(); {
		case c.ex.hijacked:
			return false
		case !again:
			c.linger()
			return true
		}
		c.begun = c.r < c.w
	}
}

// refuse answers a head that could not be read whole, where the client can still be told.
func (c *conn) refuse(err error) {
	var e *RequestError
	if !errors.As(err, &e) {
		return
	}
	c.ex.begin()
	c.ex.broken = true
	c.srv.handle(&c.ex, e)
	c.ex.finish()
	c.linger()
}

// readHead reads up to the blank line and gives the head without it. The head stays in buf.
func (c *conn) readHead() ([]byte, error) {
	var until time.Time // set when more must be waited for
	limit, scanned, blank := or(c.srv.HeadBytes, 64<<10), 0, false
	for {
		text := c.buf[c.r:c.w]
		if !blank && bytes.HasPrefix(text, crlf) { // one empty line before the request line is skipped (RFC 9112 2.2)
			c.r, blank, text = c.r+2, true, text[2:]
		}
		from := max(0, scanned-3)
		if i := bytes.Index(text[from:], []byte("\r\n\r\n")); i >= 0 {
			end := from + i + 4
			if end > limit {
				return nil, &RequestError{Status: 431, Msg: "head: larger than its limit"}
			}
			c.r += end
			c.headEnd = c.r
			return text[:end-2], nil
		}
		if bareLineFeed(text, scanned) {
			return nil, bad("header: bare line feed, want CRLF")
		}
		if scanned = len(text); scanned >= limit {
			return nil, &RequestError{Status: 431, Msg: "head: larger than its limit"}
		}
		if until.IsZero() {
			until = time.Now().Add(or(c.srv.HeadTimeout, 10*time.Second))
		}
		c.makeRoom(limit)
		if n, err := c.fill(nil, until); err == nil {
			c.w += n
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, &RequestError{Status: 408, Msg: "head: not complete within its time limit"}
		} else {
			return nil, err
		}
	}
}

// nudgeIdle makes a connection that waits for a request look how long it may.
func (c *conn) nudgeIdle() {
	if c.idle.Load() {
		c.nudge()
	}
}

// await waits for the first bytes of a request. No buffer is held while there are none.
func (c *conn) await() error {
	c.r, c.w, c.headEnd = 0, 0, 0
	c.idle.Store(true)
	defer c.idle.Store(false)
	until := time.Now().Add(or(c.srv.Idle, time.Minute))
	for {
		if end := c.srv.softEnd.Load(); end != nil { // Drain has begun
			until = earlier(until, *end)
		}
		n, err := c.read(c, until)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = c.lastLook()
		}
		switch {
		case err == nil:
			c.w = n
			return nil
		case err != errNudged:
			return errIdle
		}
	}
}

// lastLook reads what came just when the idle limit was met, so that closing loses no request that is here already.
func (c *conn) lastLook() (int, error) {
	if !c.sock.ok() {
		return 0, errIdle
	}
	c.arm(time.Now(), time.Time{})
	n, err := c.sock.readNow(c)
	if n == 0 && err == nil {
		err = errIdle
	}
	return n, err
}

// fill reads once, to b or, where that is nil, behind what is in buf.
func (c *conn) fill(b []byte, until time.Time) (n int, err error) {
	var to room = c
	if b != nil {
		c.into.b = b
		to = &c.into
	}
	for n, err = c.read(to, until); err == errNudged; n, err = c.read(to, until) {
		// Drain wakes connections that are idle; this one has a request.
	}
	return n, err
}

package h1

import (
	"context"
	"errors"
	"log/slog"
	"net"
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
	MaxConns    int           // 20,000
	SendBuffer  int           // SO_SNDBUF of clients' sockets; 0: the system's

	mu        sync.Mutex // guards listeners and conns
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	draining  atomic.Bool
	running   sync.WaitGroup // connections
	buffers   sync.Pool      // *[]byte of bufferSize
}

// bufferSize holds a head and a small body.
const bufferSize = 8 << 10

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

func (s *Server) getBuffer() *[]byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, bufferSize)
	return &b
}

// Serve accepts connections until the listener is closed by Drain or Close; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.listeners == nil {
		s.listeners, s.conns = map[net.Listener]bool{}, map[*conn]bool{}
	}
	s.listeners[l] = true
	s.mu.Unlock()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.serveConn(nc)
			continue
		case s.draining.Load() || errors.Is(err, net.ErrClosed):
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
		defer func() {
			nc.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
		if t, ok := nc.(*secured); ok {
			switch err := t.agree(); {
			case err == errHandedOver:
				nc = handedOver{nc} // another server closes it
				return
			case err != nil:
				return
			}
			c.nc = t.Conn
		}
		c.serve()
	}()
}

// handedOver is a connection that is no longer ours to close.
type handedOver struct{ net.Conn }

// Close does nothing.
func (handedOver) Close() error { return nil }

// Drain stops accepting, answers with "Connection: close" from now on, gives idle connections a moment for a request that
// is on its way, and waits until all have ended or ctx has. A request that has been read is answered.
func (s *Server) Drain(ctx context.Context) error {
	s.draining.Store(true)
	s.mu.Lock()
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.wakeIdle()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
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

// Close ends all connections and waits for their goroutines.
func (s *Server) Close() {
	s.draining.Store(true)
	s.mu.Lock()
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// handle runs the handler; a panic ends this exchange alone.
func (s *Server) handle(ex Exchange, h func()) {
	defer func() {
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
	}()
	h()
}

// reject answers a request that the handler does not see, or has failed on.
func (s *Server) reject(ex Exchange, e *RequestError) {
	if s.Reject != nil {
		s.Reject(ex, e)
	}
	if !ex.Committed() {
		ex.Commit(e.Status, []byte("Content-Type: text/plain; charset=utf-8\r\n"), int64(len(e.Msg)))
		ex.Write([]byte(e.Msg))
		ex.End(nil)
	}
}

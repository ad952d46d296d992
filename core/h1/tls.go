package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// handshakeLimit bounds a TLS handshake.
const handshakeLimit = 10 * time.Second

// ServeTLS serves TLS connections: those that speak HTTP/1.1 by this package, those that agree on h2 by net/http, with
// the same handler. The configuration's NextProtos are set here.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	h2 := newHandoff(l.Addr())
	web := s.http2Server()
	var served sync.WaitGroup
	served.Go(func() { web.Serve(h2) }) // ends when h2 is closed
	err := s.Serve(&tlsListener{Listener: l, config: config, h2: h2})
	h2.Close()
	if s.draining.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), or(s.Idle, time.Minute))
		defer cancel()
		web.Shutdown(ctx)
	}
	web.Close()
	served.Wait()
	return err
}

// http2Server is the server of the standard library with limits for a listener that faces the world (RELIABILITY 0.5:
// a stream's window is small, the connection's is not bound by it).
func (s *Server) http2Server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // the listener gives connections whose TLS has been dealt with
	return &http.Server{
		Handler:           NewHTTPHandler(s),
		Protocols:         protocols,
		ReadHeaderTimeout: or(s.HeadTimeout, 10*time.Second),
		IdleTimeout:       or(s.Idle, time.Minute),
		MaxHeaderBytes:    or(s.HeadBytes, 64<<10),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReceiveBufferPerStream: 64 << 10, MaxReadFrameSize: 16 << 10,
			SendPingTimeout: 30 * time.Second, WriteByteTimeout: or(s.Stall, 30*time.Second)},
	}
}

// tlsListener hands h2 connections over and keeps the others. Handshakes run beside each other.
type tlsListener struct {
	net.Listener
	config *tls.Config
	h2     *handoff
}

// Accept gives a connection whose handshake is still to come; see secured.
func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &secured{Conn: tls.Server(nc, l.config), h2: l.h2}, nil
}

// secured is a TLS connection before its protocol is known.
type secured struct {
	*tls.Conn
	h2 *handoff
}

// errHandedOver says that the connection is served elsewhere.
var errHandedOver = errors.New("connection handed over")

// agree shakes hands and passes an h2 connection on.
func (c *secured) agree() error {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		return err
	}
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		return nil
	}
	if err := c.h2.put(c.Conn); err != nil {
		return err
	}
	return errHandedOver
}

// handoff is a listener that gives the connections that are put into it.
type handoff struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newHandoff(addr net.Addr) *handoff {
	return &handoff{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (h *handoff) put(c net.Conn) error {
	select {
	case h.conns <- c:
		return nil
	case <-h.done:
		return net.ErrClosed
	}
}

// Accept gives the next connection.
func (h *handoff) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handoff) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr is the real listener's.
func (h *handoff) Addr() net.Addr { return h.addr }

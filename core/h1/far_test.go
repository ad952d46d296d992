package h1

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// goingAway is an upstream that takes no call on its first connection, and answers those on later ones.
func goingAway(t *testing.T) *Pool {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveFar(c, first)
			c.Close()
		}
	}()
	p := NewPool(Target{Host: l.Addr().String(), Name: "up.test"}, PoolOptions{HTTP2: true})
	t.Cleanup(func() {
		p.Close()
		l.Close()
		<-ended
	})
	return p
}

// serveFar answers each call on a connection with 204, or ends it at the first.
func serveFar(c net.Conn, away bool) {
	io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
	fr := http2.NewFramer(c, c)
	fr.WriteSettings()
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		h, ok := f.(*http2.HeadersFrame)
		switch {
		case ok && away:
			fr.WriteGoAway(0, http2.ErrCodeNo, nil)
			return
		case ok:
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: h.StreamID, BlockFragment: noContent, EndHeaders: true, EndStream: true})
		}
	}
}

// noContent is the head of a 204: the ninth field of the table (RFC 7541, appendix A).
var noContent = []byte{0x80 | 9}

// TestCallThatWasNotTakenIsRepeated: over HTTP/2 an upstream says that it has not taken a call up.
func TestCallThatWasNotTakenIsRepeated(t *testing.T) {
	if f, err := hpack.NewDecoder(4096, nil).DecodeFull(noContent); err != nil || f[0].Value != "204" {
		t.Fatal(f, err)
	}
	var c Call
	defer c.Close()
	err := goingAway(t).Do(&c, &Outgoing{Method: "POST", Target: "/", Segments: [][]byte{[]byte("x")}}, Limits{FirstByte: 10 * time.Second, Connect: 10 * time.Second})
	if err != nil || c.Status() != 204 {
		t.Errorf("status %d, %v; want the answer of the second connection", c.Status(), err)
	}
}

// TestFarConnectionsAreReady: one connection over HTTP/2 is room enough for many calls, and one that was measured is kept.
func TestFarConnectionsAreReady(t *testing.T) {
	p := overTLS(t, &Server{Handler: echo}, PoolOptions{HTTP2: true})
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		p.KeepReady(ctx, 4)
	}()
	for n := 0; n == 0; n, _ = p.Stats() {
		runtime.Gosched()
	}
	var c Call
	if err := p.Do(&c, &Outgoing{Method: "POST", Target: "/"}, Limits{FirstByte: 10 * time.Second}); err != nil {
		t.Error(err)
	}
	c.Close()
	if n, _ := p.Stats(); n != 1 {
		t.Errorf("%d connections, want the one that was ready", n)
	}
	cancel()
	<-kept
	if far, err := p.Measure(t.Context()); err != nil || far.Connect <= 0 || far.TLS <= 0 {
		t.Errorf("measured %+v, %v", far, err)
	}
}

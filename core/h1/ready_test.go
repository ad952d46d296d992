package h1

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// secured is a TLS upstream that counts its connections.
func securedUpstream(t *testing.T, version uint16) (target Target, conns *atomic.Int64, s *httptest.Server) {
	t.Helper()
	conns = new(atomic.Int64)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return Target{Host: s.Listener.Addr().String(), Name: "example.com", TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}}, conns, s
}

// keepReady runs KeepReady until the function that it gives is called.
func keepReady(p *Pool, n int) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { p.KeepReady(ctx, n) })
	return func() {
		cancel()
		done.Wait()
	}
}

// becomes waits until a pool has a number of idle connections.
func becomes(t *testing.T, p *Pool, want int) {
	t.Helper()
	comesAbout(t, func() bool { _, idle := p.Stats(); return idle == want })
}

// comesAbout polls until a condition holds.
func comesAbout(t *testing.T, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not come about within 20 s")
		}
	}
}

// TestReadyBeforeTheFirstCall: the call finds a connection whose handshake is over, tickets and all, and another is opened
// in its place.
func TestReadyBeforeTheFirstCall(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		target, conns, _ := securedUpstream(t, version)
		p := NewPool(target, PoolOptions{})
		end := keepReady(p, 1)
		becomes(t, p, 1)
		var c Call
		c.begin(p, &Outgoing{Method: "GET", Target: "/"}, Limits{})
		u := p.take()
		if u == nil {
			t.Fatalf("TLS %x: the connection that was ready is not good", version)
		}
		if err := c.sendOn(u); err != nil {
			t.Fatal(err)
		}
		if err := c.ReadHead(); err != nil || c.Status() != 200 {
			t.Errorf("TLS %x: status %d, %v", version, c.Status(), err)
		}
		becomes(t, p, 1) // another, while the call is under way
		if n := conns.Load(); n != 2 {
			t.Errorf("TLS %x: %d connections, want 2", version, n)
		}
		c.Close()
		end()
		p.Close()
		if open, idle := p.Stats(); open != 0 || idle != 0 {
			t.Errorf("TLS %x: %d open, %d idle after all", version, open, idle)
		}
	}
}

// TestReadyAgain: a connection that the upstream has closed is found without a call, and replaced.
func TestReadyAgain(t *testing.T) {
	target, conns, s := securedUpstream(t, tls.VersionTLS13)
	p := NewPool(target, PoolOptions{})
	defer p.Close()
	p.addReady(2)
	if !p.fill(t.Context()) || conns.Load() != 2 {
		t.Fatalf("%d connections, want 2", conns.Load())
	}
	if p.look() || !p.fill(t.Context()) || conns.Load() != 2 {
		t.Errorf("%d connections, want the same 2", conns.Load())
	}
	s.CloseClientConnections()
	comesAbout(t, p.look) // the close takes a moment to arrive
	for idle := 1; idle > 0; _, idle = p.Stats() {
		p.look()
	}
	if !p.fill(t.Context()) || conns.Load() != 4 {
		t.Errorf("%d connections, want 2 new ones", conns.Load())
	}
}

// TestReadyLeavesUpstreamsAlone: one that refuses is tried less and less often, and without calls not at all.
func TestReadyLeavesUpstreamsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		p := NewPool(Target{Host: "x:1", Name: "x"}, PoolOptions{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				return nil, syscall.ECONNREFUSED
			},
		})
		defer keepReady(p, 3)()
		time.Sleep(time.Minute)
		if n := dials.Load(); n != 6 { // after 0, 1, 3, 7, 15, 31 s
			t.Errorf("%d tries in the first minute, want 6", n)
		}
		time.Sleep(8*time.Minute + 30*time.Second)
		if n := dials.Load(); n != 15 { // every minute
			t.Errorf("%d tries in nine and a half minutes, want 15", n)
		}
		time.Sleep(time.Hour)
		if n := dials.Load(); n != 15 {
			t.Errorf("%d tries, want no more without a call", n)
		}
		if _, _, err := fetch(p, Limits{}); err == nil {
			t.Error("the call succeeds")
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := dials.Load(); n < 17 {
			t.Errorf("%d tries, want the call's own and one behind it", n)
		}
	})
}

// TestReadyIsBounded: no more are opened than the pool may have, and none once it is closed.
func TestReadyIsBounded(t *testing.T) {
	target, conns, _ := securedUpstream(t, tls.VersionTLS13)
	p := NewPool(target, PoolOptions{MaxConns: 2, MaxIdle: 8})
	p.addReady(4)
	if !p.fill(t.Context()) || conns.Load() != 2 {
		t.Errorf("%d connections, want 2", conns.Load())
	}
	p.Close()
	if !p.fill(t.Context()) || conns.Load() != 2 {
		t.Errorf("%d connections, want none after Close", conns.Load())
	}
}

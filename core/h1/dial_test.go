package h1

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// deafAddress is an address that answers no SYN: a listener whose queue is full.
func deafAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*syscall.SockaddrInet4).Port}).String()
	for range 16 {
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this system answers connects to a full queue")
	return ""
}

// TestSilenceIsWaitedForOnce: of a burst against an upstream that answers no SYN, some connect, and the others share what
// they found.
func TestSilenceIsWaitedForOnce(t *testing.T) {
	const calls, limit = 200, time.Second
	var dials atomic.Int64
	p := NewPool(Target{Host: deafAddress(t), Name: "x"}, PoolOptions{
		MaxDials: 16,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	})
	defer p.Close()
	began := time.Now()
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			_, _, err := fetch(p, Limits{Connect: limit})
			var late *TimeoutError
			if !errors.As(err, &late) || late.Phase != "connect" || !NotSent(err) {
				t.Errorf("error %v, want a connect that was late", err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > 15*limit { // one after the other they would take 200
		t.Errorf("the last of %d calls took %v, want one limit of %v", calls, took, limit)
	}
	if n := dials.Load(); n < 16 || n > calls/2 {
		t.Errorf("%d connections were begun, want about 16", n)
	}
	if open, idle := p.Stats(); open != 0 || idle != 0 || p.turns.dialing != 0 || len(p.turns.waiting) != 0 {
		t.Errorf("%d open, %d idle, %d dialing, %d waiting after all, want none", open, idle, p.turns.dialing, len(p.turns.waiting))
	}
}

// TestTurns says what becomes of a burst by how the upstream answers: each of its calls wants a connection, which takes
// 100 ms to open, within a second.
func TestTurns(t *testing.T) {
	f := func(name string, calls int, answers func(dial int64) error, wantFailed int64, wantDials int64, wantTook time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var dials, failed atomic.Int64
			p := NewPool(Target{Host: "x:1", Name: "x"}, PoolOptions{MaxDials: 4, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				if err := answers(dials.Add(1)); err != nil {
					if errors.Is(err, context.DeadlineExceeded) {
						<-ctx.Done()
					}
					return nil, err
				}
				time.Sleep(100 * time.Millisecond)
				return new(net.TCPConn), nil
			}})
			began := time.Now()
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					if _, err := p.connect(context.Background(), time.Second); err != nil {
						failed.Add(1)
						if !NotSent(err) {
							t.Errorf("%s: %v may have been sent", name, err)
						}
					}
				})
			}
			all.Wait()
			if took := time.Since(began); failed.Load() != wantFailed || dials.Load() != wantDials || took != wantTook {
				t.Errorf("%s: %d failed of %d dials in %v; want %d of %d in %v", name, failed.Load(), dials.Load(), took, wantFailed, wantDials, wantTook)
			}
			if open, _ := p.Stats(); int64(open) != int64(calls)-failed.Load() {
				t.Errorf("%s: %d open of %d calls", name, open, calls)
			}
		})
	}
	silent, refused := context.DeadlineExceeded, syscall.ECONNREFUSED
	f("each answers", 60, func(int64) error { return nil }, 0, 60, 400*time.Millisecond) // 4, 8, 16, 32
	f("none answers", 60, func(int64) error { return silent }, 60, 4, time.Second)
	f("each refuses", 60, func(int64) error { return refused }, 60, 60, 0)
	f("one in three refuses", 12, func(n int64) error {
		if n%3 == 0 {
			return refused
		}
		return nil
	}, 4, 12, 200*time.Millisecond)
	f("the first is silent", 40, func(n int64) error {
		if n == 1 {
			return silent
		}
		return nil
	}, 1, 40, time.Second)
}

// TestTurnIsNotNeeded: a call that waits for its turn takes a connection that another has done with.
func TestTurnIsNotNeeded(t *testing.T) {
	s := script(t, always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	held := make(chan bool)
	var dials atomic.Int64
	p := NewPool(Target{Host: s.Addr().String(), Name: "x"}, PoolOptions{MaxDials: 1, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 2 {
			<-held
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	defer p.Close()
	var first Call
	if err := p.Do(&first, &Outgoing{Method: "POST", Target: "/"}, Limits{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 { // one dials, the other waits
		all.Go(func() {
			if status, _, err := fetch(p, Limits{}); status != 200 {
				t.Error(status, err)
			}
		})
	}
	for waiting := 0; waiting == 0; {
		p.mu.Lock()
		waiting = len(p.turns.waiting)
		p.mu.Unlock()
	}
	if _, err := first.Next(); err == nil {
		t.Error("the answer has no end")
	}
	first.Close()
	comesAbout(t, func() bool { return s.requests.Load() >= 2 })
	close(held)
	all.Wait()
	if open, idle := p.Stats(); dials.Load() != 2 || open != 2 || idle != 2 {
		t.Errorf("%d dials, %d open, %d idle, want 2 of each", dials.Load(), open, idle)
	}
}

// TestVerdictIsShared: who comes later than those that wait in vain waits no longer than they do, unless the upstream has
// answered another meanwhile, or it would itself have waited for more than twice as long.
func TestVerdictIsShared(t *testing.T) {
	f := func(name string, later time.Duration, answers func(dial int64) bool, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var dials atomic.Int64
			p := NewPool(Target{Host: "x:1", Name: "x"}, PoolOptions{MaxDials: 2, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				if answers(dials.Add(1)) {
					time.Sleep(100 * time.Millisecond)
					return new(net.TCPConn), nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			began := time.Now()
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { p.connect(context.Background(), time.Second) })
			}
			time.Sleep(400 * time.Millisecond)
			all.Go(func() {
				if _, err := p.connect(context.Background(), later); err == nil {
					t.Errorf("%s: it is connected", name)
				}
				if took := time.Since(began); took != want {
					t.Errorf("%s: it knows after %v, want %v", name, took, want)
				}
			})
			all.Wait()
		})
	}
	silent := func(int64) bool { return false }
	f("the same limit", time.Second, silent, time.Second)
	f("a limit twice as long", 2*time.Second, silent, time.Second)
	f("a longer limit", 3*time.Second, silent, 3400*time.Millisecond)
	f("a shorter limit", 300*time.Millisecond, silent, 700*time.Millisecond)
	f("one came through", time.Second, func(n int64) bool { return n == 2 }, 1400*time.Millisecond)
}

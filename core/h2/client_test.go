package h2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// streams is the setting of how many streams an upstream allows.
func streams(n uint32) []http2.Setting {
	return []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: n}}
}

// TestPlaces: no connection has more calls than its upstream allows, there are no more connections than are needed or allowed, and who
// waits gets the first place that is free.
func TestPlaces(t *testing.T) {
	play(t, Options{MaxConns: 2, MaxWaiting: 1, MaxIdle: 1}, streams(2), func(t *testing.T, u *upstream, c *Client) {
		var list []*Stream
		for range 4 {
			list = append(list, open(t, c, ask))
		}
		p, q := <-u.peers, <-u.peers
		p.wants("head 1 /a, end 1, head 3 /a, end 3")
		q.wants("head 1 /a, end 1, head 3 /a, end 3")
		got := make(chan *Stream, 1)
		go func() {
			s, err := c.Open(t.Context(), time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- s
		}()
		synctest.Wait()
		if _, err := c.Open(t.Context(), time.Minute); !errors.Is(err, ErrFull) {
			t.Errorf("one more than may wait: %v", err)
		}
		go q.answer(3, "200", "x")
		list = append(list, <-got) // the place is free when the stream has ended, whether it has been read or not
		list[0].Close()
		list[1].Close()
		if open, idle := c.Stats(); open != 2 || idle != 1 || c.Room() != 2 {
			t.Errorf("%d connections, %d idle, room for %d; want 2, 1 and 2", open, idle, c.Room())
		}
		for _, s := range list {
			s.Close()
		}
		if open, idle := c.Stats(); open != 1 || idle != 1 {
			t.Errorf("%d connections, %d idle; want one that is kept", open, idle)
		}
		if got := q.got(); !strings.HasSuffix(got, "goaway NO_ERROR") {
			t.Errorf("the connection that is too many: %q, want a farewell", got)
		}
		if len(u.peers) > 0 {
			t.Errorf("%d connections more than may be", len(u.peers))
		}
		time.Sleep(2 * time.Minute)
		if open, _ := c.Stats(); open > 0 {
			t.Error("a connection is kept for longer than it may be")
		}
	})
}

// TestBurst: as many connections as a burst needs are opened, once it is known how many calls each takes.
func TestBurst(t *testing.T) {
	play(t, Options{MaxConns: 1000, MaxIdle: 1}, streams(10), func(t *testing.T, u *upstream, c *Client) {
		got := make(chan *Stream)
		for range 45 {
			go func() {
				s, err := c.Open(t.Context(), time.Minute)
				if err != nil {
					t.Error(err)
				}
				got <- s
			}()
		}
		var list []*Stream
		for range 45 {
			list = append(list, <-got)
		}
		synctest.Wait()
		if n := len(u.peers); n != 5 {
			t.Errorf("%d connections for 45 calls, ten on each; want 5", n)
		}
		for _, s := range list {
			s.Close()
		}
	})
}

// TestWaitingEnds: who waits for a place may leave, and one that comes at that moment is not lost.
func TestWaitingEnds(t *testing.T) {
	play(t, Options{MaxConns: 1, MaxWaiting: 10}, streams(1), func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Open(ctx, time.Minute); !errors.Is(err, ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited in vain: %v", err)
		}
		s.Close()
		if c.Room() != 1 {
			t.Errorf("room for %d, want the place back", c.Room())
		}
	})
}

// TestGoAway: calls that an upstream has not taken up may be made again, those that it has go on, and new ones go elsewhere.
func TestGoAway(t *testing.T) {
	play(t, Options{MaxConns: 2}, nil, func(t *testing.T, u *upstream, c *Client) {
		one := open(t, c, ask)
		p := <-u.peers
		p.got()
		two := open(t, c, ask)
		late, err := c.Open(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		p.write(func(fr *http2.Framer) { fr.WriteGoAway(1, http2.ErrCodeNo, nil) })
		synctest.Wait()
		if _, _, err := two.Head(time.Time{}); err == nil || !two.Unsent() {
			t.Errorf("the second: %v, unsent %v; want one that may be made again", err, two.Unsent())
		}
		if err := late.Send(ask, time.Minute, time.Time{}); err == nil || !late.Unsent() {
			t.Errorf("one not begun: %v, unsent %v; want one that may be made again", err, late.Unsent())
		}
		p.answer(1, "200", "good")
		if text, err := all(one); text != "good" || err != nil {
			t.Errorf("the first: %q, %v", text, err)
		}
		next := open(t, c, ask)
		if len(u.peers) != 1 {
			t.Error("a new call has no connection of its own")
		}
		for _, s := range []*Stream{one, two, late, next} {
			s.Close()
		}
		if got := p.got(); !strings.HasSuffix(got, "goaway NO_ERROR") {
			t.Errorf("%q, want the connection to end with its last call", got)
		}
	})
}

func TestResetStream(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		var p *peer
		for i, code := range []http2.ErrCode{http2.ErrCodeRefusedStream, http2.ErrCodeInternal} {
			s := open(t, c, ask)
			if p == nil {
				p = <-u.peers
			}
			p.got()
			p.write(func(fr *http2.Framer) { fr.WriteRSTStream(uint32(2*i+1), code) })
			if _, _, err := s.Head(time.Time{}); err == nil || !strings.Contains(err.Error(), code.String()) || s.Unsent() != (code == http2.ErrCodeRefusedStream) {
				t.Errorf("%v: %v, unsent %v", code, err, s.Unsent())
			}
			s.Close()
			p.wants("")
		}
	})
}

// TestLostConnection: a call on a connection that breaks may have been taken up, and one that finds it broken has not.
func TestLostConnection(t *testing.T) {
	play(t, Options{MaxConns: 2}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		p := <-u.peers
		p.got()
		late, err := c.Open(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		p.head(1, false, ":status", "200")
		p.data(1, false, "half")
		synctest.Wait()
		p.nc.Close()
		synctest.Wait()
		if text, err := all(s); text != "half" || err == nil || s.Unsent() {
			t.Errorf("%q, %v, unsent %v; want what came, and an error", text, err, s.Unsent())
		}
		if err := late.Send(ask, time.Minute, time.Time{}); err == nil || !late.Unsent() {
			t.Errorf("one not begun: %v, unsent %v; want one that may be made again", err, late.Unsent())
		}
		s.Close()
		late.Close()
		if open, _ := c.Stats(); open > 0 {
			t.Error("a broken connection is kept")
		}
	})
}

// TestSilentConnection: an upstream that says nothing is asked whether it is there, and one that does not say so is given up.
func TestSilentConnection(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		defer s.Close()
		p := <-u.peers
		p.got()
		time.Sleep(pingAfter + time.Second)
		p.wants("ping false")
		p.write(func(fr *http2.Framer) { fr.WritePing(true, [8]byte{}) })
		time.Sleep(pingAfter - time.Second)
		p.wants("")
		time.Sleep(pingLimit + 2*time.Second)
		if _, _, err := s.Head(time.Now()); err == nil || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("a silent connection: %v, want an error", err)
		}
	})
}

// TestUpstreamsOwnFrames: its pings are answered, and one that asks without end and reads nothing is given up.
func TestUpstreamsOwnFrames(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		defer s.Close()
		p := <-u.peers
		p.got()
		p.write(func(fr *http2.Framer) {
			fr.WritePing(false, [8]byte{1})
			fr.WriteRawFrame(http2.FrameType(0xfe), 0, 0, []byte("unknown"))
			fr.WritePriority(1, http2.PriorityParam{StreamDep: 3})
		})
		p.wants("ping true")
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := NewClient(Options{Dial: func(context.Context) (net.Conn, error) { return ours, nil }, MaxConns: 1, MaxIdle: 1, Idle: time.Minute, HeadBytes: 1 << 10})
		go c.Connect(t.Context())
		fr := http2.NewFramer(theirs, nil)
		fr.WriteSettings()
		n := 0
		for n = range 2 * answerLimit / 17 {
			if err := fr.WritePing(false, [8]byte{}); err != nil {
				break
			}
		}
		if n == 2*answerLimit/17-1 {
			t.Error("pings without end are answered without end")
		}
		theirs.Close()
		c.Close()
	})
}

// TestNoConnection: all who wait for the same connection have its failure.
func TestNoConnection(t *testing.T) {
	play(t, Options{MaxConns: 10}, nil, func(t *testing.T, u *upstream, c *Client) {
		u.refuse = errors.New("refused")
		failed := make(chan error)
		for range 10 {
			go func() {
				_, err := c.Open(t.Context(), time.Minute)
				failed <- err
			}()
		}
		for range 10 {
			if err := <-failed; err != u.refuse {
				t.Errorf("error %v, want that of the dial", err)
			}
		}
		if err := c.Connect(t.Context()); err != u.refuse {
			t.Errorf("Connect: %v", err)
		}
	})
}

// TestConnect: a connection is ready when the upstream has said how many calls it takes.
func TestConnect(t *testing.T) {
	play(t, Options{MaxConns: 2}, streams(7), func(t *testing.T, u *upstream, c *Client) {
		if err := c.Connect(t.Context()); err != nil || c.Room() != 7 {
			t.Errorf("%v, room for %d; want 7", err, c.Room())
		}
		p := <-u.peers
		p.write(func(fr *http2.Framer) { fr.WriteSettings(streams(0)...) })
		synctest.Wait()
		if c.Room() != 0 {
			t.Errorf("room for %d; want none", c.Room())
		}
		if c.Lost() {
			t.Error("lost, while all is well")
		}
		p.nc.Close()
		synctest.Wait()
		if !c.Lost() || c.Lost() {
			t.Error("want to be told once that an unused connection was lost")
		}
	})
}

// TestUpstreamOfAnotherProtocol: what is not HTTP/2 is an error at once.
func TestUpstreamOfAnotherProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := NewClient(Options{Dial: func(context.Context) (net.Conn, error) { return ours, nil }, MaxConns: 1, MaxIdle: 1, Idle: time.Minute, HeadBytes: 1 << 10})
		go func() {
			theirs.Read(make([]byte, 1<<10))
			fmt.Fprint(theirs, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			theirs.Close()
		}()
		if err := c.Connect(t.Context()); err == nil {
			t.Error("taken for HTTP/2")
		}
		c.Close()
	})
}

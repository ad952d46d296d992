package h2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all reads the rest of an answer.
func all(s *Stream) (string, error) {
	var b strings.Builder
	for {
		p, err := s.Next(time.Now().Add(time.Minute))
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		b.Write(p)
	}
}

func TestCall(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		p := <-u.peers
		p.wants("head 1 /a, end 1")
		p.head(1, false, ":status", "103", "link", "x")
		p.head(1, false, ":status", "200", "content-length", "6", "x-field", "v")
		p.data(1, false, "one")
		p.data(1, false, "two")
		p.head(1, true, "x-end", "yes")
		status, fields, err := s.Head(time.Time{})
		if err != nil || status != 200 || len(fields) != 2 || fields[1].Value != "v" || s.Length() != 6 {
			t.Errorf("status %d, fields %v, length %d, %v", status, fields, s.Length(), err)
		}
		if text, err := all(s); text != "onetwo" || err != nil {
			t.Errorf("body %q, %v", text, err)
		}
		if tr := s.Trailers(); len(tr) != 1 || tr[0].Value != "yes" {
			t.Errorf("trailers %v", tr)
		}
		s.Close()
		s = open(t, c, &Request{Method: "GET", Target: "/b"})
		p.wants("head 3 /b")
		p.head(3, true, ":status", "204")
		if text, err := all(s); text != "" || err != nil || s.Length() != 0 {
			t.Errorf("body %q of %d bytes, %v", text, s.Length(), err)
		}
		s.Close()
		if len(u.peers) > 0 {
			t.Error("a second connection for calls that follow each other")
		}
	})
}

// TestFaultyAnswers: what breaks the rules ends its stream, or the connection where no other may be trusted.
func TestFaultyAnswers(t *testing.T) {
	reset := "reset 1 PROTOCOL_ERROR"
	for _, c := range []struct {
		name string
		send func(p *peer)
		want string // frames
	}{
		{"no status", func(p *peer) { p.head(1, false, "x", "y") }, reset},
		{"a status of two digits", func(p *peer) { p.head(1, false, ":status", "20") }, reset},
		{"a switch of protocol", func(p *peer) { p.head(1, false, ":status", "101") }, reset},
		{"interim heads without end", func(p *peer) {
			for range maxInterim + 1 {
				p.head(1, false, ":status", "100")
			}
		}, reset},
		{"an interim head that ends", func(p *peer) { p.head(1, true, ":status", "100") }, reset},
		{"a body before its head", func(p *peer) { p.data(1, false, "x") }, reset},
		{"a body longer than was told", func(p *peer) {
			p.head(1, false, ":status", "200", "content-length", "1")
			p.data(1, false, "xy")
		}, reset},
		{"a body shorter than was told", func(p *peer) {
			p.head(1, false, ":status", "200", "content-length", "2")
			p.data(1, true, "x")
		}, reset},
		{"two lengths", func(p *peer) { p.head(1, false, ":status", "200", "content-length", "2", "content-length", "3") }, reset},
		{"a head too large", func(p *peer) {
			p.head(1, false, ":status", "200", "x", strings.Repeat("x", 9<<10), "y", strings.Repeat("y", 9<<10))
		}, reset},
		{"trailers that do not end", func(p *peer) {
			p.head(1, false, ":status", "200")
			p.head(1, false, "x", "y")
		}, reset},
		{"more than its window", func(p *peer) {
			p.head(1, false, ":status", "200")
			p.data(1, false, strings.Repeat("x", FirstWindow))
			p.data(1, false, "x")
		}, "reset 1 FLOW_CONTROL_ERROR"},
		{"a window too wide", func(p *peer) { p.write(func(fr *http2.Framer) { fr.WriteWindowUpdate(1, maxWindow) }) }, "reset 1 FLOW_CONTROL_ERROR"},
		{"a connection's window too wide", func(p *peer) { p.write(func(fr *http2.Framer) { fr.WriteWindowUpdate(0, maxWindow) }) }, "goaway FLOW_CONTROL_ERROR"},
		{"a stream that was never begun", func(p *peer) { p.head(3, true, ":status", "200") }, "goaway PROTOCOL_ERROR"},
		{"a push", func(p *peer) {
			p.write(func(fr *http2.Framer) {
				fr.AllowIllegalWrites = true
				fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
			})
		}, "goaway PROTOCOL_ERROR"},
		{"a frame too large", func(p *peer) {
			p.write(func(fr *http2.Framer) { fr.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, frameSize+1)) })
		}, "goaway FRAME_SIZE_ERROR"},
		{"headers that cannot be read", func(p *peer) {
			p.write(func(fr *http2.Framer) {
				fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
			})
		}, "goaway COMPRESSION_ERROR"},
	} {
		play(t, Options{}, nil, func(t *testing.T, u *upstream, cl *Client) {
			s := open(t, cl, ask)
			defer s.Close()
			p := <-u.peers
			p.got()
			go c.send(p)
			if got := p.got(); got != c.want {
				t.Errorf("%s: answered by %q, want %q", c.name, got, c.want)
			}
			if text, err := all(s); err == nil || s.Unsent() {
				t.Errorf("%s: taken as an answer of %d bytes (unsent: %v)", c.name, len(text), s.Unsent())
			}
		})
	}
}

// TestUnreadStreamIsPaused: of an answer that nobody takes no more than its window comes, and others on the connection go on.
func TestUnreadStreamIsPaused(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		p := <-u.peers
		p.got()
		other := open(t, c, ask)
		defer other.Close()
		p.head(1, false, ":status", "200")
		for range 4 {
			p.data(1, false, strings.Repeat("x", FirstWindow/4))
		}
		p.answer(3, "200", "heard")
		if text, err := all(other); text != "heard" || err != nil {
			t.Errorf("the other: %q, %v", text, err)
		}
		p.wants("head 3 /a, end 3")
		if _, n := s.Ahead(); n != FirstWindow {
			t.Errorf("%d bytes may be ahead, want %d", n, FirstWindow)
		}
		s.Close()
		p.wants("reset 1 CANCEL")
	})
}

// takes reads n bytes, which must have come, and whatever comes with them.
func takes(t *testing.T, s *Stream, n int) {
	t.Helper()
	for n > 0 {
		b, err := s.Next(time.Now().Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		n -= len(b)
	}
	s.Spare()
}

// TestWindowFollowsTheReader: it grows while the reader keeps up, not while much waits for it, and shrinks again when it is slow.
func TestWindowFollowsTheReader(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		defer s.Close()
		p := <-u.peers
		p.got()
		p.head(1, false, ":status", "200")
		f := func(send, take, ahead int, want string) {
			t.Helper()
			for n := send; n > 0; n -= min(n, frameSize) {
				p.data(1, false, strings.Repeat("x", min(n, frameSize)))
			}
			takes(t, s, take)
			p.wants(want)
			if _, n := s.Ahead(); n != ahead {
				t.Errorf("%d bytes may be ahead, want %d", n, ahead)
			}
		}
		f(2<<10, 2<<10, 6<<10, "")
		f(2<<10, 2<<10, 8<<10, "window 1 4096")
		for range 6 {
			f(4<<10, 4<<10, 8<<10, "window 1 4096")
		}
		f(4<<10, 4<<10, 16<<10, "window 1 12288")
		f(16<<10, 8<<10, 16<<10, "window 1 8192") // as much waits still
		f(0, 8<<10, 16<<10, "window 1 8192")
		for range 6 {
			f(8<<10, 8<<10, 16<<10, "window 1 8192")
		}
		f(8<<10, 8<<10, 32<<10, "window 1 24576")
		for range 7 {
			f(16<<10, 16<<10, 32<<10, "window 1 16384")
		}
		f(16<<10, 16<<10, 64<<10, "window 1 49152")
		f(32<<10, 32<<10, 64<<10, "window 1 32768") // the most
		s.Narrow()
		f(64<<10, 56<<10, 8<<10, "")
		f(0, 4<<10, 8<<10, "window 1 4096")
	})
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		wide := open(t, c, &Request{Method: "POST", Target: "/w", Body: ask.Body, Wide: true})
		defer wide.Close()
		(<-u.peers).wants(fmt.Sprintf("head 1 /w, window 1 %d, end 1", WideWindow-FirstWindow))
	})
}

// TestPaddingIsGivenBack: what pads frames does not use a stream's window up.
func TestPaddingIsGivenBack(t *testing.T) {
	play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		defer s.Close()
		p := <-u.peers
		p.wants("head 1 /a, end 1")
		p.head(1, false, ":status", "200")
		s.Narrow()
		for range FirstWindow / 256 {
			p.write(func(fr *http2.Framer) { fr.WriteDataPadded(1, false, nil, make([]byte, 255)) })
		}
		p.wants(fmt.Sprintf("window 1 %[1]d, window 1 %[1]d", FirstWindow/2))
	})
}

// TestLargeRequest: a body keeps within the upstream's windows, whatever these become on the way.
func TestLargeRequest(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 300<<10)
	play(t, Options{}, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}}, func(t *testing.T, u *upstream, c *Client) {
		first := open(t, c, ask) // the settings have come then
		p := <-u.peers
		p.got()
		first.Close()
		s, err := c.Open(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sent := make(chan error, 1)
		go func() {
			sent <- s.Send(&Request{Method: "POST", Target: "/big", Body: [][]byte{body[:7], nil, body[7:]}}, time.Minute, time.Time{})
		}()
		has := func(want int) {
			t.Helper()
			p.got()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.body[3] != want {
				t.Errorf("%d bytes were sent, want %d", p.body[3], want)
			}
		}
		has(1000)
		p.write(func(fr *http2.Framer) { fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2000}) })
		has(2000)
		p.write(func(fr *http2.Framer) { fr.WriteWindowUpdate(3, 1<<20) })
		has(65535 - len("ask")) // of the connection
		p.write(func(fr *http2.Framer) { fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) })
		p.write(func(fr *http2.Framer) { fr.WriteWindowUpdate(0, 1<<20) })
		has(len(body))
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

// TestAnswerBeforeTheRequestsEnd: the rest of a request that has been answered is not sent.
func TestAnswerBeforeTheRequestsEnd(t *testing.T) {
	for _, then := range []func(p *peer){
		func(p *peer) { p.head(1, false, ":status", "413"); p.data(1, true, "no") },
		func(p *peer) { p.head(1, false, ":status", "200"); p.data(1, true, "no") },
		func(p *peer) {
			p.head(1, false, ":status", "200")
			p.data(1, true, "no")
			p.write(func(fr *http2.Framer) { fr.WriteRSTStream(1, http2.ErrCodeNo) })
		},
	} {
		play(t, Options{}, nil, func(t *testing.T, u *upstream, c *Client) {
			s, err := c.Open(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			p := <-u.peers
			sent := make(chan error, 1)
			go func() {
				sent <- s.Send(&Request{Method: "POST", Target: "/big", Body: [][]byte{make([]byte, 1<<20)}}, time.Hour, time.Time{})
			}()
			p.wants("head 1 /big")
			then(p)
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if text, err := all(s); text != "no" || err != nil {
				t.Errorf("body %q, %v", text, err)
			}
			s.Close()
			if room := c.Room(); room != mostStreams {
				t.Errorf("room for %d calls, want all %d", room, mostStreams)
			}
		})
	}
}

func TestLimitsOfACall(t *testing.T) {
	play(t, Options{}, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 10}}, func(t *testing.T, u *upstream, c *Client) {
		s := open(t, c, ask)
		p := <-u.peers
		if _, _, err := s.Head(time.Now().Add(time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no head: %v", err)
		}
		p.head(1, false, ":status", "200")
		if err := s.Wait(time.Now().Add(time.Second)); err != nil {
			t.Errorf("with a head: %v", err)
		}
		s.Head(time.Time{})
		if err := s.Wait(time.Now().Add(time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no body: %v", err)
		}
		if _, err := s.Next(time.Now().Add(time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no body: %v", err)
		}
		ended := make(chan error, 1)
		go func() { _, err := s.Next(time.Time{}); ended <- err }()
		synctest.Wait()
		s.Abort()
		if err := <-ended; err != ErrAborted {
			t.Errorf("aborted: %v", err)
		}
		p.wants("head 1 /a, end 1, reset 1 CANCEL")
		s.Close()
		p.wants("")
		s, _ = c.Open(t.Context(), time.Minute)
		defer s.Close()
		if err := s.Send(&Request{Method: "POST", Target: "/big", Body: [][]byte{make([]byte, 11)}}, time.Second, time.Time{}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a body that is not taken: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		free, err := c.Open(ctx, time.Minute)
		if err != nil {
			t.Fatalf("a place that is free is waited for: %v", err)
		}
		free.Close()
	})
}

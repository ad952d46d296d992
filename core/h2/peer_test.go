package h2

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is an upstream whose frames a test writes. It reads what comes in a goroutine of its own and never waits to be read.
type peer struct {
	t      *testing.T
	nc     net.Conn
	fr     *http2.Framer
	fields *hpack.Encoder
	block  bytes.Buffer
	wmu    sync.Mutex // guards writing
	done   chan struct{}

	mu   sync.Mutex // guards what follows
	seen []string   // frames
	body map[uint32]int
	last http2.Frame
}

// upstream is what a client dials in a test.
type upstream struct {
	t        *testing.T
	settings []http2.Setting
	peers    chan *peer
	refuse   error // the next dials
}

func newUpstream(t *testing.T, settings ...http2.Setting) *upstream {
	return &upstream{t: t, settings: settings, peers: make(chan *peer, 100)}
}

func (u *upstream) client(o Options) *Client {
	o.Dial, o.Scheme, o.Authority, o.HeadBytes = u.dial, "http", "up.test", 16<<10
	o.MaxConns, o.MaxIdle, o.MaxWaiting, o.Idle = max(o.MaxConns, 1), max(o.MaxIdle, 1), max(o.MaxWaiting, 1), max(o.Idle, time.Minute)
	return NewClient(o)
}

func (u *upstream) dial(context.Context) (net.Conn, error) {
	if u.refuse != nil {
		return nil, u.refuse
	}
	ours, theirs := net.Pipe()
	p := &peer{t: u.t, nc: theirs, fr: http2.NewFramer(theirs, theirs), done: make(chan struct{}), body: map[uint32]int{}}
	p.fields = hpack.NewEncoder(&p.block)
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go p.read()
	go p.write(func(fr *http2.Framer) { fr.WriteSettings(u.settings...) })
	u.peers <- p
	return ours, nil
}

// read notes the frames that come.
func (p *peer) read() {
	defer close(p.done)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := p.nc.Read(preface); err != nil || string(preface) != http2.ClientPreface {
		p.t.Errorf("preface %q, %v", preface, err)
	}
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.last = f
		if text := p.describe(f); text != "" {
			p.seen = append(p.seen, text)
		}
		p.mu.Unlock()
		if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
			go p.write(func(fr *http2.Framer) { fr.WriteSettingsAck() })
		}
	}
}

func (p *peer) describe(f http2.Frame) string {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return fmt.Sprintf("head %d %s", id, f.PseudoValue("path"))
	case *http2.DataFrame:
		p.body[id] += len(f.Data())
		if f.StreamEnded() {
			return fmt.Sprintf("end %d", id)
		}
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("reset %d %v", id, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Sprintf("goaway %v", f.ErrCode)
	case *http2.PingFrame:
		return fmt.Sprintf("ping %v", f.IsAck())
	case *http2.WindowUpdateFrame:
		if id > 0 {
			return fmt.Sprintf("window %d %d", id, f.Increment)
		}
	}
	return ""
}

// write writes frames.
func (p *peer) write(do func(fr *http2.Framer)) {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	do(p.fr)
}

// head writes a head or trailers.
func (p *peer) head(id uint32, ends bool, fields ...string) {
	p.write(func(fr *http2.Framer) {
		p.block.Reset()
		for i := 0; i < len(fields); i += 2 {
			p.fields.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: ends})
	})
}

func (p *peer) data(id uint32, ends bool, text string) {
	p.write(func(fr *http2.Framer) { fr.WriteData(id, ends, []byte(text)) })
}

// answer answers with a status and a body.
func (p *peer) answer(id uint32, status, body string) {
	p.head(id, false, ":status", status)
	p.data(id, true, body)
}

// got gives the frames that have come, once nothing more happens.
func (p *peer) got() string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.Join(p.seen, ", ")
	p.seen = nil
	return text
}

// wants holds that these frames have come.
func (p *peer) wants(want string) {
	p.t.Helper()
	if got := p.got(); got != want {
		p.t.Errorf("frames %q, want %q", got, want)
	}
}

// play runs a test with an upstream whose time is its own.
func play(t *testing.T, o Options, settings []http2.Setting, do func(t *testing.T, u *upstream, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, settings...)
		c := u.client(o)
		do(t, u, c)
		c.Close()
		synctest.Wait()
		if open, _ := c.Stats(); open > 0 {
			t.Errorf("%d connections are open after Close", open)
		}
	})
}

// open opens a stream and sends a request.
func open(t *testing.T, c *Client, r *Request) *Stream {
	t.Helper()
	s, err := c.Open(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(r, time.Minute, time.Time{}); err != nil {
		t.Fatal(err)
	}
	return s
}

var ask = &Request{Method: "POST", Target: "/a", Body: [][]byte{[]byte("ask")}}

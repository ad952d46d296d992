package sdk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"github.com/penstock-gateway/penstock/sdk/wire"
)

// plane answers the calls of the data plane with a provider. Calls run one after the other on the goroutine that reads,
// which costs half of what a goroutine for each does; where the provider may block, each has its own.
type plane struct {
	provider Provider
	send     func(*wire.Frame) error
	blocks   bool

	mu      sync.Mutex // guards what follows
	streams map[uint32]*stream
	running sync.WaitGroup
	slots   chan struct{} // of calls that have goroutines
	memory  sync.Pool     // of *scratch
}

// stream is one answer that is being decoded. The gateway has one message of it in flight.
type stream struct {
	mu  sync.Mutex
	dec Decoder
	doc Doc
	out Events
}

// scratch is what a call needs for its time.
type scratch struct{ body, reply []byte }

// keptScratch is the memory in bytes that a scratch keeps between calls.
const keptScratch = 256 << 10

func newPlane(p Provider, mayBlock bool, send func(*wire.Frame) error) *plane {
	return &plane{
		provider: p,
		send:     send,
		blocks:   mayBlock,
		streams:  make(map[uint32]*stream),
		slots:    make(chan struct{}, wire.MaxCalls),
		memory:   sync.Pool{New: func() any { return new(scratch) }},
	}
}

var errTooManyCalls = fmt.Errorf("more than %d calls in flight", wire.MaxCalls)

// handle answers one message. An error ends the plane.
func (p *plane) handle(f *wire.Frame) error {
	s := p.memory.Get().(*scratch)
	if !p.blocks || f.Op == wire.Ping || f.Op == wire.Drop {
		return p.answer(f, s)
	}
	select {
	case p.slots <- struct{}{}:
	default:
		return errTooManyCalls
	}
	own := *f
	s.body = append(s.body[:0], f.Body...)
	own.Body = s.body
	p.running.Go(func() {
		defer func() { <-p.slots }()
		_ = p.answer(&own, s) // the plane has ended, which its reader sees as well
	})
	return nil
}

func (p *plane) answer(f *wire.Frame, s *scratch) error {
	reply := wire.Frame{Call: f.Call, Stream: f.Stream}
	var err error
	switch f.Op {
	case wire.Encode:
		reply.Op = wire.Plan
		s.reply, err = p.encode(s.reply[:0], f.Body)
	case wire.Decode, wire.End:
		reply.Op = wire.Events
		s.reply, err = p.decode(s.reply[:0], f)
	case wire.Drop:
		p.drop(f.Stream)
		p.memory.Put(s)
		return nil
	case wire.Ping:
		reply.Op, s.reply = wire.Pong, s.reply[:0]
	default:
		return fmt.Errorf("op %d is an answer, not a question", f.Op)
	}
	if err == nil && len(s.reply) > wire.MaxBody {
		err = fmt.Errorf("answer of %d bytes: want %d at most", len(s.reply), wire.MaxBody)
	}
	if err != nil {
		reply.Op, s.reply = wire.Fault, appendFault(s.reply[:0], err)
	}
	reply.Body = s.reply
	err = p.send(&reply)
	if cap(s.reply) <= keptScratch && cap(s.body) <= keptScratch {
		p.memory.Put(s)
	}
	return err
}

// caught turns a panic of the provider into the error of one call. The stack goes to standard error, which the gateway
// logs.
func caught(err *error) {
	if r := recover(); r != nil {
		fmt.Fprintf(os.Stderr, "panic: %v\n%s", r, debug.Stack())
		*err = fmt.Errorf("panic: %v", r)
	}
}

func (p *plane) encode(reply, body []byte) (_ []byte, err error) {
	defer caught(&err)
	c := coder{b: body, reading: true}
	q := new(Request)
	c.request(q)
	if err := c.end("request"); err != nil {
		return reply, err
	}
	plan := new(Plan)
	if err := p.provider.Encode(q, plan); err != nil {
		return reply, err
	}
	w := coder{b: reply}
	w.plan(plan)
	return w.b, nil
}

var errNoStream = errors.New("stream that has not been opened")

// opened gives the stream of a message, a new one where the message opens it, and the rest of the message.
func (p *plane) opened(f *wire.Frame) (*stream, []byte, error) {
	p.mu.Lock()
	s := p.streams[f.Stream]
	p.mu.Unlock()
	if f.Flags&wire.Opens == 0 {
		if s == nil {
			return nil, nil, errNoStream
		}
		return s, f.Body, nil
	}
	if s != nil {
		return nil, nil, errors.New("stream that has been opened before")
	}
	c := coder{b: f.Body, reading: true}
	var info AnswerInfo
	c.info(&info)
	if c.err != nil {
		return nil, nil, fmt.Errorf("answer: %w", c.err)
	}
	s = &stream{dec: p.provider.NewDecoder(info)}
	if f.Op == wire.Decode {
		p.mu.Lock()
		p.streams[f.Stream] = s
		p.mu.Unlock()
	}
	return s, c.b, nil
}

func (p *plane) drop(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, id)
}

func (p *plane) decode(reply []byte, f *wire.Frame) (_ []byte, err error) {
	defer caught(&err)
	s, body, err := p.opened(f)
	if err != nil {
		return reply, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.List = s.out.List[:0]
	if f.Op == wire.End {
		p.drop(f.Stream)
		if err := s.dec.End(&s.out); err != nil {
			return reply, err
		}
	} else if err := s.frames(body); err != nil {
		return reply, err
	}
	w := coder{b: reply}
	list(&w, &s.out.List, (*coder).event)
	clear(s.out.List)
	return w.b, nil
}

// frames decodes the frames of a message.
func (s *stream) frames(body []byte) error {
	c := coder{b: body, reading: true}
	n := c.length(0)
	for i := range n {
		f := Frame{Doc: &s.doc}
		c.frame(&f, uint32(i+1))
		if c.err != nil {
			break
		}
		if err := s.dec.Decode(&f, &s.out); err != nil {
			return err
		}
	}
	return c.end("frames")
}

// frame reads a frame; handle is its place in the message. Data that is no JSON becomes its text.
func (c *coder) frame(f *Frame, handle uint32) {
	c.string(&f.Event)
	var how uint8
	var data []byte
	var gaps []Gap
	unsigned(c, &how)
	c.bytes(&data)
	if how == frameSkeleton {
		list(c, &gaps, (*coder).gap)
	} else if how != frameWhole {
		c.fail(fmt.Errorf("frame of kind %d: want 0 or 1", how))
	}
	if c.err != nil {
		return
	}
	err := f.Doc.ParseSkeleton(data, handle, gaps)
	if how == frameSkeleton && err != nil {
		c.fail(fmt.Errorf("skeleton: %w", err))
	} else if err != nil {
		f.Doc, f.Text = nil, append([]byte{}, data...)
	}
}

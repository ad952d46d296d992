// Package sdktest runs a provider as the gateway does, over a real socket and in the real form of the messages, but
// within a test. A plugin's author tests with it what the gateway will see; what the provider says is left to the
// author's own tests.
package sdktest

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
)

// limit is how long a call may take. The gateway has less patience.
const limit = 5 * time.Second

// Harness is a provider that can be asked.
type Harness struct {
	plane *wire.Caller
	t     testing.TB
}

// New serves p until the test ends. A plane that has ended by itself fails the test.
func New(t testing.TB, p sdk.Provider) *Harness {
	t.Helper()
	ours, theirs := pair(t)
	ended := make(chan error, 1)
	go func() { ended <- sdk.ServeConn(p, theirs) }()
	h := &Harness{plane: wire.NewCaller(ours, limit), t: t}
	t.Cleanup(func() {
		h.plane.Close()
		if err := <-ended; err != nil {
			t.Errorf("provider: %v", err)
		}
	})
	return h
}

// pair makes the two ends of a socket.
func pair(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatalf("socket pair: %v", err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket pair")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatalf("socket pair: %v", err)
		}
	}
	return ends[0], ends[1]
}

// Plan is a plan as the gateway has checked it, with its body in one piece.
type Plan struct {
	sdk.ResolvedPlan
	Body []byte
}

// Encode has a request translated. The error is the provider's, or what the gateway finds wrong with the plan.
func (h *Harness) Encode(q *sdk.Request) (*Plan, error) {
	h.t.Helper()
	var held sdk.Held
	message, err := held.AppendRequest(nil, q)
	if err != nil {
		return nil, err
	}
	op, body, err := h.plane.Call(wire.Frame{Op: wire.Encode, Body: message}, nil, limit)
	if err != nil {
		return nil, err
	}
	if op == wire.Fault {
		return nil, sdk.ReadFault(body)
	}
	p := new(Plan)
	if err := held.ReadPlan(body, &p.ResolvedPlan); err != nil {
		return nil, err
	}
	for _, s := range p.Segments {
		p.Body = append(p.Body, s...)
	}
	return p, nil
}

// Decode has the frames of an answer translated, each in a message of its own, and then its end.
func (h *Harness) Decode(info sdk.AnswerInfo, frames ...sdk.RawFrame) ([]sdk.Event, error) {
	h.t.Helper()
	s := h.Stream(info)
	var events []sdk.Event
	for _, f := range frames {
		more, err := s.Decode(f)
		if events = append(events, more...); err != nil {
			return events, err
		}
	}
	more, err := s.End()
	return append(events, more...), err
}

// Stream is one answer that is being decoded.
type Stream struct {
	h      *Harness
	id     uint32
	info   sdk.AnswerInfo
	opened bool
}

// Stream begins an answer.
func (h *Harness) Stream(info sdk.AnswerInfo) *Stream {
	return &Stream{h: h, id: h.plane.NextStream(), info: info}
}

// Decode gives the events of frames that have come together. The events stand as long as the frames' data.
func (s *Stream) Decode(frames ...sdk.RawFrame) ([]sdk.Event, error) {
	var a sdk.Answer
	f := s.frame(wire.Decode)
	f.Body = a.AppendFrames(f.Body, frames)
	return s.ask(f, &a)
}

// End gives the events of the end in good order.
func (s *Stream) End() ([]sdk.Event, error) { return s.ask(s.frame(wire.End), new(sdk.Answer)) }

func (s *Stream) frame(op wire.Op) wire.Frame {
	f := wire.Frame{Op: op, Stream: s.id}
	if !s.opened {
		s.opened = true
		f.Flags, f.Body = wire.Opens, sdk.AppendInfo(nil, s.info)
	}
	return f
}

func (s *Stream) ask(f wire.Frame, a *sdk.Answer) ([]sdk.Event, error) {
	op, body, err := s.h.plane.Call(f, nil, limit)
	if err != nil {
		return nil, err
	}
	if op == wire.Fault {
		return nil, sdk.ReadFault(body)
	}
	return a.ReadEvents(body, nil)
}

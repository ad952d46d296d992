package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

var errStalled = errors.New("a write that does not come to its end")

// carrier moves the frames of one side of a plane. A [Conn] does so on a socket.
type carrier interface {
	Send(f *Frame) error
	Receive(handle func(*Frame) error) error
	Close()
}

// stream is the gateway's side of a plane over the gRPC call Calls, for plugins that take no descriptor. It has the
// bounds of gRPC's windows and none of its own beside those of a frame.
type stream struct {
	calls  wirepb.Provider_CallsClient
	cancel context.CancelFunc
	stall  time.Duration

	sending sync.Mutex // held while a message is written
	mu      sync.Mutex // guards err
	err     error
}

// NewStreamCaller is [NewCaller] for a plane over the call Calls of a plugin's control service.
func NewStreamCaller(control wirepb.ProviderClient, stall time.Duration) (*Caller, error) {
	ctx, cancel := context.WithCancel(context.Background())
	calls, err := control.Calls(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return askOver(&stream{calls: calls, cancel: cancel, stall: stall}), nil
}

// Send writes a frame. The body is the caller's again when it returns.
func (s *stream) Send(f *Frame) error {
	if len(f.Body) > MaxBody {
		return ErrTooLarge
	}
	m := &wirepb.Message{Op: uint32(f.Op), Flags: uint32(f.Flags), Call: f.Call, Stream: f.Stream, Body: f.Body}
	s.sending.Lock()
	defer s.sending.Unlock()
	late := time.AfterFunc(s.stall, func() { s.breakOff(errStalled) })
	defer late.Stop()
	if err := s.calls.Send(m); err != nil {
		return s.breakOff(err)
	}
	return nil
}

// Receive gives each frame to handle until the plane ends, and then why it did; nil where the plugin has ended it.
func (s *stream) Receive(handle func(*Frame) error) error {
	for {
		m, err := s.calls.Recv()
		if errors.Is(err, io.EOF) {
			s.breakOff(errOtherSide)
			return nil
		}
		if err == nil {
			err = receive(m, handle)
		}
		if err != nil {
			return s.breakOff(err)
		}
	}
}

// receive gives a message to handle as a frame.
func receive(m *wirepb.Message, handle func(*Frame) error) error {
	switch {
	case len(m.GetBody()) > MaxBody:
		return fmt.Errorf("message of %d bytes: want %d at most", len(m.GetBody()), MaxBody)
	case m.GetOp() < uint32(Encode) || m.GetOp() > uint32(Pong):
		return fmt.Errorf("message with op %d: want %d to %d", m.GetOp(), Encode, Pong)
	}
	return handle(&Frame{Op: Op(m.GetOp()), Flags: uint16(m.GetFlags()), Call: m.GetCall(), Stream: m.GetStream(), Body: m.GetBody()})
}

// breakOff ends the plane for a reason; the first one counts and is returned.
func (s *stream) breakOff(reason error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = &gone{reason}
		s.cancel()
	}
	return s.err
}

// Close ends the plane; Receive returns.
func (s *stream) Close() { s.breakOff(errClosed) }

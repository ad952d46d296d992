// Package wire carries the messages between the gateway and a plugin's process: the handshake of the program, the frames
// of the data plane and the control service.
//
// The data plane is a stream of frames in both directions over a socket that the plugin inherits: [Conn] is either side of
// it, [Caller] the one that asks. A frame is a head of 20 bytes, in little endian, and a body:
//
//	u32 length of the body · u16 op · u16 flags · u64 call · u32 stream
//
// What stands in the bodies is the business of package sdk; provider.proto describes them, and all else that an author in
// another language has to know.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Op says what a message is.
type Op uint16

// The messages. The gateway asks; the plugin answers with the call's number, except for Drop, which has no answer.
const (
	Encode Op = iota + 1 // a request; answered by Plan or Fault
	Decode               // frames of a stream's answer; answered by Events or Fault
	End                  // the answer has ended in good order; answered by Events or Fault. The stream is gone.
	Drop                 // the stream is of no interest any more
	Ping                 // answered by Pong
	Plan
	Events
	Fault
	Pong
)

// Opens is the flag of the first Decode or End of a stream: the body begins with what the answer is for.
const Opens uint16 = 1

// Bounds of a plane. One that is broken by the other side closes the plane: a process that does not keep them cannot be
// trusted with the rest.
const (
	MaxBody   = 4 << 20 // bytes of one frame's body
	MaxCalls  = 1024    // calls in flight
	MaxQueued = 8 << 20 // bytes that wait to be written
	HeadBytes = 20
)

// Frame is one message. Body is valid during the call that gives it.
type Frame struct {
	Op     Op
	Flags  uint16
	Call   uint64
	Stream uint32
	Body   []byte
}

// What can become of a message beside its way; tell them by errors.Is.
var (
	ErrTooLarge = errors.New("message larger than a frame can be") // the plane is unharmed
	ErrBusy     = errors.New("too many calls in flight")           // the plane is unharmed
	ErrTimeout  = errors.New("no answer in time")                  // the plane is unharmed
	ErrGone     = errors.New("data plane gone")                    // every error of a plane that has ended
)

// gone is the end of a plane, for a reason.
type gone struct{ reason error }

func (g *gone) Error() string        { return "data plane: " + g.reason.Error() }
func (g *gone) Unwrap() error        { return g.reason }
func (g *gone) Is(target error) bool { return target == ErrGone }

var (
	errClosed      = errors.New("closed")
	errOtherSide   = errors.New("closed by the other side")
	errInsideFrame = errors.New("ended inside a frame")
)

// appendHead appends the head of a frame.
func appendHead(b []byte, f *Frame) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Body)))
	b = binary.LittleEndian.AppendUint16(b, uint16(f.Op))
	b = binary.LittleEndian.AppendUint16(b, f.Flags)
	b = binary.LittleEndian.AppendUint64(b, f.Call)
	return binary.LittleEndian.AppendUint32(b, f.Stream)
}

// parseHead reads a head of HeadBytes bytes and gives the length of the body.
func parseHead(b []byte) (f Frame, body int, err error) {
	n := binary.LittleEndian.Uint32(b)
	f = Frame{
		Op:     Op(binary.LittleEndian.Uint16(b[4:])),
		Flags:  binary.LittleEndian.Uint16(b[6:]),
		Call:   binary.LittleEndian.Uint64(b[8:]),
		Stream: binary.LittleEndian.Uint32(b[16:]),
	}
	switch {
	case n > MaxBody:
		return f, 0, fmt.Errorf("frame of %d bytes: want %d at most", n, MaxBody)
	case f.Op < Encode || f.Op > Pong:
		return f, 0, fmt.Errorf("frame with op %d: want %d to %d", f.Op, Encode, Pong)
	}
	return f, int(n), nil
}

package pluginhost

import (
	"errors"
	"fmt"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
)

// Decoder is one answer's decoder in the plugin. It belongs to one goroutine. It asks and waits, so a stream has one
// message in flight: that is all the credit it has, and a client that reads slowly holds back its own stream alone.
//
// It has state in the plugin's process: when that ends, so does the answer, and nothing is repeated.
type Decoder struct {
	p      *Process
	in     *instance
	info   sdk.AnswerInfo
	stream uint32
	opened bool // the plugin knows the stream
	ended  bool // and has let go of it
	closed bool
	answer sdk.Answer
	order  order
	out    []byte
	reply  []byte
}

// NewDecoder makes the decoder of one answer. It must be closed; the process is not ended before.
func (p *Process) NewDecoder(info sdk.AnswerInfo) (*Decoder, error) {
	in, err := p.ready(p.host.opt.Restart)
	if err != nil {
		return nil, err
	}
	p.begin()
	return &Decoder{p: p, in: in, info: info, stream: in.plane.NextStream()}, nil
}

// frameRoom is what is left of a message beside the frames: the info and counts.
const frameRoom = wire.MaxBody - 64<<10

// Decode appends the events of frames to out: all frames that one read of the upstream has brought, in one call. The
// events stand until the next call and no longer than the frames. An error is a [*sdk.Failure]; the answer is over then.
func (d *Decoder) Decode(frames []FrameIn, out []sdk.Event) ([]sdk.Event, error) {
	for first := true; len(frames) > 0 || first; first = false {
		n := batch(frames)
		if n < len(frames) || !first { // several messages share out's events: they must not share memory
			d.answer, d.reply = sdk.Answer{}, nil
		}
		var err error
		if out, err = d.decode(frames[:n], out); err != nil {
			return out, err
		}
		frames = frames[n:]
	}
	return out, nil
}

// batch is how many frames go into one message, which has at least one.
func batch(frames []FrameIn) int {
	size := 0
	for i := range frames {
		if size += len(frames[i].Data) + len(frames[i].Event) + 32; size > frameRoom && i > 0 {
			return i
		}
	}
	return len(frames)
}

func (d *Decoder) decode(frames []FrameIn, out []sdk.Event) ([]sdk.Event, error) {
	flags := d.open()
	d.out = d.answer.AppendFrames(d.out, frames)
	return d.ask(wire.Frame{Op: wire.Decode, Flags: flags, Stream: d.stream, Body: d.out}, out)
}

// open begins a message, which is the stream's first one or not.
func (d *Decoder) open() (flags uint16) {
	d.out = d.out[:0]
	if d.opened {
		return 0
	}
	d.out = sdk.AppendInfo(d.out, d.info)
	return wire.Opens
}

// End appends what the decoder has to say when the upstream has ended the answer in good order.
func (d *Decoder) End(out []sdk.Event) ([]sdk.Event, error) {
	flags := d.open()
	d.answer.Forget()
	out, err := d.ask(wire.Frame{Op: wire.End, Flags: flags, Stream: d.stream, Body: d.out}, out)
	d.ended = true
	return out, err
}

func (d *Decoder) ask(f wire.Frame, out []sdk.Event) ([]sdk.Event, error) {
	p := d.p
	op, reply, err := d.in.call(f, d.reply, p.host.opt.Call)
	d.reply = reply
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return out, sdk.Fail(sdk.UpstreamError, "the provider's answer is too large to translate")
	case err != nil:
		return out, p.callError(err)
	}
	d.opened = true
	if op == wire.Fault {
		return out, p.fault(reply)
	}
	n := len(out)
	out, err = d.answer.ReadEvents(reply, out)
	if err == nil {
		err = d.order.check(out[n:])
	}
	if err != nil {
		return out[:n], p.broken(err)
	}
	return out, nil
}

// Spare lets go of the memory of the last call, whose events stand no longer.
func (d *Decoder) Spare() { d.answer, d.out, d.reply = sdk.Answer{}, nil, nil }

// Close lets go of the decoder, in the plugin too.
func (d *Decoder) Close() {
	if d.closed {
		return
	}
	d.closed = true
	if d.opened && !d.ended {
		_ = d.in.plane.Post(wire.Drop, d.stream) // a plane that has ended has forgotten the stream
	}
	d.answer = sdk.Answer{}
	d.p.finish()
}

// order sees that the events of an answer come in an order that every dialect can write: one beginning, one end, tool
// calls begun before their input. A plugin that breaks it is caught here, and not by the client.
type order struct {
	begun, over bool
	tools       []tool
}

// tool is a call that has begun.
type tool struct{ choice, call int }

// maxTools bounds the tool calls of one answer.
const maxTools = 1024

func (o *order) check(events []sdk.Event) error {
	for i := range events {
		e := &events[i]
		if o.over {
			return fmt.Errorf("event of kind %d: the answer is over", e.Kind)
		}
		switch e.Kind {
		case sdk.Begin:
			if o.begun {
				return fmt.Errorf("event Begin: a second one")
			}
			o.begun = true
		case sdk.Done, sdk.Failed:
			o.over = true
		case sdk.ToolBegin:
			if o.knows(e) {
				return fmt.Errorf("event ToolBegin: choice %d has begun call %d before", e.Choice, e.Call)
			}
			if len(o.tools) == maxTools {
				return fmt.Errorf("event ToolBegin: more than %d tool calls", maxTools)
			}
			o.tools = append(o.tools, tool{e.Choice, e.Call})
		case sdk.ToolInput, sdk.ToolEnd:
			if !o.knows(e) {
				return fmt.Errorf("event of kind %d: choice %d has not begun call %d", e.Kind, e.Choice, e.Call)
			}
		}
	}
	return nil
}

// knows says whether the event's tool call has begun; the last ones are the likeliest.
func (o *order) knows(e *sdk.Event) bool {
	for i := len(o.tools) - 1; i >= 0; i-- {
		if o.tools[i] == (tool{e.Choice, e.Call}) {
			return true
		}
	}
	return false
}

package pipe

import (
	"errors"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// Translation is the pipe of an answer in another dialect: what one read brought goes to the plugin's decoder as one
// call, and the events that come back are written in the client's dialect.
type Translation struct {
	dec     *pluginhost.Decoder
	enc     dialect.Encoder
	split   frame.Splitter
	tools   Tools
	free    freeCalls
	frames  []pluginhost.FrameIn
	arena   []byte
	halves  halves
	events  []sdk.Event
	out     []byte
	usage   sdk.Usage
	reason  sdk.Reason
	text    int64 // bytes of text, reasoning and tool input
	content bool
	done    bool
	ended   bool
	joined  *Seam // nil: the answer is this attempt's alone
}

// NewTranslation makes the pipe of an answer from a source to a client that speaks a dialect. The source's stream and the
// client's may differ: an upstream that answers a stream with one body, or one body with a stream, is understood all the
// same. joined, where it is not nil, is an answer that may go on, or goes on, over several sources. The failure is the
// plugin's.
func NewTranslation(from Source, to dialect.Dialect, o dialect.EncoderOptions, tools Tools, joined *Seam) (
	*Translation, *sdk.Failure) {
	dec, err := from.Plugin.NewDecoder(from.Info)
	if err != nil {
		return nil, asFailure(err)
	}
	t := &Translation{dec: dec, split: newSplitter(from), tools: tools, joined: joined}
	switch {
	case joined == nil:
		t.enc = to.NewEncoder(o)
	case joined.enc == nil:
		o.Seams = &joined.told
		joined.enc = to.NewEncoder(o)
		fallthrough
	default:
		t.enc = joined.enc
	}
	return t, nil
}

// asFailure gives the failure in an error; anything else is a plugin's.
func asFailure(err error) *sdk.Failure {
	var f *sdk.Failure
	if errors.As(err, &f) {
		return f
	}
	return sdk.Fail(sdk.PluginFailed, "the provider's plugin could not read the answer")
}

// Joined is the answer of which this is a part; nil where it is all of it.
func (t *Translation) Joined() *Seam { return t.joined }

// Written is what the last call wrote for the client, until the next.
func (t *Translation) Written() []byte { return t.out }

// Progress says whether there has been content, and whether the answer is complete.
func (t *Translation) Progress() (content, done bool) { return t.content, t.done }

// Tally gives what has been seen of usage and of the reason of the end.
func (t *Translation) Tally() (sdk.Usage, sdk.Reason) { return Told(t.usage), t.reason }

// Tokens reckons by the text.
func (t *Translation) Tokens() int64 { return (t.text + tokenBytes - 1) / tokenBytes }

// Begun is how much is kept of a frame that has begun.
func (t *Translation) Begun() int { return t.split.Begun() }

// Spare lets go of the frames, the events and what was written of them.
func (t *Translation) Spare() {
	t.frames, t.arena, t.events, t.out = nil, nil, nil, nil
	t.split.Spare()
	t.dec.Spare()
}

// Close ends the plugin's decoder.
func (t *Translation) Close() { t.dec.Close() }

// Failer gives the encoder.
func (t *Translation) Failer() any { return t.enc }

// Feed decodes the frames that are now whole.
func (t *Translation) Feed(chunk []byte) Piece {
	t.out, t.frames, t.arena = t.out[:0], t.frames[:0], t.arena[:0]
	t.split.Feed(chunk)
	for {
		f, ok, err := t.split.Next()
		if err != nil {
			return t.decode(broken(err))
		}
		if !ok {
			return t.decode(nil)
		}
		t.collect(&f)
	}
}

// collect copies a frame for the call that is being put together.
func (t *Translation) collect(f *frame.Frame) {
	if f.Lines == 0 || len(f.Data) == 0 && len(f.Event) == 0 {
		return
	}
	f.Data, _ = t.halves.join(f.Data)
	n := len(t.arena)
	if cap(t.arena)-n < len(f.Data) { // earlier frames keep the old array
		t.arena, n = make([]byte, 0, 2*cap(t.arena)+len(f.Data)), 0
	}
	t.arena = append(t.arena, f.Data...)
	t.frames = append(t.frames, pluginhost.FrameIn{Event: string(f.Event), Data: t.arena[n:len(t.arena):len(t.arena)]})
}

// decode sends the collected frames to the plugin. A failure of the framing counts after what came before it.
func (t *Translation) decode(after *sdk.Failure) Piece {
	if len(t.frames) > 0 && !t.done {
		var err error
		if t.events, err = t.dec.Decode(t.frames, t.events[:0]); err != nil {
			return Piece{Failure: asFailure(err)}
		}
		if f := t.write(); f != nil {
			return t.piece(f)
		}
	}
	return t.piece(after)
}

func (t *Translation) piece(f *sdk.Failure) Piece {
	if len(t.out) == 0 {
		return Piece{Failure: f}
	}
	return Piece{Segs: [][]byte{t.out}, Failure: f}
}

// Body decodes a body that is no stream. End follows.
func (t *Translation) Body(data []byte) Piece {
	t.frames = append(t.frames[:0], pluginhost.FrameIn{Data: data})
	return t.decode(nil)
}

// End asks the decoder for what is left and closes the client's answer. The answer must have had the provider's end
// mark or the reason of its end.
func (t *Translation) End() Piece {
	if !t.ended {
		t.ended = true
		t.out = t.out[:0]
		if !t.done {
			if p := t.rest(); p.Failure != nil {
				return p
			}
		}
		if !t.done && t.reason == sdk.ReasonUnset {
			return t.piece(truncated())
		}
	}
	if b, ok := t.enc.(dialect.Bounded); ok && b.Failure() != nil {
		return t.piece(b.Failure())
	}
	t.out = t.enc.End(t.out)
	return t.piece(nil)
}

// rest decodes a last frame without its end, and the decoder's own end.
func (t *Translation) rest() Piece {
	t.frames, t.arena = t.frames[:0], t.arena[:0]
	for {
		f, ok, err := t.split.End()
		if err != nil {
			return Piece{Failure: broken(err)}
		}
		if !ok {
			break
		}
		t.collect(&f)
	}
	if p := t.decode(nil); p.Failure != nil || t.done {
		return p
	}
	var err error
	if t.events, err = t.dec.End(t.events[:0]); err != nil {
		return Piece{Failure: asFailure(err)}
	}
	return Piece{Failure: t.write()}
}

// write gives the events to the client's encoder and keeps what the gateway itself needs of them.
func (t *Translation) write() *sdk.Failure {
	for i := range t.events {
		e := &t.events[i]
		switch e.Kind {
		case sdk.UsageSeen:
			if Told(e.Usage) == (sdk.Usage{}) && Told(t.usage).Known {
				continue // zeros at the end, of services that fill the member in whatever they know
			}
			t.usage = e.Usage
		case sdk.Finish:
			t.reason = e.Reason
		case sdk.Done:
			t.done = true
		case sdk.Failed:
			f := e.Failure
			return &f
		case sdk.ToolBegin:
			e.Name = t.tools.name(e.Name)
		}
		if len(t.tools.Free) > 0 {
			t.free.event(&t.tools, e, t.emit)
		} else {
			t.emit(e)
		}
	}
	return nil
}

// emit writes an event for the client.
func (t *Translation) emit(e *sdk.Event) {
	if t.joined != nil && !t.joined.take(e) {
		return
	}
	t.content = t.content || e.Content()
	t.text += int64(e.Text.Len())
	t.out = t.enc.Event(t.out, e)
}

package relay

import (
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// translation is the pipe of an answer in another dialect: what one read brought goes to the plugin's decoder as one
// call, and the events that come back are written in the client's dialect.
type translation struct {
	dec     *pluginhost.Decoder
	enc     dialect.Encoder
	split   frame.Splitter
	names   []sdk.Rename
	frames  []pluginhost.FrameIn
	arena   []byte
	events  []sdk.Event
	out     []byte
	usage   sdk.Usage
	reason  sdk.Reason
	text    int64 // bytes of text, reasoning and tool input
	content bool
	done    bool
	ended   bool
	joined  *seam // nil: the answer is this attempt's alone
}

// newTranslation makes the pipe. upstreamStream and clientStream may differ: an upstream that answers a stream with one
// body, or one body with a stream, is understood all the same.
func (a *active) newTranslation(upstreamStream, clientStream bool) (*translation, *sdk.Failure) {
	d, w := a.up.Deployment, a.plan.way
	dec, err := a.up.Plugin.NewDecoder(sdk.AnswerInfo{Provider: d.Provider.Instance, Native: w.Dialect.Name, Model: d.Model, Stream: upstreamStream})
	if err != nil {
		return nil, asFailure(err)
	}
	t := &translation{dec: dec, split: newSplitter(w.Dialect)}
	if e := a.plan.encoded; e != nil {
		t.names = e.Names
	}
	o := dialect.EncoderOptions{Stream: clientStream, WantUsage: a.Facts.WantUsage, Encoding: a.Facts.Encoding, RequestID: a.RequestID, Framing: a.Framing,
		Model: a.Facts.Model, Created: time.Now()}
	switch {
	case a.mending:
		t.joined = a.joined
		t.enc = t.joined.enc
		return t, nil
	case a.terms.Continue && clientStream:
		t.joined = new(seam)
		o.Seams = &t.joined.told
	}
	t.enc = a.Dialect.NewEncoder(o)
	if t.joined != nil {
		t.joined.enc = t.enc
	}
	return t, nil
}

func (t *translation) progress() (content, done bool) { return t.content, t.done }
func (t *translation) tally() (sdk.Usage, sdk.Reason) { return t.usage, t.reason }
func (t *translation) tokens() int64                  { return (t.text + tokenBytes - 1) / tokenBytes }
func (t *translation) close()                         { t.dec.Close() }
func (t *translation) failer() any                    { return t.enc }

// feed decodes the frames that are now whole.
func (t *translation) feed(chunk []byte) piece {
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
func (t *translation) collect(f *frame.Frame) {
	if f.Lines == 0 || len(f.Data) == 0 && len(f.Event) == 0 {
		return
	}
	n := len(t.arena)
	if cap(t.arena)-n < len(f.Data) { // earlier frames keep the old array
		t.arena, n = make([]byte, 0, 2*cap(t.arena)+len(f.Data)), 0
	}
	t.arena = append(t.arena, f.Data...)
	t.frames = append(t.frames, pluginhost.FrameIn{Event: string(f.Event), Data: t.arena[n:len(t.arena):len(t.arena)]})
}

// decode sends the collected frames to the plugin. A failure of the framing counts after what came before it.
func (t *translation) decode(after *sdk.Failure) piece {
	if len(t.frames) > 0 && !t.done {
		var err error
		if t.events, err = t.dec.Decode(t.frames, t.events[:0]); err != nil {
			return piece{failure: asFailure(err)}
		}
		if f := t.write(); f != nil {
			return t.piece(f)
		}
	}
	return t.piece(after)
}

func (t *translation) piece(f *sdk.Failure) piece {
	if len(t.out) == 0 {
		return piece{failure: f}
	}
	return piece{segs: [][]byte{t.out}, failure: f}
}

// frame decodes one frame that is given whole: a body that is no stream. What is written stays in t.out.
func (t *translation) frame(event string, data []byte) piece {
	t.frames = append(t.frames[:0], pluginhost.FrameIn{Event: event, Data: data})
	return t.decode(nil)
}

// end asks the decoder for what is left and closes the client's answer. The answer must have had the provider's end
// mark or the reason of its end.
func (t *translation) end() piece {
	if !t.ended {
		t.ended = true
		t.out = t.out[:0]
		if !t.done {
			if p := t.rest(); p.failure != nil {
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
func (t *translation) rest() piece {
	t.frames, t.arena = t.frames[:0], t.arena[:0]
	for {
		f, ok, err := t.split.End()
		if err != nil {
			return piece{failure: broken(err)}
		}
		if !ok {
			break
		}
		t.collect(&f)
	}
	if p := t.decode(nil); p.failure != nil || t.done {
		return p
	}
	var err error
	if t.events, err = t.dec.End(t.events[:0]); err != nil {
		return piece{failure: asFailure(err)}
	}
	return piece{failure: t.write()}
}

// write gives the events to the client's encoder and keeps what the gateway itself needs of them.
func (t *translation) write() *sdk.Failure {
	for i := range t.events {
		e := &t.events[i]
		switch e.Kind {
		case sdk.UsageSeen:
			t.usage = e.Usage
		case sdk.Finish:
			t.reason = e.Reason
		case sdk.Done:
			t.done = true
		case sdk.Failed:
			f := e.Failure
			return &f
		case sdk.ToolBegin:
			e.Name = t.clientName(e.Name)
		}
		if t.joined != nil && !t.joined.take(e) {
			continue
		}
		t.content = t.content || e.Content()
		t.text += int64(e.Text.Len())
		t.out = t.enc.Event(t.out, e)
	}
	return nil
}

// clientName gives a tool the name that the client knows it by.
func (t *translation) clientName(name sdk.Text) sdk.Text {
	for _, r := range t.names {
		if name.Is(r.Upstream) {
			return sdk.T(r.Client)
		}
	}
	return name
}

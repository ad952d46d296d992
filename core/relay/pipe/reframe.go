package pipe

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// newSplitter gives the splitter for the stream of a source.
func newSplitter(from Source) frame.Splitter {
	d, framing := from.Dialect, from.Dialect.Framing
	if from.Form == AsArray {
		framing = elements
	}
	var s frame.Splitter
	switch framing {
	case lines:
		s = frame.NewNDJSON(0)
	case elements:
		s = frame.NewJSONArray(0)
	case awsEvents:
		s = frame.NewEventStream(0)
	default:
		s = frame.NewSSE(0)
	}
	if d.Unwrap != "" {
		return &unwrapped{Splitter: s, member: strings.TrimPrefix(d.Unwrap, "/")}
	}
	return s
}

// unwrapped is a splitter of frames that hold the event itself in base64 in one of their members.
type unwrapped struct {
	frame.Splitter
	member string
	doc    jsonspan.Doc
	data   []byte
}

// Next gives the next frame, unwrapped.
func (u *unwrapped) Next() (frame.Frame, bool, error) { return u.open(u.Splitter.Next()) }

// End gives what is left, unwrapped.
func (u *unwrapped) End() (frame.Frame, bool, error) { return u.open(u.Splitter.End()) }

func (u *unwrapped) open(f frame.Frame, ok bool, err error) (frame.Frame, bool, error) {
	if !ok || err != nil || f.Exception || u.doc.Parse(f.Data, jsonspan.Limits{AllowDuplicates: true}) != nil || u.doc.Kind(0) != jsonspan.Object {
		return f, ok, err
	}
	at, there := u.doc.Member(0, u.member)
	if !there || u.doc.Kind(at) != jsonspan.String {
		return f, ok, err
	}
	if u.data, err = base64.StdEncoding.AppendDecode(u.data[:0], []byte(u.doc.Text(at))); err != nil {
		return frame.Frame{}, false, fmt.Errorf("%w: member %s: want base64", frame.ErrMalformed, u.member)
	}
	f.Event, f.Data = nil, u.data
	return f, true, nil
}

// reframing turns the frames of a stream that came in another framing into the server-sent events that the client reads.
type reframing struct {
	from  Source
	names dialect.EventNamer // nil: the dialect's events have none
	doc   jsonspan.Doc
	out   []byte
}

func newReframing(from Source, to dialect.Dialect) *reframing {
	r := &reframing{from: from}
	r.names, _ = to.(dialect.EventNamer)
	return r
}

// name gives a frame the name that its event has for the client. An exception of the framing, of which the client's
// dialect knows nothing, is the failure that the plugin reads in it.
func (r *reframing) name(f *frame.Frame) *sdk.Failure {
	if f.Exception {
		return r.exception(f)
	}
	f.Event = nil
	if r.names != nil {
		f.Event = []byte(r.names.EventName(&r.doc, f.Data))
	}
	return nil
}

// event writes a frame, until the next one.
func (r *reframing) event(f *frame.Frame) []byte {
	r.out = frame.AppendSSE(r.out[:0], string(f.Event), f.Data)
	return r.out
}

// exception asks the plugin's decoder what an exception means.
func (r *reframing) exception(f *frame.Frame) *sdk.Failure {
	dec, err := r.from.Plugin.NewDecoder(r.from.Info)
	if err != nil {
		return asFailure(err)
	}
	defer dec.Close()
	events, err := dec.Decode([]pluginhost.FrameIn{{Event: string(f.Event), Data: f.Data}}, nil)
	if err != nil {
		return asFailure(err)
	}
	for i := range events {
		if events[i].Kind == sdk.Failed {
			failure := events[i].Failure
			failure.Body = slices.Clone(failure.Body)
			return &failure
		}
	}
	return sdk.Fail(sdk.UpstreamError, "the provider broke the stream off")
}

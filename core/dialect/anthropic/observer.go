package anthropic

import (
	"bytes"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewObserver makes the reader of one native answer. There is nothing to hide: the dialect always shows its usage.
func (Dialect) NewObserver(o dialect.ObserverOptions) dialect.Observer {
	return &observer{doc: o.Memory()}
}

// observer reads an answer that passes through.
type observer struct {
	committed bool // content has been seen: deltas need no reading
	counts    counts
	reason    sdk.Reason
	doc       *jsonspan.Doc
	edits     []jsonspan.Edit // what the text that is being read lacks
}

// Usage is what the usage objects so far come to.
func (o *observer) Usage() sdk.Usage { return o.counts.usage() }

// Finish is the stop_reason seen.
func (o *observer) Finish() sdk.Reason { return o.reason }

// AppendEnd writes the event that a stream ends with.
func (o *observer) AppendEnd(dst []byte) []byte {
	return frame.AppendSSE(dst, "message_stop", []byte(`{"type":"message_stop"}`))
}

// Frame looks at one frame of a stream. Once content has been seen it no longer says which frames have any.
func (o *observer) Frame(f *frame.Frame) dialect.Seen {
	data := bytes.TrimSpace(f.Data)
	switch string(data) {
	case "":
		return dialect.Seen{}
	case dialect.DoneMark:
		return dialect.Seen{Cut: true}
	}
	if o.doc.Parse(data, jsonspan.Limits{AllowDuplicates: true}) != nil { // clients would fail to read it
		return dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "the provider's stream has an event that is not JSON")}
	}
	if o.committed && part(f.Event) {
		return dialect.Seen{}
	}
	if fail := readError(o.doc, string(f.Event) == "error"); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	o.edits = o.edits[:0]
	seen := o.event()
	o.committed = o.committed || seen.Content
	if len(o.edits) > 0 {
		t, _ := member(o.doc, 0, "type")
		seen.Cut, seen.Out = true, frame.AppendSSE(nil, string(o.doc.Inner(t)), o.edited(data))
	}
	return seen
}

// fill sees to it that an object has its usage, which clients read without asking whether it is there; some compatible
// services leave it out.
func (o *observer) fill(obj int, usage string) {
	switch v, ok := o.doc.Member(obj, "usage"); {
	case !ok:
		o.edits = append(o.edits, o.doc.Insert(obj, "usage", []byte(usage)))
	case o.doc.Kind(v) == jsonspan.Null:
		o.edits = append(o.edits, o.doc.Replace(v, []byte(usage)))
	}
}

// edited is the text with its edits.
func (o *observer) edited(text []byte) []byte {
	segs, _ := jsonspan.Splice(nil, text, o.edits)
	return bytes.Join(segs, nil)
}

// noUsage is the usage of a message of which none is known.
const noUsage = `{"input_tokens":0,"output_tokens":0}`

// part says whether the name of an event tells that it is a piece of the answer and not its end.
func part(name []byte) bool {
	switch string(name) {
	case "content_block_delta", "content_block_start", "content_block_stop", "ping":
		return true
	}
	return false
}

// event reads an event by the type in its data, which compatible services also send without an event line.
func (o *observer) event() dialect.Seen {
	d := o.doc
	t, ok := member(d, 0, "type")
	if !ok {
		return dialect.Seen{}
	}
	switch string(d.Inner(t)) {
	case "message_start":
		if m, ok := member(d, 0, "message"); ok && d.Kind(m) == jsonspan.Object {
			o.fill(m, noUsage)
			return dialect.Seen{Content: o.message(m)}
		}
	case "content_block_start":
		b, ok := member(d, 0, "content_block")
		return dialect.Seen{Content: ok && says(d, b)}
	case "content_block_delta":
		b, ok := member(d, 0, "delta")
		return dialect.Seen{Content: ok && says(d, b)}
	case "message_delta":
		o.counts.total = o.usage(0) || o.counts.total
		o.fill(0, `{"output_tokens":`+strconv.FormatInt(o.counts.Output, 10)+`}`)
		if m, ok := member(d, 0, "delta"); ok {
			return dialect.Seen{Content: o.stop(m)}
		}
	case "message_stop":
		o.counts.ended = true
		return dialect.Seen{Done: true}
	}
	return dialect.Seen{}
}

// Whole looks at a whole body: a message, or the number of a count_tokens. Done says that it is one of them.
func (o *observer) Whole(body []byte) dialect.Seen {
	d := o.doc
	if d.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	if fail := readError(d, false); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	if content, ok := member(d, 0, "content"); !ok || d.Kind(content) != jsonspan.Array {
		_, counted := member(d, 0, "input_tokens")
		return dialect.Seen{Done: counted, Content: counted}
	}
	o.edits = o.edits[:0]
	o.fill(0, noUsage)
	seen := dialect.Seen{Done: true, Content: o.message(0)}
	if len(o.edits) > 0 {
		seen.Cut, seen.Out = true, o.edited(body)
	}
	return seen
}

// message reads a message. The one that a stream starts with is empty as a rule; where code of a server tool calls the
// client's tools, it is whole, with its call and its stop_reason.
func (o *observer) message(m int) (content bool) {
	o.usage(m)
	content = o.stop(m)
	o.counts.total = o.reason != sdk.ReasonUnset // it is whole
	if blocks, ok := member(o.doc, m, "content"); ok {
		all, programs := 0, 0
		for b := range o.doc.Items(blocks) {
			content = content || says(o.doc, b)
			if all++; programsCall(o.doc, b) {
				programs++
			}
		}
		o.counts.free = all > 0 && programs == all
	}
	return content
}

// usage reads the usage of a message or an event, and says whether there is one.
func (o *observer) usage(obj int) bool {
	u, ok := member(o.doc, obj, "usage")
	if ok {
		o.counts.read(o.doc, u)
	}
	return ok
}

// stop reads a stop_reason. Some of them say something themselves, even where there is no content: a limit, a refusal.
func (o *observer) stop(obj int) (says bool) {
	s, ok := member(o.doc, obj, "stop_reason")
	if !ok || len(o.doc.Inner(s)) == 0 {
		return false
	}
	o.reason = reasonOf(string(o.doc.Inner(s)))
	return o.reason.Content()
}

// reasonOf reads a stop_reason. A word that nobody knows yet is an end all the same.
func reasonOf(word string) sdk.Reason {
	switch word {
	case "stop_sequence":
		return sdk.ReasonStopText
	case "max_tokens":
		return sdk.ReasonLength
	case "model_context_window_exceeded":
		return sdk.ReasonContext
	case "tool_use":
		return sdk.ReasonTool
	case "refusal":
		return sdk.ReasonRefusal
	case "pause_turn":
		return sdk.ReasonPause
	}
	return sdk.ReasonStop
}

// says tells whether a block or a delta holds content: a text or thinking that is not empty, a piece of a call's input,
// or a block of another type, which is content as it stands.
func says(d *jsonspan.Doc, b int) bool {
	t, ok := member(d, b, "type")
	if !ok {
		return false
	}
	name := ""
	switch string(d.Inner(t)) {
	case "text", "text_delta":
		name = "text"
	case "thinking", "thinking_delta":
		name = "thinking"
	case "input_json_delta":
		name = "partial_json"
	case "signature_delta", "citations_delta":
		return false
	default:
		return true
	}
	v, ok := member(d, b, name)
	return ok && len(d.Inner(v)) > 0
}

// EventName is the type that an event's data names, as Anthropic sends both.
func (Dialect) EventName(doc *jsonspan.Doc, data []byte) string { return dialect.TypeName(doc, data) }

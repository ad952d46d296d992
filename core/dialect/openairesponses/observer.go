package openairesponses

import (
	"bytes"
	"time"

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
	committed bool // content has been seen: events that only add to the answer need no reading
	number    int  // of the next event
	usage     sdk.Usage
	reason    sdk.Reason
	id, model string // of the response
	created   int64  // in seconds since 1970
	doc       *jsonspan.Doc
}

var (
	_ dialect.Failer    = (*observer)(nil)
	_ dialect.Continued = (*observer)(nil)
)

// AnswerID is the response's, which a later request may name as previous_response_id.
func (o *observer) AnswerID() string { return o.id }

// Usage is that of the response as it stood last.
func (o *observer) Usage() sdk.Usage { return o.usage }

// Finish is the reason of the end; the dialect has it only in the event that ends the stream.
func (o *observer) Finish() sdk.Reason { return o.reason }

// AppendFailure ends the response as failed, in the event that follows those that have been seen: Codex passes over error events
// (https://github.com/openai/codex, codex-api/src/sse/responses.rs). Where no response has begun, there is none to have failed.
func (o *observer) AppendFailure(dst []byte, f *sdk.Failure, _ string) []byte {
	if o.id == "" {
		return appendErrorEvent(dst, f, o.number)
	}
	s := stream{number: o.number}
	s.answer = answer{id: jsonspan.AppendEscape(nil, []byte(o.id)), model: jsonspan.AppendEscape(nil, []byte(o.model)), usage: o.usage, failure: f}
	s.opts.Created = time.Unix(o.created, 0)
	dst = append(s.event(dst, "response.failed"), `,"response":`...)
	return append(s.append(dst, failed), "}\n\n"...)
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
	if o.committed && grows(f.Event) {
		o.number++
		return dialect.Seen{}
	}
	seen := o.event()
	if seen.Failure == nil { // an error is written anew, in its place
		o.number++
	}
	o.committed = o.committed || seen.Content
	return seen
}

// grows says whether the name of an event tells that it is a piece of the answer and not its end.
func grows(name []byte) bool {
	return string(name) != "response.done" && (bytes.HasSuffix(name, []byte(".delta")) || bytes.HasSuffix(name, []byte(".done")) || bytes.HasSuffix(name, []byte(".added")))
}

// event reads an event by the type in its data, which compatible services also send without an event line.
func (o *observer) event() dialect.Seen {
	d := o.doc
	t, ok := member(d, 0, "type")
	if !ok {
		if e, ok := member(d, 0, "error"); ok { // a chat-style error, of services that have one form for all
			return dialect.Seen{Failure: errorObject(d, e)}
		}
		return dialect.Seen{}
	}
	switch typ := d.Inner(t); string(typ) {
	case "response.created", "response.in_progress", "response.queued":
		r, _ := member(d, 0, "response")
		o.name(r)
		return dialect.Seen{}
	case "response.completed", "response.incomplete", "response.failed", "response.done": // the last is OpenRouter's
		r, _ := member(d, 0, "response")
		seen := o.response(r)
		if e, ok := member(d, 0, "error"); ok { // beside the response, where some services have it
			seen = dialect.Seen{Failure: errorObject(d, e)}
		}
		return seen
	case "error", "response.error":
		if e, ok := member(d, 0, "error"); ok {
			return dialect.Seen{Failure: errorObject(d, e)}
		}
		return dialect.Seen{Failure: errorObject(d, 0)}
	case "response.output_item.added":
		i, ok := member(d, 0, "item")
		return dialect.Seen{Content: ok && begins(d, i)}
	case "response.output_item.done":
		i, ok := member(d, 0, "item")
		return dialect.Seen{Content: ok && says(d, i)}
	default:
		if bytes.HasSuffix(typ, []byte(".delta")) {
			v, ok := member(d, 0, "delta")
			return dialect.Seen{Content: ok && len(d.Inner(v)) > 0}
		}
	}
	return dialect.Seen{}
}

// Whole looks at a whole body. Done says that it is a response that has come to its end, or was begun in the background.
func (o *observer) Whole(body []byte) dialect.Seen {
	d := o.doc
	if d.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	out, ok := member(d, 0, "output")
	if !ok || d.Kind(out) != jsonspan.Array {
		if fail := readError(d); fail != nil {
			return dialect.Seen{Failure: fail}
		}
		return dialect.Seen{}
	}
	return o.response(0)
}

// response reads a response object that is not expected to change any more.
func (o *observer) response(r int) (seen dialect.Seen) {
	d := o.doc
	o.name(r)
	if usage, ok := readUsage(d, r); ok {
		o.usage = usage
	}
	if e, ok := member(d, r, "error"); ok {
		return dialect.Seen{Failure: errorObject(d, e)}
	}
	called := false
	if out, ok := member(d, r, "output"); ok {
		for i := range d.Items(out) {
			seen.Content = seen.Content || says(d, i)
			called = called || d.Is(typeOf(d, i), "function_call") || d.Is(typeOf(d, i), "custom_tool_call")
		}
	}
	status, _ := member(d, r, "status")
	switch string(d.Inner(status)) {
	case "failed":
		return dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "the provider's response failed")}
	case "cancelled":
		return dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "the provider's response was cancelled")}
	case "incomplete":
		o.reason = incomplete(d, r)
	case "queued", "in_progress":
		o.reason, seen.Content = sdk.ReasonPause, true // what is in the background is fetched later
	default:
		if o.reason = sdk.ReasonStop; called {
			o.reason = sdk.ReasonTool
		}
	}
	seen.Done, seen.Content = true, seen.Content || o.reason.Content()
	return seen
}

// maxID bounds an id or a name that is remembered.
const maxID = 256

// name notes the id of a response, its model and when it began, once.
func (o *observer) name(r int) {
	if o.id != "" || o.doc.Kind(r) != jsonspan.Object {
		return
	}
	o.id, o.model = o.word(r, "id"), o.word(r, "model")
	if at, ok := member(o.doc, r, "created_at"); ok {
		o.created, _ = o.doc.Int(at)
	}
}

// word gives a text that is short enough to be remembered; "" where there is none.
func (o *observer) word(r int, name string) string {
	v, ok := member(o.doc, r, name)
	if !ok || o.doc.Kind(v) != jsonspan.String || len(o.doc.Inner(v)) > maxID {
		return ""
	}
	return o.doc.Text(v)
}

// incomplete is the reason of an answer that was cut short.
func incomplete(d *jsonspan.Doc, r int) sdk.Reason {
	details, _ := member(d, r, "incomplete_details")
	if why, ok := member(d, details, "reason"); ok && details > 0 && d.Is(why, "content_filter") {
		return sdk.ReasonFilter
	}
	return sdk.ReasonLength
}

// typeOf is the node of an item's type; 0, which is no string, where it has none.
func typeOf(d *jsonspan.Doc, item int) int {
	t, ok := member(d, item, "type")
	if !ok {
		return 0
	}
	return t
}

// begins says whether an item is content as soon as it is there: a call, but not a message or a thought, which are still
// empty then.
func begins(d *jsonspan.Doc, item int) bool {
	switch t := typeOf(d, item); {
	case t == 0, d.Is(t, "message"), d.Is(t, "reasoning"):
		return false
	}
	return true
}

// says tells whether a whole item holds content.
func says(d *jsonspan.Doc, item int) bool {
	if begins(d, item) {
		return true
	}
	if sealed, ok := member(d, item, "encrypted_content"); ok && len(d.Inner(sealed)) > 0 {
		return true
	}
	for _, list := range [...]string{"content", "summary"} {
		parts, ok := member(d, item, list)
		if !ok {
			continue
		}
		for p := range d.Items(parts) {
			for _, name := range [...]string{"text", "refusal"} {
				if v, ok := member(d, p, name); ok && len(d.Inner(v)) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// EventName is the type that an event's data names, as OpenAI sends both.
func (Dialect) EventName(doc *jsonspan.Doc, data []byte) string { return dialect.TypeName(doc, data) }

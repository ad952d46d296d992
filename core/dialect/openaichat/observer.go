package openaichat

import (
	"bytes"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewObserver makes the reader of one native answer.
func (Dialect) NewObserver(o dialect.ObserverOptions) dialect.Observer {
	return &observer{hide: o.HideUsage, doc: o.Memory()}
}

// observer reads an answer that passes through.
type observer struct {
	hide      bool
	committed bool // content has been seen: chunks of nothing but text need no reading
	usage     sdk.Usage
	reason    sdk.Reason // of the first choice that said one
	begun     uint64     // the choices seen, by index; those beyond 63 are not told apart
	ended     uint64     // those with a reason
	deltas    bool       // a delta has said something
	messages  bool       // chunks have messages in the place of deltas
	calls     int        // in those messages
	doc       *jsonspan.Doc
	out       []byte
	segs      [][]byte
	edits     []jsonspan.Edit
}

// Usage is the last usage seen.
func (o *observer) Usage() sdk.Usage { return o.usage }

// Finish is the reason of the end, once each choice that has begun has given one: a stream that ends then is complete
// even without [DONE], which not every service sends.
func (o *observer) Finish() sdk.Reason {
	if o.begun&^o.ended != 0 {
		return sdk.ReasonUnset
	}
	return o.reason
}

// AppendEnd writes the mark that a stream ends with.
func (o *observer) AppendEnd(dst []byte) []byte { return appendDone(dst) }

// Frame looks at one frame of a stream. Once content has been seen it no longer says which frames have any.
func (o *observer) Frame(f *frame.Frame) dialect.Seen {
	data := bytes.TrimSpace(f.Data)
	switch {
	case len(data) == 0:
		return dialect.Seen{}
	case string(data) == dialect.DoneMark:
		if len(f.Data) != len(data) { // clients look for the mark alone
			return dialect.Seen{Done: true, Cut: true, Out: appendDone(nil)}
		}
		return dialect.Seen{Done: true}
	case o.doc.Parse(data, jsonspan.Limits{AllowDuplicates: true}) != nil: // clients would fail to read it
		return dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "the provider's stream has a chunk that is not JSON")}
	case len(data) <= maxIdle && string(f.Event) != "error" && o.idle():
		return dialect.Seen{Cut: true}
	case o.committed && !o.messages && plain(data):
		return dialect.Seen{}
	}
	if fail := o.failure(string(f.Event) == "error"); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	o.edits = o.edits[:0]
	seen := o.chunk((*observer).delta)
	if seen.Failure == nil && o.hide {
		o.cut(&seen)
	}
	if len(o.edits) > 0 && !seen.Cut {
		seen.Cut, seen.Out = true, o.edited(f, data)
	}
	return seen
}

// maxIdle is about the longest sign of life in bytes.
const maxIdle = 128

// idle says whether the parsed text is no chunk but a sign of life, as some services send them: clients look for choices in
// whatever has data.
func (o *observer) idle() bool {
	d := o.doc
	if d.Kind(0) != jsonspan.Object {
		return d.Kind(0) == jsonspan.Null
	}
	if _, ok := member(d, 0, "choices"); ok {
		return false
	}
	t, ok := member(d, 0, "type")
	return d.Len(0) == 0 || ok && (d.Is(t, "ping") || d.Is(t, "keepalive") || d.Is(t, "heartbeat"))
}

// Whole looks at a whole body. Done says that it is an answer of this dialect at all.
func (o *observer) Whole(body []byte) dialect.Seen {
	if o.doc.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	if fail := o.failure(false); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	seen := o.chunk((*observer).message)
	choices, ok := member(o.doc, 0, "choices")
	seen.Done = seen.Failure == nil && ok && o.doc.Kind(choices) == jsonspan.Array
	return seen
}

// failure reads the error that the parsed text holds; nil where it is none. named says that its frame is called an error.
func (o *observer) failure(named bool) *sdk.Failure {
	fail := readError(o.doc)
	if fail == nil && named {
		fail = errorObject(o.doc, 0)
	}
	if fail != nil {
		fail.Body = errorBody(o.doc)
	}
	return fail
}

// plain says that a chunk can hold neither usage, nor an error, nor the end of a choice, nor the beginning of a second
// one: none of their names stands in it, which as names would have their quotes unescaped. A name that is spelt with
// escapes is not seen; no service does so.
func plain(data []byte) bool {
	return !bytes.Contains(data, usageName) && !bytes.Contains(data, errorName) &&
		always(data, finishName, null) && always(data, indexName, zero)
}

// always says whether each member of a name has values that begin with these bytes. It errs on the side of no.
func always(data, name, value []byte) bool {
	for {
		i := bytes.Index(data, name)
		if i < 0 {
			return true
		}
		data = data[i+len(name):]
		for len(data) > 0 && (data[0] == ':' || data[0] == ' ') {
			data = data[1:]
		}
		if !bytes.HasPrefix(data, value) {
			return false
		}
	}
}

// What plain looks for. They are constants that Go cannot say. A search is fastest where its first byte is rare, so two go
// without their first quote.
var (
	usageName  = []byte(`usage"`)
	errorName  = []byte(`"error"`)
	finishName = []byte(`finish_reason"`)
	indexName  = []byte(`"index"`)
	null       = []byte("null")
	zero       = []byte("0")
)

// What messages are edited with.
var (
	deltaName   = []byte(`"delta"`)
	emptyObject = []byte(`{}`)
)

// errorBody keeps an error object that is in the dialect's own form, so that it can pass as it is; nil for other forms.
func errorBody(doc *jsonspan.Doc) []byte {
	e, ok := member(doc, 0, "error")
	if _, answers := member(doc, 0, "choices"); !ok || answers {
		return nil
	}
	for _, name := range [...]string{"message", "type"} {
		if v, ok := member(doc, e, name); !ok || doc.Kind(v) != jsonspan.String {
			return nil
		}
	}
	if v, ok := member(doc, e, "code"); ok && doc.Kind(v) != jsonspan.String {
		return nil
	}
	return bytes.Clone(doc.Body)
}

// chunk reads a chunk of a stream, or a whole answer: their choices hold their content in different places.
func (o *observer) chunk(content func(o *observer, choice int) (int, bool)) (seen dialect.Seen) {
	d := o.doc
	u, counted := member(d, 0, "usage")
	if counted {
		o.setUsage(u)
	}
	if g, ok := member(d, 0, "x_groq"); ok && !o.usage.Known {
		if u, ok := member(d, g, "usage"); ok {
			o.setUsage(u)
		}
	}
	choices, ok := member(d, 0, "choices")
	if !ok {
		return seen
	}
	for c := range d.Items(choices) {
		if e, ok := member(d, c, "error"); ok && d.Kind(e) == jsonspan.Object { // OpenRouter
			seen.Failure = errorObject(d, e)
			return seen
		}
		if m, ok := content(o, c); ok && says(d, m) {
			seen.Content = true
		}
		seen.Content = o.end(c).Content() || seen.Content
		if u, ok := member(d, c, "usage"); ok && !counted { // Moonshot
			o.setUsage(u)
		}
	}
	o.committed = o.committed || seen.Content
	return seen
}

func (o *observer) setUsage(u int) {
	if usage, ok := readUsage(o.doc, u); ok && (usage.TotalInput()+usage.TotalOutput() > 0 || !o.usage.Known) {
		o.usage = usage // and not zeros at the end, of services that fill the member in whatever they know
		if t, ok := member(o.doc, 0, "service_tier"); ok {
			o.usage.Tier = sdk.TierOf(string(o.doc.Inner(t)))
		}
	}
}

// end notes that a choice is there, and the reason of its end where it has one.
func (o *observer) end(c int) sdk.Reason {
	index, _ := count(o.doc, c, "index")
	bit := uint64(1) << uint64(min(max(index, 0), 63))
	o.begun |= bit
	f, ok := member(o.doc, c, "finish_reason")
	if !ok || len(o.doc.Inner(f)) == 0 {
		return sdk.ReasonUnset
	}
	o.ended |= bit
	r := reasonOf(o.doc, f)
	if o.reason == sdk.ReasonUnset {
		o.reason = r
	}
	return r
}

// reasonOf reads a finish_reason that is not empty. A word that nobody knows yet is an end all the same.
func reasonOf(doc *jsonspan.Doc, f int) sdk.Reason {
	switch string(doc.Inner(f)) {
	case "length", "max_tokens":
		return sdk.ReasonLength
	case "tool_calls", "function_call":
		return sdk.ReasonTool
	case "content_filter":
		return sdk.ReasonFilter
	case "error":
		return sdk.ReasonFault
	}
	return sdk.ReasonStop
}

// message is where a choice of a whole answer holds its content.
func (o *observer) message(choice int) (int, bool) { return member(o.doc, choice, "message") }

// delta is where a choice of a chunk holds what it adds. Some services have a message in its place, which clients do not
// look at: it is sent to them as a delta. One that comes after deltas only repeats them, as MiniMax ends its streams, and
// becomes an empty one. A message beside a delta (Perplexity) is left alone.
func (o *observer) delta(choice int) (int, bool) {
	d := o.doc
	if m, ok := member(d, choice, "delta"); ok {
		o.deltas = o.deltas || says(d, m)
		return m, true
	}
	m, ok := o.message(choice)
	if !ok || d.Kind(m) != jsonspan.Object {
		return 0, false
	}
	for k, v := range d.Members(choice) {
		switch {
		case d.Is(k, "delta"): // null
			o.edits = append(o.edits, d.Delete(choice, k))
		case v == m:
			o.edits = append(o.edits, d.Replace(k, deltaName))
		}
	}
	if o.deltas {
		o.edits = append(o.edits, d.Replace(m, emptyObject))
		return 0, false
	}
	o.messages = true
	o.number(m)
	return m, true
}

// number gives the tool calls of a message the indexes that those of deltas have: clients put the pieces of calls together
// by them.
func (o *observer) number(m int) {
	calls, ok := member(o.doc, m, "tool_calls")
	if !ok {
		return
	}
	for c := range o.doc.Items(calls) {
		if o.doc.Kind(c) != jsonspan.Object {
			continue
		}
		if _, ok := o.doc.Member(c, "index"); !ok {
			o.edits = append(o.edits, o.doc.Insert(c, "index", strconv.AppendInt(nil, int64(o.calls), 10)))
		}
		o.calls++
	}
}

// says tells whether a delta or a message holds content: text, reasoning, a refusal, a tool call.
func says(doc *jsonspan.Doc, m int) bool {
	for k, v := range doc.Members(m) {
		switch string(doc.Inner(k)) {
		case "content":
			if text(doc, v) {
				return true
			}
		case "reasoning_content", "reasoning", "refusal":
			if len(doc.Inner(v)) > 0 {
				return true
			}
		case "tool_calls", "reasoning_details", "thinking_blocks", "executed_tools", "images":
			if doc.Kind(v) == jsonspan.Array && int(doc.Nodes[v].Next) > v+1 {
				return true
			}
		case "function_call", "audio":
			if doc.Kind(v) == jsonspan.Object {
				return true
			}
		}
	}
	return false
}

// text says whether content is not empty: a string, or Mistral's list of parts.
func text(doc *jsonspan.Doc, v int) bool {
	for p := range doc.Items(v) {
		for _, name := range [...]string{"text", "thinking"} {
			if t, ok := member(doc, p, name); ok && (len(doc.Inner(t)) > 0 || text(doc, t)) {
				return true
			}
		}
	}
	return len(doc.Inner(v)) > 0
}

// cut takes what the client did not ask for out of a chunk: the usage member, or the whole chunk that is there only for it.
func (o *observer) cut(seen *dialect.Seen) {
	asked := false
	for k, v := range o.doc.Members(0) {
		if o.doc.Is(k, "usage") {
			o.edits = append(o.edits, o.doc.Delete(0, k))
			asked = asked || o.doc.Kind(v) == jsonspan.Object
		}
	}
	choices, ok := member(o.doc, 0, "choices")
	seen.Cut = asked && (!ok || o.doc.Len(choices) == 0)
}

// edited gives a frame with the edits applied to its data. All other bytes stay. It is valid until the next call.
func (o *observer) edited(f *frame.Frame, data []byte) []byte {
	o.segs, _ = jsonspan.Splice(o.segs[:0], data, o.edits)
	o.out = o.out[:0]
	at := bytes.LastIndex(f.Raw, data)
	if f.Lines != 1 || at < 0 || f.Direct {
		o.out = frame.AppendSSE(o.out, string(f.Event), bytes.Join(o.segs, nil))
		return o.out
	}
	o.out = append(o.out, f.Raw[:at]...)
	for _, s := range o.segs {
		o.out = append(o.out, s...)
	}
	o.out = append(o.out, f.Raw[at+len(data):]...)
	return o.out
}

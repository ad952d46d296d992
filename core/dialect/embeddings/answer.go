package embeddings

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewObserver makes the reader of one native answer.
func (Dialect) NewObserver(o dialect.ObserverOptions) dialect.Observer {
	return &observer{doc: o.Memory(), encoding: o.Encoding}
}

// observer reads an answer that passes through, which is always whole.
type observer struct {
	encoding string
	usage    sdk.Usage
	reason   sdk.Reason
	doc      *jsonspan.Doc
}

// Usage is the usage seen.
func (o *observer) Usage() sdk.Usage { return o.usage }

// Finish is a natural end once an answer has been seen.
func (o *observer) Finish() sdk.Reason { return o.reason }

// Frame looks at the one frame of an answer that was taken for a stream.
func (o *observer) Frame(f *frame.Frame) dialect.Seen {
	if len(bytes.TrimSpace(f.Data)) == 0 {
		return dialect.Seen{}
	}
	return o.Whole(f.Data)
}

// Whole looks at a whole body. Content is a vector; Done says that it is an answer of this dialect.
func (o *observer) Whole(body []byte) dialect.Seen {
	d := o.doc
	if d.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	data, ok := member(d, 0, "data")
	if !ok || d.Kind(data) != jsonspan.Array {
		return dialect.Seen{Failure: readError(d)}
	}
	if u, ok := member(d, 0, "usage"); ok {
		in, known := count(d, u, "prompt_tokens")
		if total, ok := count(d, u, "total_tokens"); !known && ok { // Voyage, Jina
			in, known = total, true
		}
		if known {
			o.usage = sdk.UsageWithin(sdk.Counts{Input: in})
		}
	}
	o.reason = sdk.ReasonStop
	seen := dialect.Seen{Done: true, Content: d.Len(data) > 0}
	if edits := o.recode(data); len(edits) > 0 {
		segs, _ := jsonspan.Splice(nil, body, edits)
		seen.Cut, seen.Out = true, bytes.Join(segs, nil)
	}
	return seen
}

// recode gives the edits that bring the vectors into the form that was asked for, which not all services heed: OpenAI's SDK
// asks for base64 by itself, and one of its versions takes whatever comes for it. Forms that only some services have pass as
// they are.
func (o *observer) recode(data int) (edits []jsonspan.Edit) {
	wrong := jsonspan.String
	switch o.encoding {
	case "", "float":
	case "base64":
		wrong = jsonspan.Array
	default:
		return nil
	}
	for item := range o.doc.Items(data) {
		if v, ok := member(o.doc, item, "embedding"); ok && o.doc.Kind(v) == wrong {
			edits = append(edits, o.doc.Replace(v, dialect.AppendVector(nil, o.doc.Raw(v), wrong == jsonspan.Array)))
		}
	}
	return edits
}

// readError reads the error that an answer of success holds instead of its data; nil where there is none.
func readError(doc *jsonspan.Doc) *sdk.Failure {
	for _, name := range [...]string{"error", "detail"} {
		e, ok := member(doc, 0, name)
		switch {
		case !ok:
		case doc.Kind(e) == jsonspan.String:
			return sdk.Fail(sdk.UpstreamError, doc.Text(e))
		default:
			f := dialect.ReadOpenAIError(doc, e)
			if name == "error" && f.Type != "" {
				f.Body = bytes.Clone(doc.Body)
			}
			return f
		}
	}
	return nil
}

// member gives a member that is there and not null.
func member(doc *jsonspan.Doc, obj int, name string) (int, bool) {
	if doc.Kind(obj) != jsonspan.Object {
		return 0, false
	}
	i, ok := doc.Member(obj, name)
	return i, ok && doc.Kind(i) != jsonspan.Null
}

func count(doc *jsonspan.Doc, obj int, name string) (int64, bool) {
	i, ok := member(doc, obj, name)
	if !ok {
		return 0, false
	}
	return doc.Int(i)
}

// NewEncoder makes the writer of one answer, which is always whole: what a stream would be is one body too.
func (Dialect) NewEncoder(o dialect.EncoderOptions) dialect.Encoder { return &encoder{opts: o} }

// encoder collects the vectors of an answer. What it keeps is bounded by the relay's limit for a whole answer.
type encoder struct {
	opts    dialect.EncoderOptions
	model   []byte
	vectors []vector
	usage   sdk.Usage
	ended   bool
}

// vector is one embedding and the number of its input.
type vector struct {
	index int
	value []byte
}

// Event keeps what an event means.
func (e *encoder) Event(dst []byte, ev *sdk.Event) []byte {
	switch ev.Kind {
	case sdk.Begin:
		e.model = bytes.Clone(ev.Name.Raw())
	case sdk.UsageSeen:
		e.usage = ev.Usage
	case sdk.Embedding:
		if ev.Value.Present() {
			e.vectors = append(e.vectors, vector{ev.Choice, bytes.Clone(ev.Value.Raw())})
		}
	}
	return dst
}

// End writes the list, in the order of the inputs.
func (e *encoder) End(dst []byte) []byte {
	if e.ended {
		return dst
	}
	e.ended = true
	slices.SortStableFunc(e.vectors, func(a, b vector) int { return a.index - b.index })
	dst = append(dst, `{"object":"list","data":[`...)
	for i, v := range e.vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(v.index), 10)
		dst = append(dialect.AppendVector(append(dst, `,"embedding":`...), v.value, e.opts.Encoding == "base64"), '}')
	}
	dst = append(dst, `],"model":`...)
	if e.opts.Model != "" {
		dst = jsonspan.AppendQuote(dst, e.opts.Model)
	} else {
		dst = append(append(append(dst, '"'), e.model...), '"')
	}
	return append(appendUsage(append(dst, `,"usage":`...), e.usage), '}')
}

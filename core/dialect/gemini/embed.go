package gemini

import (
	"bytes"
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Embeddings speaks embedContent and, with Batch, batchEmbedContents, which differ in the form of their answer. Errors are
// those of [Dialect].
type Embeddings struct {
	Dialect
	Batch bool
}

var _ dialect.Dialect = Embeddings{}

// Name is the dialect's name in configuration and manifests: one for both forms, as their providers have both.
func (Embeddings) Name() string { return "gemini-embeddings" }

// Batched says whether the requests are batches.
func (e Embeddings) Batched() bool { return e.Batch }

// Facts reads what admission and routing need.
func (Embeddings) Facts(doc *jsonspan.Doc, f *dialect.Facts) error {
	r := facts{reader: reader{dialect.Read(doc)}, f: f}
	f.Needs |= dialect.Embeddings
	eachEmbed(&r.reader, func(content int, _ func(string) int) {
		f.Messages++
		r.content(content)
	})
	return r.Fault()
}

// Decode builds the middle form. What is wanted of the vectors can be said once only: requests of one batch that differ in
// it cannot be expressed.
func (d Embeddings) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := decoder{reader: reader{dialect.Read(doc)}, req: req}
	req.Dialect, req.WantUsage = d.Name(), true
	eachEmbed(&r.reader, func(content int, get func(string) int) {
		req.Inputs = append(req.Inputs, r.embedded(content))
		size := r.Whole(get("outputDimensionality"))
		if len(req.Inputs) > 1 && size != req.Dimensions {
			r.unknown(content)
		}
		req.Dimensions = size
		for _, name := range [...]string{"taskType", "title"} {
			if v := get(name); v > 0 {
				r.unknown(v)
			}
		}
	})
	return r.Fault()
}

// embedded is the text of a content; parts of another kind are among the unknown.
func (r *decoder) embedded(content int) sdk.Text {
	parts := r.needed(content, "parts")
	if !r.Array(parts) {
		return sdk.Text{}
	}
	raw := []byte{}
	for p := range r.Items(parts) {
		if text := r.get(p, "text"); text > 0 {
			raw = append(raw, r.Content(text).Raw()...)
		} else {
			r.unknown(p)
		}
	}
	return sdk.RawText(raw)
}

// eachEmbed calls f with the content of each request of a body, which is one request or a batch of them, and a way to its other
// members.
func eachEmbed(r *reader, f func(content int, get func(string) int)) {
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return
	}
	list := root(r, "requests")
	if list == 0 {
		content := root(r, "content")
		if content == 0 {
			r.Missing(0, "content")
			return
		}
		if r.Object(content) {
			f(content, func(name string) int { return root(r, name) })
		}
		return
	}
	if !r.Array(list) {
		return
	}
	for one := range r.Items(list) {
		if !r.Object(one) {
			continue
		}
		if content := r.needed(one, "content"); r.Object(content) {
			f(content, func(name string) int { return r.get(one, name) })
		}
	}
}

// NewObserver makes the reader of one native answer.
func (Embeddings) NewObserver(o dialect.ObserverOptions) dialect.Observer {
	return &embedObserver{doc: o.Memory()}
}

// embedObserver reads an answer that passes through, which is always whole.
type embedObserver struct {
	usage  sdk.Usage
	reason sdk.Reason
	doc    *jsonspan.Doc
}

// Usage is the usage seen; not all of the service's models give one.
func (o *embedObserver) Usage() sdk.Usage { return o.usage }

// Finish is a natural end once an answer has been seen.
func (o *embedObserver) Finish() sdk.Reason { return o.reason }

// Frame looks at the one frame of an answer that was taken for a stream.
func (o *embedObserver) Frame(f *frame.Frame) dialect.Seen {
	if len(bytes.TrimSpace(f.Data)) == 0 {
		return dialect.Seen{}
	}
	return o.Whole(f.Data)
}

// Whole looks at a whole body. Content is a vector; Done says that it is an answer of this dialect.
func (o *embedObserver) Whole(body []byte) dialect.Seen {
	d := o.doc
	if d.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	if fail := readError(d); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	one, single := member(d, 0, "embedding")
	list, batch := member(d, 0, "embeddings")
	if !single && !batch {
		return dialect.Seen{}
	}
	if u, ok := member(d, 0, "usageMetadata"); ok {
		if usage, ok := readUsage(d, u); ok {
			o.usage = usage
		}
	}
	o.reason = sdk.ReasonStop
	values, _ := member(d, one, "values")
	return dialect.Seen{Done: true, Content: single && d.Len(values) > 0 || batch && d.Len(list) > 0}
}

// NewEncoder makes the writer of one answer, which is always whole.
func (e Embeddings) NewEncoder(dialect.EncoderOptions) dialect.Encoder {
	return &embedEncoder{batch: e.Batch}
}

// embedEncoder collects the vectors of an answer. What it keeps is bounded by the relay's limit for a whole answer.
type embedEncoder struct {
	batch   bool
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
func (e *embedEncoder) Event(dst []byte, ev *sdk.Event) []byte {
	switch ev.Kind {
	case sdk.UsageSeen:
		e.usage = ev.Usage
	case sdk.Embedding:
		if ev.Value.Present() {
			e.vectors = append(e.vectors, vector{ev.Choice, bytes.Clone(ev.Value.Raw())})
		}
	}
	return dst
}

// End writes the vectors in the order of the inputs.
func (e *embedEncoder) End(dst []byte) []byte {
	if e.ended {
		return dst
	}
	e.ended = true
	slices.SortStableFunc(e.vectors, func(a, b vector) int { return a.index - b.index })
	switch {
	case e.batch:
		dst = append(dst, `{"embeddings":[`...)
		for i := range e.vectors {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.vectors[i].append(dst)
		}
		dst = append(dst, ']')
	case len(e.vectors) > 0:
		dst = e.vectors[0].append(append(dst, `{"embedding":`...))
	default:
		dst = append(dst, `{"embedding":{"values":[]}`...)
	}
	if e.usage.Known {
		dst = appendUsage(append(dst, `,"usageMetadata":`...), e.usage)
	}
	return append(dst, '}')
}

func (v *vector) append(dst []byte) []byte {
	return append(dialect.AppendVector(append(dst, `{"values":`...), v.value, false), '}')
}

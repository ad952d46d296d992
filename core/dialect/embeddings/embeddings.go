// Package embeddings is the dialect of OpenAI's embeddings (POST /v1/embeddings) as a client speaks it: it reads requests,
// writes answers and errors, and reads the usage of native answers that pass through, as nearly all of them do.
//
// The vectors are written in the form that the client asked for, in whichever the provider gave them.
package embeddings

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect speaks embeddings. It holds no state.
type Dialect struct{}

var _ dialect.Dialect = Dialect{}

// Name is the dialect's name in configuration and manifests.
func (Dialect) Name() string { return "openai-embeddings" }

// KeepAlive is nothing: the dialect has no streams.
func (Dialect) KeepAlive() []byte { return nil }

// Status is the HTTP status of a failure.
func (Dialect) Status(f *sdk.Failure) int { return dialect.StatusOf(f, dialect.FormOf(f.Kind).Status) }

// AppendError writes the error body of the OpenAI dialects. The request's id goes in a header only.
func (Dialect) AppendError(dst []byte, f *sdk.Failure, _ string) []byte {
	return dialect.AppendOpenAIError(dst, f)
}

// AppendStreamError writes the error as an event, should a client have asked for a stream that the dialect does not have.
func (d Dialect) AppendStreamError(dst []byte, f *sdk.Failure, requestID string) []byte {
	return frame.AppendSSE(dst, "", d.AppendError(nil, f, requestID))
}

// Facts reads what admission and routing need.
func (Dialect) Facts(doc *jsonspan.Doc, f *dialect.Facts) error {
	r := dialect.Read(doc)
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	f.Needs |= dialect.Embeddings
	has := false
	for k, v := range r.Members(0) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.Name(k)) {
		case "model":
			f.ModelNode = v
			if f.Model = r.Word(v); f.Model == "" {
				r.Want(v, "the name of a model")
			}
		case "input":
			has = true
			measure(&r, v, f)
		case "encoding_format":
			f.Encoding = r.Word(v)
		case "user":
			f.User = r.Word(v)
		}
	}
	if f.ModelNode == 0 {
		r.Missing(0, "model")
	}
	if !has {
		r.Missing(0, "input")
	}
	return r.Fault()
}

// bytesPerToken is what a token of an input that comes as tokens counts for, as token estimates reckon from bytes.
const bytesPerToken = 4

// measure counts the inputs and their bytes.
func measure(r *dialect.Reader, v int, f *dialect.Facts) {
	switch r.Kind(v) {
	case jsonspan.String:
		f.Messages, f.TextBytes = 1, len(r.Inner(v))
		return
	case jsonspan.Array:
	default:
		r.Want(v, "a text, or a list of texts or tokens")
		return
	}
	f.Messages = r.Len(v)
	for i := range r.Items(v) {
		switch r.Kind(i) {
		case jsonspan.String:
			f.TextBytes += len(r.Inner(i))
		case jsonspan.Array:
			f.TextBytes += bytesPerToken * r.Len(i)
		case jsonspan.Number: // the list is one input
			f.Messages = 1
			f.TextBytes += bytesPerToken
		default:
			f.TextBytes += len(r.Raw(i)) // some services take pictures
		}
	}
}

// Decode builds the middle form. Tokens stay among the unknown: what they mean is the model's own.
func (d Dialect) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := dialect.Read(doc)
	req.Dialect = d.Name()
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	unknown := func(v int) {
		req.Unknown = append(req.Unknown, sdk.Member{Path: r.Path(v), Value: r.Value(v)})
	}
	for k, v := range r.Members(0) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.Name(k)) {
		case "model": // the deployment's takes its place
		case "input":
			if req.Inputs = inputs(&r, v); req.Inputs == nil {
				unknown(v)
			}
		case "dimensions":
			req.Dimensions = r.Whole(v)
		case "encoding_format":
			req.Encoding = r.Word(v)
		case "user":
			req.User = r.Content(v)
		default:
			unknown(v)
		}
	}
	return r.Fault()
}

// inputs gives the texts of an input; nil where it is not of texts alone.
func inputs(r *dialect.Reader, v int) []sdk.Text {
	if r.Kind(v) == jsonspan.String {
		return []sdk.Text{r.Content(v)}
	}
	if !r.Array(v) {
		return nil
	}
	var texts []sdk.Text
	for i := range r.Items(v) {
		if r.Kind(i) != jsonspan.String {
			return nil
		}
		texts = append(texts, r.Content(i))
	}
	return texts
}

// appendUsage writes a usage object.
func appendUsage(dst []byte, u sdk.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), u.TotalInput(), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), u.TotalInput()+u.TotalOutput(), 10)
	return append(dst, '}')
}

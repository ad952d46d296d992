package gemini

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewObserver makes the reader of one native answer. There is nothing to hide: the dialect always shows its usage.
func (Dialect) NewObserver(o dialect.ObserverOptions) dialect.Observer {
	return &observer{doc: o.Memory()}
}

// observer reads an answer that passes through. Each chunk may have usage and the end, so each is read.
type observer struct {
	usage  sdk.Usage
	asked  searches
	reason sdk.Reason // of the first candidate that said one
	begun  uint64     // the candidates seen, by index; those beyond 63 are not told apart
	ended  uint64     // those with a reason
	called bool
	frames int
	array  bool // the frames are the elements of an array
	doc    *jsonspan.Doc
}

var _ dialect.Failer = (*observer)(nil)

// Usage is the last usage seen; each chunk has all of it up to there, but for what was searched.
func (o *observer) Usage() sdk.Usage {
	u := o.usage
	u.Searches = o.asked.charged()
	return u
}

// Finish is the reason of the end, once each candidate that has begun has given one: the dialect has no other end mark.
// That the model wants a tool it says only by a call.
func (o *observer) Finish() sdk.Reason {
	switch {
	case o.begun&^o.ended != 0:
		return sdk.ReasonUnset
	case o.reason == sdk.ReasonStop && o.called:
		return sdk.ReasonTool
	}
	return o.reason
}

// AppendFailure writes the error in the framing that has been seen.
func (o *observer) AppendFailure(dst []byte, f *sdk.Failure, requestID string) []byte {
	if !o.array {
		return Dialect{}.AppendStreamError(dst, f, requestID)
	}
	return appendArrayError(dst, f, requestID, o.frames)
}

// appendArrayError writes an error as the last element of an array of which n have been written.
func appendArrayError(dst []byte, f *sdk.Failure, requestID string, n int) []byte {
	separator := ",\r\n"
	if n == 0 {
		separator = "["
	}
	return append(Dialect{}.AppendError(append(dst, separator...), f, requestID), "]\r\n"...)
}

// Frame looks at one frame of a stream.
func (o *observer) Frame(f *frame.Frame) dialect.Seen {
	data := bytes.TrimSpace(f.Data)
	switch string(data) {
	case "":
		return dialect.Seen{}
	case dialect.DoneMark:
		return dialect.Seen{Cut: true}
	}
	o.frames++
	o.array = !bytes.HasPrefix(f.Raw, []byte("data:")) && !bytes.HasPrefix(f.Raw, []byte("event:"))
	if o.doc.Parse(data, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "the provider's stream has a chunk that is not JSON")}
	}
	if fail := readError(o.doc); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	return dialect.Seen{Content: o.chunk()}
}

// Whole looks at a whole body: an answer, or the number of a countTokens. Done says that it is one of them.
func (o *observer) Whole(body []byte) dialect.Seen {
	d := o.doc
	if d.Parse(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dialect.Seen{}
	}
	if fail := readError(d); fail != nil {
		return dialect.Seen{Failure: fail}
	}
	if _, counted := count(d, 0, "totalTokens"); counted {
		return dialect.Seen{Done: true, Content: true}
	}
	_, answers := member(d, 0, "candidates")
	_, blocked := member(d, 0, "promptFeedback")
	return dialect.Seen{Done: answers || blocked, Content: o.chunk()}
}

// chunk reads a chunk of a stream, or a whole answer, and says whether it holds content.
func (o *observer) chunk() (content bool) {
	d := o.doc
	if u, ok := member(d, 0, "usageMetadata"); ok {
		if usage, ok := readUsage(d, u); ok {
			o.usage = usage
		}
	}
	if feedback, ok := member(d, 0, "promptFeedback"); ok {
		if why, ok := member(d, feedback, "blockReason"); ok && len(d.Inner(why)) > 0 {
			o.reason, content = sdk.ReasonFilter, true
		}
	}
	list, ok := member(d, 0, "candidates")
	if !ok {
		return content
	}
	o.asked.version(d)
	for c := range d.Items(list) {
		o.asked.candidate(d, c)
		if inner, ok := member(d, c, "content"); ok && o.says(inner) {
			content = true
		}
		content = o.end(c).Content() || content
	}
	return content
}

// says tells whether a candidate's content holds anything: a text that is not empty, or a part of another kind.
func (o *observer) says(content int) (says bool) {
	d := o.doc
	parts, ok := member(d, content, "parts")
	if !ok {
		return false
	}
	for p := range d.Items(parts) {
		for k, v := range d.Members(p) {
			switch string(d.Inner(k)) {
			case "thought", "thoughtSignature":
			case "text":
				says = says || len(d.Inner(v)) > 0
			case "functionCall":
				says, o.called = true, true
			default:
				says = true
			}
		}
	}
	return says
}

// end notes that a candidate is there, and the reason of its end where it has one.
func (o *observer) end(c int) sdk.Reason {
	index, _ := count(o.doc, c, "index")
	bit := uint64(1) << uint64(min(max(index, 0), 63))
	o.begun |= bit
	f, ok := member(o.doc, c, "finishReason")
	if !ok {
		return sdk.ReasonUnset
	}
	word := string(o.doc.Inner(f))
	if n, ok := o.doc.Int(f); ok && n > 0 { // an enum as its number, as protocol buffers' JSON may have it
		word = numbered(n)
	}
	r := reasonOf(word)
	if r == sdk.ReasonUnset {
		return r
	}
	o.ended |= bit
	if o.reason == sdk.ReasonUnset {
		o.reason = r
	}
	return r
}

// numbered is the word of a finishReason's number; of those beyond the first the services' lists differ.
func numbered(n int64) string {
	switch n {
	case 2:
		return "MAX_TOKENS"
	case 3:
		return "SAFETY"
	case 4:
		return "RECITATION"
	case 5:
		return "OTHER"
	}
	return "STOP"
}

// reasonOf reads a finishReason. A word that nobody knows yet is an end all the same.
func reasonOf(word string) sdk.Reason {
	switch word {
	case "", "FINISH_REASON_UNSPECIFIED":
		return sdk.ReasonUnset
	case "MAX_TOKENS":
		return sdk.ReasonLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
		"IMAGE_RECITATION", "MODEL_ARMOR":
		return sdk.ReasonFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER", "OTHER":
		return sdk.ReasonFault
	case "CONTINUATION":
		return sdk.ReasonPause
	}
	return sdk.ReasonStop
}

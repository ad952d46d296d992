package openaichat

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxThought bounds what is kept of a thought for its signed form. A longer one is shown, but not signed.
const maxThought = 4 << 20

// thought collects one thought until its signature has come. The dialect shows reasoning as reasoning_content, which has
// no place for signatures; they go out beside it in OpenRouter's form, reasoning_details, once for each thought and with its
// text, so that a client that sends its history back as it came gives the provider what it must have.
type thought struct {
	text  []byte
	sig   []byte
	index int
	over  bool
}

func (t *thought) add(text sdk.Text) {
	if t.over = t.over || len(t.text)+text.Len() > maxThought; t.over {
		t.text = nil
		return
	}
	t.text = append(t.text, text.Raw()...)
}

func (t *thought) sign(sig sdk.Text) { t.sig = append(t.sig, sig.Raw()...) }

// signed says whether a signed thought waits to be written.
func (t *thought) signed() bool {
	if t.over && len(t.sig) > 0 {
		t.reset()
	}
	return len(t.sig) > 0
}

func (t *thought) reset() { t.text, t.sig, t.over = t.text[:0], t.sig[:0], false }

// appendSigned writes the thought as one of reasoning_details and begins the next.
func (t *thought) appendSigned(dst []byte) []byte {
	dst = append(dst, `{"type":"reasoning.text","text":"`...)
	dst = append(dst, t.text...)
	dst = append(dst, `","signature":"`...)
	dst = append(dst, t.sig...)
	t.reset()
	return t.end(append(dst, '"'))
}

// appendRedacted writes reasoning that only its provider can read.
func (t *thought) appendRedacted(dst []byte, data sdk.Text) []byte {
	dst = append(dst, `{"type":"reasoning.encrypted","data":"`...)
	dst = append(dst, data.Raw()...)
	return t.end(append(dst, '"'))
}

func (t *thought) end(dst []byte) []byte {
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(t.index), 10)
	t.index++
	return append(dst, '}')
}

// appendAnnotation writes a citation. A source on the web becomes a url_citation, with the range that responses give it
// beside the URL; where none is known it is empty. What is an annotation already, or has no URL, stays as it is.
func appendAnnotation(dst []byte, v sdk.Value) []byte {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return append(dst, "null"...)
	}
	url, ok := member(&doc, 0, "url")
	if _, done := member(&doc, 0, "url_citation"); done || !ok || doc.Kind(url) != jsonspan.String {
		return append(dst, v.Raw()...)
	}
	own := func(dst []byte, name string, kind jsonspan.Kind, otherwise string) []byte {
		if i, ok := member(&doc, 0, name); ok && doc.Kind(i) == kind {
			return append(dst, doc.Raw(i)...)
		}
		return append(dst, otherwise...)
	}
	dst = own(append(dst, `{"type":"url_citation","url_citation":{"start_index":`...), "start_index", jsonspan.Number, "0")
	dst = own(append(dst, `,"end_index":`...), "end_index", jsonspan.Number, "0")
	dst = append(append(dst, `,"url":`...), doc.Raw(url)...)
	return append(own(append(dst, `,"title":`...), "title", jsonspan.String, `""`), "}}"...)
}

// appendImage writes a picture. The dialect has no place for one in an answer; it goes out as OpenRouter has it
// (https://openrouter.ai/docs/guides/overview/multimodal/image-generation).
func appendImage(dst []byte, e *sdk.Event) []byte {
	dst = append(dst, `{"type":"image_url","image_url":{"url":"data:`...)
	dst = jsonspan.AppendEscape(dst, []byte(e.Type))
	dst = append(append(dst, ";base64,"...), e.Text.Raw()...)
	return append(dst, `"}}`...)
}

// finishWord is the finish_reason of a reason. A choice that calls tools ends for them even where its provider says that
// it just stopped: agents go on only then.
func finishWord(r sdk.Reason, calls, refused bool) string {
	switch r {
	case sdk.ReasonLength, sdk.ReasonContext:
		return "length"
	case sdk.ReasonFilter:
		return "content_filter"
	case sdk.ReasonRefusal:
		if refused { // the refusal itself is said
			return "stop"
		}
		return "content_filter"
	case sdk.ReasonFault:
		return "stop"
	}
	if calls {
		return "tool_calls"
	}
	return "stop"
}

// appendHead writes the members that all chunks of an answer and a whole answer have: id, object, created, model.
func appendHead(dst []byte, o dialect.EncoderOptions, object string, begin *sdk.Event) []byte {
	dst = append(dst, `{"id":"`...)
	if begin != nil && !begin.ID.Empty() {
		dst = append(dst, begin.ID.Raw()...)
	} else {
		dst = append(dst, "chatcmpl-"...)
		dst = append(dst, strings.TrimPrefix(o.RequestID, "req_")...)
	}
	dst = append(dst, `","object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, o.Created.Unix(), 10)
	dst = append(dst, `,"model":`...)
	if o.Model == "" && begin != nil {
		dst = append(dst, '"')
		dst = append(append(dst, begin.Name.Raw()...), '"')
	} else {
		dst = jsonspan.AppendQuote(dst, o.Model)
	}
	return append(dst, ',')
}

// appendCallID writes a call's id, or makes one where its provider gives none: one that no other call of the answer
// or of another request has.
func appendCallID(dst []byte, id sdk.Text, requestID string, choice, i int) []byte {
	if !id.Empty() {
		return append(dst, id.Raw()...)
	}
	dst = append(dst, "call_"...)
	dst = append(dst, strings.TrimPrefix(requestID, "req_")...)
	dst = append(dst, '_')
	if choice > 0 {
		dst = append(strconv.AppendInt(dst, int64(choice), 10), '_')
	}
	return strconv.AppendInt(dst, int64(i), 10)
}

// appendCallHead writes a call's members up to the open text of its arguments.
func appendCallHead(dst []byte, custom bool, name []byte) []byte {
	if custom {
		dst = append(dst, `"type":"custom","custom":{"name":"`...)
		dst = append(dst, name...)
		return append(dst, `","input":"`...)
	}
	dst = append(dst, `"type":"function","function":{"name":"`...)
	dst = append(dst, name...)
	return append(dst, `","arguments":"`...)
}

func appendCallSignature(dst, sig []byte) []byte {
	dst = append(dst, `"extra_content":{"google":{"thought_signature":"`...)
	return append(append(dst, sig...), `"}}`...)
}

// appendValue writes a value; an absent one is null.
func appendValue(dst []byte, v sdk.Value) []byte {
	if !v.Present() {
		return append(dst, "null"...)
	}
	return append(dst, v.Raw()...)
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

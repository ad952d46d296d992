package openaichat

import (
	"strconv"

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

// appendAnnotation writes a citation. A source on the web becomes a url_citation without a range, which other dialects
// do not give; what is an annotation already, or has no URL, stays as it is.
func appendAnnotation(dst []byte, v sdk.Value) []byte {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return append(dst, "null"...)
	}
	url, ok := member(&doc, 0, "url")
	if _, done := member(&doc, 0, "url_citation"); done || !ok || doc.Kind(url) != jsonspan.String {
		return append(dst, v.Raw()...)
	}
	dst = append(dst, `{"type":"url_citation","url_citation":{"start_index":0,"end_index":0,"url":`...)
	dst = append(dst, doc.Raw(url)...)
	dst = append(dst, `,"title":`...)
	if title, ok := member(&doc, 0, "title"); ok && doc.Kind(title) == jsonspan.String {
		dst = append(dst, doc.Raw(title)...)
	} else {
		dst = append(dst, `""`...)
	}
	return append(dst, "}}"...)
}

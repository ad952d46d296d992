package openairesponses

import (
	"bytes"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendError writes the error body of the OpenAI dialects. The request's id goes in a header only.
func (Dialect) AppendError(dst []byte, f *sdk.Failure, _ string) []byte {
	return dialect.AppendOpenAIError(dst, f)
}

// AppendStreamError writes the event as the first of a stream. In one that has begun the error has a number: that is known to
// the encoder and to the observer, which are Failers.
func (Dialect) AppendStreamError(dst []byte, f *sdk.Failure, _ string) []byte {
	return appendErrorEvent(dst, f, 0)
}

// appendErrorEvent writes an error event. The reference has code, message and param in the event itself; the service
// sends them as an error object, which OpenAI's SDKs raise on. Both are there.
func appendErrorEvent(dst []byte, f *sdk.Failure, number int) []byte {
	_, code := dialect.OpenAIWords(f)
	dst = append(dst, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":"...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = dialect.AppendQuoteOrNull(append(dst, `,"code":`...), code)
	dst = jsonspan.AppendQuote(append(dst, `,"message":`...), dialect.Said(f))
	dst = dialect.AppendQuoteOrNull(append(dst, `,"param":`...), f.Param)
	dst = dialect.AppendOpenAIErrorObject(append(dst, `,"error":`...), f)
	return append(dst, "}\n\n"...)
}

// readError reads the error that a whole answer of success holds instead of its output; nil where there is none.
func readError(doc *jsonspan.Doc) *sdk.Failure {
	e, ok := member(doc, 0, "error")
	if !ok {
		return nil
	}
	if doc.Kind(e) == jsonspan.String {
		return sdk.Fail(sdk.UpstreamError, doc.Text(e))
	}
	fail := errorObject(doc, e)
	if _, answers := member(doc, 0, "output"); !answers && fail.Type != "" {
		fail.Body = bytes.Clone(doc.Body)
	}
	return fail
}

// errorObject reads {message, type, code}, or the event that has them beside its own type.
func errorObject(doc *jsonspan.Doc, obj int) *sdk.Failure {
	f := dialect.ReadOpenAIError(doc, obj)
	if f.Type == "error" {
		f.Type = ""
	}
	f.Kind = kindOf(f.Type, f.Code, f.Status)
	return f
}

// kindOf knows the codes that only a failed response has; dialect.KindOf knows the rest.
func kindOf(typ, code string, status int) sdk.Kind {
	switch code {
	case "invalid_prompt", "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large",
		"image_too_small", "image_parse_error", "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type",
		"empty_image_file", "failed_to_download_image", "image_file_not_found":
		return sdk.BadRequest
	case "image_content_policy_violation":
		return sdk.ContentRefused
	}
	return dialect.KindOf(typ, code, status)
}

// member gives a member that is there and not null.
func member(doc *jsonspan.Doc, obj int, name string) (int, bool) {
	if doc.Kind(obj) != jsonspan.Object {
		return 0, false
	}
	i, ok := doc.Member(obj, name)
	return i, ok && doc.Kind(i) != jsonspan.Null
}

// Reconsider takes sealed reasoning out of a request that was refused for it: what another organisation has sealed, this
// one cannot open, and the conversation goes on without. An item's summary stays; an item that is nothing but sealed goes.
func (Dialect) Reconsider(dst []jsonspan.Edit, doc *jsonspan.Doc, f *sdk.Failure) []jsonspan.Edit {
	input, ok := doc.Member(0, "input")
	if f.Code != "invalid_encrypted_content" || !ok || doc.Kind(input) != jsonspan.Array {
		return dst
	}
	kept, changed := []byte{'['}, false
	for item := range doc.Items(input) {
		raw := doc.Raw(item)
		if sealed, summary := sealedItem(doc, item); sealed > 0 {
			changed = true
			if !summary {
				continue
			}
			raw = unsealed(doc, item)
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, raw...)
	}
	if !changed || len(kept) == 1 {
		return dst
	}
	return append(dst, doc.Replace(input, append(kept, ']')))
}

// sealedItem gives the node of an item's sealed content, 0 where it has none, and whether it has a summary.
func sealedItem(doc *jsonspan.Doc, item int) (sealed int, summary bool) {
	if doc.Kind(item) != jsonspan.Object {
		return 0, false
	}
	if kind, ok := doc.Member(item, "type"); !ok || !doc.Is(kind, "reasoning") {
		return 0, false
	}
	if v, ok := doc.Member(item, "encrypted_content"); ok && doc.Kind(v) == jsonspan.String {
		sealed = v
	}
	list, ok := doc.Member(item, "summary")
	return sealed, ok && doc.Len(list) > 0
}

// unsealed is an item's text without its sealed content.
func unsealed(doc *jsonspan.Doc, item int) []byte {
	var one jsonspan.Doc
	if one.Parse(doc.Raw(item), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return doc.Raw(item)
	}
	v, ok := one.Member(0, "encrypted_content")
	if !ok {
		return doc.Raw(item)
	}
	segs, _ := jsonspan.Splice(nil, one.Body, []jsonspan.Edit{one.Delete(0, v-1)})
	return bytes.Join(segs, nil)
}

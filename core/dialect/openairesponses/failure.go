package openairesponses

import (
	"bytes"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendError writes {"error":{message, type, param, code}}, all four as OpenAI's reference has them. The request's id
// goes in a header only.
func (Dialect) AppendError(dst []byte, f *sdk.Failure, _ string) []byte {
	if dialect.Passes(f) {
		return append(dst, f.Body...)
	}
	dst = appendErrorObject(append(dst, `{"error":`...), f)
	return append(dst, '}')
}

// words are the type and the code of a failure.
func words(f *sdk.Failure) (typ, code string) {
	form := dialect.FormOf(f.Kind)
	typ, code = form.OpenAI, form.Code
	if f.Kind == sdk.UpstreamAuth { // its words would look like a verdict on the client's own key
		return typ, code
	}
	if f.Type != "" {
		typ = f.Type
	}
	if f.Code != "" {
		code = f.Code
	}
	return typ, code
}

func appendErrorObject(dst []byte, f *sdk.Failure) []byte {
	typ, code := words(f)
	dst = jsonspan.AppendQuote(append(dst, `{"message":`...), dialect.Said(f))
	dst = jsonspan.AppendQuote(append(dst, `,"type":`...), typ)
	dst = quoteOrNull(append(dst, `,"param":`...), f.Param)
	dst = quoteOrNull(append(dst, `,"code":`...), code)
	return append(dst, '}')
}

func quoteOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsonspan.AppendQuote(dst, s)
}

// AppendStreamError writes the event as the first of a stream. In one that has begun the error has a number: that is known to
// the encoder and to the observer, which are Failers.
func (Dialect) AppendStreamError(dst []byte, f *sdk.Failure, _ string) []byte {
	return appendErrorEvent(dst, f, 0)
}

// appendErrorEvent writes an error event. The reference has code, message and param in the event itself; the service
// sends them as an error object, which OpenAI's SDKs raise on. Both are there.
func appendErrorEvent(dst []byte, f *sdk.Failure, number int) []byte {
	_, code := words(f)
	dst = append(dst, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":"...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = quoteOrNull(append(dst, `,"code":`...), code)
	dst = jsonspan.AppendQuote(append(dst, `,"message":`...), dialect.Said(f))
	dst = quoteOrNull(append(dst, `,"param":`...), f.Param)
	dst = appendErrorObject(append(dst, `,"error":`...), f)
	return append(dst, "}\n\n"...)
}

// readError reads the error that a whole answer of success holds instead of its output; nil where there is none.
func readError(doc *jsonspan.Doc) *sdk.Failure {
	e, ok := member(doc, 0, "error")
	if !ok {
		return nil
	}
	if doc.Kind(e) == jsonspan.String {
		return inAnswer(doc.Text(e), "", "")
	}
	fail := errorObject(doc, e)
	if _, answers := member(doc, 0, "output"); !answers && fail.Type != "" {
		fail.Body = bytes.Clone(doc.Body)
	}
	return fail
}

// errorObject reads {message, type, code}; the code may be a number, an HTTP status as a rule.
func errorObject(doc *jsonspan.Doc, obj int) *sdk.Failure {
	text := func(name string) string {
		i, ok := member(doc, obj, name)
		switch {
		case !ok:
			return ""
		case doc.Kind(i) == jsonspan.String:
			return doc.Text(i)
		case doc.Kind(i) == jsonspan.Number:
			return string(doc.Raw(i))
		}
		return ""
	}
	typ := text("type")
	if typ == "error" { // of the event that has its error's members beside it
		typ = ""
	}
	message := text("message")
	if message == "" {
		message = string(doc.Raw(obj))
	}
	fail := inAnswer(message, typ, text("code"))
	fail.Param = text("param")
	return fail
}

func inAnswer(message, typ, code string) *sdk.Failure {
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		status = 0
	}
	return &sdk.Failure{Kind: kindOf(typ, code, status), Status: status, Message: message, Type: typ, Code: code}
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

package anthropic

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendError writes {"type":"error","error":{type, message},"request_id"}. The dialect has no place for the member at
// fault, so a message of our own begins with it, as Anthropic's messages do; a provider's message stays as it is, because
// clients read the numbers in it.
func (Dialect) AppendError(dst []byte, f *sdk.Failure, requestID string) []byte {
	if dialect.Passes(f) {
		return append(dst, f.Body...)
	}
	typ := dialect.FormOf(f.Kind).Anthropic
	switch {
	case f.Status == 413:
		typ = "request_too_large"
	case f.Type == "invalid_request_error": // which OpenAI says of much; the kind says more
	case known(f.Type) && f.Kind != sdk.UpstreamAuth: // its words would look like a verdict on the client's own key
		typ = f.Type
	}
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = jsonspan.AppendQuote(dst, typ)
	dst = append(dst, `,"message":`...)
	dst = jsonspan.AppendQuote(dst, publicText(f))
	if code := dialect.CodeOf(f); code != "" && f.Kind != sdk.UpstreamAuth {
		dst = append(dst, `,"details":{"error_code":`...)
		dst = append(jsonspan.AppendQuote(dst, code), '}')
	}
	dst = append(dst, '}')
	if requestID != "" {
		dst = jsonspan.AppendQuote(append(dst, `,"request_id":`...), requestID)
	}
	return append(dst, '}')
}

// publicText is the text with the member at fault.
func publicText(f *sdk.Failure) string {
	text := dialect.Said(f)
	if f.Param == "" || f.Status != 0 || strings.Contains(text, f.Param) {
		return text
	}
	return f.Param + ": " + text
}

// known says whether a type is of the dialect's own list; SDKs and agents match on it.
func known(typ string) bool {
	switch typ {
	case "invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error", "conflict_error",
		"request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error":
		return true
	}
	return false
}

// AppendStreamError writes the error event that ends a stream.
func (d Dialect) AppendStreamError(dst []byte, f *sdk.Failure, requestID string) []byte {
	return frame.AppendSSE(dst, "error", d.AppendError(nil, f, requestID))
}

// readError reads {"type":"error","error":{type, message}} in an answer of success; nil where the text is another. named
// says that its event is called an error, whatever it holds.
func readError(doc *jsonspan.Doc, named bool) *sdk.Failure {
	e, ok := member(doc, 0, "error")
	t, typed := member(doc, 0, "type")
	if !named && !ok && !(typed && doc.Is(t, "error")) {
		return nil
	}
	if !ok {
		e = 0
	}
	text := func(name string) string {
		if i, ok := member(doc, e, name); ok {
			return doc.Text(i)
		}
		return ""
	}
	f := &sdk.Failure{Kind: dialect.KindOf(text("type"), "", 0), Message: text("message"), Type: text("type")}
	if f.Message != "" && known(f.Type) && typed && doc.Is(t, "error") {
		f.Body = append([]byte(nil), doc.Body...)
	}
	if f.Message == "" {
		f.Message = string(doc.Raw(e))
	}
	if d, ok := member(doc, e, "details"); ok {
		if c, ok := member(doc, d, "error_code"); ok {
			f.Code = doc.Text(c)
			f.Kind = dialect.KindOf(f.Type, f.Code, 0)
		}
	}
	return f
}

// OwnError says whether a body is {"type":"error","error":{type, message}}.
func (Dialect) OwnError(doc *jsonspan.Doc) bool {
	t, ok := member(doc, 0, "type")
	if !ok || !doc.Is(t, "error") {
		return false
	}
	e, ok := member(doc, 0, "error")
	return ok && isText(doc, e, "type") && isText(doc, e, "message")
}

func isText(doc *jsonspan.Doc, obj int, name string) bool {
	v, ok := member(doc, obj, name)
	return ok && doc.Kind(v) == jsonspan.String
}

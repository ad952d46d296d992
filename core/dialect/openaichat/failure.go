package openaichat

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendError writes {"error":{message, type, param, code}}, all four as OpenAI's reference has them. The request's id
// goes in a header only.
func (Dialect) AppendError(dst []byte, f *sdk.Failure, _ string) []byte {
	return dialect.AppendOpenAIError(dst, f)
}

// AppendStreamError writes the error as a chunk of its own. No [DONE] follows it: OpenAI's SDKs raise on the chunk, and
// other readers see that the stream did not end well.
func (d Dialect) AppendStreamError(dst []byte, f *sdk.Failure, requestID string) []byte {
	return frame.AppendSSE(dst, "", d.AppendError(nil, f, requestID))
}

// readError reads the error that an answer of success holds instead of, or beside, its choices; nil where there is none.
// Compatible services have several forms of it.
func readError(doc *jsonspan.Doc) *sdk.Failure {
	root := 0
	if doc.Kind(0) == jsonspan.Array && doc.Len(0) > 0 { // Google's endpoint of this dialect: [{"error": …}]
		root = 1
	}
	if e, ok := member(doc, root, "error"); ok {
		switch doc.Kind(e) {
		case jsonspan.Object:
			return errorObject(doc, e)
		case jsonspan.String:
			if text := doc.Text(e); text != "" {
				return inAnswer(text, "", "", 0)
			}
		}
		return nil
	}
	if o, ok := member(doc, root, "object"); ok && doc.Is(o, "error") {
		return errorObject(doc, root)
	}
	detail, ok := member(doc, root, "detail")
	if _, answers := member(doc, root, "choices"); !ok || answers {
		return nil
	}
	if text := doc.Text(detail); text != "" {
		return inAnswer(text, "", "", 0)
	}
	return inAnswer(string(doc.Raw(detail)), "", "", 0)
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
	code := text("code")
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		status = 0
	}
	message := text("message")
	if message == "" {
		message = string(doc.Raw(obj))
	}
	return inAnswer(message, text("type"), code, status)
}

func inAnswer(message, typ, code string, status int) *sdk.Failure {
	return &sdk.Failure{Kind: dialect.KindOf(typ, code, status), Status: status, Message: message, Type: typ, Code: code}
}

// member gives a member that is there and not null.
func member(doc *jsonspan.Doc, obj int, name string) (int, bool) {
	if doc.Kind(obj) != jsonspan.Object {
		return 0, false
	}
	i, ok := doc.Member(obj, name)
	return i, ok && doc.Kind(i) != jsonspan.Null
}

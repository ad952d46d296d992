package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendError writes {"error":{code, message, status, details}}, with the details that Google's error model has for what
// is known: the member at fault, the time to wait, our own code
// (https://cloud.google.com/apis/design/errors#error_details).
func (d Dialect) AppendError(dst []byte, f *sdk.Failure, _ string) []byte {
	if dialect.Passes(f) {
		return append(dst, f.Body...)
	}
	form := dialect.FormOf(f.Kind)
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(d.Status(f)), 10)
	dst = jsonspan.AppendQuote(append(dst, `,"message":`...), dialect.Said(f))
	status, code := form.Gemini, form.Code
	if f.Kind != sdk.UpstreamAuth { // its words would look like a verdict on the client's own key
		if isStatus(f.Type) {
			status = f.Type
		}
		if own := dialect.CodeOf(f); own != "" {
			code = own
		}
	}
	dst = append(append(append(dst, `,"status":"`...), status...), '"')
	return append(appendDetails(dst, f, code), "}}"...)
}

// isStatus says whether a provider's own type is a word of Google's.
func isStatus(typ string) bool {
	return typ != "" && strings.Trim(typ, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

func appendDetails(dst []byte, f *sdk.Failure, code string) []byte {
	const begin = `{"@type":"type.googleapis.com/google.rpc.`
	var list []byte
	if f.Param != "" {
		list = append(list, begin+`BadRequest","fieldViolations":[{"field":`...)
		list = jsonspan.AppendQuote(list, f.Param)
		list = jsonspan.AppendQuote(append(list, `,"description":`...), dialect.Said(f))
		list = append(list, `}]}`...)
	}
	if f.RetryAfter > 0 {
		list = append(comma(list), begin+`RetryInfo","retryDelay":"`...)
		list = append(strconv.AppendFloat(list, f.RetryAfter.Seconds(), 'f', -1, 64), `s"}`...)
	}
	if code != "" {
		list = append(comma(list), begin+`ErrorInfo","reason":`...)
		list = jsonspan.AppendQuote(list, strings.ToUpper(code))
		list = append(list, `,"domain":"penstock"}`...)
	}
	if len(list) == 0 {
		return dst
	}
	return append(append(append(dst, `,"details":[`...), list...), ']')
}

// comma separates the next item of a list.
func comma(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

// AppendStreamError writes the error as an event, as the stream of most clients is framed. In one JSON array it has a place
// that the encoder and the observer know, which are Failers.
func (d Dialect) AppendStreamError(dst []byte, f *sdk.Failure, requestID string) []byte {
	dst = append(dst, "data: "...)
	return append(dialect.AppendLine(dst, d.AppendError(nil, f, requestID)), "\r\n\r\n"...)
}

// readError reads the error that a frame or a body holds; nil where there is none.
func readError(doc *jsonspan.Doc) *sdk.Failure {
	root := 0
	if doc.Kind(0) == jsonspan.Array && doc.Len(0) > 0 { // the answer to a stream without alt=sse
		root = 1
	}
	e, ok := member(doc, root, "error")
	if !ok {
		return nil
	}
	if doc.Kind(e) != jsonspan.Object {
		return &sdk.Failure{Kind: sdk.UpstreamError, Message: string(doc.Raw(e))}
	}
	f := &sdk.Failure{}
	if n, ok := count(doc, e, "code"); ok && n >= 400 && n <= 599 {
		f.Status = int(n)
	}
	if s, ok := member(doc, e, "status"); ok {
		f.Type = doc.Text(s)
	}
	if m, ok := member(doc, e, "message"); ok {
		f.Message = doc.Text(m)
	}
	f.Kind = kindOf(f.Type, f.Status)
	if root == 0 && f.Message != "" {
		f.Body = bytes.Clone(doc.Body)
	}
	if f.Message == "" {
		f.Message = string(doc.Raw(e))
	}
	return f
}

// kindOf knows the statuses that are Google's alone; dialect.KindOf knows the rest.
func kindOf(status string, code int) sdk.Kind {
	switch status {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE":
		return sdk.BadRequest
	case "CANCELLED", "ABORTED", "UNKNOWN", "DATA_LOSS":
		return sdk.UpstreamError
	}
	return dialect.KindOf(status, "", code)
}

// member gives a member that is there and not null.
func member(doc *jsonspan.Doc, obj int, name string) (int, bool) {
	if doc.Kind(obj) != jsonspan.Object {
		return 0, false
	}
	i, ok := doc.Member(obj, name)
	return i, ok && doc.Kind(i) != jsonspan.Null
}

// OwnError says whether a body is {"error":{code, message, status}}.
func (Dialect) OwnError(doc *jsonspan.Doc) bool {
	e, ok := member(doc, 0, "error")
	if !ok {
		return false
	}
	_, coded := count(doc, e, "code")
	message, said := member(doc, e, "message")
	status, named := member(doc, e, "status")
	return coded && said && named && doc.Kind(message) == jsonspan.String && doc.Kind(status) == jsonspan.String
}

package fault

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// describe reads message, type, code and member from the error envelopes that are met in the field: OpenAI's and
// Anthropic's object, a bare string, FastAPI's detail, which may be a list, an envelope inside a list (Gemini), a list of
// errors (Cloudflare), AWS's Message, OAuth's error_description (RFC 6749 5.2), MiniMax's base_resp.
func describe(f *sdk.Failure, doc *jsonspan.Doc) {
	at := innermost(doc, 0)
	if doc.Kind(at) == jsonspan.String {
		if at > 0 { // a whole body that is a string is no envelope
			f.Message = doc.Text(at)
		}
		return
	}
	f.Message = firstText(doc, at, "message", "detail", "msg", "error_description", "error_message", "error_msg", "status_msg", "faultstring", "Message", "error")
	f.Type, f.Code, f.Param = firstText(doc, at, "type"), firstText(doc, at, "code", "status"), firstText(doc, at, "param")
	if f.Param == "" {
		f.Param = location(doc, at)
	}
}

// location is the member that FastAPI's detail is about: of ["body", "stop", 0] it is stop.
func location(doc *jsonspan.Doc, obj int) string {
	if doc.Kind(obj) != jsonspan.Object {
		return ""
	}
	loc, ok := doc.Member(obj, "loc")
	if !ok {
		return ""
	}
	for name := range doc.Items(loc) {
		if doc.Kind(name) == jsonspan.String && !doc.Is(name, "body") {
			return doc.Text(name)
		}
	}
	return ""
}

// maxEnvelopes bounds how deep a message may lie.
const maxEnvelopes = 6

// innermost gives the node that describes an error: what lies in all the envelopes, of a list its first item.
func innermost(doc *jsonspan.Doc, at int) int {
	for range maxEnvelopes {
		next := at
		switch doc.Kind(at) {
		case jsonspan.Array:
			for first := range doc.Items(at) {
				next = first
				break
			}
		case jsonspan.Object:
			next = enclosed(doc, at)
		}
		if next == at {
			break
		}
		at = next
	}
	return at
}

// enclosed gives what an object encloses as the error; the object itself where it has no such member.
func enclosed(doc *jsonspan.Doc, obj int) int {
	for _, name := range [...]string{"error", "errors", "detail", "message", "fault", "base_resp"} {
		v, ok := doc.Member(obj, name)
		if name != "error" && firstText(doc, obj, "message") != "" {
			break
		}
		if ok && (doc.Kind(v) == jsonspan.Object || doc.Kind(v) == jsonspan.Array && doc.Len(v) > 0) {
			return v
		}
	}
	return obj
}

// firstText gives the first of some members that is a text or a number.
func firstText(doc *jsonspan.Doc, obj int, names ...string) string {
	if doc.Kind(obj) != jsonspan.Object {
		return ""
	}
	for _, name := range names {
		v, ok := doc.Member(obj, name)
		if !ok {
			continue
		}
		switch doc.Kind(v) {
		case jsonspan.String:
			return doc.Text(v)
		case jsonspan.Number:
			return string(doc.Raw(v))
		}
	}
	return ""
}

// maxPlain is the longest body in bytes that is taken for a sentence to a person.
const maxPlain = 500

// plain is the message of a body that is no JSON: one line of text. Pages and what a proxy has to say in markup say
// nothing to a client of an API.
func plain(body []byte) string {
	text := bytes.TrimSpace(body)
	if len(text) == 0 || len(text) > maxPlain || !utf8.Valid(text) || bytes.IndexByte([]byte("<{["), text[0]) >= 0 {
		return ""
	}
	if strings.IndexFunc(string(text), unicode.IsControl) >= 0 {
		return ""
	}
	return string(text)
}

// retryDelay reads google.rpc.RetryInfo, "12s" or "1.5s", from an error's details.
func retryDelay(doc *jsonspan.Doc) time.Duration {
	at := innermost(doc, 0)
	if doc.Kind(at) != jsonspan.Object {
		return 0
	}
	details, ok := doc.Member(at, "details")
	if !ok || doc.Kind(details) != jsonspan.Array {
		return 0
	}
	for item := range doc.Items(details) {
		if doc.Kind(item) != jsonspan.Object {
			continue
		}
		if v, ok := doc.Member(item, "retryDelay"); ok {
			if d, err := time.ParseDuration(doc.Text(v)); err == nil && d > 0 {
				return min(d, maxRetryAfter)
			}
		}
	}
	return 0
}

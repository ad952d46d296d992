package dialect

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// AppendOpenAIError writes the error body of the OpenAI dialects, or passes the provider's own.
func AppendOpenAIError(dst []byte, f *sdk.Failure) []byte {
	if Passes(f) {
		return append(dst, f.Body...)
	}
	return append(AppendOpenAIErrorObject(append(dst, `{"error":`...), f), '}')
}

// AppendOpenAIErrorObject writes {message, type, param, code}, all four as OpenAI's reference has them.
func AppendOpenAIErrorObject(dst []byte, f *sdk.Failure) []byte {
	typ, code := OpenAIWords(f)
	dst = jsonspan.AppendQuote(append(dst, `{"message":`...), Said(f))
	dst = jsonspan.AppendQuote(append(dst, `,"type":`...), typ)
	dst = AppendQuoteOrNull(append(dst, `,"param":`...), f.Param)
	dst = AppendQuoteOrNull(append(dst, `,"code":`...), code)
	return append(dst, '}')
}

// OpenAIWords are the type and the code of a failure in the OpenAI dialects: the provider's own where it gave them, but not
// where they would look like a verdict on the client's own key.
func OpenAIWords(f *sdk.Failure) (typ, code string) {
	form := FormOf(f.Kind)
	typ, code = form.OpenAI, form.Code
	if f.Kind == sdk.UpstreamAuth {
		return typ, code
	}
	if f.Type != strings.ToUpper(f.Type) { // which is how Google spells its statuses
		typ = f.Type
	}
	if own := CodeOf(f); own != "" && f.Kind != sdk.ContextTooLong { // that has one code, which clients shorten their input by
		code = own
	}
	return typ, code
}

// CodeOf is the code that a provider gave a failure; "" where it has none, or only repeats an HTTP status, as Google's and vLLM's
// do: the kind then says more.
func CodeOf(f *sdk.Failure) string {
	if n, err := strconv.Atoi(f.Code); err == nil && n >= 400 && n <= 599 {
		return ""
	}
	return f.Code
}

// AppendQuoteOrNull writes a string; null for "".
func AppendQuoteOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsonspan.AppendQuote(dst, s)
}

// OpenAIErrorBody gives the error body of a provider as OpenAI's SDKs read it, where it is an object with a message: all its
// members stay, such as what Azure's filter has found. A type that is null becomes a word, a code that is a number a text,
// and an input that is too long has its code. It is nil where the body has another form.
func OpenAIErrorBody(doc *jsonspan.Doc, f *sdk.Failure) []byte {
	e, ok := doc.Find(0, "error")
	if !ok || doc.Kind(e) != jsonspan.Object {
		return nil
	}
	if message, ok := doc.Member(e, "message"); !ok || doc.Kind(message) != jsonspan.String || len(doc.Inner(message)) == 0 {
		return nil
	}
	var edits []jsonspan.Edit
	typ, code := OpenAIWords(f)
	put := func(name string, at int, there bool, word string) {
		with := AppendQuoteOrNull(nil, word)
		if there {
			edits = append(edits, doc.Replace(at, with))
		} else {
			edits = append(edits, doc.Insert(e, name, with))
		}
	}
	at, there := doc.Member(e, "type")
	switch {
	case !there, doc.Kind(at) == jsonspan.Null:
		put("type", at, there, typ)
	case doc.Kind(at) != jsonspan.String:
		return nil
	}
	at, there = doc.Member(e, "code")
	switch number := there && doc.Kind(at) == jsonspan.Number; {
	case number && f.Kind != sdk.ContextTooLong && CodeOf(&sdk.Failure{Code: string(doc.Raw(at))}) != "":
		put("code", at, there, string(doc.Raw(at)))
	case number, f.Kind == sdk.ContextTooLong && (!there || doc.Kind(at) == jsonspan.Null):
		put("code", at, there, code)
	case there && doc.Kind(at) != jsonspan.String && doc.Kind(at) != jsonspan.Null:
		return nil
	}
	if len(edits) == 0 {
		return doc.Body
	}
	segs, _ := jsonspan.Splice(nil, doc.Body, edits)
	return bytes.Join(segs, nil)
}

// ReadOpenAIError reads {message, type, param, code} of a provider; the code may be a number, an HTTP status as a rule. An
// object without a message is the message itself.
func ReadOpenAIError(doc *jsonspan.Doc, obj int) *sdk.Failure {
	f := &sdk.Failure{Message: word(doc, obj, "message"), Type: word(doc, obj, "type"), Param: word(doc, obj, "param"), Code: word(doc, obj, "code")}
	if n, err := strconv.Atoi(f.Code); err == nil && n >= 400 && n <= 599 {
		f.Status = n
	}
	if f.Message == "" {
		f.Message = string(doc.Raw(obj))
	}
	f.Kind = KindOf(f.Type, f.Code, f.Status)
	return f
}

// word is a member that is a string or a number, as text; "" where there is none.
func word(doc *jsonspan.Doc, obj int, name string) string {
	if doc.Kind(obj) != jsonspan.Object {
		return ""
	}
	i, ok := doc.Member(obj, name)
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

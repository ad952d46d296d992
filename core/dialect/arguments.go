package dialect

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Arguments reads a call's arguments: the JSON text of an object in a string, or, as some clients have it, the object. Models
// write "" or null where there are none. A name that a model has written twice has its last value, as in most readers:
// providers take the object only once it is one. It is absent for what is refused.
func (r *Reader) Arguments(i int) sdk.Value {
	if i > 0 && r.Kind(i) == jsonspan.Object {
		return r.Value(i)
	}
	v := r.Content(i).JSON()
	switch string(bytes.TrimSpace(v.Raw())) {
	case "", "null":
		return sdk.RawValue([]byte("{}"))
	}
	var doc jsonspan.Doc
	switch err := doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}); {
	case err != nil:
		r.Refuse(i, "want the text of a JSON object: "+err.Error())
		return sdk.Value{}
	case doc.Kind(0) != jsonspan.Object:
		r.Refuse(i, "want the text of a JSON object")
		return sdk.Value{}
	case jsonspan.Valid(v.Raw(), jsonspan.Limits{}) != nil:
		return sdk.RawValue(appendOnce(nil, &doc, 0))
	}
	return v
}

// appendOnce writes a value in which no object has two members of one name: the last stands, in the place of the last.
func appendOnce(dst []byte, doc *jsonspan.Doc, i int) []byte {
	switch doc.Kind(i) {
	case jsonspan.Object:
		last := make(map[string]int)
		for key := range doc.Members(i) {
			last[doc.Text(key)] = key
		}
		dst = append(dst, '{')
		n := 0
		for key, val := range doc.Members(i) {
			if last[doc.Text(key)] != key {
				continue
			}
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, doc.Raw(key)...), ':')
			dst = appendOnce(dst, doc, val)
		}
		return append(dst, '}')
	case jsonspan.Array:
		dst = append(dst, '[')
		n := 0
		for item := range doc.Items(i) {
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = appendOnce(dst, doc, item)
		}
		return append(dst, ']')
	}
	return append(dst, doc.Raw(i)...)
}

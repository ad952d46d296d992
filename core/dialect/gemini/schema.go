package gemini

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// schema turns a schema of Google's, a subset of OpenAPI's (https://ai.google.dev/api/caching#Schema), into JSON Schema:
// types in lower case, nullable as a type of its own, bounds as numbers, names as JSON Schema has them.
func (r *decoder) schema(v int) sdk.Value { return sdk.RawValue(r.appendSchema(nil, v)) }

// parameters is the schema of a function's parameters, which are an object also where their type is left out.
func (r *decoder) parameters(v int) sdk.Value {
	text := r.appendSchema(nil, v)
	if r.get(v, "type") == 0 && len(text) > len("{}") {
		text = append([]byte(`{"type":"object",`), text[1:]...)
	}
	return sdk.RawValue(text)
}

func (r *decoder) appendSchema(dst []byte, v int) []byte {
	if r.Kind(v) != jsonspan.Object {
		return append(dst, r.Raw(v)...)
	}
	dst = append(dst, '{')
	begin := len(dst)
	nullable := r.Kind(r.get(v, "nullable")) == jsonspan.True
	for k, m := range r.Members(v) {
		name := string(r.named(k))
		if r.Kind(m) == jsonspan.Null || name == "nullable" || name == "propertyOrdering" {
			continue
		}
		mark := len(dst)
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(jsonspan.AppendQuote(dst, name), ':')
		if name != "type" {
			dst = r.appendKeyword(dst, name, m)
			continue
		}
		typ := lower(r.Doc, m)
		switch {
		case r.Is(m, "TYPE_UNSPECIFIED"):
			dst = dst[:mark]
		case nullable:
			dst = append(append(append(dst, '['), typ...), `,"null"]`...)
		default:
			dst = append(dst, typ...)
		}
	}
	return append(dst, '}')
}

// lower is the JSON text of a type in lower case; its escapes, if any, stay.
func lower(doc *jsonspan.Doc, v int) []byte {
	if bytes.IndexByte(doc.Raw(v), '\\') >= 0 {
		return doc.Raw(v)
	}
	return bytes.ToLower(doc.Raw(v))
}

// appendKeyword writes the value of a keyword.
func (r *decoder) appendKeyword(dst []byte, name string, v int) []byte {
	switch name {
	case "items":
		return r.appendSchema(dst, v)
	case "anyOf", "prefixItems", "allOf", "oneOf":
		return r.appendSchemas(dst, v)
	case "properties":
		return r.appendProperties(dst, v)
	case "additionalProperties":
		return r.appendSchema(dst, v)
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
		// In protocol buffers' JSON an int64 may be a string.
		if n := bytes.Trim(r.Raw(v), `"`); jsonspan.Valid(n, jsonspan.Limits{}) == nil {
			return append(dst, n...)
		}
	}
	return append(dst, r.Raw(v)...)
}

func (r *decoder) appendSchemas(dst []byte, list int) []byte {
	if r.Kind(list) != jsonspan.Array {
		return append(dst, r.Raw(list)...)
	}
	dst = append(dst, '[')
	n := 0
	for s := range r.Items(list) {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = r.appendSchema(dst, s)
	}
	return append(dst, ']')
}

// appendProperties writes schemas whose names are the client's own, and stay as they are.
func (r *decoder) appendProperties(dst []byte, obj int) []byte {
	if r.Kind(obj) != jsonspan.Object {
		return append(dst, r.Raw(obj)...)
	}
	dst = append(dst, '{')
	n := 0
	for k, s := range r.Members(obj) {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, r.Raw(k)...), ':')
		dst = r.appendSchema(dst, s)
	}
	return append(dst, '}')
}

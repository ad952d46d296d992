// Package schema brings a JSON Schema into the form that a provider takes. Providers that hold a model to a schema compile it
// into a grammar, and refuse what their grammars have no words for; each of them has other words.
//
// It knows keywords and where schemas stand within schemas. What a provider takes is the plugin's to say, and the schema of
// what is not compiled is nobody's to change.
package schema

import (
	"bytes"
	"slices"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Member is a keyword of a schema and its value, a JSON text.
type Member struct {
	Name  string
	Value []byte
}

// Find gives the place of a keyword among the members of a schema, or -1.
func Find(members []Member, name string) int {
	return slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
}

// Rewrite gives a schema of which fix has rewritten each schema, those within it first. The text must be a JSON text; it is
// not changed, but the result may share its bytes.
func Rewrite(text []byte, fix func([]Member) []Member) ([]byte, error) {
	var doc jsonspan.Doc
	if err := doc.Parse(text, jsonspan.Limits{}); err != nil {
		return nil, err
	}
	r := rewriter{Doc: &doc, fix: fix}
	return r.schema(0), nil
}

type rewriter struct {
	*jsonspan.Doc
	fix func([]Member) []Member
}

// schema rewrites a schema; one that is no object, such as true, stays.
func (r *rewriter) schema(i int) []byte {
	if r.Kind(i) != jsonspan.Object {
		return r.Raw(i)
	}
	var members []Member
	for k, v := range r.Members(i) {
		members = append(members, Member{r.Text(k), r.value(r.Text(k), v)})
	}
	dst := []byte{'{'}
	for n, m := range r.fix(members) {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonspan.AppendQuote(dst, m.Name), ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}

// value rewrites the schemas in the value of a keyword
// (https://json-schema.org/draft/2020-12/json-schema-core#name-applying-subschemas-in-place and the sections after it).
func (r *rewriter) value(keyword string, v int) []byte {
	switch keyword {
	case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
		if r.Kind(v) == jsonspan.Object {
			return r.named(v)
		}
	case "items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "not", "if", "then", "else", "contains",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems":
		if r.Kind(v) == jsonspan.Array {
			return r.list(v)
		}
		return r.schema(v)
	}
	return r.Raw(v)
}

// named rewrites schemas that have names, which are nobody's keywords.
func (r *rewriter) named(i int) []byte {
	dst := []byte{'{'}
	for k, v := range r.Members(i) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, r.Raw(k)...), ':')
		dst = append(dst, r.schema(v)...)
	}
	return append(dst, '}')
}

func (r *rewriter) list(i int) []byte {
	dst := []byte{'['}
	for v := range r.Items(i) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.schema(v)...)
	}
	return append(dst, ']')
}

// Exact says whether a schema leaves nothing open, as OpenAI wants it of what it holds a model to: each object takes the
// properties that it names and no others, and all of them are required
// (https://platform.openai.com/docs/guides/structured-outputs, supported schemas).
func Exact(text []byte) bool {
	exact := true
	_, err := Rewrite(text, func(members []Member) []Member {
		exact = exact && exactly(members)
		return members
	})
	return err == nil && exact
}

func exactly(members []Member) bool {
	for _, keyword := range []string{"allOf", "oneOf", "not", "if", "patternProperties", "dependentRequired", "dependentSchemas"} {
		if Find(members, keyword) >= 0 {
			return false
		}
	}
	properties, kind := Find(members, "properties"), Find(members, "type")
	object := properties >= 0 || kind >= 0 && bytes.Contains(members[kind].Value, []byte(`"object"`))
	if !object {
		return true
	}
	closed, required := Find(members, "additionalProperties"), Find(members, "required")
	if closed < 0 || string(members[closed].Value) != "false" {
		return false
	}
	wanted := []byte("[]")
	if required >= 0 {
		wanted = members[required].Value
	}
	return properties < 0 || holdsAll(wanted, members[properties].Value)
}

// holdsAll says whether each name of an object is in a list.
func holdsAll(list, object []byte) bool {
	var names, in jsonspan.Doc
	if names.Parse(object, jsonspan.Limits{}) != nil || in.Parse(list, jsonspan.Limits{}) != nil ||
		names.Kind(0) != jsonspan.Object || in.Kind(0) != jsonspan.Array {
		return false
	}
	listed := make(map[string]bool)
	for v := range in.Items(0) {
		listed[in.Text(v)] = true
	}
	for k := range names.Members(0) {
		if !listed[names.Text(k)] {
			return false
		}
	}
	return true
}

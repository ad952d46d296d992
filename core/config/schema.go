package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/schemas"
)

// shape is a compiled schema whose parts can be found by their location, so that an error can be told from the schema's
// own values and not from the words of a message.
type shape struct {
	root *jsonschema.Schema
	at   map[string]*jsonschema.Schema
}

func newShape(s *jsonschema.Schema) *shape {
	x := &shape{root: s, at: map[string]*jsonschema.Schema{}}
	x.index(s)
	return x
}

// own is the configuration's schema. It is compiled once for all gateways of a process, and does not change.
var own = sync.OnceValue(func() *shape {
	s, err := schemas.Compile("config.schema.json", schemas.Config)
	if err != nil {
		panic("config: the embedded schema: " + err.Error()) // a test compiles it
	}
	return newShape(s)
})

// index notes a schema and all below it.
func (x *shape) index(s *jsonschema.Schema) {
	if s == nil || x.at[s.Location] != nil {
		return
	}
	x.at[s.Location] = s
	below := []*jsonschema.Schema{s.Ref, s.DynamicRef, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.Contains, s.Items2020,
		s.UnevaluatedItems, s.UnevaluatedProperties}
	below = slices.Concat(below, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	for _, p := range s.Properties {
		below = append(below, p)
	}
	for _, p := range s.PatternProperties {
		below = append(below, p)
	}
	for _, p := range s.DependentSchemas {
		below = append(below, p)
	}
	for _, v := range s.Dependencies {
		if p, ok := v.(*jsonschema.Schema); ok {
			below = append(below, p)
		}
	}
	for _, v := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			below = append(below, v)
		case []*jsonschema.Schema:
			below = append(below, v...)
		}
	}
	for _, p := range below {
		x.index(p)
	}
}

// parts lists a schema and those that hold beside it, by $ref and allOf.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	const most = 32 // a schema may refer to itself
	all := []*jsonschema.Schema{s}
	for i := 0; i < len(all) && len(all) < most; i++ {
		if r := all[i].Ref; r != nil {
			all = append(all, r)
		}
		all = append(all, all[i].AllOf...)
	}
	return all
}

// member gives the schema of an object's member; nil where the schema says nothing of it.
func member(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	all := parts(s)
	for _, p := range all {
		if m := p.Properties[name]; m != nil {
			return m
		}
	}
	for _, p := range all {
		if m, ok := p.AdditionalProperties.(*jsonschema.Schema); ok {
			return m
		}
	}
	return nil
}

// elements gives the schema of a list's elements.
func elements(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	for _, p := range parts(s) {
		if m, ok := p.Items.(*jsonschema.Schema); ok {
			return m
		}
		if p.Items2020 != nil {
			return p.Items2020
		}
	}
	return nil
}

// types lists the types that a value may have; none where all are taken.
func types(s *jsonschema.Schema) []string {
	for _, p := range parts(s) {
		if len(p.Types) > 0 {
			return p.Types
		}
	}
	return nil
}

// writeOnly says whether values of a schema must not be shown.
func writeOnly(s *jsonschema.Schema) bool {
	return slices.ContainsFunc(parts(s), func(p *jsonschema.Schema) bool { return p.WriteOnly })
}

// holdsSecret says whether a value of a schema is secret, or has a part that is: what was written in the place of the whole
// may be that part.
func holdsSecret(s *jsonschema.Schema) bool {
	x := &shape{at: map[string]*jsonschema.Schema{}}
	x.index(s)
	for _, below := range x.at {
		if below.WriteOnly {
			return true
		}
	}
	return false
}

// settle marks what is secret, and gives values that came by reference the type that is wanted: a reference mostly stands
// in quotes, so that all it can be to YAML is a text.
func settle(n *node, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	n.secret = writeOnly(s)
	if n.expanded {
		n.kind = settled(n.text, types(s))
	}
	for name, m := range n.members {
		settle(m, member(s, name))
	}
	for _, m := range n.items {
		settle(m, elements(s))
	}
}

func settled(value string, types []string) kind {
	has := func(t string) bool { return slices.Contains(types, t) }
	switch {
	case value == "" && has("null"):
		return null
	case has("string"):
		return text
	case (has("number") || has("integer")) && decimal.MatchString(value):
		return number
	case has("boolean") && (value == "true" || value == "false"):
		return boolean
	}
	return text
}

// fill adds the schema's default for each member that is absent.
func fill(n *node, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if n.kind == object {
		for _, p := range parts(s) {
			for name, m := range p.Properties {
				if n.members[name] == nil {
					n.add(name, implied(m.Default, n.at))
				}
			}
		}
	}
	for name, m := range n.members {
		fill(m, member(s, name))
	}
	for _, m := range n.items {
		fill(m, elements(s))
	}
}

// implied makes the node of a default, at the place of the value that it is missing in.
func implied(v any, at Position) *node {
	n := &node{at: at, implied: true}
	switch v := v.(type) {
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(v)
	case json.Number:
		n.kind, n.text = number, v.String()
	case string:
		n.kind, n.text = text, v
	case []any:
		n.kind = list
		for _, e := range v {
			n.items = append(n.items, implied(e, at))
		}
	case map[string]any:
		n.kind = object
		for name, e := range v {
			n.add(name, implied(e, at))
		}
	}
	return n
}

// pointer gives the node of a JSON Pointer, its path as people write it, and its schema.
func (x *shape) pointer(n *node, p string) (*node, string, *jsonschema.Schema) {
	path, s := "", x.root
	if p == "" {
		return n, path, s
	}
	for part := range strings.SplitSeq(p[1:], "/") {
		next, step := n.token(part)
		if next == nil {
			break
		}
		if n.kind == list {
			path, s = path+step, elements(s)
		} else {
			path, s = join(path, step), member(s, step)
		}
		n = next
	}
	return n, path, s
}

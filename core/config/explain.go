package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// properties lists the members that the schema knows where an error is.
func (x *explainer) properties(e *jsonschema.ValidationError) []string {
	s := x.at(strings.TrimSuffix(e.KeywordLocation, "/additionalProperties"))
	if s == nil {
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// at follows a keyword location to its schema.
func (x *explainer) at(location string) *jsonschema.Schema {
	s := x.schema
	parts := strings.Split(strings.TrimPrefix(location, "/"), "/")
	for i := 0; i < len(parts) && s != nil; i++ {
		switch parts[i] {
		case "properties":
			if i++; i < len(parts) {
				s = s.Properties[strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")]
			}
		case "additionalProperties":
			s, _ = s.AdditionalProperties.(*jsonschema.Schema)
		case "items":
			switch t := s.Items.(type) {
			case *jsonschema.Schema:
				s = t
			default:
				s = s.Items2020
			}
		default:
			return s
		}
	}
	return s
}

// message says what a value is and what was wanted.
func message(n *node, e *jsonschema.ValidationError) string {
	keyword := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
	got := describe(n)
	switch keyword {
	case "type":
		want := strings.TrimPrefix(e.Message, "expected ")
		if i := strings.Index(want, ", but got "); i >= 0 {
			want = want[:i]
		}
		return fmt.Sprintf("want %s, got %s", strings.ReplaceAll(want, " or ", " or "), got)
	case "enum":
		return fmt.Sprintf("want one of %s, got %s", strings.TrimPrefix(e.Message, "value must be one of "), got)
	case "pattern":
		return fmt.Sprintf("%s has not the form that is wanted", got)
	case "oneOf":
		return fmt.Sprintf("%s is none of the forms that are taken", got)
	}
	return fmt.Sprintf("%s: %s", got, e.Message)
}

// describe shows a value shortly.
func describe(n *node) string {
	switch n.kind {
	case mapping:
		return "a mapping"
	case sequence:
		return "a list"
	}
	switch v := n.value.(type) {
	case nil:
		return "nothing"
	case string:
		if len(v) > 60 {
			v = v[:60] + "…"
		}
		return fmt.Sprintf("%q", v)
	}
	return n.text
}

// hint names a value that would be taken: the schema's example.
func (x *explainer) hint(e *jsonschema.ValidationError) string {
	i := strings.LastIndexByte(e.KeywordLocation, '/')
	s := x.at(e.KeywordLocation[:i])
	if s == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(s.Description)
	if len(s.Examples) > 0 {
		fmt.Fprintf(&b, " For example: %v", s.Examples[0])
	}
	return strings.TrimSpace(b.String())
}

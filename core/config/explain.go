package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// explainer says in the words of a configuration what a schema refused.
type explainer struct {
	*shape
	file  string
	base  string // path of the tree's root in the file
	root  *node
	seen  map[Diagnostic]bool // a schema can refuse the same in several ways
	found Diagnostics
}

func (x *shape) explainer(file, base string, root *node) *explainer {
	return &explainer{shape: x, file: file, base: base, root: root, seen: map[Diagnostic]bool{}}
}

// validate checks a whole configuration.
func (x *shape) validate(file string, root *node) Diagnostics {
	var invalid *jsonschema.ValidationError
	switch err := x.root.Validate(root.plain()); {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		e := x.explainer(file, "", root)
		e.explain(invalid)
		return e.found
	default:
		return Diagnostics{{File: file, Line: root.at.Line, Column: root.at.Column, Message: err.Error()}}
	}
}

func (e *explainer) add(at Position, path, hint, message string) {
	d := Diagnostic{File: e.file, Line: at.Line, Column: at.Column, Path: e.path(path), Message: message, Hint: hint}
	if !e.seen[d] {
		e.seen[d] = true
		e.found = append(e.found, d)
	}
}

// path is a path of the tree as one of the file.
func (e *explainer) path(path string) string {
	if path == "" || path[0] == '[' {
		return e.base + path
	}
	return join(e.base, path)
}

// explain descends to the causes that have none themselves.
func (e *explainer) explain(v *jsonschema.ValidationError) {
	location, keyword := v.AbsoluteKeywordLocation, ""
	if i := strings.LastIndexByte(location, '/'); i >= 0 {
		location, keyword = location[:i], location[i+1:]
	}
	s := e.at[location]
	n, path, own := e.pointer(e.root, v.InstanceLocation)
	if holdsSecret(own) {
		n = n.hidden()
	}
	switch {
	case (keyword == "oneOf" || keyword == "anyOf") && s != nil:
		e.branches(v, keyword, s)
	case len(v.Causes) > 0:
		for _, c := range v.Causes {
			e.explain(c)
		}
	case strings.Contains(v.KeywordLocation, "/propertyNames"):
		e.add(n.start(), path, "", fmt.Sprintf("not a name: want %s", formOf(s, v.Message)))
	case s == nil:
		e.add(n.start(), path, "", v.Message)
	case keyword == "additionalProperties" || keyword == "unevaluatedProperties":
		e.unknown(n, path, s)
	case keyword == "required":
		e.missing(n, path, s)
	default:
		e.add(n.at, path, e.advice(n, own, path), wanted(n, s, keyword, v.Message))
	}
}

// unknown reports the members of an object that its schema does not know.
func (e *explainer) unknown(n *node, path string, s *jsonschema.Schema) {
	known := slices.Sorted(maps.Keys(s.Properties))
	hint := ""
	if len(known) > 0 {
		hint = "it takes " + sentence(known, "and")
	}
	for _, name := range n.names {
		if !slices.Contains(known, name) && !matches(s, name) {
			e.add(n.members[name].start(), path, hint, fmt.Sprintf("unknown member %q%s", name, meant(name, known)))
		}
	}
}

func matches(s *jsonschema.Schema, name string) bool {
	for pattern := range s.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// missing reports the members that an object must have and has not. One that is there by another spelling is reported as
// that alone.
func (e *explainer) missing(n *node, path string, s *jsonschema.Schema) {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range s.Required {
		misspelt := func(other string) bool { return s.Properties[other] == nil && nearestName(other, known) == name }
		if n.members[name] != nil || slices.ContainsFunc(n.names, misspelt) {
			continue
		}
		hint := ""
		if m := member(s, name); m != nil {
			hint = name + ": " + m.Description
		}
		e.add(n.start(), path, hint, fmt.Sprintf("the member %q is missing", name))
	}
}

// branches reports the alternative that was meant: the only one whose type, and whose members with fixed values, are those
// of the value.
func (e *explainer) branches(v *jsonschema.ValidationError, keyword string, s *jsonschema.Schema) {
	of := map[string][]*jsonschema.ValidationError{}
	for _, c := range v.Causes {
		_, after, _ := strings.Cut(c.KeywordLocation[len(v.KeywordLocation):], "/")
		branch, _, _ := strings.Cut(after, "/")
		of[branch] = append(of[branch], c)
	}
	var meant []*jsonschema.ValidationError
	n := 0
	for _, causes := range of {
		if !slices.ContainsFunc(causes, func(c *jsonschema.ValidationError) bool { return excludes(c, v.InstanceLocation) }) {
			meant = causes
			n++
		}
	}
	if n == 1 {
		for _, c := range meant {
			e.explain(c)
		}
		return
	}
	alternatives := s.OneOf
	if keyword == "anyOf" {
		alternatives = s.AnyOf
	}
	var forms []string
	for _, a := range alternatives {
		if form := formOf(a, "another form"); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	node, path, own := e.pointer(e.root, v.InstanceLocation)
	if holdsSecret(own) {
		node = node.hidden()
	}
	e.add(node.at, path, e.advice(node, own, path), fmt.Sprintf("want %s, got %s", sentence(forms, "or"), node.shown()))
}

// excludes says whether an error shows that an alternative was not meant: the value has another type, or one of its
// members, another fixed value.
func excludes(v *jsonschema.ValidationError, at string) bool {
	if len(v.Causes) > 0 {
		return slices.ContainsFunc(v.Causes, func(c *jsonschema.ValidationError) bool { return excludes(c, at) })
	}
	keyword := v.KeywordLocation[strings.LastIndexByte(v.KeywordLocation, '/')+1:]
	below, ok := strings.CutPrefix(v.InstanceLocation, at)
	switch {
	case !ok || strings.Count(below, "/") > 1:
		return false
	case below == "":
		return keyword == "type" || keyword == "const" || keyword == "enum"
	}
	return keyword == "const" || keyword == "enum"
}

// advice is the documentation of what was got wrong, and what to do where that is plain.
func (e *explainer) advice(n *node, s *jsonschema.Schema, path string) string {
	if s == nil {
		return ""
	}
	switch {
	case e.path(path) == "":
		return firstSteps
	case n.kind == number && slices.Equal(types(s), []string{"string"}) && takes(s, n.text):
		return "put it in quotes"
	}
	hint := s.Description
	if len(s.Examples) > 0 {
		if example, err := json.Marshal(s.Examples[0]); err == nil {
			hint = strings.TrimSpace(hint + " For example: " + string(example))
		}
	}
	return hint
}

// takes says whether a text has the form that a schema wants.
func takes(s *jsonschema.Schema, text string) bool {
	return !slices.ContainsFunc(parts(s), func(p *jsonschema.Schema) bool { return p.Pattern != nil && !p.Pattern.MatchString(text) })
}

// wanted says what a value has to be and what it is.
func wanted(n *node, s *jsonschema.Schema, keyword, message string) string {
	got := n.shown()
	switch keyword {
	case "type", "pattern":
		return fmt.Sprintf("want %s, got %s", formOf(s, "another value"), got)
	case "format":
		return fmt.Sprintf("want a text of the format %s, got %s", s.Format, got)
	case "enum", "const":
		return fmt.Sprintf("want %s, got %s%s", formOf(s, "another value"), got, near(n, texts(s)))
	case "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum":
		return fmt.Sprintf("want %s, got %s", bounds(s), got)
	case "minLength":
		return fmt.Sprintf("want %d characters or more, got %d", s.MinLength, len([]rune(n.text)))
	case "maxLength":
		return fmt.Sprintf("want %d characters at most, got %d", s.MaxLength, len([]rune(n.text)))
	case "minItems", "minProperties":
		return fmt.Sprintf("want at least %d, got %d", max(s.MinItems, s.MinProperties), len(n.items)+len(n.names))
	case "maxItems":
		return fmt.Sprintf("want %d at most, got %d", s.MaxItems, len(n.items))
	case "uniqueItems":
		return "the same stands in the list twice"
	}
	if n.expanded || n.secret {
		return fmt.Sprintf("not as the schema's %q wants it, got %s", keyword, got) // the message may hold the value
	}
	return message
}

// near adds the value of an enumeration that was meant; a value that is hidden is not compared.
func near(n *node, known []string) string {
	if n.kind != text || n.expanded || n.secret {
		return ""
	}
	return meant(n.text, known)
}

// texts lists the values of an enumeration, as messages show them.
func texts(s *jsonschema.Schema) []string {
	var all []string
	for _, v := range slices.Concat(s.Constant, s.Enum) {
		if v != nil {
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

// definition describes what the configuration's schema defines once for many members; "" for another schema.
func definition(s *jsonschema.Schema) string {
	_, name, _ := strings.Cut(s.Location, "config.schema.json#/definitions/")
	switch name {
	case "duration":
		return "a duration such as 30s"
	case "size":
		return "a size such as 64KiB"
	case "usd", "usdornull":
		return "USD such as 0.25, with at most nine decimals"
	case "name":
		return "up to 128 letters, digits and ._/:- of which the first is a letter or digit"
	case "model":
		return "up to 128 letters, digits and ._/:@- of which the first is a letter or digit"
	case "address":
		return "HOST:PORT such as 127.0.0.1:8080"
	}
	return ""
}

// formOf describes what a schema takes; otherwise is for one that cannot be described.
func formOf(s *jsonschema.Schema, otherwise string) string {
	if s == nil {
		return otherwise
	}
	if form := definition(s); form != "" {
		return form
	}
	if known := texts(s); len(known) > 0 {
		return sentence(known, "or")
	}
	if s.Pattern != nil && len(s.Examples) > 0 {
		var such []string
		for _, example := range s.Examples {
			such = append(such, fmt.Sprint(example))
		}
		return "a text such as " + sentence(such, "or")
	}
	if s.Pattern != nil {
		return "a text of the form " + s.Pattern.String()
	}
	var words []string
	for _, t := range s.Types {
		switch t {
		case "object":
			words = append(words, "a mapping")
		case "array":
			words = append(words, "a list")
		case "string":
			words = append(words, "a text")
		case "integer":
			words = append(words, "a whole number")
		case "number":
			words = append(words, "a number")
		case "boolean":
			words = append(words, "true or false")
		}
	}
	if len(words) == 0 {
		return otherwise
	}
	return sentence(words, "or")
}

// bounds describes the least and the greatest number.
func bounds(s *jsonschema.Schema) string {
	if form := definition(s); form != "" {
		return form
	}
	var words []string
	say := func(word, bound string) { words = append(words, word+" "+bound) }
	if s.Minimum != nil {
		say("at least", s.Minimum.RatString())
	}
	if s.ExclusiveMinimum != nil {
		say("more than", s.ExclusiveMinimum.RatString())
	}
	if s.Maximum != nil {
		say("at most", s.Maximum.RatString())
	}
	if s.ExclusiveMaximum != nil {
		say("less than", s.ExclusiveMaximum.RatString())
	}
	return strings.Join(words, " and ")
}

// sentence joins words: a, b or c.
func sentence(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of a text.
const (
	maxText  = 4 << 20 // bytes
	maxDepth = 64      // levels of nesting
	maxMarks = 1 << 19 // line ends, colons and commas: what the YAML library makes of each value takes some 250 bytes
)

// reader turns YAML into nodes. YAML's ways of saying one thing twice (anchors, merge keys, tags, several documents) are
// refused: a configuration is plain values, and what is read is what stands there.
type reader struct {
	file     string
	source   []byte
	expander expander
	found    Diagnostics
}

func (r *reader) fail(at Position, path, hint, format string, args ...any) {
	at.Line, at.Column = max(at.Line, 1), max(at.Column, 1)
	r.found = append(r.found, Diagnostic{File: r.file, Line: at.Line, Column: at.Column, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// read reads a text of one document. The node is nil where there is nothing to go on with.
func (r *reader) read() *node {
	r.source = bytes.TrimPrefix(r.source, []byte("\ufeff"))
	if !r.acceptable() {
		return nil
	}
	dec, err := yaml.NewLoader(bytes.NewReader(r.source))
	if err != nil {
		r.syntax(err)
		return nil
	}
	var doc, more yaml.Node
	switch err := dec.Load(&doc); {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		r.empty()
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := dec.Load(&more); {
	case err == nil:
		r.fail(place(&more), "", "", "a second document, want one")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	if top := doc.Content[0]; top.Kind == yaml.ScalarNode && top.Tag == "!!null" && top.Anchor == "" && top.Style&yaml.TaggedStyle == 0 {
		r.empty()
		return nil
	}
	return r.value(doc.Content[0], "", 0)
}

// firstSteps is the hint where there is no configuration at all.
const firstSteps = "`penstock init` writes a configuration to begin with"

func (r *reader) empty() {
	r.fail(Position{}, "", firstSteps, "there is no configuration in the file")
}

// acceptable checks the text as a whole.
func (r *reader) acceptable() bool {
	marks := bytes.Count(r.source, []byte{'\n'}) + bytes.Count(r.source, []byte{':'}) + bytes.Count(r.source, []byte{','})
	control := bytes.IndexFunc(r.source, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f })
	switch {
	case len(r.source) > maxText:
		r.fail(Position{}, "", "", "larger than %d MiB", maxText>>20)
	case marks > maxMarks:
		r.fail(Position{}, "", "", "more than %d values", maxMarks)
	case !utf8.Valid(r.source):
		at := 0
		for c, size := rune(0), 0; c != utf8.RuneError || size != 1; at += size {
			c, size = utf8.DecodeRune(r.source[at:])
		}
		r.fail(behind(r.source[:at-1]), "", "save the file as UTF-8", "not UTF-8 here")
	case control >= 0:
		r.fail(behind(r.source[:control]), "", "take it out", "not YAML: the control character %U", r.source[control])
	default:
		return true
	}
	return false
}

// behind is the place behind a piece of the text from its beginning.
func behind(piece []byte) Position {
	line := piece[bytes.LastIndexByte(piece, '\n')+1:]
	return Position{Line: 1 + bytes.Count(piece, []byte{'\n'}), Column: 1 + utf8.RuneCount(line)}
}

// syntax reports what the YAML library says.
func (r *reader) syntax(err error) {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		r.fail(Position{}, "", "", "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	at := Position{Line: max(e.Mark.Line, 1), Column: max(e.Mark.Column, 1)}
	message := "not YAML: " + e.Message
	if strings.Contains(e.Message, "end of stream") && e.ContextMark.Line > 0 { // what has no end is looked for where it begins
		at = Position{Line: e.ContextMark.Line, Column: max(e.ContextMark.Column, 1)}
		message += ", " + e.ContextMsg + " that begins here"
	} else if e.ContextMark.Line > 0 && e.ContextMark.Line != e.Mark.Line {
		message += fmt.Sprintf(", %s that begins on line %d", e.ContextMsg, e.ContextMark.Line)
	}
	hint := ""
	line := r.line(at.Line)
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
		hint = "YAML indents with spaces, not with tabs"
	case bareReference.MatchString(line):
		hint = `inside [ ] and { } a reference needs quotes: "${NAME}"`
	case strings.Contains(e.Message, "mapping values are not allowed"):
		hint = "a text that holds \": \" needs quotes"
	}
	r.fail(at, "", hint, "%s", message)
}

// bareReference is a reference without quotes in a flow collection.
var bareReference = regexp.MustCompile(`[{,\[][^"']*[:,\[]\s*\$\{`)

// line gives a line of the source, counted from 1.
func (r *reader) line(n int) string {
	for i, line := range bytes.SplitN(r.source, []byte{'\n'}, n+1) {
		if i == n-1 {
			return string(line)
		}
	}
	return ""
}

func place(y *yaml.Node) Position { return Position{Line: max(y.Line, 1), Column: max(y.Column, 1)} }

// value turns a YAML node into ours.
func (r *reader) value(y *yaml.Node, path string, depth int) *node {
	n := &node{at: place(y)}
	switch {
	case depth > maxDepth:
		r.fail(n.at, path, "", "nested deeper than %d", maxDepth)
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		r.fail(n.at, path, "write the value out where it is used", "anchors and aliases are not taken")
	case y.Style&yaml.TaggedStyle != 0 || y.Tag == "!":
		r.fail(n.at, path, "leave the tag out", "tags are not taken, got %s", y.Tag)
	case y.Kind == yaml.MappingNode:
		n.kind = object
		r.object(n, y, path, depth)
	case y.Kind == yaml.SequenceNode:
		n.kind = list
		for i, c := range y.Content {
			n.items = append(n.items, r.value(c, element(path, i), depth+1))
		}
	case y.Kind == yaml.ScalarNode:
		r.scalar(n, y, path)
	}
	return n
}

func (r *reader) object(n *node, y *yaml.Node, path string, depth int) {
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		at, first := join(path, k.Value), n.members[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || k.Tag == "!":
			r.fail(place(k), path, "", "want a plain name before the colon")
		case k.Tag == "!!merge":
			r.fail(place(k), path, "write the members out", "merge keys are not taken")
		case strings.Contains(k.Value, "${"):
			r.fail(place(k), path, "", "want a name without references, got %q", k.Value)
		case first != nil:
			r.fail(place(k), at, "", "stands twice, first on line %d", first.key.Line)
		default:
			c := r.value(y.Content[i+1], at, depth+1)
			c.key = place(k)
			n.add(k.Value, c)
		}
	}
}

// decimal is how a number may be written: as JSON has it, without an exponent. YAML has more forms, and each of them has
// surprised someone.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$`)

// scalar resolves a scalar after its references have been expanded.
func (r *reader) scalar(n *node, y *yaml.Node, path string) {
	n.kind, n.text = text, y.Value
	if strings.Contains(y.Value, "${") {
		n.written = y.Value
		var hint string
		var err error
		if n.text, hint, err = r.expander.expand(y.Value); err != nil {
			r.fail(n.at, path, hint, "%v", err)
		}
		n.expanded = true
		return
	}
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return
	}
	switch y.ShortTag() {
	case "!!null":
		n.kind, n.text = null, ""
	case "!!bool":
		n.kind, n.text = boolean, strings.ToLower(y.Value)
	case "!!int", "!!float":
		n.kind = number
		if !decimal.MatchString(y.Value) {
			r.fail(n.at, path, "a text that looks like a number needs quotes", "want a number in plain decimal digits") // which may be a secret
		}
	}
}

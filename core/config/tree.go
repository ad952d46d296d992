package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// node is a value of the text with its place. Members keep the text's order.
type node struct {
	line, column int
	key          *node  // of a member: where its name stands
	value        any    // of a scalar: string, float64, bool, nil
	text         string // of a scalar: as written, expanded
	names        []string
	members      map[string]*node
	items        []*node
	kind         kind
}

type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
)

// maxDepth bounds nesting.
const maxDepth = 64

// reader turns YAML into nodes.
type reader struct {
	file string
	dir  string
	env  func(string) (string, bool)
	out  Diagnostics
}

func (r *reader) fail(y *yaml.Node, path, hint, format string, args ...any) {
	r.out = append(r.out, Diagnostic{File: r.file, Line: max(y.Line, 1), Column: max(y.Column, 1), Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// read reads a text of one document.
func (r *reader) read(text []byte) *node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			r.fail(&yaml.Node{}, "", "`penstock init` writes a configuration to begin with", "the file is empty")
		} else {
			r.syntax(err)
		}
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		r.fail(&more, "", "", "a second document, want one")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	if len(doc.Content) == 0 {
		r.fail(&doc, "", "`penstock init` writes a configuration to begin with", "the file holds nothing")
		return nil
	}
	return r.walk(doc.Content[0], "", 0)
}

// syntaxLine finds the place in the YAML library's messages.
var syntaxLine = regexp.MustCompile(`line (\d+)(?:, column (\d+))?:? ?`)

func (r *reader) syntax(err error) {
	d := Diagnostic{File: r.file, Line: 1, Column: 1, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := syntaxLine.FindStringSubmatchIndex(d.Message); m != nil {
		d.Line, _ = strconv.Atoi(d.Message[m[2]:m[3]])
		if m[4] >= 0 {
			d.Column, _ = strconv.Atoi(d.Message[m[4]:m[5]])
		}
		d.Message = strings.TrimSpace(d.Message[:m[0]] + d.Message[m[1]:])
	}
	d.Line, d.Column = max(d.Line, 1), max(d.Column, 1)
	r.out = append(r.out, d)
}

// walk turns a YAML node into ours.
func (r *reader) walk(y *yaml.Node, path string, depth int) *node {
	n := &node{line: y.Line, column: y.Column}
	switch {
	case depth > maxDepth:
		r.fail(y, path, "", "nested deeper than %d", maxDepth)
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		r.fail(y, path, "write the value out where it is used", "anchors and aliases are not taken")
	case y.Kind == yaml.MappingNode:
		n.kind = mapping
		r.mapping(n, y, path, depth)
	case y.Kind == yaml.SequenceNode:
		n.kind = sequence
		for i, c := range y.Content {
			n.items = append(n.items, r.walk(c, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case y.Kind == yaml.ScalarNode:
		r.scalar(n, y, path)
	default:
		r.fail(y, path, "", "a YAML node of an unknown kind")
	}
	return n
}

func (r *reader) mapping(n *node, y *yaml.Node, path string, depth int) {
	n.members = map[string]*node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		at := join(path, k.Value)
		switch first := n.members[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			r.fail(k, path, "", "a name that is no scalar")
			continue
		case k.Tag == "!!merge":
			r.fail(k, path, "write the members out", "merge keys are not taken")
			continue
		case first != nil:
			r.fail(k, at, "", "stands twice, first on line %d", first.key.line)
			continue
		}
		c := r.walk(v, at, depth+1)
		c.key = &node{line: k.Line, column: k.Column}
		n.names = append(n.names, k.Value)
		n.members[k.Value] = c
	}
}

// join appends a member's name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// scalar resolves a scalar after its references have been expanded.
func (r *reader) scalar(n *node, y *yaml.Node, path string) {
	text, expanded := r.expand(y, path)
	n.text = text
	if expanded || y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		n.value = text
		return
	}
	switch y.ShortTag() {
	case "!!null":
	case "!!bool":
		n.value = strings.EqualFold(text, "true")
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil {
			n.value = text
			return
		}
		n.value = f
	case "!!str", "!!timestamp":
		n.value = text
	default:
		r.fail(y, path, "", "the tag %s is not taken", y.ShortTag())
	}
}

// reference is ${NAME}, ${NAME:-default} or ${file:path}; a second $ before it makes it plain text.
var reference = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// expand puts values in the place of references.
func (r *reader) expand(y *yaml.Node, path string) (text string, expanded bool) {
	if !strings.Contains(y.Value, "${") {
		return y.Value, false
	}
	return reference.ReplaceAllStringFunc(y.Value, func(ref string) string {
		expanded = true
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		name, otherwise, has := strings.Cut(ref[2:len(ref)-1], ":-")
		if file, ok := strings.CutPrefix(name, "file:"); ok {
			return r.secretFile(y, path, file)
		}
		v, ok := "", false
		if r.env != nil {
			v, ok = r.env(name)
		}
		switch {
		case ok && (v != "" || !has):
			return v
		case has:
			return otherwise
		}
		r.fail(y, path, "export "+name+"=…, or write ${"+name+":-default}", "the variable %s is not set", name)
		return ""
	}), expanded
}

// maxSecretFile bounds what ${file:} reads.
const maxSecretFile = 64 << 10

func (r *reader) secretFile(y *yaml.Node, path, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	f, err := os.Open(name)
	if err != nil {
		r.fail(y, path, "", "%v", err)
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	switch {
	case err != nil:
		r.fail(y, path, "", "%v", err)
	case len(b) > maxSecretFile:
		r.fail(y, path, "", "%s: larger than %d bytes", name, maxSecretFile)
	}
	return strings.TrimRight(string(b), "\r\n")
}

// plain gives the node as the values that encoding/json makes, for the schema.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		m := make(map[string]any, len(n.names))
		for name, c := range n.members {
			m[name] = c.plain()
		}
		return m
	case sequence:
		l := make([]any, len(n.items))
		for i, c := range n.items {
			l[i] = c.plain()
		}
		return l
	}
	return n.value
}

// get gives a member; nil where it is absent or null.
func (n *node) get(name string) *node {
	if n == nil || n.members == nil {
		return nil
	}
	c := n.members[name]
	if c != nil && c.kind == scalar && c.value == nil {
		return nil
	}
	return c
}

// nearest gives the node of a path such as a.b[0].c, or the last one on the way that is there.
func (n *node) nearest(path string) *node {
	if n == nil {
		return &node{line: 1, column: 1}
	}
	for path != "" {
		next, rest := n.step(path)
		if next == nil {
			break
		}
		n, path = next, strings.TrimPrefix(rest, ".")
	}
	return n
}

// step takes the first element off a path. A member's name may hold dots itself: the longest that fits counts.
func (n *node) step(path string) (next *node, rest string) {
	if num, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]"); ok && path[0] == '[' {
		if i, err := strconv.Atoi(num); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i], after
		}
		return nil, ""
	}
	longest := -1
	for _, name := range n.names {
		after, ok := strings.CutPrefix(path, name)
		if ok && (after == "" || after[0] == '.' || after[0] == '[') && len(name) > longest {
			longest, next, rest = len(name), n.members[name], after
		}
	}
	return next, rest
}

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Position is a place in the configuration's text.
type Position struct {
	Line   int // from 1
	Column int // in characters, from 1
}

// node is a value of the text with its place. Members keep the text's order.
type node struct {
	at       Position // of the value; of the nearest value around it where it is a default
	key      Position // of a member's name; the zero Position for other nodes
	kind     kind
	text     string // of a scalar: as JSON has it, a text without its quotes, references expanded
	written  string // of a scalar with references: as it was written
	expanded bool   // references were replaced in it
	secret   bool   // the schema says that it must not be shown
	implied  bool   // it is the schema's default
	names    []string
	members  map[string]*node
	items    []*node
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// add appends a member.
func (n *node) add(name string, m *node) {
	if n.members == nil {
		n.members = map[string]*node{}
	}
	n.names = append(n.names, name)
	n.members[name] = m
}

// start is where a person looks for the node: at a member's name, else at the value.
func (n *node) start() Position {
	if n.key != (Position{}) {
		return n.key
	}
	return n.at
}

// shown is the value as messages show it. A secret is not shown, nor what a reference stood for: it may be a secret that
// was named in the wrong place.
func (n *node) shown() string {
	const most = 60 // characters
	s := n.text
	switch {
	case n.kind == object:
		return "a mapping"
	case n.kind == list:
		return "a list"
	case n.kind == null:
		return "nothing"
	case n.expanded:
		s = n.written
	case n.secret:
		return "a value that is not shown"
	}
	if cut := []rune(s); len(cut) > most {
		s = string(cut[:most]) + "…"
	}
	if n.kind == text {
		return strconv.Quote(s)
	}
	return s
}

// prune takes the defaults out again: they have no place of their own.
func (n *node) prune() {
	n.names = slices.DeleteFunc(n.names, func(name string) bool { return n.members[name].implied })
	maps.DeleteFunc(n.members, func(_ string, m *node) bool { return m.implied })
	for _, m := range n.members {
		m.prune()
	}
	for _, m := range n.items {
		m.prune()
	}
}

// hidden is the node as one whose value is a secret.
func (n *node) hidden() *node {
	h := *n
	h.secret = true
	return &h
}

// plain gives the node as the values that encoding/json makes, with numbers as json.Number.
func (n *node) plain() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.names))
		for name, c := range n.members {
			m[name] = c.plain()
		}
		return m
	case list:
		l := make([]any, len(n.items))
		for i, c := range n.items {
			l[i] = c.plain()
		}
		return l
	case boolean:
		return n.text == "true"
	case number:
		return json.Number(n.text)
	case text:
		return n.text
	}
	return nil
}

// appendJSON appends the node as JSON, members in their order or sorted; each text goes through say.
func (n *node) appendJSON(b []byte, sorted func(*node) bool, say func(*node) string) []byte {
	switch n.kind {
	case object:
		names := n.names
		if sorted(n) {
			names = slices.Sorted(slices.Values(names))
		}
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = n.members[name].appendJSON(b, sorted, say)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, c := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.appendJSON(b, sorted, say)
		}
		return append(b, ']')
	case text:
		return appendString(b, say(n))
	case null:
		return append(b, "null"...)
	}
	return append(b, n.text...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, quoted...)
}

// join appends a member's name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// element appends an element's index to a path.
func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// find follows a path such as a.b[0].c as far as the text goes; all says whether that is to its end.
func (n *node) find(path string) (found *node, all bool) {
	for path != "" {
		next, rest := n.step(path)
		if next == nil {
			return n, false
		}
		n, path = next, strings.TrimPrefix(rest, ".")
	}
	return n, true
}

// step takes the first element off a path. A member's name may hold dots itself: the longest that fits counts.
func (n *node) step(path string) (next *node, rest string) {
	if num, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]"); ok && path[0] == '[' {
		if i, err := strconv.Atoi(num); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i], after
		}
		return nil, ""
	}
	for end := len(path); end > 0; end-- {
		if end < len(path) && path[end] != '.' && path[end] != '[' {
			continue
		}
		if m := n.members[path[:end]]; m != nil {
			return m, path[end:]
		}
	}
	return nil, ""
}

// token follows one token of a JSON Pointer as the schema library writes it, percent signs included; it gives the step as
// a path has it.
func (n *node) token(t string) (*node, string) {
	if plain, err := url.PathUnescape(t); err == nil {
		t = plain
	}
	t = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	if n.kind != list {
		return n.members[t], t
	}
	if i, err := strconv.Atoi(t); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i], element("", i)
	}
	return nil, ""
}

package jsonspan

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// SyntaxError says where and why a text was refused.
type SyntaxError struct {
	Off          int    // index of the byte in the text
	Line, Column int    // both from 1; the column counts bytes
	Path         string // such as messages[0].content; "" at the root
	Msg          string
}

// Error gives the place, then the fact: "line 3 column 7 (messages[2].content): malformed number".
func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("line %d column %d (%s): %s", e.Line, e.Column, e.Path, e.Msg)
}

// stop is where and why a scan stopped.
type stop struct {
	off    int // in the text
	open   int // the innermost open container
	depth  int // how many containers are open
	commas int // in the innermost
	why    reason
	key    int // the node of the repeated name
}

type reason uint8

const (
	wantName reason = iota
	wantColon
	wantValue
	wantComma
	wantEnd
	tooMany
	tooDeep
	repeated
)

// refuse makes the error of a scan that stopped at s. It is the slow path, which looks again at what the scan only found to be
// wrong.
func (d *Doc) refuse(nodes []Node, s stop) error {
	d.Nodes = nodes
	e := &SyntaxError{Off: s.off, Path: openPath(d.Body, nodes, s)}
	switch s.why {
	case repeated:
		e.Msg = "duplicate member " + string(appendShort(nil, d.Text(s.key)))
	case tooMany:
		e.Msg = fmt.Sprintf("more than %d values and member names", len(nodes))
	case tooDeep:
		e.Msg = fmt.Sprintf("nested deeper than %d", s.depth)
	case wantName:
		d.unexpected(e, s.why, "a member name in quotes")
	case wantColon:
		d.unexpected(e, s.why, "a colon")
	case wantValue:
		d.unexpected(e, s.why, "a value")
	case wantComma:
		d.unexpected(e, s.why, "a comma or the end of the "+nodes[s.open].Kind.String())
	case wantEnd:
		d.unexpected(e, s.why, "the end of the text")
	}
	e.Line, e.Column = d.Position(e.Off)
	return e
}

// unexpected fills in the message where something else was wanted than what stands at e.Off.
func (d *Doc) unexpected(e *SyntaxError, why reason, want string) {
	rest := d.Body[e.Off:]
	if len(rest) == 0 {
		e.Msg = "unexpected end of text, want " + want
		return
	}
	c := rest[0]
	switch {
	case c == '"' && (why == wantName || why == wantValue):
		n, msg := stringFault(rest)
		e.Off, e.Msg = e.Off+n, msg
	case why == wantValue && (c == '-' || c-'0' <= 9):
		e.Msg = "malformed number"
	case e.Off == 0 && bytes.HasPrefix(rest, []byte("\ufeff")):
		e.Msg = "byte order mark before the text"
	default:
		r, _ := utf8.DecodeRune(rest)
		e.Msg = fmt.Sprintf("unexpected %q, want %s", r, want)
	}
}

// stringFault says where and why s, which starts with a quote, is not a string.
func stringFault(s []byte) (off int, msg string) {
	for i := 1; ; {
		n, _ := plain(s[i:])
		if bad := invalidUTF8(s[i : i+n]); bad >= 0 {
			return i + bad, "invalid UTF-8 in a string"
		}
		i += n
		if i == len(s) {
			return 0, "string without closing quote"
		}
		if s[i] != '\\' {
			return i, fmt.Sprintf("control character 0x%02x in a string, want an escape", s[i])
		}
		if n = escapeLen(s[i:]); n == 0 {
			return i, "malformed escape in a string"
		}
		i += n
	}
}

// Position returns the line and the column, both from 1, of the byte at off in Body. The column counts bytes.
// It reads all that is before off: it is for messages.
func (d *Doc) Position(off int) (line, column int) {
	before := d.Body[:off]
	return 1 + bytes.Count(before, []byte("\n")), off - bytes.LastIndexByte(before, '\n')
}

// Path returns where the value stands, such as messages[2].content: "" at the root. A name that is no identifier is
// quoted, as in ["a b"]; long ones, and long paths, are cut, as paths are for people to read. A
// name's own node has the path of its member. The cost is that of walking there from the root.
func (d *Doc) Path(i int) string {
	_ = d.Nodes[i]
	var path []byte
	for at := 0; at != i; {
		node := d.Nodes[at]
		if node.Kind != Object && node.Kind != Array {
			break
		}
		next := at + 1
		for n := 0; ; n++ {
			key := next
			if node.Kind == Object {
				next++
			}
			if i < int(d.Nodes[next].Next) {
				if node.Kind == Object {
					path = appendName(path, d.Text(key))
				} else {
					path = appendIndex(path, n)
				}
				if i == key {
					return string(path)
				}
				break
			}
			next = int(d.Nodes[next].Next)
		}
		at = next
	}
	return string(path)
}

// openPath is the path at which a scan stopped: that of the wanted value, else that of the innermost open container.
func openPath(body []byte, nodes []Node, s stop) string {
	var chain [maxDepth + 1]int // the open containers, the root last
	for k, at := 0, s.open; k < s.depth; k++ {
		chain[k], at = at, int(nodes[at].Next)
	}
	d := Doc{Body: body, Nodes: nodes}
	var path []byte
	for k := s.depth - 1; k >= 0; k-- {
		at, child, n := chain[k], len(nodes), s.commas
		if k > 0 {
			child, n = chain[k-1], int(nodes[at].End)
		} else if s.why != wantColon && s.why != wantValue && s.why != tooMany && s.why != tooDeep {
			break
		}
		if nodes[at].Kind == Object {
			path = appendName(path, d.Text(child-1))
		} else {
			path = appendIndex(path, n)
		}
	}
	return string(path)
}

// What a path may hold of a client's bytes.
const (
	pathName  = 64
	pathTotal = 512
)

const cut = "…"

func appendName(path []byte, name string) []byte {
	if len(path) > pathTotal {
		return append(bytes.TrimSuffix(path, []byte(cut)), cut...)
	}
	for i := range len(name) {
		c := name[i]
		if len(name) > pathName || !(c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && (c == '-' || '0' <= c && c <= '9')) {
			return append(appendShort(append(path, '['), name), ']')
		}
	}
	if name == "" {
		return append(path, `[""]`...)
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, name...)
}

func appendIndex(path []byte, n int) []byte {
	if len(path) > pathTotal {
		return append(bytes.TrimSuffix(path, []byte(cut)), cut...)
	}
	return append(strconv.AppendInt(append(path, '['), int64(n), 10), ']')
}

// appendShort appends s in quotes, and only its beginning where it is long.
func appendShort(dst []byte, s string) []byte {
	if len(s) > pathName {
		n := pathName
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + cut
	}
	return AppendQuote(dst, s)
}

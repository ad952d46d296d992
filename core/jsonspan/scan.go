package jsonspan

import (
	"encoding/binary"
	"math/bits"
)

// scan is the one pass over the text. While a container is open, its node's Next holds the index of the container around
// it, and its End the number of commas that it had when the one inside was opened: the tape is its own stack.
//
// It is one function because its state (position, tape, open container) has to stay in registers.
func (d *Doc) scan(lim Limits) error {
	b, nodes := d.Body, d.Nodes[:0]
	i, open, depth, commas := 0, 0, 0, 0
	var closer byte // the bracket that ends the open container
	for {
		if closer == '}' {
			i = skipSpace(b, i)
			end, flags := -1, Flags(0)
			if i < len(b) && b[i] == '"' {
				end, flags = scanString(b, i+1)
			}
			if end < 0 {
				return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: wantName})
			}
			nodes = longer(nodes)
			nodes[len(nodes)-1].set(i, end, len(nodes), String, flags, depth)
			i = skipSpace(b, end)
			if i == len(b) || b[i] != ':' {
				return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: wantColon})
			}
			i++
		}
		i = skipSpace(b, i)
		if i == len(b) {
			return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: wantValue})
		}
		if len(nodes) >= lim.Nodes {
			return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: tooMany})
		}
		if c := b[i]; c == '{' || c == '[' {
			if depth == lim.Depth {
				return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: tooDeep})
			}
			if depth > 0 {
				nodes[open].End = uint32(commas)
			}
			kind := Array
			if c == '{' {
				kind = Object
			}
			nodes = longer(nodes)
			nodes[len(nodes)-1].set(i, 0, open, kind, 0, depth)
			open, commas, closer = len(nodes)-1, 0, c+2 // in ASCII, brackets are two apart
			depth++
			i = skipSpace(b, i+1)
			if i == len(b) || b[i] != closer {
				continue
			}
		} else {
			end, kind, flags := scanScalar(b, i)
			if end < 0 {
				return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: wantValue})
			}
			nodes = longer(nodes)
			nodes[len(nodes)-1].set(i, end, len(nodes), kind, flags, depth)
			i = end
		}
		for {
			i = skipSpace(b, i)
			if depth == 0 {
				if i < len(b) {
					return d.refuse(nodes, stop{off: i, why: wantEnd})
				}
				d.Nodes = nodes
				return nil
			}
			if i < len(b) && b[i] == ',' {
				commas++
				i++
				break
			}
			if i == len(b) || b[i] != closer {
				return d.refuse(nodes, stop{off: i, open: open, depth: depth, commas: commas, why: wantComma})
			}
			if closer == '}' && commas > 0 && !lim.AllowDuplicates {
				if key := d.names.repeated(b, nodes, open, commas+1); key > 0 {
					return d.refuse(nodes, stop{off: int(nodes[key].Off), open: open, depth: depth, commas: commas, why: repeated, key: key})
				}
			}
			i++
			top := &nodes[open]
			open, top.End, top.Next = int(top.Next), uint32(i), uint32(len(nodes))
			depth--
			if depth > 0 {
				outer := &nodes[open]
				commas, closer = int(outer.End), b[outer.Off]+2
			}
		}
	}
}

// longer makes room for one more node, whose old content is left.
func longer(nodes []Node) []Node {
	if len(nodes) < cap(nodes) {
		return nodes[:len(nodes)+1]
	}
	return append(nodes, Node{})
}

// set assigns each field by itself. Appending a Node literal costs three times as much: it is built in memory byte by byte
// and then loaded as a whole, which has to wait for the stores.
func (n *Node) set(off, end, next int, kind Kind, flags Flags, depth int) {
	n.Off = uint32(off)
	n.End = uint32(end)
	n.Next = uint32(next)
	n.Kind = kind
	n.Flags = flags
	n.Depth = uint8(depth)
}

// skipSpace returns the index of the first byte from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool {
	return c <= ' ' && (1<<' '|1<<'\t'|1<<'\n'|1<<'\r')>>c&1 != 0
}

// scanScalar returns the end and the nature of the string, number or literal at i, and a negative end where there is none.
func scanScalar(b []byte, i int) (end int, kind Kind, flags Flags) {
	switch c := b[i]; {
	case c == '"':
		end, flags = scanString(b, i+1)
		return end, String, flags
	case c == '-' || '0' <= c && c <= '9':
		end, flags = scanNumber(b, i)
		return end, Number, flags
	case c == 't':
		return scanWord(b, i, "true"), True, 0
	case c == 'f':
		return scanWord(b, i, "false"), False, 0
	case c == 'n':
		return scanWord(b, i, "null"), Null, 0
	}
	return -1, 0, 0
}

func scanWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// scanNumber returns the end of the number at i, where a digit or a minus stands.
func scanNumber(b []byte, i int) (end int, flags Flags) {
	if b[i] == '-' {
		i++
	}
	from := i
	i = skipDigits(b, i)
	if i == from {
		return -1, 0
	}
	if b[from] == '0' {
		i = from + 1 // a further digit is then found to be no comma
	}
	flags = Integer
	if i < len(b) && b[i] == '.' {
		flags, from = 0, i+1
		if i = skipDigits(b, from); i == from {
			return -1, 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		flags, from = 0, i
		if i = skipDigits(b, from); i == from {
			return -1, 0
		}
	}
	return i, flags
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// scanString returns the index after the closing quote of the string whose first byte is b[i].
func scanString(b []byte, i int) (end int, flags Flags) {
	for n := i; n+8 <= len(b) && n < i+16; n += 8 { // most names and short values end within two words
		x := binary.LittleEndian.Uint64(b[n:])
		hit := special(x)
		if hit != 0 {
			n += bits.TrailingZeros64(hit) >> 3
			if b[n] == '"' && x&highs&(hit&-hit-1) == 0 {
				return n + 1, 0
			}
			break
		}
		if x&highs != 0 {
			break
		}
	}
	var seen uint64
	for from := i; ; {
		if len(b)-i > 64 && b[i] != '\\' && vectorized() {
			n, s, escaped := stringBlocks(b[i:])
			if i, seen = i+n, seen|s; escaped {
				flags |= Escaped
			}
		}
		n, s := plain(b[i:])
		i, seen = i+n, seen|s
		if i >= len(b) {
			return -1, 0
		}
		switch b[i] {
		case '"':
			if seen&highs == 0 {
				return i + 1, flags
			}
			if invalidUTF8(b[from:i]) >= 0 {
				return -1, 0
			}
			return i + 1, flags | NonASCII
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return -1, 0
			}
			i, flags = i+n, flags|Escaped
		default:
			return -1, 0
		}
	}
}

// escapeLen returns the length of the escape at the start of p, which is a backslash, and 0 where it is none.
func escapeLen(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(p) >= 6 && hex4(p[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 is the value of the four hexadecimal digits that p starts with, or -1.
func hex4(p []byte) rune {
	var r rune
	for _, c := range p[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

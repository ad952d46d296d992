package jsonspan

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// exactInteger is the largest integer up to which every integer is a float64 of its own.
const exactInteger = 1<<53 - 1

// Canonical appends the canonical form of RFC 8785 to dst: no white space, members sorted by the UTF-16 of their names,
// numbers as ECMAScript prints them. Texts that say the same have the same form, so it can be a key.
//
// For that the reverse must hold too. As the form takes numbers for float64, Canonical refuses those of which it would change the
// value beyond the rounding of fractions: beyond ±(2^53-1) a number must keep its value to the last digit
// (9007199254740993 would become …992), and none may overflow or become zero. It also refuses lone surrogates,
// which are no text. The error is a [*SyntaxError]; dst is then returned as it was.
func Canonical(dst, text []byte) ([]byte, error) {
	d, release := borrow()
	defer release()
	if err := d.Parse(text, Limits{}); err != nil {
		return dst, err
	}
	c := canonizer{doc: d, out: dst}
	if i, msg := c.value(0); msg != "" {
		e := &SyntaxError{Off: int(d.Nodes[i].Off), Path: d.Path(i), Msg: msg}
		e.Line, e.Column = d.Position(e.Off)
		return dst, e
	}
	return c.out, nil
}

// canonizer writes one text. Its methods return the node that cannot be written and why, or "" for the reason.
type canonizer struct {
	doc  *Doc
	out  []byte
	text []byte // a string, unescaped
	keys []member
}

type member struct {
	name string
	key  int
}

func (c *canonizer) value(i int) (at int, why string) {
	switch c.doc.Kind(i) {
	case Object:
		return c.object(i)
	case Array:
		c.out = append(c.out, '[')
		first := true
		for item := range c.doc.Items(i) {
			if !first {
				c.out = append(c.out, ',')
			}
			first = false
			if at, why = c.value(item); why != "" {
				return at, why
			}
		}
		c.out = append(c.out, ']')
	case String:
		return i, c.string(i)
	case Number:
		return i, c.number(c.doc.Raw(i))
	default:
		c.out = append(c.out, c.doc.Raw(i)...)
	}
	return i, ""
}

func (c *canonizer) object(i int) (at int, why string) {
	from := len(c.keys) // those of the objects around this one stay below
	for key := range c.doc.Members(i) {
		c.keys = append(c.keys, member{c.doc.Text(key), key})
	}
	keys := c.keys[from:]
	slices.SortFunc(keys, func(a, b member) int { return compareUTF16(a.name, b.name) })
	c.out = append(c.out, '{')
	for n, m := range keys {
		if n > 0 {
			c.out = append(c.out, ',')
		}
		if why = c.string(m.key); why != "" {
			return m.key, why
		}
		c.out = append(c.out, ':')
		if at, why = c.value(m.key + 1); why != "" {
			return at, why
		}
	}
	c.out = append(c.out, '}')
	c.keys = c.keys[:from]
	return i, ""
}

func (c *canonizer) string(i int) (why string) {
	if c.doc.Nodes[i].Flags&Escaped == 0 {
		c.out = append(c.out, c.doc.Raw(i)...)
		return ""
	}
	if loneSurrogate(c.doc.Inner(i)) {
		return "lone surrogate, which has no canonical form"
	}
	c.text = c.doc.AppendText(c.text[:0], i)
	c.out = append(c.out, '"')
	c.out = AppendEscape(c.out, c.text)
	c.out = append(c.out, '"')
	return ""
}

// loneSurrogate reports whether an escape in inner is one. An escape that decodes to U+FFFD is, unless it says so.
func loneSurrogate(inner []byte) bool {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return false
		}
		inner = inner[n:]
		r, size := unescape(inner)
		if r == utf8.RuneError && hex4(inner[2:]) != utf8.RuneError {
			return true
		}
		inner = inner[size:]
	}
}

func (c *canonizer) number(raw []byte) (why string) {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return fmt.Sprintf("number %.40s is too large for a float64", raw)
	}
	from := len(c.out)
	c.out = appendNumber(c.out, v)
	switch form := c.out[from:]; {
	case v == 0 && significand(raw) != nil:
		return fmt.Sprintf("number %.40s would become 0", raw)
	case math.Abs(v) > exactInteger && !sameNumber(raw, form):
		return fmt.Sprintf("number %.40s would become %s", raw, form)
	}
	return ""
}

// appendNumber appends v as ECMAScript's Number::toString does.
func appendNumber(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, '0') // minus zero too
	}
	if abs := math.Abs(v); 1e-6 <= abs && abs < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 is e-7 there
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// sameNumber reports whether a and b, of one sign, are the same decimal number.
func sameNumber(a, b []byte) bool {
	return string(significand(a)) == string(significand(b)) && magnitude(a) == magnitude(b)
}

// significand returns the digits of a number from the first to the last that is not 0: nil for zero.
func significand(raw []byte) []byte {
	var digits []byte
	for _, c := range raw {
		if c|0x20 == 'e' {
			break
		}
		if '0' <= c && c <= '9' && (c != '0' || digits != nil) {
			digits = append(digits, c)
		}
	}
	if digits = bytes.TrimRight(digits, "0"); len(digits) == 0 {
		return nil
	}
	return digits
}

// magnitude returns the power of ten of a number's first digit that is not 0. Exponents have been found to fit.
func magnitude(raw []byte) int {
	mantissa, exponent := bytes.TrimPrefix(raw, []byte("-")), 0
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		mantissa = bytes.TrimPrefix(raw[:e], []byte("-"))
		exponent, _ = strconv.Atoi(string(raw[e+1:])) // out of range only where the number is 0 or infinite
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first > point {
		first-- // the point itself is no digit
	}
	return point - 1 - first + exponent
}

// compareUTF16 orders strings by their UTF-16 code units. That is the order of their bytes, but for characters beyond U+FFFF,
// whose surrogates stand below U+E000.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			const above = 0x10000
			if (r < above) != (s < above) {
				r, s = unit(r), unit(s)
			}
			return int(r) - int(s)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// unit is a stand-in for the first UTF-16 code unit of r: right in comparison with characters up to U+FFFF.
func unit(r rune) rune {
	if r > 0xffff {
		return 0xd800
	}
	return r
}

package jsonspan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// AppendQuote appends s as a JSON string, in quotes. Escaped is what RFC 8259 demands and nothing else: the quote, the
// backslash and the control characters below 0x20. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendEscape(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // which only reads it
	return append(dst, '"')
}

// AppendEscape appends text as it stands between the quotes of a JSON string, with the escapes of [AppendQuote].
func AppendEscape(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	for len(text) > 0 {
		n, seen := plain(text)
		if seen&highs != 0 {
			dst = append(dst, bytes.ToValidUTF8(text[:n], []byte("\ufffd"))...)
		} else {
			dst = append(dst, text[:n]...)
		}
		if n == len(text) {
			break
		}
		c := text[n]
		text = text[n+1:]
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// AppendUnescape appends the text of a JSON string whose bytes between the quotes are inner. A lone surrogate becomes
// U+FFFD. The error is a [*SyntaxError] with a place in inner; dst is then returned as it was.
func AppendUnescape(dst, inner []byte) ([]byte, error) {
	for i := 0; i < len(inner); {
		n, _ := plain(inner[i:])
		i += n
		if i == len(inner) {
			break
		}
		n = escapeLen(inner[i:])
		if inner[i] != '\\' || n == 0 {
			return dst, contentError(inner, i)
		}
		i += n
	}
	if bad := invalidUTF8(inner); bad >= 0 {
		return dst, contentError(inner, bad)
	}
	return appendUnescaped(dst, inner), nil
}

// contentError makes the error for the byte at off, which cannot stand between the quotes of a string.
func contentError(inner []byte, off int) error {
	e := &SyntaxError{Off: off, Msg: "malformed escape in a string"}
	switch c := inner[off]; {
	case c == '"':
		e.Msg = "quote in a string, want an escape"
	case c < 0x20:
		e.Msg = "control character in a string, want an escape"
	case c >= utf8.RuneSelf:
		e.Msg = "invalid UTF-8 in a string"
	}
	d := Doc{Body: inner}
	e.Line, e.Column = d.Position(off)
	return e
}

// appendUnescaped is AppendUnescape for what has been checked.
func appendUnescaped(dst, inner []byte) []byte {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:n]...)
		r, size := unescape(inner[n:])
		dst = utf8.AppendRune(dst, r)
		inner = inner[n+size:]
	}
}

// unescape returns the character of the escape that p starts with, and the escape's length. p has been checked.
func unescape(p []byte) (r rune, size int) {
	switch p[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hex4(p[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(p) >= 12 && p[6] == '\\' && p[7] == 'u' {
			if both := utf16.DecodeRune(r, hex4(p[8:])); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	}
	return rune(p[1]), 2
}

// sameText reports whether a and b, the checked bytes between the quotes of two strings, are the same text.
func sameText(a, b []byte) bool {
	for len(a) > 0 && len(b) > 0 {
		r, n := firstRune(a)
		s, m := firstRune(b)
		if r != s {
			return false
		}
		a, b = a[n:], b[m:]
	}
	return len(a) == len(b)
}

// firstRune decodes the character that inner starts with, escaped or not.
func firstRune(inner []byte) (r rune, size int) {
	if inner[0] == '\\' {
		return unescape(inner)
	}
	return utf8.DecodeRune(inner)
}

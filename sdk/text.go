package sdk

import (
	"bytes"
	"encoding/binary"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Text is the content of a JSON string as it stands between its quotes, still escaped: every JSON dialect accepts the
// same bytes, so a prompt is never decoded and encoded again on its way through.
//
// A text is inline, or held: the gateway keeps the bytes and the plugin sees a handle with [Facts]. Both are written by
// [Writer.Text] in the same way. The zero Text is absent; an empty string is present.
type Text struct{ span }

// Value is a JSON text of any kind (an object, a number, …), inline or held. The zero Value is absent.
type Value struct{ span }

// Facts are what a plugin knows of bytes that the gateway holds.
type Facts struct {
	Len      int    // bytes
	Escaped  bool   // a string that has a backslash
	NonASCII bool   // a string that has a byte over 0x7f
	Head     []byte // the first 64 bytes at most
	Tail     []byte // the last 16 bytes at most
}

// HeadBytes and TailBytes bound what [Facts] shows of held bytes.
const (
	HeadBytes = 64
	TailBytes = 16
)

// form says what is done to a held span when it is written.
type form uint8

const (
	asIs     form = iota
	unescape      // string content → the JSON text that it holds
	escape        // JSON text → string content
)

// span is inline bytes, or a range of the bytes behind a handle.
type span struct {
	raw      []byte
	handle   uint32 // 0: inline
	from, to uint32 // range of the handle's bytes
	form     form
	facts    *Facts
}

// T makes a text of a Go string, escaping it.
func T(s string) Text {
	return Text{span{raw: jsonspan.AppendEscape(make([]byte, 0, len(s)+8), []byte(s))}}
}

// RawText makes a text of bytes that are already the content of a JSON string. It keeps raw.
func RawText(raw []byte) Text {
	if raw == nil {
		raw = []byte{}
	}
	return Text{span{raw: raw}}
}

// RawValue makes a value of a complete JSON text. It keeps raw; no bytes make an absent value.
func RawValue(raw []byte) Value {
	if len(raw) == 0 {
		return Value{}
	}
	return Value{span{raw: raw}}
}

// Present says whether there is a value at all; an empty string is one.
func (s span) Present() bool { return s.raw != nil || s.handle != 0 }

// Held says whether the gateway holds the bytes.
func (s span) Held() bool { return s.handle != 0 }

// Raw gives the inline bytes; nil for a held span. They are not the caller's to change.
func (s span) Raw() []byte { return s.raw }

// Len is the length in bytes, escaped as it stands. A held span that is to be escaped or unescaped gives the length before that.
func (s span) Len() int {
	if s.handle != 0 {
		return int(s.to - s.from)
	}
	return len(s.raw)
}

// Facts tells what is known of the bytes. For an inline span they are computed.
func (s span) Facts() Facts {
	if s.handle != 0 {
		if s.facts == nil {
			return Facts{Len: s.Len()}
		}
		return *s.facts
	}
	return FactsOf(s.raw)
}

// FactsOf computes the facts of string content. Head and Tail are slices of raw.
func FactsOf(raw []byte) Facts {
	f := Facts{Len: len(raw), Head: raw[:min(len(raw), HeadBytes)], Tail: raw[len(raw)-min(len(raw), TailBytes):]}
	f.Escaped = bytes.IndexByte(raw, '\\') >= 0
	f.NonASCII = !ascii(raw)
	return f
}

// ascii says whether no byte is over 0x7f. Texts may be megabytes long, so it takes eight bytes at a time.
func ascii(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// Empty says whether the text is absent or "".
func (t Text) Empty() bool { return t.Len() == 0 }

// Decoded gives the string that the text stands for; false for a held text and for bytes that are no string content.
func (t Text) Decoded() (string, bool) {
	if t.handle != 0 {
		return "", false
	}
	if bytes.IndexByte(t.raw, '\\') < 0 {
		return string(t.raw), true
	}
	b, err := jsonspan.AppendUnescape(nil, t.raw)
	return string(b), err == nil
}

// Is says whether the text is inline and stands for s.
func (t Text) Is(s string) bool {
	d, ok := t.Decoded()
	return ok && t.Present() && d == s
}

// HasPrefix says whether the escaped bytes begin with p, which may be 64 bytes long at most.
func (t Text) HasPrefix(p string) bool {
	if t.handle == 0 {
		return bytes.HasPrefix(t.raw, []byte(p))
	}
	return t.from == 0 && t.facts != nil && bytes.HasPrefix(t.facts.Head, []byte(p))
}

// Slice gives the escaped bytes from…to; the caller sees to it that no escape is cut.
func (t Text) Slice(from, to int) Text {
	if t.handle == 0 {
		return RawText(t.raw[from:to:to])
	}
	t.to = t.from + uint32(to)
	t.from += uint32(from)
	return t
}

// TrimEnd cuts white space off the end, as providers want it of the beginning of an answer. Of a held text only the tail is
// seen: where that begins in a backslash or is all blank, the text stays as it is.
func (t Text) TrimEnd() Text {
	if t.handle == 0 {
		return t.Slice(0, len(trimSpace(t.raw)))
	}
	tail := t.Facts().Tail
	kept := trimSpace(tail)
	if len(kept) == 0 || tail[0] == '\\' {
		return t
	}
	return t.Slice(0, t.Len()-(len(tail)-len(kept)))
}

// trimSpace cuts white space off the end of string content, escaped as it stands.
func trimSpace(raw []byte) []byte {
	for len(raw) > 0 {
		n := len(raw)
		switch {
		case raw[n-1] == ' ':
			raw = raw[:n-1]
		case n > 1 && bytes.IndexByte([]byte("nrtf"), raw[n-1]) >= 0 && raw[n-2] == '\\' && !escaped(raw[:n-2]):
			raw = raw[:n-2]
		default:
			return raw
		}
	}
	return raw
}

// escaped says whether what follows raw stands behind an odd number of backslashes.
func escaped(raw []byte) bool {
	n := 0
	for n < len(raw) && raw[len(raw)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// JSON gives the JSON text that the string holds, as when OpenAI's arguments become Anthropic's input. The caller, or
// for a held text the gateway, sees that it is one.
func (t Text) JSON() Value {
	if t.handle != 0 {
		if t.form == escape {
			t.form = asIs
		} else {
			t.form = unescape
		}
		return Value(t)
	}
	if bytes.IndexByte(t.raw, '\\') < 0 {
		return RawValue(t.raw)
	}
	b, err := jsonspan.AppendUnescape(make([]byte, 0, len(t.raw)), t.raw)
	if err != nil {
		return Value{}
	}
	return RawValue(b)
}

// Text gives the content of a JSON string that holds this JSON text.
func (v Value) Text() Text {
	if v.handle != 0 {
		if v.form == unescape {
			v.form = asIs
		} else {
			v.form = escape
		}
		return Text(v)
	}
	if v.raw == nil {
		return Text{}
	}
	return RawText(jsonspan.AppendEscape(make([]byte, 0, len(v.raw)+len(v.raw)/8), v.raw))
}

package pipe

import "bytes"

// halves puts the two escapes of one character together where a service has cut its text between them, one at the end of
// an event's text, the other at the beginning of the next. Each alone is no character: clients would read two question
// marks (RFC 8259 8.2).
type halves struct {
	high []byte // the first half, which waits for the second
}

// escape is the length of an escape such as \ud83d.
const escape = 6

// join gives an event's data as it is to be read, and whether that is another than it was. A first half whose second
// never comes is left out.
func (h *halves) join(data []byte) (joined []byte, changed bool) {
	if !bytes.Contains(data, []byte(`\u`)) {
		return data, false
	}
	if len(h.high) > 0 {
		if at := find(data, isSecond); at >= 0 {
			data, changed = spliced(data, at, 0, h.high), true
			h.high = h.high[:0]
		}
	}
	if at := find(data, isFirst); at >= 0 {
		h.high = append(h.high[:0], data[at:at+escape]...)
		data, changed = spliced(data, at, escape, nil), true
	}
	return data, changed
}

// spliced is data with other bytes in the place of n.
func spliced(data []byte, at, n int, with []byte) []byte {
	out := make([]byte, 0, len(data)+len(with))
	return append(append(append(out, data[:at]...), with...), data[at+n:]...)
}

// find gives the place of the first escape that is such a half; -1: there is none.
func find(data []byte, is func(data []byte, at int) bool) int {
	for at := 0; ; at += 2 {
		i := bytes.Index(data[at:], []byte(`\u`))
		if i < 0 {
			return -1
		}
		at += i
		if at+escape < len(data) && endsEscape(data[:at+1]) && is(data, at) {
			return at
		}
	}
}

// isFirst says whether the escape is the first half of a pair and the last of its text.
func isFirst(data []byte, at int) bool {
	return surrogate(data[at:], "89ab") && data[at+escape] == '"'
}

// isSecond says whether the escape is the second half of a pair and the first of its text.
func isSecond(data []byte, at int) bool {
	return at > 0 && data[at-1] == '"' && surrogate(data[at:], "cdef") && (at < 2 || data[at-2] != '\\')
}

// surrogate says whether an escape is that of one half, by its second digit.
func surrogate(e []byte, digits string) bool {
	return e[2]|0x20 == 'd' && bytes.IndexByte([]byte(digits), e[3]|0x20) >= 0
}

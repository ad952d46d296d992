package frame

import "fmt"

// JSONArray splits one JSON array whose elements arrive bit by bit, the form in
// which Gemini streams without alt=sse. Data is an element's text. An element is
// found by counting brackets outside of strings: whether it is valid JSON is for
// its reader to say. An object or array is given as soon as its bracket has come,
// a scalar when the byte after it has.
//
// The closing bracket is a frame of its own with Lines 0. White space after it is
// dropped; anything else is ErrMalformed.
type JSONArray struct {
	window
	at    place
	depth int
	quote bool // inside a string
	slash bool // after a backslash in a string
	from  int  // where the element begins, counted from the frame's first byte
}

// place is where in the array the next byte stands.
type place uint8

const (
	beforeArray place = iota
	wantElementOrEnd
	wantElement
	inElement
	wantCommaOrEnd
	afterArray
)

// NewJSONArray returns a splitter for frames of at most limit bytes; 0 is
// DefaultLimit.
func NewJSONArray(limit int) *JSONArray { return &JSONArray{window: newWindow(limit)} }

// Reset is described at Splitter.
func (a *JSONArray) Reset() {
	a.window.reset()
	*a = JSONArray{window: a.window}
}

// Next is described at Splitter.
func (a *JSONArray) Next() (Frame, bool, error) {
	a.begin()
	if a.err != nil {
		return Frame{}, false, a.err
	}
	for a.pos < len(a.chunk) {
		var done bool
		var err error
		if a.at == inElement {
			done = a.element()
		} else {
			done, err = a.between(a.chunk[a.pos])
		}
		if err != nil {
			return Frame{}, false, a.fail(err)
		}
		if done {
			return a.frame()
		}
	}
	if a.at == afterArray {
		a.start = a.pos
	}
	return Frame{}, false, a.stash()
}

// End is described at Splitter. An array that is not closed is ErrTruncated.
func (a *JSONArray) End() (Frame, bool, error) {
	f, ok, err := a.Next()
	if ok || err != nil || a.at == afterArray {
		return f, ok, err
	}
	return Frame{}, false, a.fail(fmt.Errorf("%w: want the \"]\" that closes the array", ErrTruncated))
}

// frame gives the bytes up to pos: an element, or the end of the array.
func (a *JSONArray) frame() (Frame, bool, error) {
	raw, err := a.take(a.pos)
	if err != nil {
		return Frame{}, false, err
	}
	if a.at == afterArray {
		return Frame{Raw: raw}, true, nil
	}
	return Frame{Raw: raw, Data: raw[a.from:], Lines: 1}, true, nil
}

// between reads one byte outside of elements. It reports whether the array ended.
func (a *JSONArray) between(c byte) (done bool, err error) {
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case a.at == beforeArray && c == '[':
		a.at = wantElementOrEnd
	case (a.at == wantElementOrEnd || a.at == wantCommaOrEnd) && c == ']':
		a.at, done = afterArray, true
	case a.at == wantCommaOrEnd && c == ',':
		a.at = wantElement
	case (a.at == wantElementOrEnd || a.at == wantElement) && c != ',' && c != ']' && c != '}':
		a.from = a.size(a.pos)
		a.at = inElement
		return false, nil // the byte is the element's
	default:
		return false, fmt.Errorf("%w: %q where want %s", ErrMalformed, c, a.at.want())
	}
	a.pos++
	return done, nil
}

// element reads on to the element's end and reports whether it has come.
func (a *JSONArray) element() bool {
	p, i := a.chunk, a.pos
	for ; i < len(p); i++ {
		c := p[i]
		switch {
		case a.slash:
			a.slash = false
		case a.quote && c == '\\':
			a.slash = true
		case c == '"':
			a.quote = !a.quote
		case a.quote:
		case c == '{' || c == '[':
			a.depth++
		case c == '}' || c == ']':
			if a.depth == 0 {
				return a.endElement(i)
			}
			if a.depth--; a.depth == 0 {
				return a.endElement(i + 1)
			}
		case a.depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			return a.endElement(i)
		}
	}
	a.pos = i
	return false
}

func (a *JSONArray) endElement(end int) bool {
	a.pos, a.at = end, wantCommaOrEnd
	return true
}

// want names what may stand at a place.
func (p place) want() string {
	switch p {
	case beforeArray:
		return `"["`
	case wantElementOrEnd:
		return `an element or "]"`
	case wantElement:
		return "an element"
	case wantCommaOrEnd:
		return `"," or "]"`
	default:
		return "the end"
	}
}

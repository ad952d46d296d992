package pipe

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Tools says what the client calls its tools, where the provider does not.
type Tools struct {
	Renamed []sdk.Rename
	// Free are the client's names of its tools with free-form input. Where the provider's answer calls one with arguments
	// it stands there as a function (see sdk.FreeInput), and the client is given the input alone.
	Free []string
}

// name gives a tool the name that the client knows it by.
func (t *Tools) name(name sdk.Text) sdk.Text {
	for _, r := range t.Renamed {
		if name.Is(r.Upstream) {
			return sdk.T(r.Client)
		}
	}
	return name
}

// freeCalls are the open calls of functions that stand for tools with free-form input.
type freeCalls struct{ open []*freeInput }

// event makes of an event what the client is to see of it: nothing or the event, and before it a last piece of the input of
// the calls that end with it.
func (c *freeCalls) event(tools *Tools, e *sdk.Event, emit func(*sdk.Event)) {
	switch e.Kind {
	case sdk.ToolBegin:
		if !e.Custom && slices.ContainsFunc(tools.Free, e.Name.Is) {
			e.Custom = true
			c.open = append(c.open, &freeInput{choice: e.Choice, call: e.Call})
		}
	case sdk.ToolInput:
		for _, f := range c.open {
			if f.choice != e.Choice || f.call != e.Call {
				continue
			}
			if e.Text = sdk.RawText(f.feed(e.Text)); e.Text.Empty() {
				return
			}
		}
	case sdk.ToolEnd, sdk.Finish:
		c.open = slices.DeleteFunc(c.open, func(f *freeInput) bool {
			if f.choice != e.Choice || e.Kind == sdk.ToolEnd && f.call != e.Call {
				return false
			}
			if rest := f.rest(); len(rest) > 0 {
				emit(&sdk.Event{Kind: sdk.ToolInput, Choice: f.choice, Call: f.call, Text: sdk.RawText(rest)})
			}
			return true
		})
	}
	emit(e)
}

// freeInput takes the input out of the arguments of one call as they come: the string that the member sdk.FreeInput of their
// object holds. What is no object is the input itself, as models write it that were told of free text.
type freeInput struct {
	choice, call int // where the call stands in the answer
	state        freeState
	seen         []byte // the arguments before the input
	escape       []byte // an escape of the input that is not yet whole
	out          []byte
}

// freeState is how far the arguments have been read.
type freeState uint8

const (
	beforeInput freeState = iota
	inInput
	afterInput
	noObject
)

// maxSeen bounds the arguments before the input. What is longer is handed over as it stands.
const maxSeen = 16 << 10

// feed gives the piece of the input that a piece of the arguments brings, as the content of a JSON string. It is valid
// until the next call.
func (f *freeInput) feed(t sdk.Text) []byte {
	f.out = f.out[:0]
	if f.state == noObject {
		return t.Raw()
	}
	text, err := jsonspan.AppendUnescape(nil, t.Raw())
	if err != nil {
		return t.Raw()
	}
	if f.state == beforeInput {
		f.seen = append(f.seen, text...)
		text = f.begin()
	}
	if f.state == inInput {
		f.content(text)
	}
	return f.out
}

// begin looks for the input in what has been seen, and gives what of its content has come.
func (f *freeInput) begin() []byte {
	trimmed := bytes.TrimLeft(f.seen, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		return nil
	case trimmed[0] == '"':
		f.state, f.seen = inInput, nil
		return trimmed[1:]
	case trimmed[0] != '{', len(f.seen) > maxSeen:
		f.plain()
		return nil
	}
	at := inputContent(trimmed)
	if at < 0 {
		return nil
	}
	f.state, f.seen = inInput, nil
	return trimmed[at:]
}

// plain hands over what has been seen, and what follows.
func (f *freeInput) plain() {
	f.out = jsonspan.AppendEscape(f.out, f.seen)
	f.state, f.seen = noObject, nil
}

// inputContent gives where the content of the member sdk.FreeInput begins in an object that may not be whole yet; -1 where it
// has not come.
func inputContent(object []byte) int {
	const name = `"` + sdk.FreeInput + `"`
	depth, named := 0, false // the last string was the member's name
	for i := 0; i < len(object); i++ {
		switch c := object[i]; c {
		case '{', '[':
			depth++
			named = false
		case '}', ']':
			depth--
		case ',':
			named = false
		case '"':
			n := stringLen(object[i:])
			if named {
				return i + 1
			}
			if n == 0 {
				return -1
			}
			named = depth == 1 && string(object[i:i+n]) == name && isNext(object[i+n:], ':')
			i += n - 1
		}
	}
	return -1
}

// stringLen is the length of the string that a text begins with, its quotes included; 0 where it does not end.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// isNext says whether a character follows, after white space.
func isNext(text []byte, c byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == c
}

// content appends a piece of the input up to its end. An escape is kept until it is whole, both halves of a pair; what is none
// is taken at its word, and so are characters that a string should escape.
func (f *freeInput) content(text []byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case len(f.escape) > 0:
			if !f.inEscape(c) {
				i-- // c is none of it
			}
		case c == '"':
			f.state = afterInput
			return
		case c == '\\':
			f.escape = append(f.escape, c)
		case c < ' ':
			f.out = jsonspan.AppendEscape(f.out, text[i:i+1])
		default:
			f.out = append(f.out, c)
		}
	}
}

// unknownChar stands for a half of a pair that has no other.
const unknownChar = `\ufffd`

// inEscape takes the next character of an escape, and appends the escape once it is whole; false where the character is none
// of it.
func (f *freeInput) inEscape(c byte) bool {
	n := len(f.escape) % 6 // of a pair, the second half begins at 6
	switch {
	case n == 0 && c != '\\', n == 1 && len(f.escape) > 6 && c != 'u':
		f.out = append(f.out, unknownChar...)
		f.escape = append(f.escape[:0], f.escape[6:]...)
		return false
	case n == 1 && bytes.IndexByte([]byte(`"\/bfnrt`), c) >= 0:
		f.out = append(append(f.out, '\\'), c)
		f.escape = f.escape[:0]
		return true
	case n == 1 && c != 'u', n > 1 && !isHex(c):
		if len(f.escape) > 6 {
			f.out = append(f.out, unknownChar...)
			f.escape = append(f.escape[:0], f.escape[6:]...)
		}
		f.out = append(f.out, `\\`...)
		f.out = append(f.out, f.escape[1:]...)
		f.escape = f.escape[:0]
		return false
	}
	if f.escape = append(f.escape, c); len(f.escape)%6 == 0 {
		f.whole()
	}
	return true
}

// whole appends an escape with a number once it is a character, and keeps the first half of a pair.
func (f *freeInput) whole() {
	last := f.escape[len(f.escape)-6:]
	n, _ := strconv.ParseUint(string(last[2:]), 16, 16) // its digits have been seen to be such
	high, low := n >= 0xd800 && n < 0xdc00, n >= 0xdc00 && n < 0xe000
	pair := len(f.escape) > 6
	switch {
	case pair && !low:
		f.out = append(f.out, unknownChar...)
	case low && !pair:
		f.out = append(f.out, unknownChar...)
		f.escape = f.escape[:0]
		return
	}
	if high {
		f.escape = append(f.escape[:0], last...)
		return
	}
	if pair && !low {
		f.out = append(f.out, last...)
	} else {
		f.out = append(f.out, f.escape...)
	}
	f.escape = f.escape[:0]
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// rest gives the input of arguments that have ended without a member of its name: the one string that they hold under another
// name, or else their text.
func (f *freeInput) rest() []byte {
	f.out = f.out[:0]
	if f.state != beforeInput {
		return nil
	}
	var d jsonspan.Doc
	if d.Parse(f.seen, jsonspan.Limits{AllowDuplicates: true}) == nil && d.Kind(0) == jsonspan.Object {
		if d.Len(0) == 0 {
			return nil
		}
		for _, v := range d.Members(0) {
			if d.Len(0) == 1 && d.Kind(v) == jsonspan.String {
				return append(f.out, d.Inner(v)...)
			}
		}
	}
	f.plain()
	return f.out
}

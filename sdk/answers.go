package sdk

import (
	"errors"
	"fmt"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// RawFrame is one frame of an upstream's answer as the gateway has it.
type RawFrame struct {
	Event string
	Data  []byte
}

// wholeFrame is the size in bytes up to which a frame crosses as it is. Of a larger one that is JSON the long strings
// stay behind.
const wholeFrame = 4 << 10

// Answer is the gateway's side of one answer's messages: it makes the messages of frames and reads those of events. It
// is the gateway's, and of no use in a plugin. The zero Answer is ready; it serves one call at a time.
type Answer struct {
	held  Held
	docs  []*jsonspan.Doc // of the large frames of a message, for use again
	used  int
	gaps  []Gap
	arena []byte // of what had to be converted
}

// AppendFrames appends the message that asks for the events of frames. It keeps the frames' bytes until the next call.
func (a *Answer) AppendFrames(dst []byte, frames []RawFrame) []byte {
	a.held.Reset()
	a.used = 0
	c := coder{b: dst, facts: true}
	c.length(len(frames))
	for i := range frames {
		a.frame(&c, &frames[i])
	}
	return c.b
}

// AppendInfo appends what a stream's first message begins with.
func AppendInfo(dst []byte, info AnswerInfo) []byte {
	c := coder{b: dst}
	c.info(&info)
	return c.b
}

// The ways in which a frame crosses: as it is, or as a skeleton and its gaps.
const (
	frameWhole uint8 = iota
	frameSkeleton
)

func (a *Answer) frame(c *coder, f *RawFrame) {
	c.string(&f.Event)
	doc := a.skeletal(f.Data)
	if doc == nil {
		a.held.spans = append(a.held.spans, heldSpan{}) // handles count frames
		c.b = append(c.b, frameWhole)
		c.bytes(&f.Data)
		return
	}
	a.held.spans = append(a.held.spans, heldSpan{raw: f.Data, doc: doc})
	c.b = append(c.b, frameSkeleton)
	a.skeleton(c, doc)
}

// skeletal parses the data of a frame that is large enough; nil where it is to cross as it is.
func (a *Answer) skeletal(data []byte) *jsonspan.Doc {
	if len(data) <= wholeFrame {
		return nil
	}
	if a.used == len(a.docs) {
		a.docs = append(a.docs, new(jsonspan.Doc))
	}
	doc := a.docs[a.used]
	if doc.Parse(data, jsonspan.Limits{AllowDuplicates: true}) != nil {
		return nil
	}
	a.used++
	return doc
}

// skeleton appends a document without the content of its long strings, and the list of the gaps.
func (a *Answer) skeleton(c *coder, d *jsonspan.Doc) {
	a.gaps = a.gaps[:0]
	left := 0
	for _, n := range d.Nodes {
		if n.Kind == jsonspan.String && n.End-n.Off > longSpan+2 && !isName(d.Body, int(n.End)) {
			at, end := int(n.Off)+1, int(n.End)-1
			a.gaps = append(a.gaps, Gap{At: uint32(at - left), Orig: uint32(at), Facts: FactsOf(d.Body[at:end])})
			left += end - at
		}
	}
	c.uvarint(uint64(len(d.Body) - left))
	from := 0
	for i := range a.gaps {
		g := &a.gaps[i]
		c.b = append(c.b, d.Body[from:g.Orig]...)
		from = int(g.Orig) + g.Facts.Len
	}
	c.b = append(c.b, d.Body[from:]...)
	list(c, &a.gaps, (*coder).gap)
}

// isName says whether the string that ends there is a member's name.
func isName(text []byte, end int) bool {
	for ; end < len(text); end++ {
		switch text[end] {
		case ' ', '\t', '\r', '\n':
		case ':':
			return true
		default:
			return false
		}
	}
	return false
}

func (c *coder) gap(g *Gap) {
	unsigned(c, &g.At)
	unsigned(c, &g.Orig)
	c.factsOf(&g.Facts)
}

// Bounds of what a plugin may say in one message: the numbers of choices and calls, which the gateway keeps lists of, and
// the events, each of which takes a hundred times the memory of its two bytes.
const (
	maxPlace  = 1 << 12
	maxEvents = 1 << 14
)

// ReadEvents appends the events of a message to out, checked and with all their texts and values inline. They are
// slices of the message, of the frames and of the Answer, and stand until the next call.
func (a *Answer) ReadEvents(message []byte, out []Event) ([]Event, error) {
	c := coder{b: message, reading: true}
	a.arena = a.arena[:0]
	if cap(a.arena) > maxScratch {
		a.arena = nil
	}
	first := len(out)
	n := c.length(0)
	if n > maxEvents {
		c.fail(fmt.Errorf("%d of them: want %d at most", n, maxEvents))
	}
	for ; n > 0 && c.err == nil; n-- {
		out = append(out, Event{})
		c.event(&out[len(out)-1])
	}
	if err := c.end("events"); err != nil {
		return out[:first], err
	}
	for i := range out[first:] {
		if err := a.check(&out[first+i]); err != nil {
			return out[:first], fmt.Errorf("event %d: %w", i, err)
		}
	}
	return out, nil
}

// check looks at one event and makes its spans inline.
func (a *Answer) check(e *Event) error {
	switch {
	case e.Kind < Begin || e.Kind > Image:
		return fmt.Errorf("kind %d: want %d to %d", e.Kind, Begin, Image)
	case e.Reason > ReasonFault:
		return fmt.Errorf("reason %d: want %d at most", e.Reason, ReasonFault)
	case e.Choice < 0 || e.Choice > maxPlace || e.Call < 0 || e.Call > maxPlace:
		return fmt.Errorf("choice %d, call %d: want 0 to %d", e.Choice, e.Call, maxPlace)
	case e.Failure.Kind > Internal || e.Kind == Failed && e.Failure.Kind == KindNone:
		return fmt.Errorf("failure of kind %d: want %d to %d", e.Failure.Kind, BadRequest, Internal)
	}
	for _, t := range [...]*Text{&e.ID, &e.Name, &e.Text, &e.Native, &e.Stop} {
		if err := a.inline(&t.span, false); err != nil {
			return err
		}
	}
	return a.inline(&e.Value.span, true)
}

// inline gives a span its bytes.
func (a *Answer) inline(s *span, value bool) error {
	if s.handle == 0 {
		return a.checkInline(s.raw, value)
	}
	raw, isValue, err := a.held.lookup(s.handle, int(s.from), int(s.to))
	if err == nil && s.form != asIs {
		n := len(a.arena)
		a.arena, err = convert(a.arena, raw, isValue, s.form)
		raw, isValue = a.arena[n:len(a.arena):len(a.arena)], s.form == unescape
	}
	if err != nil {
		return err
	}
	if isValue != value {
		return fmt.Errorf("held %s where a %s is wanted", kindOf(isValue), kindOf(value))
	}
	*s = span{raw: raw}
	return nil
}

var errContent = errors.New("text that is not the content of a JSON string")

// checkInline sees that a plugin's own bytes are what they are said to be.
func (a *Answer) checkInline(raw []byte, value bool) error {
	if value {
		if len(raw) > 0 && jsonspan.Valid(raw, jsonspan.Limits{AllowDuplicates: true}) != nil {
			return errBroken
		}
		return nil
	}
	for _, c := range raw {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return a.checkContent(raw)
		}
	}
	return nil
}

// checkContent scans the content of a string between quotes.
func (a *Answer) checkContent(raw []byte) error {
	s := append(a.held.scratch[:0], '"')
	s = append(append(s, raw...), '"')
	if a.held.scratch = s; cap(s) > maxScratch {
		a.held.scratch = nil
	}
	if jsonspan.Valid(s, jsonspan.Limits{}) != nil {
		return errContent
	}
	return nil
}

// Forget lets go of the frames of the last message.
func (a *Answer) Forget() {
	a.held.Reset()
	for _, d := range a.docs[:a.used] {
		d.Reset()
	}
	a.used = 0
}

package sdk

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// coder writes or reads the binary form of the model. Each type has one method for both directions, so that what is
// written and what is read cannot drift apart: a method passes pointers to the members in order, and a member is written
// from there or read into it.
//
// Numbers are varints, signed ones in zigzag; strings, bytes and lists begin with their length. Bytes that are read are
// slices of the message.
type coder struct {
	b       []byte // written so far, or yet to be read
	reading bool
	err     error // of reading
	depth   int
	held    *Held // of the gateway, writing: takes long spans
	facts   bool  // spans are written with their facts
	schemas int   // bytes of schemas that crossed as a whole
}

// maxNesting bounds parts within parts. The dialects nest three deep.
const maxNesting = 16

var errCut = errors.New("message ends too early")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *coder) uvarint(v uint64) uint64 {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, v)
		return v
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail(errCut)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// length writes or reads a count of things of which each takes at least one byte.
func (c *coder) length(n int) int {
	got := c.uvarint(uint64(n))
	if c.reading && got > uint64(len(c.b)) {
		c.fail(errCut)
		return 0
	}
	return int(got)
}

func (c *coder) bytes(p *[]byte) {
	n := c.length(len(*p))
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	*p = nil
	if n > 0 {
		*p = c.take(n)
	}
}

func (c *coder) take(n int) []byte {
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *coder) string(p *string) {
	n := c.length(len(*p))
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	*p = string(c.take(n))
}

func (c *coder) bool(p *bool) {
	v := uint64(0)
	if *p {
		v = 1
	}
	v = c.uvarint(v)
	if c.reading && v > 1 {
		c.fail(fmt.Errorf("truth value %d: want 0 or 1", v))
	}
	*p = v == 1
}

// unsigned is a member that is a count or one of a list of constants.
func unsigned[T ~uint8 | ~uint16 | ~uint32](c *coder, p *T) {
	v := c.uvarint(uint64(*p))
	if uint64(T(v)) != v {
		c.fail(fmt.Errorf("number %d: too large for its member", v))
		v = 0
	}
	*p = T(v)
}

// signed is a member that is a number.
func signed[T ~int | ~int64](c *coder, p *T) {
	v := int64(*p)
	u := c.uvarint(uint64(v)<<1 ^ uint64(v>>63))
	*p = T(int64(u>>1) ^ -int64(u&1))
}

// list is a member that is a list.
func list[T any](c *coder, p *[]T, item func(*coder, *T)) {
	n := c.length(len(*p))
	if c.reading {
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for i := range *p {
		if c.err != nil {
			return
		}
		item(c, &(*p)[i])
	}
}

// optional is a member that may be nil.
func optional[T any](c *coder, p **T, item func(*coder, *T)) {
	there := *p != nil
	c.bool(&there)
	if !there {
		*p = nil
		return
	}
	if c.reading {
		*p = new(T)
	}
	item(c, *p)
}

// nested does work that may come to itself again, and bounds how deep.
func (c *coder) nested(work func()) {
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > maxNesting {
		if c.reading {
			c.fail(fmt.Errorf("parts nested deeper than %d", maxNesting))
		}
		return
	}
	work()
}

// The ways in which a span crosses.
const (
	spanAbsent uint8 = iota
	spanInline
	spanHeld  // handle, range, form
	spanFacts // the same, with what is known of the bytes
)

// span is a Text or a Value.
func (c *coder) span(s *span, value bool) {
	if c.reading {
		c.readSpan(s)
		return
	}
	switch {
	case s.handle != 0:
		c.writeHeld(s)
	case s.raw == nil:
		c.b = append(c.b, spanAbsent)
	case c.held != nil && len(s.raw) > longSpan:
		f := FactsOf(s.raw)
		c.writeHeld(&span{handle: c.held.add(s.raw, value), to: uint32(len(s.raw)), facts: &f})
	default:
		c.b = append(c.b, spanInline)
		c.bytes(&s.raw)
	}
}

func (c *coder) writeHeld(s *span) {
	how := spanHeld
	if c.facts && s.facts != nil {
		how = spanFacts
	}
	c.b = append(c.b, how)
	c.heldSpan(s)
	if how == spanFacts {
		c.factsOf(s.facts)
	}
}

func (c *coder) heldSpan(s *span) {
	unsigned(c, &s.handle)
	unsigned(c, &s.from)
	unsigned(c, &s.to)
	unsigned(c, &s.form)
}

func (c *coder) readSpan(s *span) {
	var how uint8
	unsigned(c, &how)
	*s = span{}
	switch how {
	case spanAbsent:
	case spanInline:
		if c.bytes(&s.raw); s.raw == nil && c.err == nil {
			s.raw = []byte{}
		}
	case spanHeld, spanFacts:
		c.heldSpan(s)
		if c.err == nil && (s.handle == 0 || s.from > s.to || s.form > escape) {
			c.fail(fmt.Errorf("held bytes %d, %d to %d, form %d: no such range", s.handle, s.from, s.to, s.form))
		}
		if how == spanFacts {
			s.facts = new(Facts)
			c.factsOf(s.facts)
		}
	default:
		c.fail(fmt.Errorf("span of kind %d: want 0 to %d", how, spanFacts))
	}
}

func (c *coder) factsOf(f *Facts) {
	signed(c, &f.Len)
	c.bool(&f.Escaped)
	c.bool(&f.NonASCII)
	c.bytes(&f.Head)
	c.bytes(&f.Tail)
}

// maxSchemas bounds the schemas of one request that cross as a whole.
const maxSchemas = 128 << 10

// schema is a value that crosses as a whole where a provider may have to change it: what a model is held to is compiled, and
// each provider has its own words for that.
func (c *coder) schema(v *Value, whole bool) {
	if !whole || c.held == nil || c.schemas+len(v.raw) > maxSchemas {
		c.value(v)
		return
	}
	c.schemas += len(v.raw)
	held := c.held
	c.held = nil
	c.value(v)
	c.held = held
}

func (c *coder) text(t *Text)   { c.span(&t.span, false) }
func (c *coder) value(v *Value) { c.span(&v.span, true) }

// end gives the outcome of reading, for which nothing may be left.
func (c *coder) end(what string) error {
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%d bytes are left over", len(c.b))
	}
	if c.err != nil {
		return fmt.Errorf("%s: %w", what, c.err)
	}
	return nil
}

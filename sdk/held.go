package sdk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// longSpan is the length in bytes from which on the gateway holds a text or a value and sends a handle.
const longSpan = 256

// maxHeld bounds what one call may hold.
const maxHeld = 1 << 16

// Held is what the gateway keeps of a request or a frame while a plugin works on the rest: the long texts and values,
// by their handles. It is the gateway's, and of no use in a plugin.
//
// It keeps slices of the bytes that it is given.
type Held struct {
	spans   []heldSpan
	scratch []byte
	run     int // backslashes that have been looked back over
}

type heldSpan struct {
	raw   []byte
	value bool          // a JSON text; otherwise the content of a string
	doc   *jsonspan.Doc // of a frame: its values may be named by their range
}

func (h *Held) add(raw []byte, value bool) uint32 {
	h.spans = append(h.spans, heldSpan{raw: raw, value: value})
	return uint32(len(h.spans))
}

// Reset lets go of everything.
func (h *Held) Reset() {
	clear(h.spans)
	h.spans, h.run = h.spans[:0], 0
}

// AppendRequest appends the message that asks for a request's translation. Texts and values over 256 bytes do not cross, but
// schemas that may have to be changed; the request's bytes must stand until the answer has been resolved.
func (h *Held) AppendRequest(dst []byte, q *Request) ([]byte, error) {
	h.Reset()
	c := coder{b: dst, held: h, facts: true}
	c.request(q)
	if len(h.spans) > maxHeld {
		return dst, fmt.Errorf("request: %d long texts: want %d at most", len(h.spans), maxHeld)
	}
	return c.b, nil
}

var errBroken = errors.New("not a JSON text")

// lookup gives the bytes behind a span and whether they are a JSON text. What a plugin names is checked: the handle, the
// range, and that the range is a whole value, or cuts neither an escape nor a character.
func (h *Held) lookup(handle uint32, from, to int) (raw []byte, value bool, err error) {
	if handle == 0 || int64(handle) > int64(len(h.spans)) {
		return nil, false, fmt.Errorf("handle %d: want 1 to %d", handle, len(h.spans))
	}
	s := &h.spans[handle-1]
	if from < 0 || to < from || to > len(s.raw) {
		return nil, false, fmt.Errorf("handle %d: range %d to %d of %d bytes", handle, from, to, len(s.raw))
	}
	raw = s.raw[from:to:to]
	if s.doc != nil {
		value, err = inDoc(s.doc, from, to)
		if err == nil && !value {
			err = h.cuts(s.raw, from, to)
		}
		return raw, value, err
	}
	if s.value {
		if len(raw) < len(s.raw) {
			return nil, false, fmt.Errorf("handle %d: range %d to %d is a part of a value", handle, from, to)
		}
		return raw, true, nil
	}
	return raw, false, h.cuts(s.raw, from, to)
}

// maxRun bounds the work of looking back over backslashes, for one call.
const maxRun = 1 << 20

// cuts says whether a range of string content begins or ends inside a character or an escape.
func (h *Held) cuts(content []byte, from, to int) error {
	for _, at := range [...]int{from, to} {
		if at == 0 || at == len(content) {
			continue
		}
		if !utf8.RuneStart(content[at]) || h.inEscape(content, at) {
			return fmt.Errorf("range %d to %d cuts a character or an escape", from, to)
		}
	}
	return nil
}

// inEscape says whether an offset stands behind the first byte of an escape and before its end. The backslash nearest
// before it decides: it begins an escape where it is the last of an odd run.
func (h *Held) inEscape(content []byte, at int) bool {
	back := bytes.LastIndexByte(content[max(0, at-5):at], '\\')
	if back < 0 {
		return false
	}
	back += max(0, at-5)
	run := 0
	for i := back; i >= 0 && content[i] == '\\'; i-- {
		if run, h.run = run+1, h.run+1; h.run > maxRun {
			return true
		}
	}
	if run%2 == 0 {
		return false
	}
	length := 2
	if back+1 < len(content) && content[back+1] == 'u' {
		length = 6
	}
	return back+length > at
}

// inDoc says whether a range of a document's bytes is exactly a value; it is an error where it is neither that nor a
// part of a string's content.
func inDoc(d *jsonspan.Doc, from, to int) (value bool, err error) {
	lo, hi := 0, len(d.Nodes) // the last node that begins at or before from: nodes are in the order of the text
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); int(d.Nodes[mid].Off) <= from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		n := d.Nodes[lo-1]
		if int(n.Off) == from && int(n.End) == to {
			return true, nil
		}
		if n.Kind == jsonspan.String && from > int(n.Off) && to < int(n.End) {
			return false, nil
		}
	}
	return false, fmt.Errorf("range %d to %d of a frame: neither a value nor within a string", from, to)
}

// convert appends held bytes in another form. What was unescaped is a value; what was escaped is a text, also where it was one
// before, which then stands within a JSON text in a string.
func convert(dst, raw []byte, value bool, f form) ([]byte, error) {
	switch {
	case f == escape:
		return jsonspan.AppendEscape(dst, raw), nil
	case f == unescape && !value:
		n := len(dst)
		dst, err := jsonspan.AppendUnescape(dst, raw)
		if err == nil {
			err = jsonspan.Valid(dst[n:], jsonspan.Limits{})
		}
		if err != nil {
			return dst[:n], errBroken
		}
		return dst, nil
	}
	return dst, fmt.Errorf("form %d of a %s: no such form", f, kindOf(value))
}

func kindOf(value bool) string {
	if value {
		return "value"
	}
	return "text"
}

// ResolvedPlan is a [Plan] that has been checked and whose body is bytes. It is the gateway's.
type ResolvedPlan struct {
	Method   string // GET, POST, …; "" is POST
	Path     string // appended to the base URL's path, may hold the slot {model}; "" is the manifest's
	Headers  []Header
	Dropped  []Note
	Names    []Rename
	Segments [][]byte // the body in pieces: literals of the plan, and slices of the client's request
	Length   int64    // of the body in bytes
}

// Bounds of a plan.
const (
	maxSegments = 1 << 16
	maxPlanBody = 256 << 20 // bytes; limits.body is below it
)

// ReadPlan checks a plan and resolves it into bytes, so that whatever a plugin does, the body is one JSON text or none:
// the literals are scanned with each handle taken for a value or for the content of a string. It keeps nothing of the
// message.
func (h *Held) ReadPlan(message []byte, dst *ResolvedPlan) error {
	c := coder{b: message, reading: true}
	var p Plan
	c.plan(&p)
	if err := c.end("plan"); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if err := h.body(&p.Body, dst); err != nil {
		return fmt.Errorf("plan: body: %w", err)
	}
	dst.Method, dst.Path, dst.Headers, dst.Dropped, dst.Names = p.Method, p.Path, p.Headers, p.Dropped, p.Names
	return nil
}

// ours are header fields that a plan must not hold: framing, and what authentication is the gateway's to say.
var ours = [...]string{"authorization", "connection", "content-length", "cookie", "expect", "host", "keep-alive",
	"proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "x-api-key"}

// check looks at what stands in the head of a request.
func (p *Plan) check() error {
	switch p.Method {
	case "", "GET", "POST", "PUT", "PATCH", "DELETE":
	default:
		return fmt.Errorf("method %q: want GET, POST, PUT, PATCH or DELETE", p.Method)
	}
	if p.Path != "" && (p.Path[0] != '/' || strings.ContainsFunc(p.Path, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' })) {
		return fmt.Errorf("path %q: want a path that begins with /, in printable ASCII", p.Path)
	}
	for _, h := range p.Headers {
		if h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return !tokenChar(r) }) {
			return fmt.Errorf("header %q: want a field name", h.Name)
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("header %q: value holds a control character", h.Name)
		}
		if slices.Contains(ours[:], strings.ToLower(h.Name)) {
			return fmt.Errorf("header %q: is the gateway's", h.Name)
		}
	}
	return nil
}

// tokenChar says whether a character may stand in a field name (RFC 9110, section 5.6.2).
func tokenChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// What stands for a handle in the text that is scanned. The first is accepted within a string alone; the second as a
// value alone: neither as a member's name, nor within a string, nor beside another token.
const (
	textStand  = "x"
	valueStand = `[""]`
)

// body resolves what a Writer has written.
func (h *Held) body(w *Writer, dst *ResolvedPlan) error {
	dst.Segments, dst.Length = dst.Segments[:0], 0
	if w.Empty() {
		return nil
	}
	if len(w.segs) > maxSegments {
		return fmt.Errorf("%d segments: want %d at most", len(w.segs), maxSegments)
	}
	literals := slices.Clone(w.lit)
	text := h.scratch[:0]
	for i, s := range w.segs {
		raw, stand, err := h.segment(literals, s)
		if err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		if dst.Length += int64(len(raw)); dst.Length > maxPlanBody {
			return fmt.Errorf("%d bytes: want %d at most", dst.Length, maxPlanBody)
		}
		if s.Handle == 0 {
			text = append(text, raw...)
		} else {
			text = append(text, stand...)
		}
		if len(raw) > 0 {
			dst.Segments = append(dst.Segments, raw)
		}
	}
	if h.scratch = text; cap(text) > maxScratch {
		h.scratch = nil
	}
	if err := jsonspan.Valid(text, jsonspan.Limits{}); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return nil
}

// maxScratch is the memory that is kept between calls.
const maxScratch = 64 << 10

// segment gives the bytes of a segment, and what stands for them in the scan.
func (h *Held) segment(literals []byte, s Segment) (raw []byte, stand string, err error) {
	if s.Handle == 0 {
		if s.From < 0 || s.To < s.From || s.To > len(literals) || s.Form != 0 {
			return nil, "", fmt.Errorf("literal %d to %d of %d bytes, form %d", s.From, s.To, len(literals), s.Form)
		}
		return literals[s.From:s.To:s.To], "", nil
	}
	raw, value, err := h.lookup(s.Handle, s.From, s.To)
	if err == nil && s.Form != uint8(asIs) {
		raw, err = convert(nil, raw, value, form(s.Form))
		value = form(s.Form) == unescape
	}
	if value {
		return raw, valueStand, err
	}
	return raw, textStand, err
}

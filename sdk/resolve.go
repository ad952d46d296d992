package sdk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

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
		value = !value
	}
	if value {
		return raw, valueStand, err
	}
	return raw, textStand, err
}

package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// EventStream splits the binary framing application/vnd.amazon.eventstream, in
// which Bedrock streams: a prelude of total length, length of the headers and a
// CRC-32 over both; headers; the payload; a CRC-32 over all before it. Both
// checksums are verified, the prelude's before its lengths are believed.
//
// Event is the header :event-type, :exception-type or :error-code; Data is the
// payload, or :error-message for an error, which has none.
type EventStream struct{ window }

const (
	preludeSize  = 12 // two lengths and their checksum
	overhead     = preludeSize + 4
	maxESHeaders = 128 << 10 // by the format's definition
)

// NewEventStream returns a splitter for messages of at most limit bytes; 0 is
// DefaultLimit.
func NewEventStream(limit int) *EventStream { return &EventStream{newWindow(limit)} }

// Reset is described at Splitter.
func (e *EventStream) Reset() { e.window.reset() }

// Next is described at Splitter.
func (e *EventStream) Next() (Frame, bool, error) {
	e.begin()
	if e.err != nil {
		return Frame{}, false, e.err
	}
	if n := len(e.carry); n > 0 && n < preludeSize {
		end := min(e.start+preludeSize-n, len(e.chunk))
		e.carry = append(e.carry, e.chunk[e.start:end]...)
		e.start = end
	}
	head := e.carry
	if len(head) == 0 {
		head = e.chunk[e.start:]
	}
	if len(head) < preludeSize {
		return Frame{}, false, e.stash()
	}
	total, headers, err := e.prelude(head[:preludeSize])
	if err != nil {
		return Frame{}, false, e.fail(err)
	}
	if e.size(len(e.chunk)) < total {
		return Frame{}, false, e.stash()
	}
	raw, err := e.take(e.start + total - len(e.carry))
	if err != nil {
		return Frame{}, false, err
	}
	f, err := message(raw, headers)
	if err != nil {
		return Frame{}, false, e.fail(err)
	}
	return f, true, nil
}

// End is described at Splitter. A message cut short is ErrTruncated.
func (e *EventStream) End() (Frame, bool, error) {
	f, ok, err := e.Next()
	if ok || err != nil || len(e.carry) == 0 {
		return f, ok, err
	}
	return Frame{}, false, e.fail(fmt.Errorf("%w: inside a message, after %d bytes of it", ErrTruncated, len(e.carry)))
}

// prelude reads the lengths of the message and of its headers.
func (e *EventStream) prelude(p []byte) (total, headers int, err error) {
	if got, want := crc32.ChecksumIEEE(p[:8]), binary.BigEndian.Uint32(p[8:]); got != want {
		return 0, 0, fmt.Errorf("%w: prelude checksum %08x, want %08x", ErrMalformed, got, want)
	}
	t, h := binary.BigEndian.Uint32(p), binary.BigEndian.Uint32(p[4:])
	if uint64(t) > uint64(e.limit) {
		return 0, 0, e.tooLarge()
	}
	if t < overhead || h > t-overhead || h > maxESHeaders {
		return 0, 0, fmt.Errorf("%w: message of %d bytes with %d of headers", ErrMalformed, t, h)
	}
	return int(t), int(h), nil
}

// message reads a whole message whose headers take n bytes.
func message(raw []byte, n int) (Frame, error) {
	body := raw[:len(raw)-4]
	if got, want := crc32.ChecksumIEEE(body), binary.BigEndian.Uint32(raw[len(body):]); got != want {
		return Frame{}, fmt.Errorf("%w: message checksum %08x, want %08x", ErrMalformed, got, want)
	}
	f := Frame{Raw: raw, Data: body[preludeSize+n:], Lines: 1}
	for h := body[preludeSize : preludeSize+n]; len(h) > 0; {
		name, value, rest, ok := header(h)
		if !ok {
			return Frame{}, fmt.Errorf("%w: message header cut short or of an unknown type", ErrMalformed)
		}
		h = rest
		switch string(name) {
		case ":event-type", ":exception-type", ":error-code":
			f.Event = value
		case ":message-type":
			f.Exception = string(value) != "event"
		case ":error-message":
			if len(f.Data) == 0 {
				f.Data = value
			}
		}
	}
	return f, nil
}

// Value types of a header, by number: 0 and 1 are true and false, then integers
// of 1, 2, 4 and 8 bytes, bytes and text with a length of 2 bytes, time, UUID.
const (
	typeBytes = 6
	typeText  = 7
)

// fixedSize is how many bytes the value of each type takes, where it is fixed.
var fixedSize = [...]int{0, 0, 1, 2, 4, 8, typeBytes: 0, typeText: 0, 8, 16}

// header reads the first header of h. value is nil unless it is text.
func header(h []byte) (name, value, rest []byte, ok bool) {
	n := int(h[0])
	if len(h) < 1+n+1 {
		return nil, nil, nil, false
	}
	name = h[1 : 1+n]
	kind, h := int(h[1+n]), h[1+n+1:]
	if kind >= len(fixedSize) {
		return nil, nil, nil, false
	}
	size := fixedSize[kind]
	if kind == typeBytes || kind == typeText {
		if len(h) < 2 {
			return nil, nil, nil, false
		}
		size = int(binary.BigEndian.Uint16(h))
		h = h[2:]
	}
	if len(h) < size {
		return nil, nil, nil, false
	}
	if kind == typeText {
		value = h[:size]
	}
	return name, value, h[size:], true
}

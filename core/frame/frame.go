// Package frame cuts the body of an upstream's answer into frames as it
// arrives: server-sent events, lines of JSON, the elements of a JSON array, or
// messages of the AWS event stream.
//
// A splitter is fed the chunks that reads bring, however they are cut, and gives
// the same frames whatever the cuts were. A frame that lies whole in one chunk is
// given as slices of that chunk; only a frame that crosses chunks is put together
// in a buffer of the splitter's own. Both are bounded, and neither allocates once
// the splitter has seen its largest frame.
//
// The Raw parts of all frames, one after the other, are the body: a caller that
// passes a stream through writes Raw and changes nothing. (Blank lines or white
// space after the last frame are the one thing left out.)
//
// What a frame's data means is the business of the dialects; this package does
// not look inside JSON further than it must to find an element's end. Reading
// from the network, time limits and rates belong to the caller.
package frame

import (
	"bytes"
	"errors"
	"fmt"
)

// DefaultLimit is the largest frame in bytes, as Raw, where the caller names no
// limit. An event with a whole generated image is 2 MiB of base64, of the largest
// sizes over 10 MiB.
const DefaultLimit = 16 << 20

// ErrTruncated says that the upstream ended inside a frame, or before what closes
// the framing, so that what is missing cannot be told from what was never sent.
var ErrTruncated = errors.New("stream ended early")

// ErrTooLarge says that a frame is larger than the splitter's limit. The stream
// cannot be read on from there.
var ErrTooLarge = errors.New("frame too large")

// ErrMalformed says that the bytes do not follow the framing.
var ErrMalformed = errors.New("malformed stream")

// A Frame is one unit of a stream. Its slices live until the next call of any
// method of the splitter that gave it.
type Frame struct {
	// Raw is the frame as it came, with the bytes that end it and with those that
	// stand between it and the frame before.
	Raw []byte

	// Event is the event's name: SSE's event field, or the AWS event stream's
	// :event-type, :exception-type or :error-code. Empty where the frame has none.
	Event []byte

	// Data is what the frame carries. Several data lines of one event are joined
	// by a line feed, and Data is then no part of Raw.
	Data []byte

	// ID is SSE's id field as this frame gives it; a frame does not inherit it.
	ID []byte

	// Lines counts the data lines of an SSE event and is 1 for other framings.
	// 0 means that a reader of the stream sees no event here: a comment, a lone
	// "event:" or the bracket that closes an array.
	Lines int

	// Comment says that the frame consists of SSE comments, which keep-alives are.
	Comment bool

	// Direct says that Raw has what is for who reads the upstream itself and nobody
	// else: SSE's id or retry field, which are about connecting again, or the byte
	// order mark at the start of the stream, which not every reader skips.
	Direct bool

	// Exception says that the AWS event stream marks this message as an exception
	// or error rather than an event.
	Exception bool

	// Partial says that the body ended before the frame did. A browser drops such
	// an event; some upstreams leave out the last blank line, so the caller decides.
	Partial bool
}

// A Splitter cuts one stream. It is not safe for use by several goroutines.
//
//	for each chunk read {
//		s.Feed(chunk)
//		for f, ok, err := s.Next(); ok; f, ok, err = s.Next() { … }
//	}
//	for f, ok, err := s.End(); ok; f, ok, err = s.End() { … }
//
// An error ends the stream: every later call gives it again.
type Splitter interface {
	// Feed gives the next chunk. The splitter keeps p, without changing it, until
	// Next has answered false or an error; until then the caller must neither
	// change p nor call Feed again. Feed panics on the latter.
	Feed(p []byte)

	// Next gives the next whole frame, or false when more bytes are needed.
	Next() (Frame, bool, error)

	// End says that there are no more bytes. It gives what frames are left, one a
	// call, then false, with ErrTruncated where the framing itself is incomplete.
	End() (Frame, bool, error)

	// Spare lets go of memory that a begun frame does not need, while nothing is fed
	// for a time. The frame that Next gave last is no longer valid.
	Spare()

	// Begun is how many bytes are kept of a frame that has begun. It is asked when
	// Next has answered false.
	Begun() int

	// Reset makes the splitter ready for another stream. It keeps small buffers
	// and lets large ones go.
	Reset()
}

var (
	_ Splitter = (*SSE)(nil)
	_ Splitter = (*NDJSON)(nil)
	_ Splitter = (*JSONArray)(nil)
	_ Splitter = (*EventStream)(nil)
)

// keptBuffer is the largest buffer in bytes that Reset keeps, so that a pool of
// splitters does not hold the largest frame that each has ever met.
const keptBuffer = 64 << 10

// window is the unconsumed part of a stream: the carry, which is the begun frame's
// bytes from earlier chunks, and then chunk[start:].
type window struct {
	limit int
	carry []byte
	chunk []byte // the caller's
	start int    // chunk[start:] is not yet part of a frame that was given
	pos   int    // chunk[start:pos] has been scanned
	given bool   // the carry was given out as a frame and is to be emptied
	err   error
}

func newWindow(limit int) window {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return window{limit: limit}
}

// Feed is described at Splitter.
func (w *window) Feed(p []byte) {
	if w.start < len(w.chunk) && w.err == nil {
		panic("frame: Feed before Next has answered false")
	}
	w.chunk, w.start, w.pos = p, 0, 0
}

// Spare is described at Splitter.
func (w *window) Spare() {
	if w.given || len(w.carry) == 0 {
		w.carry, w.given = nil, false
	} else if cap(w.carry) > len(w.carry)+len(w.carry)/4 {
		w.carry = bytes.Clone(w.carry)
	}
}

// Begun is described at Splitter.
func (w *window) Begun() int {
	if w.given {
		return 0
	}
	return len(w.carry)
}

func (w *window) reset() {
	*w = window{limit: w.limit, carry: kept(w.carry)}
}

// kept is b emptied, or nil where b is too large to hold on to.
func kept(b []byte) []byte {
	if cap(b) > keptBuffer {
		return nil
	}
	return b[:0]
}

// begin opens a call: what the last one gave out is no longer needed.
func (w *window) begin() {
	if w.given {
		w.carry, w.given = w.carry[:0], false
	}
}

// size is the number of bytes of the begun frame if it ended at chunk[end].
func (w *window) size(end int) int { return len(w.carry) + end - w.start }

// take ends the begun frame at chunk[end] and returns its bytes.
func (w *window) take(end int) ([]byte, error) {
	if w.size(end) > w.limit {
		return nil, w.fail(w.tooLarge())
	}
	raw := w.chunk[w.start:end:end]
	w.start, w.pos = end, end
	if len(w.carry) == 0 {
		return raw, nil
	}
	w.carry = append(w.carry, raw...)
	w.given = true
	return w.carry, nil
}

// stash moves what is left of the chunk into the carry, so that the caller may
// have its chunk back.
func (w *window) stash() error {
	if w.size(len(w.chunk)) > w.limit {
		return w.fail(w.tooLarge())
	}
	w.carry = append(w.carry, w.chunk[w.start:]...)
	w.chunk, w.start, w.pos = nil, 0, 0
	return nil
}

// fail makes err the answer of every later call.
func (w *window) fail(err error) error {
	w.err = err
	w.chunk, w.start, w.pos = nil, 0, 0
	return err
}

func (w *window) tooLarge() error {
	return fmt.Errorf("%w: want at most %d bytes", ErrTooLarge, w.limit)
}

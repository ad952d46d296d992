package frame

import "bytes"

// NDJSON splits lines that end in LF or CRLF. Lines of white space alone are no
// frames; they are given at the start of the next frame's Raw. Data is the line
// without the white space around it.
type NDJSON struct {
	window
	body bool // the begun frame has more than white space
}

// NewNDJSON returns a splitter for frames of at most limit bytes; 0 is DefaultLimit.
func NewNDJSON(limit int) *NDJSON { return &NDJSON{window: newWindow(limit)} }

// Reset is described at Splitter.
func (n *NDJSON) Reset() {
	n.window.reset()
	n.body = false
}

// Next is described at Splitter.
func (n *NDJSON) Next() (Frame, bool, error) {
	n.begin()
	if n.err != nil {
		return Frame{}, false, n.err
	}
	for n.pos < len(n.chunk) {
		end := indexFrom(n.chunk, n.pos, '\n')
		if !n.body {
			n.body = len(bytes.TrimLeft(n.chunk[n.pos:end], space)) > 0
		}
		if n.pos = end; end == len(n.chunk) {
			break
		}
		if n.pos++; !n.body {
			continue
		}
		n.body = false
		raw, err := n.take(n.pos)
		if err != nil {
			return Frame{}, false, err
		}
		return Frame{Raw: raw, Data: bytes.Trim(raw, space), Lines: 1}, true, nil
	}
	return Frame{}, false, n.stash()
}

// End is described at Splitter. A last line without its line end is given with
// Partial set; many writers leave the end out.
func (n *NDJSON) End() (Frame, bool, error) {
	f, ok, err := n.Next()
	if ok || err != nil || !n.body {
		return f, ok, err
	}
	n.body, n.given = false, true
	return Frame{Raw: n.carry, Data: bytes.Trim(n.carry, space), Lines: 1, Partial: true}, true, nil
}

// space is the white space of JSON.
const space = " \t\r\n"

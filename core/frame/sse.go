package frame

import "bytes"

// SSE splits a text/event-stream by the rules of the WHATWG HTML standard,
// section 9.2.6: lines end in LF, CR or CRLF, mixed as they like; a blank line
// ends an event; a byte order mark at the start is skipped; unknown fields are
// ignored. Bytes that are not UTF-8 are left as they are. The value of the retry
// field is found in Raw alone.
//
// Blank lines that end no event are given at the start of the next frame's Raw.
type SSE struct {
	window
	eol    eol
	bom    int    // bytes of the byte order mark matched so far; past the start, len(mark)
	first  bool   // a frame has been given, so no mark can follow
	inLine bool   // the line being scanned has content
	body   bool   // the frame has a line with content
	cr     bool   // the last byte scanned was a CR, which an LF may complete
	held   bool   // that CR ended the frame's blank line
	loneCR bool   // the line before ended in a CR without an LF
	joined []byte // the data of an event with several data lines
}

// mark is the UTF-8 byte order mark.
const mark = "\xEF\xBB\xBF"

// NewSSE returns a splitter for frames of at most limit bytes; 0 is DefaultLimit.
func NewSSE(limit int) *SSE { return &SSE{window: newWindow(limit)} }

// Feed is described at Splitter.
func (s *SSE) Feed(p []byte) {
	s.window.Feed(p)
	s.eol = newEOL()
}

// Reset is described at Splitter.
func (s *SSE) Reset() {
	s.window.reset()
	*s = SSE{window: s.window, joined: kept(s.joined)}
}

// Next is described at Splitter.
func (s *SSE) Next() (Frame, bool, error) {
	s.begin()
	if s.err != nil {
		return Frame{}, false, s.err
	}
	end, ok := s.scan()
	if !ok {
		return Frame{}, false, s.stash()
	}
	raw, err := s.take(end)
	if err != nil {
		return Frame{}, false, err
	}
	return s.parse(raw), true, nil
}

// End is described at Splitter. An event without its blank line is given with
// Partial set; it is never an error, since SSE has no closing mark of its own.
func (s *SSE) End() (Frame, bool, error) {
	f, ok, err := s.Next()
	cutMark := s.bom > 0 && s.bom < len(mark) // a mark that is not whole is content
	if ok || err != nil || !s.body && !s.inLine && !cutMark {
		return f, ok, err
	}
	s.bom = len(mark)
	f = s.parse(s.carry)
	f.Partial = !s.held
	s.given = true
	s.body, s.inLine, s.cr, s.held = false, false, false, false
	return f, true, nil
}

// scan looks for the end of the begun frame in the chunk and remembers how far it
// came. A blank line's CR at the end of a chunk is held back until the next byte
// shows whether an LF belongs to it, unless the line before ended in a lone CR:
// there an LF is not to be expected, and waiting would delay every event by one.
// An LF that comes all the same is a blank line of the next frame.
func (s *SSE) scan() (end int, ok bool) {
	p, i := s.chunk, s.skipMark()
	for i < len(p) {
		if s.cr {
			s.cr, s.loneCR = false, p[i] != '\n'
			if !s.loneCR {
				i++
			}
			if s.held {
				return i, s.endFrame()
			}
			continue
		}
		j := s.eol.next(p, i)
		s.inLine = s.inLine || j > i
		if i = j; j == len(p) {
			break
		}
		i++
		last := s.body && !s.inLine
		s.body, s.inLine = s.body || s.inLine, false
		if last && (p[j] == '\n' || s.loneCR) {
			s.loneCR = s.loneCR && p[j] == '\r'
			return i, s.endFrame()
		}
		if p[j] == '\n' {
			s.loneCR = false
		} else {
			s.cr, s.held = true, last
		}
	}
	s.pos = len(p)
	return 0, false
}

// endFrame forgets the frame that scan has found the end of. It returns true.
func (s *SSE) endFrame() bool {
	s.body, s.inLine, s.held = false, false, false
	return true
}

// skipMark returns where scanning goes on, past a byte order mark at the start of
// the stream, which may come in pieces. Bytes that only begin like one are content.
func (s *SSE) skipMark() int {
	i := s.pos
	for i < len(s.chunk) && s.bom < len(mark) {
		if s.chunk[i] != mark[s.bom] {
			s.inLine = s.bom > 0
			s.bom = len(mark)
			break
		}
		s.bom++
		i++
	}
	return i
}

// parse reads the fields of a frame.
func (s *SSE) parse(raw []byte) Frame {
	f := Frame{Raw: raw}
	b := raw
	if !s.first {
		s.first = true
		b, f.Direct = bytes.CutPrefix(raw, []byte(mark))
	}
	comment, field := false, false
	for ends, i := newEOL(), 0; i < len(b); {
		j := ends.next(b, i)
		line := b[i:j]
		i = j + 1 // the LF of a CRLF reads as a blank line, which says nothing here
		switch {
		case len(line) == 0:
		case line[0] == ':':
			comment = true
		default:
			field = true
			s.field(&f, line)
		}
	}
	f.Comment = comment && !field
	return f
}

// field sets what one line of the form name[:[ ]value] says.
func (s *SSE) field(f *Frame, line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		f.Lines++
		switch f.Lines {
		case 1:
			f.Data = value
			return
		case 2:
			s.joined = append(s.joined[:0], f.Data...)
		}
		s.joined = append(s.joined, '\n')
		s.joined = append(s.joined, value...)
		f.Data = s.joined
	case "event":
		f.Event = value
	case "id":
		f.Direct = true
		if bytes.IndexByte(value, 0) < 0 {
			f.ID = value
		}
	case "retry":
		f.Direct = true
	}
}

// eol finds line ends. It holds where the next LF and the next CR stand, so that
// each is searched for once and not again for every line that ends in the other.
type eol struct{ lf, cr int }

// newEOL has found nothing yet.
func newEOL() eol { return eol{-1, -1} }

// next returns the place of the first line end in p from i on, or len(p).
func (e *eol) next(p []byte, i int) int {
	if e.lf < i {
		e.lf = indexFrom(p, i, '\n')
	}
	if e.cr < i {
		e.cr = indexFrom(p, i, '\r')
	}
	return min(e.lf, e.cr)
}

// indexFrom is the place of the first c in p from i on, or len(p).
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

package pipe

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Passage is the pipe of a stream in the client's own dialect: its frames pass as they came, less what only we asked for.
// Frames are passed when they are whole, so that an error can follow one at any time.
type Passage struct {
	split   frame.Splitter
	obs     dialect.Observer
	reframe *reframing         // nil: frames pass as they came
	names   dialect.EventNamer // nil: the dialect's events have no names
	doc     *jsonspan.Doc      // memory for names
	event   []byte             // one that is written anew
	alive   []byte             // the dialect's own keep-alive
	halves  halves
	frame   frame.Frame // the one that is being looked at: observers would have it on the heap
	pending int         // bytes fed that are part of no frame yet
	segs    [][]byte
	scratch []byte
	content bool
	done    bool
	frames  int64 // passed since there was content
	bytes   int64 // of them
}

// NewPassage makes the pipe of a stream from a source to a client that speaks a dialect.
func NewPassage(from Source, to dialect.Dialect, o dialect.ObserverOptions) *Passage {
	p := &Passage{split: newSplitter(from), obs: to.NewObserver(o), doc: o.Memory(), alive: to.KeepAlive()}
	p.names, _ = to.(dialect.EventNamer)
	if !isSSE(from.Dialect.Framing) {
		p.reframe = newReframing(from, to)
	}
	return p
}

// Progress says whether there has been content, and whether the answer is complete.
func (p *Passage) Progress() (content, done bool) { return p.content, p.done }

// Tally gives what has been seen of usage and of the reason of the end.
func (p *Passage) Tally() (sdk.Usage, sdk.Reason) { return Told(p.obs.Usage()), p.obs.Finish() }

// Begun is how much is kept of a frame that has begun.
func (p *Passage) Begun() int { return p.split.Begun() }

// Spare lets go of the frames that were copied.
func (p *Passage) Spare() {
	p.segs, p.scratch, p.frame = nil, nil, frame.Frame{}
	p.split.Spare()
}

// Close does nothing.
func (p *Passage) Close() {}

// What tokens are reckoned at.
const (
	tokenBytes = 4   // of text
	frameBytes = 256 // of a stream's frame, besides its text
)

// Tokens counts one for each frame, which has no less, and more for what is over the usual length of one.
func (p *Passage) Tokens() int64 {
	return p.frames + max(0, p.bytes-p.frames*frameBytes)/tokenBytes
}

// Failer gives the observer.
func (p *Passage) Failer() any { return p.obs }

// Feed passes the frames that are now whole. Those that lie in the chunk are passed as ranges of it; neighbours become
// one segment.
func (p *Passage) Feed(chunk []byte) Piece {
	p.segs, p.scratch = p.segs[:0], p.scratch[:0]
	p.split.Feed(chunk)
	off := -p.pending // where the next frame begins in the chunk
	p.pending += len(chunk)
	from, to := 0, 0 // the range of the chunk that is not yet a segment
	flush := func() {
		if to > from {
			p.segs = append(p.segs, chunk[from:to])
		}
	}
	for f := &p.frame; !p.done; {
		var ok bool
		var err error
		if *f, ok, err = p.split.Next(); err != nil {
			flush()
			return Piece{p.segs, broken(err)}
		}
		if !ok {
			break
		}
		start, end := off, off+len(f.Raw)
		off, p.pending = end, p.pending-len(f.Raw)
		out, whole, failure := p.look(f)
		switch {
		case failure != nil:
			flush()
			return Piece{p.segs, failure}
		case whole && start >= 0 && start == to && to > from:
			to = end
		case whole && start >= 0:
			flush()
			from, to = start, end
		default:
			flush()
			from, to = 0, 0
			p.add(out)
		}
	}
	flush()
	return Piece{Segs: p.segs}
}

// look observes a frame: whole says that it passes as it is, otherwise out is passed in its place.
func (p *Passage) look(f *frame.Frame) (out []byte, whole bool, failure *sdk.Failure) {
	if p.reframe != nil {
		if f.Lines == 0 {
			return nil, false, nil
		}
		if failure := p.reframe.name(f); failure != nil {
			return nil, false, failure
		}
	}
	if f.Lines > 0 && p.beats(f.Data) {
		return p.beat(), false, nil
	}
	joined := false
	if f.Data, joined = p.halves.join(f.Data); joined {
		f.Direct = true // it is to be written anew
	}
	seen := p.obs.Frame(f)
	p.content, p.done = p.content || seen.Content, p.done || seen.Done
	if p.content && !p.done {
		p.frames++
		p.bytes += int64(len(f.Raw))
	}
	switch {
	case seen.Failure != nil:
		return nil, false, seen.Failure
	case seen.Cut:
		return seen.Out, false, nil
	case p.reframe != nil:
		return p.reframe.event(f), false, nil
	}
	return p.asEvent(f)
}

// beats says whether an event is there only to keep the connection, in another way than the dialect's: readers that take
// each event for a piece of the answer would fail.
func (p *Passage) beats(data []byte) bool {
	switch data = bytes.TrimSpace(data); {
	case len(data) > len(`{ "type" : "ping" }`):
		return false
	case len(data) == 0, string(data) == "{}":
		return true
	}
	return dialect.TypeName(p.doc, data) == "ping" && !bytes.HasPrefix(p.alive, []byte("event: ping"))
}

// beat stands for such an event.
func (p *Passage) beat() []byte {
	if p.reframe != nil {
		return nil
	}
	return p.alive
}

// asEvent gives a frame as the client is to have it, which is as it came but for two things: what is for who reads the
// upstream itself (frame.Frame.Direct) is not for the client, and clients of a dialect that names its events look at
// nothing else, while some compatible services leave the names out.
func (p *Passage) asEvent(f *frame.Frame) (out []byte, whole bool, failure *sdk.Failure) {
	name := ""
	if p.names != nil && f.Lines > 0 && len(f.Event) == 0 {
		name = p.names.EventName(p.doc, f.Data)
	}
	switch {
	case name == "" && !f.Direct:
		return f.Raw, true, nil
	case name == "":
		name = string(f.Event)
	}
	p.event = p.event[:0]
	if f.Lines > 0 {
		p.event = frame.AppendSSE(p.event, name, f.Data)
	}
	return p.event, false, nil
}

// add copies bytes that will not last into a segment.
func (p *Passage) add(b []byte) {
	if len(b) == 0 {
		return
	}
	n := len(p.scratch)
	if cap(p.scratch)-n < len(b) { // earlier segments keep the old array
		p.scratch, n = make([]byte, 0, 2*cap(p.scratch)+len(b)), 0
	}
	p.scratch = append(p.scratch, b...)
	p.segs = append(p.segs, p.scratch[n:len(p.scratch):len(p.scratch)])
}

// End passes a last frame that lacks its blank line, and says whether the stream was complete: it had the dialect's end
// mark, or at least the reason of its end.
func (p *Passage) End() Piece {
	p.segs, p.scratch = p.segs[:0], p.scratch[:0]
	for !p.done {
		f, ok, err := p.split.End()
		if err != nil {
			return Piece{p.segs, broken(err)}
		}
		if !ok {
			break
		}
		if f.Partial && f.Lines == 0 {
			continue
		}
		out, _, failure := p.look(&f)
		if failure != nil {
			return Piece{p.segs, failure}
		}
		p.add(out)
		// Readers wait for the blank line, which an event that is written anew has.
		if f.Partial && p.reframe == nil && len(out) > 0 && !bytes.HasSuffix(out, []byte("\n\n")) {
			if out[len(out)-1] != '\n' {
				p.add([]byte("\n"))
			}
			p.add([]byte("\n"))
		}
	}
	if !p.done && p.obs.Finish() == sdk.ReasonUnset {
		return Piece{p.segs, truncated()}
	}
	if c, ok := p.obs.(dialect.Closer); ok && !p.done {
		p.add(c.AppendEnd(nil))
	}
	return Piece{Segs: p.segs}
}

func truncated() *sdk.Failure {
	return sdk.Fail(sdk.UpstreamError, "the provider's stream ended before the answer was complete")
}

// broken turns a framing error into a failure.
func broken(err error) *sdk.Failure {
	switch {
	case errors.Is(err, frame.ErrTooLarge):
		return sdk.Fail(sdk.UpstreamError, "the provider sent an event of more than "+strconv.Itoa(frame.DefaultLimit>>20)+" MiB, the most that is read of one")
	case errors.Is(err, frame.ErrTruncated):
		return truncated()
	}
	return sdk.Fail(sdk.UpstreamError, "the provider's stream is malformed")
}

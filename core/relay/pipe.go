package relay

import (
	"errors"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/sdk"
)

// piece is what became of some bytes of a streamed answer.
type piece struct {
	segs    [][]byte     // for the client, in order; valid until the pipe's next call
	failure *sdk.Failure // the stream has failed; segs came before it
}

// pipe turns the bytes of a streamed answer into the client's.
type pipe interface {
	feed(chunk []byte) piece // bytes as a read brought them
	end() piece              // the upstream has ended the body in good order
	progress() (content, done bool)
	tally() (sdk.Usage, sdk.Reason)
	tokens() int64 // about how many the answer has so far, where nobody says
	failer() any   // what may know how a failure is written at this place of the stream; see dialect.Failer
	close()
}

// passage is the pipe of a stream in the client's own dialect: its frames pass as they came, less what only we asked for.
// Frames are passed when they are whole, so that an error can follow one at any time.
type passage struct {
	split   frame.Splitter
	obs     dialect.Observer
	reframe *reframing // nil: frames pass as they came
	pending int        // bytes fed that are part of no frame yet
	segs    [][]byte
	scratch []byte
	content bool
	done    bool
	frames  int64 // passed since there was content
	bytes   int64 // of them
}

func (a *active) newPassage() *passage {
	p := &passage{
		split: newSplitter(a.plan.way.Dialect),
		obs:   a.Dialect.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: a.hideUsage, Doc: &a.seen}),
	}
	if !isSSE(a.plan.way.Dialect.Framing) {
		p.reframe = a.newReframing()
	}
	return p
}

func (p *passage) progress() (content, done bool) { return p.content, p.done }
func (p *passage) tally() (sdk.Usage, sdk.Reason) { return p.obs.Usage(), p.obs.Finish() }
func (p *passage) close()                         {}

// What tokens are reckoned at.
const (
	tokenBytes = 4   // of text
	frameBytes = 256 // of a stream's frame, besides its text
)

// tokens counts one for each frame, which has no less, and more for what is over the usual length of one.
func (p *passage) tokens() int64 {
	return p.frames + max(0, p.bytes-p.frames*frameBytes)/tokenBytes
}

func (p *passage) failer() any { return p.obs }

// feed passes the frames that are now whole. Those that lie in the chunk are passed as ranges of it; neighbours become
// one segment.
func (p *passage) feed(chunk []byte) piece {
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
	for !p.done {
		f, ok, err := p.split.Next()
		if err != nil {
			flush()
			return piece{p.segs, broken(err)}
		}
		if !ok {
			break
		}
		start, end := off, off+len(f.Raw)
		off, p.pending = end, p.pending-len(f.Raw)
		out, whole, failure := p.look(&f)
		switch {
		case failure != nil:
			flush()
			return piece{p.segs, failure}
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
	return piece{segs: p.segs}
}

// look observes a frame: whole says that it passes as it is, otherwise out is passed in its place.
func (p *passage) look(f *frame.Frame) (out []byte, whole bool, failure *sdk.Failure) {
	if p.reframe != nil {
		if f.Lines == 0 {
			return nil, false, nil
		}
		if failure := p.reframe.name(f); failure != nil {
			return nil, false, failure
		}
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
	return f.Raw, true, nil
}

// add copies bytes that will not last into a segment.
func (p *passage) add(b []byte) {
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

// end passes a last frame that lacks its blank line, and says whether the stream was complete: it had the dialect's end
// mark, or at least the reason of its end.
func (p *passage) end() piece {
	p.segs, p.scratch = p.segs[:0], p.scratch[:0]
	for !p.done {
		f, ok, err := p.split.End()
		if err != nil {
			return piece{p.segs, broken(err)}
		}
		if !ok {
			break
		}
		if f.Partial && f.Lines == 0 {
			continue
		}
		out, _, failure := p.look(&f)
		if failure != nil {
			return piece{p.segs, failure}
		}
		p.add(out)
		if f.Partial && p.reframe == nil && len(out) > 0 { // readers wait for the blank line
			if out[len(out)-1] != '\n' {
				p.add([]byte("\n"))
			}
			p.add([]byte("\n"))
		}
	}
	if !p.done && p.obs.Finish() == sdk.ReasonUnset {
		return piece{p.segs, truncated()}
	}
	return piece{segs: p.segs}
}

func truncated() *sdk.Failure {
	return sdk.Fail(sdk.UpstreamError, "the provider's stream ended before the answer was complete")
}

// broken turns a framing error into a failure.
func broken(err error) *sdk.Failure {
	switch {
	case errors.Is(err, frame.ErrTooLarge):
		return sdk.Fail(sdk.UpstreamError, "the provider sent an event that is larger than the limit")
	case errors.Is(err, frame.ErrTruncated):
		return truncated()
	}
	return sdk.Fail(sdk.UpstreamError, "the provider's stream is malformed")
}

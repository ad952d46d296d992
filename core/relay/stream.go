package relay

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/sdk"
)

// restWait is how long the end of a body that is complete is waited for.
const restWait = 20 * time.Millisecond

// stream relays a streamed answer: held until it has content, then passed on as it comes.
func (a *active) stream() *sdk.Failure {
	b, f := a.openBody()
	if f != nil {
		return f
	}
	defer b.close()
	first, err := b.next()
	if err != nil && err != io.EOF {
		return a.transport(err)
	}
	a.form = pipe.FormOfStream(a.plan.way.Dialect.Framing, a.call.Get("content-type"), first)
	if a.form == pipe.AsBody {
		return a.wholeAsStream(b, first, err)
	}
	var p pipe.Pipe
	if a.plan.way.Pass && a.form == pipe.AsFrames && a.Framing != "array" && !a.terms.Continue {
		p = a.passage()
	} else if p, f = a.translation(true, true); f != nil {
		return f
	}
	defer p.Close()
	s := &streaming{active: a, body: b, pipe: p, framed: first, err: err}
	f = s.run()
	s.tally()
	return f
}

// source is where the answer comes from.
func (a *active) source(stream bool) pipe.Source {
	d, w := a.up.Deployment, a.plan.way
	return pipe.Source{Plugin: a.up.Plugin, Dialect: w.Dialect, Form: a.form,
		Info: sdk.AnswerInfo{Provider: d.Provider.Instance, Native: w.Dialect.Name, Model: d.Model, Stream: stream}}
}

// passage lets a stream through.
func (a *active) passage() *pipe.Passage {
	return pipe.NewPassage(a.source(true), a.Dialect, dialect.ObserverOptions{Stream: true, HideUsage: a.hideUsage, Doc: &a.seen})
}

// translation translates an answer. upstreamStream and clientStream say what it is, and what it is to be.
func (a *active) translation(upstreamStream, clientStream bool) (*pipe.Translation, *sdk.Failure) {
	var tools pipe.Tools
	if e := a.plan.encoded; e != nil {
		tools = pipe.Tools{Renamed: e.Names, Free: a.plan.free}
	}
	var joined *pipe.Seam
	switch {
	case a.mending:
		joined = a.joined
	case a.terms.Continue && clientStream:
		joined = new(pipe.Seam)
	}
	o := dialect.EncoderOptions{Stream: clientStream, WantUsage: a.Facts.WantUsage, Encoding: a.Facts.Encoding, RequestID: a.RequestID, Framing: a.Framing,
		Model: a.Facts.Model, Created: time.Now()}
	return pipe.NewTranslation(a.source(upstreamStream), a.Dialect, o, tools, joined)
}

// streaming is a streamed answer on its way.
type streaming struct {
	*active
	body    *answerBody
	pipe    pipe.Pipe
	framed  []byte // the bytes that were read last
	err     error  // and what ended the reading
	drained int64  // bytes read since the client left
	beaten  bool   // another attempt serves
	final   bool   // what is written next may be all that the client still waits for
	over    bool   // and Records have been told
}

// run relays until the answer is complete or has failed.
func (s *streaming) run() *sdk.Failure {
	for {
		if len(s.framed) > 0 {
			p := s.pipe.Feed(s.framed)
			content, done := s.pipe.Progress()
			s.reach()
			s.final = done && content && p.Failure == nil
			s.pass(p.Segs, content)
			if s.beaten {
				return lostRace()
			}
			if p.Failure != nil {
				return s.fail(p.Failure)
			}
			if done {
				return s.complete()
			}
			s.remind()
		}
		switch {
		case errors.Is(s.err, io.EOF):
			return s.complete()
		case s.err != nil:
			return s.broke(s.transport(s.err))
		}
		if f := s.keep(int64(s.pipe.Begun() + len(s.held))); f != nil {
			return s.fail(f)
		}
		s.makeRoom()
		if s.writes() && s.client.Gone() && s.overDrain() {
			return sdk.Fail(sdk.ClientGone, "the client left")
		}
		s.framed, s.err = s.next()
		s.rec.Read += int64(len(s.framed))
	}
}

// reach tells of the point in the answer to which bytes have come.
func (s *streaming) reach() {
	if s.committed {
		faultpoint.Reach(faultpoint.Committed)
	} else {
		faultpoint.Reach(faultpoint.Held)
	}
}

// makeRoom waits until a slow client's queue has room for what one read may bring. Meanwhile the upstream is not read, and
// there is no buffer to read it into.
func (s *streaming) makeRoom() {
	if !s.committed || !s.writes() || !s.client.Slow() {
		return
	}
	s.call.Narrow()
	n, here := s.call.Ahead()
	if !s.client.Full(n, here+s.pipe.Begun()) {
		return
	}
	s.pipe.Spare()
	if s.body.decoder == nil {
		s.call.Spare()
	}
	s.Exchange.Spare()
	s.client.Await(n)
}

// next reads on. What only a rule of time holds back is let go when its time has come.
func (s *streaming) next() ([]byte, error) {
	for s.content && !s.committed && s.terms.Commit.Rule == OnTime && s.writes() {
		wait := s.heldFor()
		if wait <= 0 {
			s.release(nil)
			break
		}
		if ready, err := s.call.Wait(wait); ready || err != nil {
			break
		}
	}
	return s.body.next()
}

// overDrain says whether an answer is no longer worth reading for a client that left.
func (s *streaming) overDrain() bool {
	if s.terms.Cancel {
		return true
	}
	s.drained += int64(len(s.framed))
	return s.drained > s.terms.DrainBytes
}

// pass sends bytes to the client, or holds them up to the commit point.
func (s *streaming) pass(segs [][]byte, content bool) {
	if content && !s.content {
		s.content, s.rec.First = true, time.Now()
		s.active.pass.Content(s.rec.First)
		s.call.SetTotal(s.until)
	}
	if s.committed {
		if len(segs) > 0 {
			s.write(segs)
			s.told = time.Now()
		}
		return
	}
	if s.content && s.terms.Commit.Rule == OnContent {
		s.release(segs)
		return
	}
	for _, seg := range segs {
		s.held = append(s.held, seg...)
	}
	if len(s.held) > 0 && s.due() {
		s.release(nil)
	}
}

// remind tells a client that we wait where the upstream is not silent but says nothing that is for the client: its own
// keep-alives, or what is held back.
func (s *streaming) remind() {
	if s.Limits.KeepAlive <= 0 || !s.writes() {
		return
	}
	silent := time.Since(s.told)
	if all := time.Since(s.Exchange.Arrived()); min(silent, all) >= s.Limits.KeepAlive {
		s.keepAlive()
	}
}

// release makes the answer the client's, and sends what was held and what follows it.
func (s *streaming) release(segs [][]byte) {
	if s.committed || s.beaten || !s.claim() {
		s.beaten = !s.committed
		return
	}
	s.committed = true
	s.commit()
	s.call.Lean()
	s.forget()
	if len(s.held) > 0 {
		segs = append([][]byte{s.held}, segs...)
	}
	s.write(segs)
	s.held, s.told = s.held[:0], time.Now()
}

// commit sends the head, where no keep-alive has.
func (s *streaming) commit() {
	faultpoint.Reach(faultpoint.Commit)
	s.early, s.mending = false, false
	s.res.Served = s.up
	if t, ok := s.pipe.(*pipe.Translation); ok {
		s.joined = t.Joined()
	}
	if s.pipe != nil { // nil: a whole answer was translated
		s.holds(s.pipe.Failer())
	}
	if s.res.Committed {
		return
	}
	if e := s.plan.encoded; e != nil {
		s.res.Dropped = e.Dropped
	}
	s.head(Committing{Stream: true, Upstream: s.up, Fields: s.call.Fields(), Result: &s.res})
}

// complete ends an answer that has come to its end.
func (s *streaming) complete() *sdk.Failure {
	p := s.pipe.End()
	if p.Failure != nil {
		s.rec.Broke = true
		if s.committed {
			s.client.Write(p.Segs...)
		}
		return s.fail(p.Failure)
	}
	return s.completed(p)
}

// completed sends the last piece of an answer, and what ends it.
func (s *streaming) completed(p pipe.Piece) *sdk.Failure {
	if content, _ := s.pipe.Progress(); !content && !s.silent(s.pipe.Tally()) {
		return s.fail(saysNothing())
	}
	s.final = true
	s.pass(p.Segs, true)
	s.release(nil)
	if s.beaten {
		return lostRace()
	}
	s.finish(nil)
	s.close()
	s.rest()
	return nil
}

// close ends the client's stream in good order.
func (s *streaming) close() {
	s.client.Unwatch()
	s.client.Settle()
	s.res.Gone = s.client.Gone()
	if s.res.Gone {
		s.Exchange.Abort()
		return
	}
	s.conclude()
	if err := s.Exchange.End(s.Answer.AppendTrailer(s.fields[:0], &s.res)); err != nil {
		s.res.Gone = true
	}
}

// rest reads what stands behind the end mark, so that the connection can be used again; it must come at once.
func (s *streaming) rest() {
	if s.err != nil || s.body.decoder != nil {
		return
	}
	for range 4 {
		if ready, err := s.call.Wait(restWait); !ready || err != nil {
			return
		}
		if _, err := s.call.Next(); err != nil {
			return
		}
	}
}

// broke ends an answer whose connection did not come to a good end. Where the reason of the answer's end had come, it is
// complete all the same: some services close without the last chunk, and have no end mark either.
func (s *streaming) broke(f *sdk.Failure) *sdk.Failure {
	if s.rec.Broke {
		if p := s.pipe.End(); p.Failure == nil {
			s.rec.Broke = false
			return s.completed(p)
		}
	}
	return s.fail(f)
}

// fail ends the attempt in failure: before the commit point another candidate may serve, after it the client is told in
// the stream.
func (s *streaming) fail(f *sdk.Failure) *sdk.Failure {
	s.scrub(f)
	s.finish(f)
	if s.committed && !s.mend(f) {
		s.tally()
		s.last(f)
		tell(s.active.run, f, s.pipe.Failer())
	}
	return f
}

// tell ends a committed stream with the dialect's error frame. at may know what stands before it.
func tell(r *run, f *sdk.Failure, at any) {
	r.client.Unwatch()
	if in, ok := at.(dialect.Failer); ok {
		r.client.Write(in.AppendFailure(nil, f, r.RequestID))
	} else {
		r.client.Write(r.Dialect.AppendStreamError(nil, f, r.RequestID))
	}
	r.client.Settle()
	r.res.Gone = r.client.Gone()
	if r.res.Gone {
		r.Exchange.Abort()
		return
	}
	r.res.Failure = f
	if err := r.Exchange.End(r.Answer.AppendTrailer(r.fields[:0], &r.res)); err != nil {
		r.res.Gone = true
	}
}

// maxHeld bounds what is held back before the commit point; more than that is content, whatever it says. An answer that
// is held until its end has the bound of a whole answer.
const maxHeld = 1 << 20

// due says whether what is held becomes the client's now. Where nothing more can be tried, holding beyond the first
// content would only delay.
func (a *active) due() bool {
	rule := a.terms.Commit
	if rule.Rule == OnWhole {
		return int64(len(a.held)) > a.Limits.Whole
	}
	if rule.Rule == OnFirstByte || int64(len(a.held)) > max(maxHeld, rule.Bytes) {
		return true
	}
	if !a.content {
		return false
	}
	switch {
	case a.lastResort():
		return true
	case rule.Rule == OnBytes:
		return int64(len(a.held)) >= rule.Bytes
	case rule.Rule == OnTime:
		return a.heldFor() <= 0
	}
	return true
}

// heldFor is how long a rule of time still holds the answer.
func (a *active) heldFor() time.Duration {
	return time.Until(a.rec.Started.Add(a.terms.Commit.After))
}

// lastResort says whether no further attempt can follow this one.
func (a *active) lastResort() bool {
	return a.race == nil && (a.committed || a.res.Tried >= a.most() || !slices.ContainsFunc(a.waiting, a.expressible))
}

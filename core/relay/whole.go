package relay

import (
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/sdk"
)

// whole relays an answer that is one body. It is held until it is complete and understood, so that a broken or empty
// answer can still be another candidate's.
func (a *active) whole() *sdk.Failure {
	framing := a.plan.way.Dialect.Framing
	if pipe.NamesStream(framing, a.call.Get("content-type")) {
		return a.streamAsWhole()
	}
	body, f := a.collect()
	switch {
	case f != nil:
		return f
	case pipe.LooksStreamed(framing, body):
		return a.framesAsWhole(body)
	}
	return a.bodyAsWhole(body)
}

// bodyAsWhole sends an answer that came as it was asked for.
func (a *active) bodyAsWhole(body []byte) (f *sdk.Failure) {
	body = pipe.WithoutMark(body)
	if len(bytes.TrimSpace(body)) == 0 {
		return sdk.Fail(sdk.UpstreamEmpty, "the provider's answer is empty")
	}
	var out []byte
	if a.plan.way.Pass {
		out, f = a.passWhole(body)
	} else {
		out, f = a.translateWhole(body, false)
	}
	if f != nil {
		return f
	}
	return a.commitWhole(out)
}

// collect reads the whole answer.
func (a *active) collect() ([]byte, *sdk.Failure) {
	b, f := a.openBody()
	if f != nil {
		return nil, f
	}
	defer b.close()
	if n := a.call.Length(); n > a.Limits.Whole {
		return nil, tooLarge()
	}
	all, blank := pieces{expected: a.call.Length()}, true
	for {
		p, err := b.next()
		switch {
		case err == io.EOF:
			return all.joined(), nil
		case err != nil:
			return nil, a.transport(err)
		case all.size == 0 && b.decoder == nil && a.call.Length() == int64(len(p)):
			a.rec.Read = int64(len(p))
			return p, nil // the whole body in one piece needs no copy: nothing is read after it
		case all.size+int64(len(p)) > a.Limits.Whole:
			return nil, tooLarge()
		}
		all.add(p)
		if f := a.keep(all.size); f != nil {
			return nil, f
		}
		a.rec.Read += int64(len(p))
		if blank = blank && len(bytes.TrimSpace(p)) == 0; !blank { // some services send white space while they keep one waiting
			a.call.SetTotal(a.until)
		}
	}
}

// pieces are what has come of an answer, in blocks that are joined when it is complete: what is refused in the end has cost
// no more than its size.
type pieces struct {
	expected int64 // bytes, as far as was told: less than one says nothing
	size     int64
	blocks   [][]byte
}

// Sizes of blocks: each is as large as all before it, within these.
const (
	leastBlock = 4 << 10
	mostBlock  = 4 << 20
)

// add copies bytes behind what is there.
func (s *pieces) add(p []byte) {
	for len(p) > 0 {
		last := len(s.blocks) - 1
		if last < 0 || len(s.blocks[last]) == cap(s.blocks[last]) {
			n := max(s.size, s.expected-s.size, int64(len(p)), leastBlock)
			s.blocks = append(s.blocks, make([]byte, 0, min(n, mostBlock)))
			last++
		}
		b := s.blocks[last]
		n := min(len(p), cap(b)-len(b))
		s.blocks[last] = append(b, p[:n]...)
		s.size += int64(n)
		p = p[n:]
	}
}

// joined gives all of it.
func (s *pieces) joined() []byte {
	if len(s.blocks) == 1 {
		return s.blocks[0]
	}
	return slices.Concat(s.blocks...)
}

func tooLarge() *sdk.Failure {
	return sdk.Fail(sdk.UpstreamError, "the provider's answer is larger than the limit for a whole answer")
}

// passWhole checks an answer in the client's own dialect, which then passes as it is.
func (a *active) passWhole(body []byte) ([]byte, *sdk.Failure) {
	if a.Count {
		if jsonspan.Valid(body, jsonspan.Limits{AllowDuplicates: true}) != nil {
			return nil, notUnderstood(body)
		}
		return body, nil
	}
	obs := a.Dialect.NewObserver(dialect.ObserverOptions{Doc: &a.seen, Encoding: a.Facts.Encoding})
	seen := obs.Whole(body)
	a.rec.Usage, a.res.Reason = pipe.Told(obs.Usage()), obs.Finish()
	switch {
	case seen.Failure != nil:
		return nil, a.inBody(seen.Failure, body)
	case !seen.Done: // it may be an error in a form that is no dialect's
		return nil, a.inBody(notUnderstood(body), body)
	case !seen.Content && !a.silent(a.rec.Usage, a.res.Reason):
		return nil, saysNothing()
	}
	a.holds(obs)
	if seen.Cut {
		return seen.Out, nil
	}
	return body, nil
}

// notUnderstood is the failure of a body that is no answer: broken JSON, an HTML page.
func notUnderstood(body []byte) *sdk.Failure {
	if err := jsonspan.Valid(body, jsonspan.Limits{AllowDuplicates: true}); err != nil {
		return sdk.Fail(sdk.UpstreamError, "the provider's answer is not complete JSON")
	}
	return sdk.Fail(sdk.UpstreamError, "the provider's answer has no form that is known")
}

// inBody classifies an error that came under a status of success.
func (a *active) inBody(f *sdk.Failure, body []byte) *sdk.Failure {
	status := f.Status
	if status < 400 {
		status = 0
	}
	g := a.up.Errors.Classify(status, body, a.call.Get, time.Now())
	if g.Kind == sdk.UpstreamError && f.Kind != sdk.KindNone {
		g.Kind = f.Kind
	}
	if g.Message == "" { // the body is no error, and what it calls its type is not that of one
		g.Message, g.Type, g.Code, g.Param = f.Message, f.Type, f.Code, f.Param
	}
	a.scrub(g)
	return g
}

// translateWhole turns a body of another dialect into the client's. The events are those of a stream.
func (a *active) translateWhole(body []byte, clientStream bool) ([]byte, *sdk.Failure) {
	t, f := a.translation(false, clientStream)
	if f != nil {
		return nil, f
	}
	defer t.Close()
	out := t.Body(body)
	if out.Failure != nil {
		return nil, a.inBody(out.Failure, body)
	}
	first := bytes.Clone(t.Written())
	if end := t.End(); end.Failure != nil {
		return nil, end.Failure
	}
	a.rec.Usage, a.res.Reason = t.Tally()
	if content, _ := t.Progress(); !content && !a.silent(t.Tally()) {
		return nil, saysNothing()
	}
	return append(first, t.Written()...), nil
}

// wholeAsStream serves a client that wants a stream from an upstream that answers with one body.
func (a *active) wholeAsStream(b *answerBody, body []byte, err error) *sdk.Failure {
	body, f := a.gather(b, body, err)
	if f != nil {
		return f
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return sdk.Fail(sdk.UpstreamEmpty, "the provider's answer is empty")
	}
	out, f := a.translateWhole(pipe.WithoutMark(body), true)
	if f != nil {
		return f
	}
	a.rec.Tokens = int64(len(body)) / textBytes
	s := &streaming{active: a, body: b, err: io.EOF, final: true}
	s.pass([][]byte{out}, true)
	s.release(nil)
	if s.beaten {
		return lostRace()
	}
	a.finish(nil)
	s.close()
	return nil
}

// gather reads an answer to its end, behind what has been read of it.
func (a *active) gather(b *answerBody, body []byte, err error) ([]byte, *sdk.Failure) {
	var all pieces
	for p := body; ; {
		if all.size+int64(len(p)) > a.Limits.Whole {
			return nil, tooLarge()
		}
		all.add(p)
		if err != nil {
			break
		}
		if f := a.keep(all.size); f != nil {
			return nil, f
		}
		p, err = b.next()
	}
	if err != io.EOF {
		return nil, a.transport(err)
	}
	return all.joined(), nil
}

// streamAsWhole serves a client that wants one body from an upstream that streams all the same, or says that it does.
func (a *active) streamAsWhole() *sdk.Failure {
	b, f := a.openBody()
	if f != nil {
		return f
	}
	defer b.close()
	p, err := b.next()
	if pipe.FormOfStream(a.plan.way.Dialect.Framing, a.call.Get("content-type"), p) == pipe.AsBody {
		body, f := a.gather(b, p, err)
		if f != nil {
			return f
		}
		return a.bodyAsWhole(body)
	}
	t, f := a.translation(true, false)
	if f != nil {
		return f
	}
	defer t.Close()
	for err == nil {
		a.rec.Read += int64(len(p))
		if out := t.Feed(p); out.Failure != nil {
			return out.Failure
		}
		if f := a.keep(a.rec.Read); f != nil {
			return f
		}
		content, done := t.Progress()
		if done {
			break
		}
		if content {
			a.call.SetTotal(a.until)
		}
		p, err = b.next()
	}
	if err != nil && err != io.EOF {
		return a.transport(err)
	}
	return a.finishWhole(t)
}

// framesAsWhole is streamAsWhole where the stream has been read to its end.
func (a *active) framesAsWhole(body []byte) *sdk.Failure {
	t, f := a.translation(true, false)
	if f != nil {
		return f
	}
	defer t.Close()
	if out := t.Feed(body); out.Failure != nil {
		return out.Failure
	}
	return a.finishWhole(t)
}

// finishWhole sends the whole answer that a stream has come to.
func (a *active) finishWhole(t *pipe.Translation) *sdk.Failure {
	if out := t.End(); out.Failure != nil {
		return out.Failure
	}
	a.rec.Usage, a.res.Reason = t.Tally()
	if content, _ := t.Progress(); !content && !a.silent(t.Tally()) {
		return saysNothing()
	}
	return a.commitWhole(t.Written())
}

// textBytes is about what a token takes of a text.
const textBytes = 4

// commitWhole sends a whole answer.
func (a *active) commitWhole(body []byte) *sdk.Failure {
	if a.rec.First.IsZero() {
		a.rec.First = time.Now()
	}
	a.rec.Tokens = a.rec.Read / textBytes
	if !a.claim() {
		return lostRace()
	}
	faultpoint.Reach(faultpoint.Commit)
	a.finish(nil)
	a.content, a.committed = true, true
	a.res.Served, a.res.Committed = a.up, true
	if e := a.plan.encoded; e != nil {
		a.res.Dropped = e.Dropped
	}
	a.fields = a.Answer.AppendFields(a.fields[:0], Committing{Upstream: a.up, Fields: a.call.Fields(), Result: &a.res})
	a.fields = append(a.fields, "Content-Type: application/json\r\n"...)
	a.client.Unwatch()
	err := a.Exchange.Commit(200, a.fields, int64(len(body)))
	if err == nil {
		err = a.writeWhole(body)
	}
	if err != nil {
		a.client.Lose()
		a.res.Gone = true
	}
	return nil
}

// lastPiece is how much of a whole answer may be left when it is said to be over: less than a connection takes by itself, so
// that a client which takes nothing has its place among the key's requests for as long.
const lastPiece = 64 << 10

// writeWhole sends a whole answer.
func (a *active) writeWhole(body []byte) error {
	if n := len(body) - lastPiece; n > 0 {
		a.segs = append(a.segs[:0], body[:n])
		if err := a.Exchange.Write(a.segs...); err != nil {
			return err
		}
		body = body[n:]
	}
	a.last(nil)
	a.segs = append(a.segs[:0], body)
	if err := a.Exchange.Write(a.segs...); err != nil {
		return err
	}
	return a.Exchange.End(nil)
}

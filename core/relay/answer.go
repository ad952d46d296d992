package relay

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/coding"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// answerBody gives the pieces of an upstream's answer. A content coding that nobody asked for is undone on the way.
type answerBody struct {
	a       *active
	decoder io.ReadCloser // nil: the bytes are plain
	coded   *callReader   // what the decoder reads
	decoded int64
	buf     []byte
}

// What a compressed answer may become: in all, and of what has come of it. Text does not shrink to a hundredth; what is made
// to exhaust its reader does to a thousandth.
const (
	maxDecoded = 64 << 20
	maxGrowth  = 100
	anyGrowth  = 1 << 20 // is allowed whatever it came of
)

// errBomb says that a compressed answer is made to exhaust its reader.
var errBomb = errors.New("body: grows over a hundredfold when it is decoded")

// openBody begins to read the answer. The body is the attempt's own.
func (a *active) openBody() (*answerBody, *sdk.Failure) {
	b := &a.reading
	*b = answerBody{a: a}
	value := a.call.Get("content-encoding")
	if coding.Identity(value) {
		return b, nil
	}
	b.coded = &callReader{a: a}
	r, err := coding.NewAnswerReader(string(value), b.coded, maxDecoded)
	if err != nil {
		return nil, sdk.Fail(sdk.UpstreamError, "the provider's answer has a content coding that cannot be undone")
	}
	b.decoder, b.buf = r, make([]byte, 32<<10)
	return b, nil
}

// next gives the next bytes, valid until the next call; io.EOF at the complete end.
func (b *answerBody) next() ([]byte, error) {
	if b.decoder != nil {
		n, err := b.decoder.Read(b.buf)
		if b.decoded += int64(n); b.decoded > anyGrowth && b.decoded > maxGrowth*b.coded.read {
			return nil, errBomb
		}
		if n > 0 {
			return b.buf[:n], nil
		}
		return nil, err
	}
	if err := b.a.await(); err != nil {
		return nil, err
	}
	return b.a.call.Next()
}

func (b *answerBody) close() {
	if b.decoder != nil {
		b.decoder.Close()
	}
}

// callReader is the undecoded answer as a Reader.
type callReader struct {
	a    *active
	left []byte
	read int64
}

// Read gives the next bytes of the answer.
func (c *callReader) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if err := c.a.await(); err != nil {
			return 0, err
		}
		next, err := c.a.call.Next()
		if err != nil {
			return 0, err
		}
		c.left = next
		c.read += int64(len(next))
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// What is read of an upstream's error, and how long that is waited for: what it says beside its status is not worth more
// when another deployment may serve.
const (
	maxErrorBody = 64 << 10
	errorWait    = 2 * time.Second
)

// refused reads an answer whose status is no success.
func (a *active) refused() *sdk.Failure {
	status := a.rec.Status
	if status < 400 {
		return &sdk.Failure{Kind: sdk.UpstreamError, Message: "the provider answered " + fault.StatusText(status) + ", which is not followed"}
	}
	a.call.SetTotal(earlier(a.firstContentBy(), time.Now().Add(errorWait)))
	body, err := a.readAll(maxErrorBody)
	if err != nil && !errors.Is(err, errTooLong) {
		body = nil
	}
	if value := a.call.Get("content-encoding"); !coding.Identity(value) {
		body, _ = coding.DecodeAnswer(string(value), body, maxErrorBody) // of what cannot be read the status is left
	}
	f := a.up.Errors.Classify(status, body, a.call.Get, time.Now())
	a.keepBody(f, body)
	return f
}

// keepBody lets a client see the upstream's own error where it speaks the same dialect and the error is about its
// request: clients match on the wording.
func (a *active) keepBody(f *sdk.Failure, body []byte) {
	a.scrub(f)
	switch f.Kind {
	case sdk.UpstreamAuth, sdk.UpstreamMoney, sdk.UpstreamModel:
		f.Status = 0
		if f.Kind == sdk.UpstreamAuth {
			f.Message = "the provider refused the gateway's credential"
		}
		return
	}
	if a.plan.way.Pass && f.Status >= 400 && f.Status < 500 && len(body) > 0 && len(body) <= maxErrorBody {
		if own := inForm(a.Dialect, f, body); own != nil {
			f.Body = []byte(a.withoutSecrets(string(own)))
		}
	}
}

// scrub takes our credentials out of what an upstream says of a request, where it echoes them.
func (a *active) scrub(f *sdk.Failure) {
	f.Message, f.Param, f.Code, f.Type = a.withoutSecrets(f.Message), a.withoutSecrets(f.Param), a.withoutSecrets(f.Code), a.withoutSecrets(f.Type)
}

func (a *active) withoutSecrets(text string) string {
	for _, s := range a.up.Secrets {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	return text
}

// inForm gives an error body in the form that a dialect's SDKs read, with all that the provider says beside; nil for a
// body of another form.
func inForm(d dialect.Dialect, f *sdk.Failure, body []byte) []byte {
	var doc jsonspan.Doc
	if doc.Parse(body, jsonspan.Limits{}) != nil || doc.Kind(0) != jsonspan.Object {
		return nil
	}
	own, ok := d.(dialect.ErrorReader)
	switch {
	case !ok:
		return dialect.OpenAIErrorBody(&doc, f)
	case own.OwnError(&doc):
		return body
	}
	return nil
}

// errTooLong says that a body goes on past its bound.
var errTooLong = errors.New("body: over its bound")

// readAll reads what is left of the answer, at most limit bytes. The bytes are valid until the call is closed.
func (a *active) readAll(limit int64) ([]byte, error) {
	var all []byte
	for {
		p, err := a.call.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if all == nil && a.call.Length() == int64(len(p)) {
			all = p // the whole body in one piece: no copy
			if _, err := a.call.Next(); err != io.EOF {
				return nil, err
			}
			return all, nil
		}
		if int64(len(all)+len(p)) > limit {
			return append(all, p[:max(0, limit-int64(len(all)))]...), errTooLong
		}
		all = append(all, p...)
	}
}

// silent says whether an answer without content is one all the same: its model has ended its turn in good order, with words
// of its own that come to nothing. Models do so after the results of tools, where all has been said
// (https://docs.claude.com/en/api/handling-stop-reasons, "Empty responses with end_turn"), and where an answer that broke off
// needs no more. Otherwise another deployment may have more to say, and where there is none, asking again would be paid for
// and come to the same.
//
// An answer whose usage says that nothing was written, or only thought, is no such one: its provider has lost it.
func (a *active) silent(u sdk.Usage, reason sdk.Reason) bool {
	written := u.TotalOutput() - u.Reasoning
	return reason == sdk.ReasonStop && u.Known && written > 0 && (a.Facts.Results || a.mending || a.lastResort())
}

// saysNothing is the failure of an answer that came whole and without content.
func saysNothing() *sdk.Failure {
	return sdk.Fail(sdk.UpstreamEmpty, "the provider's answer says nothing")
}

// holds tells by which id a later request may continue an answer that passes, where its observer knows.
func (a *active) holds(observer any) {
	if named, ok := observer.(dialect.Continued); ok && named.AnswerID() != "" {
		a.Answer.Holds(named.AnswerID(), a.up, a.rec.Credential)
	}
}

// became notes what has become of the attempt.
func (a *active) became(f *sdk.Failure) {
	a.rec.Failure, a.rec.Ended = f, time.Now()
	a.rec.Gone, a.rec.Lost, a.rec.Content = a.client.Gone(), a.lost.Load(), a.committed && a.content
	a.rec.Stalled = a.writes() && a.rec.Gone && a.client.Stalled()
}

// last tells what the attempt will have come to, before the client is sent the last of its answer. It does not where others
// still run, of which nobody knows yet what they used, nor where the client is slow: what it has not taken is kept for it.
func (a *active) last(f *sdk.Failure) (told bool) {
	if a.Records == nil || a.client.Slow() || a.race != nil && a.race.open.Load() > 1 {
		return false
	}
	a.became(f)
	a.Records.Last(&a.rec)
	return true
}

// conclude is last, once, of an answer that is complete.
func (s *streaming) conclude() {
	if !s.over {
		s.tally()
		s.over = s.last(nil)
	}
}

// tally notes what has been seen of usage.
func (s *streaming) tally() {
	if s.pipe != nil { // nil: a whole answer was translated, and told it
		s.rec.Usage, s.res.Reason = s.pipe.Tally()
		s.rec.Tokens = s.pipe.Tokens()
	}
}

// write sends bytes of an answer that is the client's.
func (s *streaming) write(segs [][]byte) {
	if s.final {
		s.conclude()
	}
	s.client.Write(segs...)
}

// Memory tells whether more of it is in use than may be. It is asked by many goroutines.
type Memory interface{ Short() bool }

// mostWhenShort is how much of one answer may have to be kept while memory is short. An event is kept until it is whole, and
// a whole answer until its end: a thousand of their largest would be all the memory that there is, and what turns new requests
// away does not stop those that are under way.
const mostWhenShort = 1 << 20

// shortWait is when a client that was given up may come again.
const shortWait = time.Second

// keep says whether n bytes of an answer may be kept until more of it has come.
func (a *active) keep(n int64) *sdk.Failure {
	if n <= mostWhenShort || a.Memory == nil || !a.Memory.Short() {
		return nil
	}
	return &sdk.Failure{Kind: sdk.Shedding, RetryAfter: shortWait,
		Message: "the gateway is short of memory and keeps no more than 1 MiB of an answer that is not complete"}
}

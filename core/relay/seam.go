package relay

import (
	"bytes"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxContinued bounds the text of an answer that may be continued.
const maxContinued = 1 << 20

// seam lets a streamed answer go on where a deployment broke off: one encoder writes for all attempts, and the text that
// the client has been sent is what the next candidate is asked to go on from.
type seam struct {
	enc   dialect.Encoder
	told  dialect.Seams
	text  []byte    // of the answer, escaped as in JSON
	other bool      // the answer has more than can be continued
	used  sdk.Usage // of the calls that broke off
	going bool      // another deployment has gone on
}

// take takes note of an event; false where the client is not to see it.
func (s *seam) take(e *sdk.Event) bool {
	switch e.Kind {
	case sdk.Begin, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted:
		return !s.going // the client has had the beginning, and the reasoning that led to what it has
	case sdk.TextDelta:
		s.text = append(s.text, e.Text.Raw()...)
		s.other = s.other || e.Choice > 0 || len(s.text) > maxContinued
	case sdk.ToolBegin, sdk.RefusalDelta, sdk.Foreign, sdk.Logprobs:
		s.other = true
	case sdk.UsageSeen:
		e.Usage = sum(s.used, e.Usage)
	}
	return true
}

// sum adds the usage of calls that made one answer together.
func sum(a, b sdk.Usage) sdk.Usage {
	b.Input, b.CacheRead, b.CacheWrite = a.Input+b.Input, a.CacheRead+b.CacheRead, a.CacheWrite+b.CacheWrite
	b.Output, b.Reasoning = a.Output+b.Output, a.Reasoning+b.Reasoning
	return b
}

// mend lines up the candidates that can go on with the answer that broke off; false where none can, and the client is to
// be told.
func (s *streaming) mend(f *sdk.Failure) bool {
	r, m := s.active.run, s.joined
	if m == nil || m.other || len(m.text) == 0 || s.race != nil || s.client.gone() || r.res.Tried >= r.most() {
		return false
	}
	switch f.Kind {
	case sdk.UpstreamError, sdk.Overloaded, sdk.Timeout, sdk.PluginFailed:
	default:
		return false
	}
	if r.decode() != nil {
		return false
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(i int) bool { return !r.continues(i) })
	if len(r.waiting) == 0 {
		return false
	}
	m.going, r.mending = true, true
	m.told.At = append(m.told.At, len(m.text))
	m.used = sum(m.used, s.rec.Usage)
	return true
}

// continues plans how a candidate is asked to go on: by the answer so far as the beginning of its own, or by the terms'
// prompt after it.
func (r *run) continues(i int) bool {
	c := &r.Candidates[i]
	if c.Terms.Prompt == "" && c.Deployment.Can&dialect.Prefill == 0 {
		return false
	}
	q := *r.request
	so := sdk.Message{Role: sdk.Assistant, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.RawText(withoutSpace(r.joined.text))}}}
	q.Messages = append(slices.Clip(q.Messages), so)
	if c.Terms.Prompt != "" {
		q.Messages = append(q.Messages, sdk.Message{Role: sdk.User, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(c.Terms.Prompt)}}})
	}
	e, f := Encode(r.Dialect, r.Doc, q, c.Upstream)
	if f == nil && !r.Limits.Lenient {
		f = StrictLoss(e.Dropped)
	}
	if f != nil {
		r.skip(c.Upstream, "continue", f.Message, time.Time{})
		return false
	}
	way := *r.plans[i].way
	way.Pass = false // also in the client's own dialect it is another request than the client's
	r.plans[i] = plan{way: &way, encoded: e}
	return true
}

// withoutSpace cuts white space off the end of an escaped text: providers refuse to go on from it
// (https://docs.claude.com/en/docs/build-with-claude/prompt-engineering/prefill-claudes-response).
func withoutSpace(text []byte) []byte {
	for {
		n := len(text)
		switch {
		case n > 0 && text[n-1] == ' ':
			text = text[:n-1]
		case n > 1 && bytes.IndexByte([]byte("nrt"), text[n-1]) >= 0 && endsEscape(text[:n-1]):
			text = text[:n-2]
		default:
			return slices.Clone(text)
		}
	}
}

// endsEscape says whether a text ends in a backslash that begins an escape and is not one itself.
func endsEscape(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}

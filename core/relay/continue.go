package relay

import (
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// mend lines up the candidates that can go on with the answer that broke off; false where none can, and the client is to
// be told.
func (s *streaming) mend(f *sdk.Failure) bool {
	r, m := s.active.run, s.joined
	if m == nil || !m.Open() || s.race != nil || s.client.Gone() || r.res.Tried >= r.most() {
		return false
	}
	switch f.Kind {
	case sdk.UpstreamError, sdk.Overloaded, sdk.Timeout, sdk.PluginFailed:
	default:
		return false
	}
	if r.decode() != nil || !resumable(r.request) {
		return false
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(i int) bool { return !r.continues(i) })
	if len(r.waiting) == 0 {
		return false
	}
	r.mending = true
	m.Break(s.rec.Usage)
	return true
}

// resumable says whether the rest of an answer can be asked for by its beginning. Not where it must follow a form, which
// providers hold to from the first token that they write themselves, nor where there are several answers.
func resumable(q *sdk.Request) bool {
	return (q.Format.Kind == sdk.FormatUnset || q.Format.Kind == sdk.FormatText) && q.N <= 1
}

// continues plans how a candidate is asked to go on: by the answer so far as the beginning of its own, or by the terms'
// prompt after it.
func (r *run) continues(i int) bool {
	c := &r.Candidates[i]
	if c.Terms.Prompt == "" && c.Deployment.Can&dialect.Prefill == 0 {
		return false
	}
	q := *r.request
	if q.MaxOutput > 0 { // of which a part is used up
		q.MaxOutput = max(1, q.MaxOutput-len(r.joined.Text())/textBytes)
	}
	so := sdk.Message{Role: sdk.Assistant, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.RawText(r.joined.Text())}}}
	q.Messages = append(slices.Clip(q.Messages), so)
	if c.Terms.Prompt != "" {
		q.Messages = append(q.Messages, sdk.Message{Role: sdk.User, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(c.Terms.Prompt)}}})
	}
	e, f := c.Encode(r.Dialect, r.Doc, q)
	if f == nil && !r.Limits.Lenient {
		f = StrictLoss(e.Dropped)
	}
	if f != nil {
		r.skip(c.Upstream, "continue", f.Message)
		return false
	}
	way := *r.plans[i].way
	way.Pass = false // also in the client's own dialect it is another request than the client's
	r.plans[i] = plan{way: &way, known: true, encoded: e, free: freeForm(&q)}
	return true
}

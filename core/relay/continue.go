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
	if r.decode() != nil {
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

// continues plans how a candidate is asked to go on: by the answer so far as the beginning of its own, or by the terms'
// prompt after it.
func (r *run) continues(i int) bool {
	c := &r.Candidates[i]
	if c.Terms.Prompt == "" && c.Deployment.Can&dialect.Prefill == 0 {
		return false
	}
	q := *r.request
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
	r.plans[i] = plan{way: &way, encoded: e}
	return true
}

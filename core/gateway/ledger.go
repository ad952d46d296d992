package gateway

import (
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/sdk"
)

// Begin takes an upstream call's place in the ledger; see relay.Records.
func (r *request) Begin(a *relay.Attempt) error {
	if r.g.Ledger == nil {
		return nil
	}
	d := a.Upstream.Deployment
	c := ledger.Call{RequestID: r.id, Attempt: a.Number, Generation: r.gen.Number, Key: r.key.Name, Team: r.key.Team, Model: r.model,
		Provider: d.Provider.ID, Deployment: d.ID, Upstream: d.Model, Started: a.Started, Price: price(d.Price), Estimate: r.estimate(d)}
	if a.Credential != nil {
		c.Credential = a.Credential.Name
	}
	var err error
	if a.Slot, err = r.g.Ledger.Begin(&c); err == nil {
		return nil
	}
	r.g.Log.Error("ledger: a call could not be written down", "request_id", r.id, "error", err)
	if r.gen.Config.OnOutage == "fail_open" {
		return nil
	}
	return &sdk.Failure{Kind: sdk.StoreDown, Message: "calls cannot be accounted for at the moment", RetryAfter: retrySoon, Final: true}
}

// End writes down what became of the call; see relay.Records.
func (r *request) End(a *relay.Attempt) {
	if r.g.Ledger == nil {
		return
	}
	used := r.usage(a)
	a.Cost = a.Slot.Settle(outcome(a), used, a.Ended)
	r.used.add(used, a.Cost)
	const beside = dialect.Tools | dialect.Images | dialect.Audio | dialect.Documents
	if u := a.Usage; u.Known && !u.Disputed && a.Failure == nil && r.facts.Needs&beside == 0 {
		r.g.Ledger.Tokens.Learn(a.Upstream.Deployment.Model, int64(r.facts.TextBytes), u.TotalInput()-int64(r.facts.Messages)*turnTokens)
	}
}

// outcome is how a call ended.
func outcome(a *relay.Attempt) ledger.Outcome {
	f := a.Failure
	switch {
	case a.Lost:
		return ledger.HedgeLost
	case f != nil && f.Kind == sdk.Internal:
		return ledger.Crashed
	case a.Stalled:
		return ledger.ClientStalled
	case a.Gone:
		return ledger.ClientClosed
	case f == nil:
		return ledger.Success
	case a.Content && a.Broke:
		return ledger.UpstreamTruncated
	case a.Content:
		return ledger.ErrorAfterCommit
	case f.Kind == sdk.Timeout:
		return ledger.Timeout
	}
	return ledger.UpstreamError
}

// price is a deployment's price as the ledger reckons with it.
func price(p *catalog.Price) ledger.Price {
	if p == nil {
		return ledger.Price{}
	}
	return ledger.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Known: true}
}

// What tokens are reckoned at where nobody says how many there are.
const (
	turnTokens  = 4 // around each message
	usualOutput = 4096
)

// estimate is what a call may use.
func (r *request) estimate(d *catalog.Deployment) ledger.Estimate {
	out := r.facts.MaxOutput
	if out == 0 {
		out = min(d.MaxOutput, usualOutput)
	}
	return ledger.Estimate{Input: r.input(d), Output: int64(out)}
}

// input is about how many tokens the request has for a deployment.
func (r *request) input(d *catalog.Deployment) int64 {
	return r.g.Ledger.Tokens.Tokens(d.Model, int64(r.facts.TextBytes)) + int64(r.facts.Messages)*turnTokens
}

// usage is what a call used. Only an answer that came to its end has the provider's last word. One that broke off is
// reckoned: by what the provider has said so far and what has come. One that broke off before it had content is not
// charged, nor is a request that failed.
func (r *request) usage(a *relay.Attempt) sdk.Usage {
	switch {
	case a.Usage.Known && (a.Failure == nil || a.Failure.Kind == sdk.UpstreamEmpty):
		return a.Usage
	case a.Failure != nil && !a.Content:
		return sdk.Usage{}
	}
	u := a.Usage
	u.Known = false
	if u.TotalInput() == 0 {
		u.Input = r.input(a.Upstream.Deployment)
	}
	if n := max(a.Tokens, 1) - u.TotalOutput(); n > 0 {
		u.Output += n
	}
	return u
}

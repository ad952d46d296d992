package gateway

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// account checks what a key may do that does not depend on the body.
func (r *request) account() *sdk.Failure {
	faultpoint.Reach(faultpoint.Account)
	if !r.key.Speaks(r.dialect.Name()) {
		return &sdk.Failure{Kind: sdk.Forbidden, Message: "the key " + quote(r.key.Name) + " may not speak the dialect " + r.dialect.Name()}
	}
	if r.gen.FailClosed() && r.g.Ledger != nil && r.g.Ledger.Outage() != nil {
		return storeDown()
	}
	var f *sdk.Failure
	if r.brought, f = r.g.Admission.Brought(unhurried(), r.gen, r.key.Key); f != nil {
		return f
	}
	return r.g.Admission.Look(r.key.Key, r.arrived(), &r.reserved)
}

// storeDown is the failure of a request whose calls could not be written down.
func storeDown() *sdk.Failure {
	return &sdk.Failure{Kind: sdk.StoreDown, Message: "calls cannot be accounted for at the moment", RetryAfter: retrySoon}
}

// narrow leaves those candidates out that the key must not be served by: of a key for which nothing may be kept those that
// are not tagged zdr, of a key with a budget those whose price is not known. The failure is that of a request which none is
// left for.
func (r *request) narrow() *sdk.Failure {
	d := &r.decision
	if len(d.Candidates) == 0 {
		return nil
	}
	if r.key.ZDR && !r.keep("zdr", "it is not tagged zdr, and nothing of the key's requests may be kept", keepsNothing) {
		return &sdk.Failure{Kind: sdk.Forbidden, Message: "nothing of the key's requests may be kept, and no deployment of " + quote(r.model) + " that could serve this one is tagged zdr"}
	}
	first := d.Candidates[0].ID
	if r.key.Account != nil && r.key.Account.Budgeted() && !r.keep("budget", "its price is not known, and the key has a budget", r.priced) {
		return &sdk.Failure{Kind: sdk.BadRequest, Message: "the key " + quote(r.key.Name) + " has a budget, and the price of the deployment " + quote(first) + " is not known", Param: "model", Final: true}
	}
	return nil
}

func keepsNothing(d *catalog.Deployment) bool { return slices.Contains(d.Tags, "zdr") }

func (r *request) priced(d *catalog.Deployment) bool { return d.Price.At(r.arrived()) != nil }

// keep keeps the candidates that fit, with their plans; it says whether any is left.
func (r *request) keep(stage, why string, fits func(*catalog.Deployment) bool) bool {
	d, n := &r.decision, 0
	for i, c := range d.Candidates {
		if !fits(c) {
			d.Skips = append(d.Skips, route.Skip{Deployment: c.ID, Stage: stage, Reason: why})
			continue
		}
		d.Candidates[n] = c
		if len(d.Plans) > 0 {
			d.Plans[n] = d.Plans[i]
		}
		n++
	}
	d.Candidates = d.Candidates[:n]
	d.Plans = d.Plans[:min(n, len(d.Plans))]
	return n > 0
}

// reserve reserves what the request may need of the key's limits and budgets.
func (r *request) reserve() *sdk.Failure {
	faultpoint.Reach(faultpoint.Reserve)
	account := r.key.Account
	if len(account.Levels) == 0 {
		return nil
	}
	r.need = limits.Need{Requests: 1}
	if !r.route.count {
		asked := admit.Asked{Facts: &r.facts, Choices: r.choices(), Start: r.arrived(), Tier: r.tier()}
		r.need = admit.Needs(&asked, account, r.decision.Candidates, r.tokens())
	}
	return r.g.Admission.Reserve(unhurried(), r.gen, r.key.Key, r.need, &r.reserved)
}

// unhurried is the context of what admission waits for: a request is a task of its own, not its connection's, and each of
// these waits has a limit.
func unhurried() context.Context { return context.Background() }

// choices is how many answers the request asks for.
func (r *request) choices() int {
	if r.facts.Needs&dialect.Several == 0 {
		return 1
	}
	obj, name := 0, "n"
	if r.dialect.Name() == "gemini" {
		obj, _ = r.doc.Member(0, "generationConfig")
		name = "candidateCount"
	}
	i, ok := r.doc.Member(obj, name)
	if !ok {
		return 1
	}
	n, _ := r.doc.Int(i) // the dialect has checked it
	return int(n)
}

// tier is the tier of service that the request asks for.
func (r *request) tier() sdk.Tier {
	for _, name := range [...]string{"service_tier", "serviceTier", "speed"} { // OpenAI's and Anthropic's, Gemini's, Anthropic's fast mode
		if i, ok := r.doc.Member(0, name); ok && r.doc.Kind(i) == jsonspan.String {
			if t := sdk.TierOf(string(r.doc.Inner(i))); t != sdk.TierUsual {
				return t
			}
		}
	}
	return sdk.TierUsual
}

// settle ends the reservation where Last has not, whatever has become of the request, a panic too: by what its calls used,
// or as if it had never been where there was none.
func (r *request) settle() {
	if r.used.calls.Load() == 0 {
		r.reserved.End()
		return
	}
	r.reserved.Settle(limits.Use{Input: r.used.input.Load(), Output: r.used.output.Load(), Nano: r.used.nano.Load()})
}

// Last gives back what is reserved, by what the calls used that have ended and what the last one does; see relay.Records.
func (r *request) Last(a *relay.Attempt) {
	if a == nil || r.g.Ledger == nil {
		r.settle()
		return
	}
	if r.told.of == nil {
		r.told = told{of: a, used: r.usage(a)}
	}
	u := ledger.Believed(r.told.used)
	cost := a.Slot.Cost(outcome(a), r.told.used)
	r.reserved.Settle(limits.Use{Input: r.used.input.Load() + u.TotalInput(), Output: r.used.output.Load() + u.TotalOutput(), Nano: r.used.nano.Load() + cost})
}

// told is what Last has said of an attempt.
type told struct {
	of   *relay.Attempt
	used sdk.Usage
}

// used is what the calls of a request have used. Calls may end beside each other.
type used struct{ calls, input, output, nano atomic.Int64 }

func (n *used) add(u sdk.Usage, cost int64) {
	n.input.Add(u.TotalInput())
	n.output.Add(u.TotalOutput())
	n.nano.Add(cost)
	n.calls.Add(1)
}

// Begin takes an upstream call's place in the ledger; see relay.Records.
func (r *request) Begin(a *relay.Attempt) error {
	if r.g.Ledger == nil {
		return nil
	}
	d := a.Upstream.Deployment
	c := ledger.Call{RequestID: r.id, Attempt: a.Number, Generation: r.gen.Number, Key: r.key.Name, Team: r.key.Team, Organisation: r.key.Organisation, Model: r.model,
		Provider: d.Provider.ID, Deployment: d.ID, Upstream: d.Model, Started: a.Started, Price: d.Price.At(a.Started), Images: int64(r.facts.Media.Images), Estimate: r.estimate(d)}
	if r.route.count { // which is free: https://docs.claude.com/en/docs/build-with-claude/token-counting, https://ai.google.dev/gemini-api/docs/tokens
		c.Price, c.Images, c.Estimate = new(price.Period), 0, ledger.Estimate{}
	}
	if a.Credential != nil {
		c.Credential = a.Credential.Name
	}
	var err error
	if a.Slot, err = r.g.Ledger.Begin(&c); err == nil {
		return nil
	}
	if err != ledger.ErrFull { // of which the ledger has told, once
		r.g.Log.Error("ledger: a call could not be written down", "request_id", r.id, "error", err)
	}
	if !r.gen.FailClosed() && !r.key.Account.Budgeted() {
		return nil
	}
	return storeDown()
}

// End writes down what became of the call; see relay.Records. Where finding that out panics, the call is one that crashed.
// What Last has said of its usage stands: the key's limits and budgets have been told it.
func (r *request) End(a *relay.Attempt) {
	if r.g.Ledger == nil {
		return
	}
	how, used := ledger.Crashed, sdk.Usage{}
	if a == r.told.of {
		used = r.told.used
	}
	defer func() {
		a.Cost = a.Slot.Settle(how, used, a.Ended)
		r.used.add(ledger.Believed(used), a.Cost)
	}()
	faultpoint.Reach(faultpoint.End)
	if how = outcome(a); a != r.told.of {
		used = r.usage(a)
	}
	if u := a.Usage; u.Known && !u.Disputed && a.Failure == nil {
		r.g.Ledger.Tokens.LearnFrom(a.Upstream.Deployment.Model, &r.facts, u.TotalInput())
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

// estimate is what a call may use.
func (r *request) estimate(d *catalog.Deployment) ledger.Estimate {
	e := ledger.Estimate{Input: r.input(d), Tier: r.tier()}
	if r.facts.Needs&dialect.Embeddings == 0 {
		e.Output = ledger.Output(&r.facts, d.MaxOutput) * int64(r.choices())
	}
	return e
}

// input is about how many tokens the request has for a deployment.
func (r *request) input(d *catalog.Deployment) int64 { return r.tokens().Input(d.Model, &r.facts) }

// tokens is what has been learned of tokens; nothing where there is no ledger.
func (r *request) tokens() *ledger.Estimator {
	if r.g.Ledger == nil {
		return new(ledger.Estimator)
	}
	return &r.g.Ledger.Tokens
}

// usage is what a call used. Only an answer that came to its end has the provider's last word. One that broke off is
// reckoned: by what the provider has said so far and what has come. One that broke off before it had content is not
// charged, nor is a request that failed.
func (r *request) usage(a *relay.Attempt) sdk.Usage {
	switch {
	case r.route.count && a.Failure == nil:
		return sdk.Usage{Known: true, Free: true}
	case a.Usage.Known && (a.Failure == nil || a.Failure.Kind == sdk.UpstreamEmpty):
		return r.believed(a)
	case a.Failure != nil && !a.Content:
		return sdk.Usage{}
	}
	return r.reckoned(a)
}

// believed is the provider's last word, but for a half of it that cannot be and leaves nothing, as a count below zero does:
// that half is reckoned, or it would be free.
func (r *request) believed(a *relay.Attempt) sdk.Usage {
	u := a.Usage
	if !u.Disputed {
		return u
	}
	fill := r.reckoned(a)
	if u.TotalInput() == 0 {
		u.Input = fill.Input
	}
	if u.TotalOutput() == 0 {
		u.Output = fill.Output
	}
	return u
}

// reckoned is what a call used by what the provider has said so far and what has come.
func (r *request) reckoned(a *relay.Attempt) sdk.Usage {
	u := a.Usage
	u.Known = false
	if u.TotalInput() == 0 {
		u.Input = r.input(a.Upstream.Deployment)
	}
	if n := max(a.Tokens, 1) - u.TotalOutput(); n > 0 && r.facts.Needs&dialect.Embeddings == 0 {
		u.Output += n
	}
	return u
}

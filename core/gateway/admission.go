package gateway

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// account checks what a key may do that does not depend on the body.
func (r *request) account() *sdk.Failure {
	if !r.key.Speaks(r.dialect.Name()) {
		return &sdk.Failure{Kind: sdk.Forbidden, Message: "the key " + quote(r.key.Name) + " may not speak the dialect " + r.dialect.Name()}
	}
	return r.g.Admission.Look(r.key.Key, r.arrived(), &r.reserved)
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
	if r.key.Account != nil && r.key.Account.Budgeted() && !r.keep("budget", "its price is not known, and the key has a budget", priced) {
		return &sdk.Failure{Kind: sdk.BadRequest, Message: "the key " + quote(r.key.Name) + " has a budget, and the price of the deployment " + quote(first) + " is not known", Param: "model", Final: true}
	}
	return nil
}

func keepsNothing(d *catalog.Deployment) bool { return slices.Contains(d.Tags, "zdr") }

func priced(d *catalog.Deployment) bool { return d.Price != nil }

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
	account := r.key.Account
	if len(account.Levels) == 0 {
		return nil
	}
	r.need = limits.Need{Requests: 1}
	if !r.route.count {
		size := admit.Size{TextBytes: r.facts.TextBytes, Messages: r.facts.Messages, MaxOutput: r.facts.MaxOutput, Choices: r.choices(),
			NoOutput: r.facts.Needs&dialect.Embeddings != 0}
		r.need = admit.Needs(&size, account, r.decision.Candidates)
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

// settle ends the reservation, whatever has become of the request, a panic too: by what its calls used, or as if it had
// never been where there was none.
func (r *request) settle() {
	if r.used.calls.Load() == 0 {
		r.reserved.End()
		return
	}
	r.reserved.Settle(limits.Use{Input: r.used.input.Load(), Output: r.used.output.Load(), Nano: r.used.nano.Load()})
}

// used is what the calls of a request have used. Calls may end beside each other.
type used struct{ calls, input, output, nano atomic.Int64 }

func (n *used) add(u sdk.Usage, cost int64) {
	n.input.Add(u.TotalInput())
	n.output.Add(u.TotalOutput())
	n.nano.Add(cost)
	n.calls.Add(1)
}

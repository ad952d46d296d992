// Package gateway is the request path, in order: which route and dialect, whose key, what body, which model, which
// candidates, the relay of the answer, and the line in the log. A newcomer reads this file first.
//
// Each step is another package's work: core/h1 owns the connection, core/dialect the words, core/generation what is
// configured, core/route the choice, core/relay the upstream calls.
package gateway

import (
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/bytequeue"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/replay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/shed"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// Generations gives the generation in force; the request holds it until its end.
type Generations interface {
	// Hold gives the generation in force, or nil where none is; every Hold is followed by a Release.
	Hold() *generation.Generation
}

// Gateway answers requests.
type Gateway struct {
	Generations Generations
	Dialects    Dialects
	Admission   *admit.Admitter
	Log         *slog.Logger
	Access      AccessLog // nil: no access lines
	Ledger      *ledger.Ledger
	Decisions   *replay.Recorder // of routers; nil: none are kept
	Version     string
	Gate        shed.Gate

	draining atomic.Bool
	inFlight atomic.Int64
	scratch  scratchPool
	queues   bytequeue.Share // of slow clients
	warmth   route.Warmth
	holders  route.Holders
}

// AccessLog is told of every finished request. It must not block, and keeps nothing of the entry.
type AccessLog interface{ Request(e *Entry) }

// request is one request on its way through the gateway.
type request struct {
	*scratch
	g        *Gateway
	ex       h1.Exchange
	made     *made // in the place of ex where a request is only explained
	gen      *generation.Generation
	route    target
	dialect  dialect.Dialect
	id       string
	clock    timing.Clock
	key      *generation.Key
	brought  admit.Brought // credentials of the key's and its team's own
	need     limits.Need   // what was reserved of the key's limits
	reserved admit.Reservation
	used     used
	told     told
	inside   bool // it counts among the requests that are being served
	broken   bool // the gateway has panicked in it
	model    string
	middle   *sdk.Request // the request's middle form, where a policy reads what translation loses of it
	strict   bool         // the client allows no member to be dropped
	status   int
	result   *relay.Result
}

// Serve answers one request. It is an h1.Handler.
func (g *Gateway) Serve(ex h1.Exchange) {
	g.inFlight.Add(1)
	memory := g.scratch.get()
	r := &memory.request // as put has left it; a literal would lie on the stack for as long as the answer takes
	r.scratch, r.g, r.ex, r.id = memory, g, ex, newID(ex.Arrived())
	r.clock.Start(ex.Arrived())
	defer r.end()
	r.gen = g.Generations.Hold()
	r.serve()
}

// serve is the request path.
func (r *request) serve() {
	if f := r.enter(); f != nil {
		r.fail(f)
		return
	}
	if r.route.local != nil {
		r.route.local(r)
		return
	}
	if f := r.authenticate(); f != nil {
		r.fail(f)
		return
	}
	r.clock.Mark(timing.Auth)
	f := r.queue()
	r.clock.Mark(timing.Limit)
	if f == nil {
		f = r.account()
	}
	r.clock.Mark(timing.Ctx)
	if f == nil {
		f = r.read()
	}
	r.clock.Mark(timing.Prep)
	if f == nil {
		if f = r.choose(); r.answered(f) {
			return
		}
	}
	r.clock.Mark(timing.Route)
	if f == nil {
		f = r.reserve()
	}
	r.clock.Mark(timing.Limit)
	if f == nil {
		f = r.relay()
	}
	if f != nil {
		r.fail(f)
	}
}

// enter finds the route and its dialect, and turns away what cannot be served now.
func (r *request) enter() *sdk.Failure {
	faultpoint.Reach(faultpoint.Enter)
	var f *sdk.Failure
	r.route, f = r.g.Dialects.find(r.ex.Head())
	r.dialect = r.route.dialect
	switch {
	case r.preflight():
		r.route.local = (*request).answerPreflight
		return nil
	case f != nil:
		return f
	case r.route.local != nil:
		return nil
	case r.g.draining.Load():
		return &sdk.Failure{Kind: sdk.Draining, Message: "the gateway is shutting down", RetryAfter: retrySoon}
	case r.gen == nil:
		return &sdk.Failure{Kind: sdk.Draining, Message: "no generation is in force yet", RetryAfter: retrySoon}
	}
	return nil
}

// queue waits for room among the requests that are being served.
func (r *request) queue() *sdk.Failure {
	faultpoint.Reach(faultpoint.Queue)
	r.inside = r.g.Gate.Enter(shed.ParseClass(r.key.Priority), r.gen.Config.Limits.InFlight)
	if !r.inside {
		return &sdk.Failure{Kind: sdk.Shedding, Message: "too many requests are in flight", RetryAfter: retrySoon}
	}
	return nil
}

// read reads the body, checks all of it, and finds out what routing needs.
func (r *request) read() *sdk.Failure {
	faultpoint.Reach(faultpoint.Body)
	body, f := r.body()
	if f != nil {
		return f
	}
	lim := r.gen.Config.Limits
	if err := r.doc.Parse(body, jsonspan.Limits{Depth: lim.Depth}); err != nil {
		return badJSON(err)
	}
	if r.route.inBody && !r.nameInBody(r.route.model) {
		return sdk.Fail(sdk.BadRequest, "the body: want an object")
	}
	if err := r.readFacts(); err != nil {
		return asFailure(err)
	}
	r.model = r.facts.Model
	if r.route.model != "" {
		r.model, r.facts.Model = r.route.model, r.route.model
		r.facts.Stream = r.facts.Stream || r.route.stream
	}
	return nil
}

// choose finds the candidates of the model or router that is asked for.
func (r *request) choose() *sdk.Failure {
	faultpoint.Reach(faultpoint.Choose)
	if f := r.expand(); f != nil {
		return f
	}
	r.candidates = r.candidates[:0]
	for i, d := range r.decision.Candidates {
		var plan *policy.Plan
		if len(r.decision.Plans) > 0 {
			plan = &r.decision.Plans[i]
		}
		c := r.gen.Candidate(d, r.key, plan)
		own, why := r.own(d)
		switch {
		case why != "": // routing leaves such a deployment out: it has changed since
			return &sdk.Failure{Kind: sdk.NoTarget, Message: why}
		case own != nil:
			c.Upstream = own
		}
		r.candidates = append(r.candidates, c)
	}
	if r.facts.State != "" {
		return r.atHolder()
	}
	return nil
}

// atHolder leaves the one candidate that has what the request continues, with the one account that does: others would know
// nothing of it. Where nobody remembers which that is, the first one is asked, and says so itself if it is another.
func (r *request) atHolder() *sdk.Failure {
	by, known := r.g.holders.Of(r.key.Name, r.facts.State)
	if !known {
		r.candidates = r.candidates[:1]
		return nil
	}
	for _, c := range r.candidates {
		if c.Deployment.Provider.ID != by.Provider {
			continue
		}
		if c.Upstream = c.Only(by.Credential); c.Upstream != nil {
			r.candidates = append(r.candidates[:0], c)
			return nil
		}
	}
	f := noTarget(r.model, &r.decision, r.arrived())
	f.Kind, f.Message = sdk.NoTarget, "what the request continues, "+quote(r.facts.State)+", is at the provider "+quote(by.Provider)+", which cannot be asked for it now; "+f.Message
	return f
}

// relay sends the request and carries the answer back. The failure is one that the client has not been told.
func (r *request) relay() *sdk.Failure {
	faultpoint.Reach(faultpoint.Reserved)
	r.task = relay.Task{
		Exchange: r.ex, Dialect: r.dialect, Doc: &r.doc, Facts: &r.facts, Candidates: r.candidates,
		Limits: r.limits(), Clock: &r.clock, Answer: r, Records: r, Queues: &r.g.queues, Memory: &r.g.Gate, RequestID: r.id, Framing: r.route.framing, Count: r.route.count, Backends: r.gen.Timing == timing.Attempts, Log: r.g.Log,
	}
	r.result = r.relaying.Run(&r.task)
	if r.result.Committed {
		r.status = 200
		return nil
	}
	return r.result.Failure
}

// end closes the request whatever has become of it: a panic is a 500 for this request alone, and each step is taken
// whatever has become of those before it.
func (r *request) end() {
	if p := recover(); p != nil {
		r.panicked(p)
		r.step((*request).apologize)
	}
	r.step((*request).settle)
	r.step((*request).log)
	r.leave()
}

// step takes a step of the end.
func (r *request) step(do func(*request)) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked(p)
		}
	}()
	do(r)
}

func (r *request) panicked(p any) {
	r.broken = true
	r.g.Log.Error("request: panic", "request_id", r.id, "panic", p, "stack", string(debug.Stack()))
}

// leave gives back what the request holds of the gateway.
func (r *request) leave() {
	if r.inside {
		r.g.Gate.Leave(r.gen.Config.Limits.InFlight)
	}
	if r.gen != nil {
		r.gen.Release()
	}
	r.g.inFlight.Add(-1)
	if !r.broken { // nobody knows who still holds some of its memory
		r.g.scratch.put(r.scratch)
	}
}

// Drain makes new requests be answered 503 and readiness fail.
func (g *Gateway) Drain() { g.draining.Store(true) }

// InFlight is the number of requests being served.
func (g *Gateway) InFlight() int64 { return g.inFlight.Load() }

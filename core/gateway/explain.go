package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// Explain routes a request that nobody sent as one that was, and tries nothing. The error is a *sdk.Failure.
func (g *Gateway) Explain(_ context.Context, q *route.Question) (*route.Explanation, error) {
	gen := g.Generations.Hold()
	if gen == nil {
		return nil, sdk.Fail(sdk.Draining, "no generation is in force")
	}
	defer gen.Release()
	r := &request{scratch: g.scratch.get(), g: g, gen: gen, id: "explain", key: generation.Anyone(), made: &made{at: time.Now()}}
	defer g.scratch.put(r.scratch)
	if q.Key != "" {
		if r.key = gen.KeyNamed(q.Key); r.key == nil {
			return nil, &sdk.Failure{Kind: sdk.BadKey, Message: "the key " + quote(q.Key) + " is not configured"}
		}
		var f *sdk.Failure
		if r.brought, f = g.Admission.Brought(unhurried(), gen, r.key.Key); f != nil {
			return nil, f
		}
	}
	for name, value := range q.Headers {
		r.made.head.Fields = append(r.made.head.Fields, h1.Field{Name: []byte(name), Value: []byte(value)})
	}
	if f := r.question(q); f != nil {
		return nil, f
	}
	begun := time.Now()
	if f := r.expand(); f != nil && (len(r.decision.Skips) == 0 || r.decision.Err != nil) {
		return nil, f
	}
	return r.decision.Explain(gen.Number, time.Since(begun)), nil
}

// made stands for the exchange of a request that nobody sent.
type made struct {
	head h1.Head
	at   time.Time
}

// question reads the body of a request that nobody sent, or makes one up.
func (r *request) question(q *route.Question) *sdk.Failure {
	if r.dialect = r.g.Dialects.named(q.Dialect); r.dialect == nil {
		return sdk.Fail(sdk.BadRequest, "the dialect "+quote(q.Dialect)+" is not served")
	}
	body := []byte(q.Request)
	if len(body) == 0 {
		body, _ = json.Marshal(map[string]any{"model": q.Model, "max_tokens": 1000, "messages": []any{map[string]string{"role": "user", "content": "Hello!"}}}) // texts and numbers alone
	}
	if err := r.doc.Parse(body, jsonspan.Limits{Depth: r.gen.Config.Limits.Depth}); err != nil {
		return badJSON(err)
	}
	if err := r.readFacts(); err != nil {
		return asFailure(err)
	}
	if r.model = q.Model; r.model == "" {
		r.model = r.facts.Model
	}
	return nil
}

// named gives the dialect of a name, of which "" is openai-chat; nil where it is not served.
func (d *Dialects) named(name string) dialect.Dialect {
	if name == "" {
		return d.Chat
	}
	for _, s := range []dialect.Dialect{d.Chat, d.Responses, d.Embeddings, d.Anthropic, d.Gemini, d.GeminiEmbeddings} {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// explainHeader, as 1, asks what would become of a request. A key may ask of what it may use; nothing is counted against
// its limits, since no upstream is called.
const explainHeader = "x-penstock-explain"

// preview is the answer to a request that asks what would become of it.
type preview struct {
	Model      string             `json:"model"`
	Router     string             `json:"router,omitempty"`
	Dialect    string             `json:"dialect"`
	Generation int64              `json:"generation"`
	Candidates []previewed        `json:"candidates"`
	Skips      []route.SkipRecord `json:"skips"`
}

// previewed says how one candidate would be asked.
type previewed struct {
	route.Candidate
	Dialect      string   `json:"dialect"` // the provider's
	Way          string   `json:"way"`     // native, translated, refused
	Reason       string   `json:"reason,omitempty"`
	Approximated []remark `json:"approximated,omitempty"`
	Dropped      []remark `json:"dropped,omitempty"`
}

// remark is a note on a member of the client's request.
type remark struct {
	Member string `json:"member"`
	Why    string `json:"why"`
	Loses  bool   `json:"loses,omitempty"` // without it something else is asked: strict translation refuses
}

// asksOnly says whether the client wants to be told what would become of its request, and nothing done.
func (r *request) asksOnly() bool { return string(r.ex.Head().Get(explainHeader)) == "1" }

// answered answers what needs no upstream: what would become of the request, or an estimate of its tokens.
func (r *request) answered(failed *sdk.Failure) bool {
	return r.asksOnly() && r.explain(failed) || failed == nil && r.route.count && r.countHere()
}

// explain answers what would become of the request; false where routing failed otherwise than by skipping all.
// Plugins encode as they would for a call.
func (r *request) explain(failed *sdk.Failure) bool {
	if failed != nil && failed.Kind != sdk.NoTarget && failed.Kind != sdk.ContextTooLong && failed.Kind != sdk.CannotTranslate {
		return false
	}
	decision := r.decision.Explain(r.gen.Number, 0)
	p := preview{Model: r.model, Router: decision.Router, Dialect: r.dialect.Name(), Generation: r.gen.Number,
		Candidates: []previewed{}, Skips: decision.Skips}
	if failed == nil {
		q := new(sdk.Request)
		bad := r.dialect.Decode(&r.doc, q)
		q.Dialect, q.Stream = r.dialect.Name(), r.facts.Stream
		for i := range r.candidates {
			shown := previewed{Candidate: decision.Candidates[i]}
			shown.of(r, q, bad, &r.candidates[i])
			p.Candidates = append(p.Candidates, shown)
		}
	}
	body, _ := json.Marshal(p) // texts and numbers alone
	r.answer(200, "application/json", body)
	return true
}

// of says how an upstream would be asked; bad is why the request could not be decoded.
func (p *previewed) of(r *request, q *sdk.Request, bad error, u *relay.Candidate) {
	way := u.Deployment.Way(r.dialect.Name())
	p.Dialect, p.Way = way.Dialect.Name, "native"
	switch {
	case r.route.count && (!way.Pass || way.CountTarget == ""):
		p.refuse(sdk.Fail(sdk.CannotTranslate, "cannot express: counting tokens"))
	case way.Pass:
	case bad != nil:
		p.refuse(asFailure(bad))
	default:
		p.translate(r, q, u)
	}
}

func (p *previewed) refuse(f *sdk.Failure) { p.Way, p.Reason = "refused", f.Message }

func (p *previewed) translate(r *request, q *sdk.Request, u *relay.Candidate) {
	e, f := u.Encode(r.dialect, &r.doc, *q)
	if f != nil {
		p.refuse(f)
		return
	}
	p.Way = "translated"
	for _, n := range e.Dropped {
		if note := (remark{n.Path, n.Why, n.Strict}); n.Approximate {
			p.Approximated = append(p.Approximated, note)
		} else {
			p.Dropped = append(p.Dropped, note)
		}
	}
	if lost := relay.StrictLoss(e.Dropped); lost != nil && !r.limits().Lenient {
		p.refuse(lost)
	}
}

package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
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
	r.facts = dialect.Facts{}
	if err := r.dialect.Facts(&r.doc, &r.facts); err != nil {
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

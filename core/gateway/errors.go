package gateway

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// retrySoon is what a client is asked to wait where the gateway itself is only briefly unable.
const retrySoon = time.Second

// fail answers with an error in the dialect of the route.
func (r *request) fail(f *sdk.Failure) {
	if r.ex.Committed() {
		return
	}
	r.step((*request).settle) // before the client knows that it may ask again
	r.status = r.statusOf(f)
	body := r.dialect.AppendError(r.out[:0], f, r.id)
	r.clock.Done()
	fields := r.appendIdentity(r.fields[:0])
	fields = append(fields, "Content-Type: application/json\r\n"...)
	fields = appendRetry(fields, f)
	fields = r.appendLimits(fields)
	if f.Kind == sdk.BadMethod {
		fields = append(append(append(fields, "Allow: "...), r.route.allow...), "\r\n"...)
	}
	if r.result != nil {
		fields = append(fields, "x-penstock-attempts: "...)
		fields = append(strconv.AppendInt(fields, int64(len(r.result.Attempts)), 10), "\r\n"...)
	}
	fields = r.appendTiming(fields)
	r.out, r.fields = body, fields
	if r.ex.Commit(r.status, fields, int64(len(body))) == nil && r.ex.Write(body) == nil {
		r.ex.End(nil)
	}
}

// ownFault is the failure of a request in which the gateway has panicked.
func ownFault() *sdk.Failure { return sdk.Fail(sdk.Internal, "the gateway has met a fault of its own") }

// apologize answers a request in which the gateway has panicked. An answer that has begun is cut off, so that no client
// takes it for a whole one.
func (r *request) apologize() {
	faultpoint.Reach(faultpoint.Apologize)
	if r.ex.Committed() {
		r.ex.Abort()
		return
	}
	if r.dialect == nil {
		r.dialect = r.g.Dialects.of(string(r.ex.Head().Path()))
	}
	r.fail(ownFault())
}

// statusOf is the HTTP status of a failure: the dialect's, but that OpenRouter's clients know a spent budget by 402
// (https://openrouter.ai/docs/api-reference/errors).
func (r *request) statusOf(f *sdk.Failure) int {
	if f.Kind == sdk.BudgetSpent && bytes.HasPrefix(r.ex.Head().Path(), []byte("/api/v1/")) {
		return 402
	}
	return r.dialect.Status(f)
}

// appendRetry tells a client's SDK whether and when a retry is of use.
func appendRetry(dst []byte, f *sdk.Failure) []byte {
	if f.RetryAfter > 0 {
		secs := int64((f.RetryAfter + time.Second - 1) / time.Second)
		dst = append(dst, "retry-after: "...)
		dst = strconv.AppendInt(dst, secs, 10)
		dst = append(dst, "\r\nretry-after-ms: "...)
		dst = strconv.AppendInt(dst, int64((f.RetryAfter+time.Millisecond-1)/time.Millisecond), 10)
		dst = append(dst, "\r\n"...)
	}
	if f.Final || final(f.Kind) {
		dst = append(dst, "x-should-retry: false\r\n"...)
	}
	return dst
}

// final says whether the same request would fail in the same way again.
func final(k sdk.Kind) bool {
	switch k {
	case sdk.BadKey, sdk.Forbidden, sdk.UnknownModel, sdk.TooLarge, sdk.ContextTooLong, sdk.BudgetSpent, sdk.PolicyFailed,
		sdk.UpstreamMoney, sdk.CannotTranslate, sdk.OverTokenLimit:
		return true
	}
	return false
}

// unknownModel names the models that are spelled like the one asked for.
func (r *request) unknownModel() *sdk.Failure {
	f := &sdk.Failure{Kind: sdk.UnknownModel, Message: "the model " + quote(r.model) + " is not configured", Param: "model", Final: true}
	if near := r.gen.Catalog.Nearest(r.model, 3); len(near) > 0 {
		f.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return f
}

// noTarget says why no deployment of a model can serve. What none of them can do at any time is the request's fault. Where some are only set aside for their health, the client is told
// when the first of them may be asked; where the provider's limit of requests is all that is in the way, it is that limit.
func noTarget(model string, d *route.Decision, now time.Time) *sdk.Failure {
	skips := d.Skips
	var b strings.Builder
	b.WriteString("no deployment of the model " + quote(model) + " can serve this request")
	for i, s := range skips {
		if i == 8 {
			b.WriteString("; …")
			break
		}
		b.WriteString("; " + s.Deployment + ": " + s.Reason)
	}
	f := &sdk.Failure{Kind: sdk.NoTarget, Message: b.String()}
	switch {
	case len(skips) > 0 && all(skips, "context"):
		f.Kind = sdk.ContextTooLong
	case len(skips) > 0 && all(skips, "capabilities"):
		f.Kind, f.Param = sdk.CannotTranslate, lacking(skips)
	}
	if at, limited := d.RetryAt(); !at.IsZero() {
		f.RetryAfter = max(at.Sub(now), time.Millisecond)
		if limited {
			f.Kind = sdk.UpstreamRate
		}
	}
	return f
}

// lacking gives the member of a request that asks for what no deployment can do, where one word is all that they lack and has a
// member of its own.
func lacking(skips []route.Skip) string {
	for _, member := range [...]string{"n", "logprobs"} {
		if !slices.ContainsFunc(skips, func(s route.Skip) bool { return s.Reason != "no "+member }) {
			return member
		}
	}
	return ""
}

func all(skips []route.Skip, stage string) bool {
	for _, s := range skips {
		if s.Stage != stage {
			return false
		}
	}
	return true
}

// Reject answers a request that was refused before it reached a handler, in the dialect that its path tells. It is
// h1.Server's Reject.
func (g *Gateway) Reject(ex h1.Exchange, e *h1.RequestError) {
	r := &request{scratch: g.scratch.get(), g: g, ex: ex, id: newID(ex.Arrived())}
	defer g.scratch.put(r.scratch)
	r.clock.Start(ex.Arrived())
	r.dialect = g.Dialects.of(string(ex.Head().Path()))
	f := &sdk.Failure{Kind: sdk.BadRequest, Status: e.Status, Message: e.Msg}
	switch e.Status {
	case 405:
		f.Kind, r.route.allow = sdk.BadMethod, "GET, HEAD, POST"
	case 500:
		f.Kind = sdk.Internal
	}
	r.fail(f)
}

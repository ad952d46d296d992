package relay

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// attempt asks one candidate and, when it has content, carries its answer to the end. It gives the failure, and what may
// follow it.
func (r *run) attempt(i int) (*sdk.Failure, next) {
	u, p := r.Candidates[i], &r.plans[i]
	a := &r.active
	*a = active{run: r, up: u, plan: p}
	a.rec.Upstream, a.rec.Started = u, time.Now()
	r.Clock.AttemptStart()
	f := a.try()
	r.call.Close()
	a.finish(f)
	a.rec.Failure, a.rec.Ended = f, time.Now()
	if a.rec.Usage.Known {
		r.res.Usage = a.rec.Usage
	}
	r.res.Attempts = append(r.res.Attempts, a.rec)
	switch {
	case f == nil:
		return nil, giveUp
	case a.refusesUsage(f):
		u.noUsage.Store(true)
		return f, now
	case a.reconsidered(f):
		return f, now
	}
	return f, follows(f, a.rec.Sent)
}

// refusesUsage says whether an upstream has refused the one member that we, not the client, put into the request.
func (a *active) refusesUsage(f *sdk.Failure) bool {
	return a.hideUsage && f.Kind == sdk.BadRequest && !a.up.noUsage.Load() &&
		(strings.Contains(f.Message, "stream_options") || strings.Contains(f.Message, "include_usage") || strings.Contains(f.Param, "stream_options"))
}

// reconsidered says whether a passed request that was refused has a part that it can do without.
func (a *active) reconsidered(f *sdk.Failure) bool {
	again, ok := a.Dialect.(dialect.Reconsiderer)
	if !ok || !a.plan.way.Pass || f.Kind != sdk.BadRequest || a.plan.without != nil {
		return false
	}
	a.plan.without = again.Reconsider(nil, a.Doc, f)
	return a.plan.without != nil
}

// active is an attempt on its way.
type active struct {
	*run
	up        *Upstream
	plan      *plan
	rec       Attempt
	out       h1.Outgoing
	hideUsage bool // usage was asked for by us alone
	content   bool // the answer has content
	ended     bool // on the clock
}

// finish ends the attempt on the clock, once.
func (a *active) finish(f *sdk.Failure) {
	if a.ended {
		return
	}
	a.ended = true
	if !a.Backends {
		a.Clock.AttemptEnd("")
		return
	}
	desc := a.up.Deployment.Provider.ID + "#" + strconv.Itoa(len(a.res.Attempts)+1)
	switch {
	case a.rec.Status != 0:
		desc += " " + strconv.Itoa(a.rec.Status)
	case f != nil:
		desc += " " + f.Kind.String()
	}
	a.Clock.AttemptEnd(desc)
}

// try sends the request and relays the answer.
func (a *active) try() *sdk.Failure {
	out, f := a.outgoing()
	if f != nil {
		return f
	}
	lim := h1.Limits{Connect: a.Limits.Connect, FirstByte: a.Limits.FirstContent, Idle: a.Limits.Idle, Total: a.firstContentBy()}
	pool := a.up.Pool
	if a.up.Moved != nil {
		pool, out.Target = a.up.Moved(out.Target)
	}
	if err := pool.Send(&a.call, out, lim); err != nil {
		return a.transport(err)
	}
	a.rec.Sent = true
	if err := a.await(); err != nil {
		return a.transport(err)
	}
	if err := a.call.ReadHead(); err != nil {
		return a.transport(err)
	}
	a.rec.Status = a.call.Status()
	if a.rec.Status < 200 || a.rec.Status > 299 {
		return a.refused()
	}
	if a.Facts.Stream {
		return a.stream()
	}
	return a.whole()
}

// firstContentBy is the time by which the answer must have content.
func (a *active) firstContentBy() time.Time {
	by := a.deadline
	if a.Limits.FirstContent > 0 {
		first := a.rec.Started.Add(a.Limits.FirstContent)
		if by.IsZero() || first.Before(by) {
			by = first
		}
	}
	return by
}

// outgoing makes the upstream request: the client's own bytes with splices, or the plugin's plan.
func (a *active) outgoing() (*h1.Outgoing, *sdk.Failure) {
	d, w := a.up.Deployment, a.plan.way
	out := &a.out
	*out = h1.Outgoing{Method: "POST", Target: w.Target}
	switch {
	case a.Count:
		out.Target = w.CountTarget
	case a.Facts.Stream:
		out.Target = w.StreamTarget
	}
	a.fields = append(a.fields[:0], staticFields...)
	if a.Facts.Stream {
		a.fields = append(a.fields, "Accept: text/event-stream\r\n"...)
	} else {
		a.fields = append(a.fields, "Accept: application/json\r\n"...)
	}
	if a.up.Auth != nil {
		auth, err := a.up.Auth(a.RequestID)
		if err != nil {
			return nil, sdk.Fail(sdk.UpstreamAuth, "the provider's credential is not to be had")
		}
		a.fields = append(a.fields, auth...)
	}
	if w.Pass {
		a.passed(out, w)
	} else {
		a.translated(out, d)
	}
	out.Fields = a.fields
	return out, nil
}

// staticFields stand in every upstream request.
const staticFields = "Content-Type: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: penstock\r\n"

// passed fills in a request whose body is the client's.
func (a *active) passed(out *h1.Outgoing, w *catalog.Way) {
	a.fields = dialectFields(a.fields, w.Dialect.Headers, a.Exchange.Head(), w.Dialect.Forward)
	a.edits, a.hideUsage = catalog.Splice(a.edits[:0], a.Doc, w.Rules, catalog.SpliceOptions{Stream: a.Facts.Stream, NoUsage: a.up.noUsage.Load()})
	if fix, ok := a.Dialect.(dialect.Repairer); ok {
		a.edits = fix.Repairs(a.edits, a.Doc)
	}
	a.edits = append(a.edits, a.plan.without...)
	a.segs, _ = jsonspan.Splice(a.segs[:0], a.Doc.Body, a.edits)
	out.Segments = a.segs
}

// translated fills in a request that the plugin planned.
func (a *active) translated(out *h1.Outgoing, d *catalog.Deployment) {
	e := a.plan.encoded
	if e.Method != "" {
		out.Method = e.Method
	}
	if e.Path != "" {
		out.Target = d.Fill(e.Path)
	}
	a.fields = dialectFields(a.fields, a.plan.way.Dialect.Headers, nil, nil)
	for _, h := range e.Headers {
		a.fields = appendField(a.fields, h.Name, h.Value)
	}
	out.Segments = e.Segments
}

// transport turns an error of the connection into a failure.
func (a *active) transport(err error) *sdk.Failure {
	a.rec.Sent = a.rec.Sent || !h1.NotSent(err)
	var late *h1.TimeoutError
	switch {
	case a.client.gone() && errors.Is(err, h1.ErrAborted):
		return sdk.Fail(sdk.ClientGone, "the client left")
	case errors.As(err, &late):
		return sdk.Fail(sdk.Timeout, "the provider "+a.lateness(late))
	case errors.Is(err, h1.ErrTruncated):
		return sdk.Fail(sdk.UpstreamError, "the provider's answer ended before it was complete")
	case !a.rec.Sent:
		return sdk.Fail(sdk.UpstreamError, "the provider could not be reached")
	}
	return sdk.Fail(sdk.UpstreamError, "the connection to the provider broke")
}

// lateness says which limit was met.
func (a *active) lateness(e *h1.TimeoutError) string {
	switch {
	case e.Phase == "connect" || e.Phase == "tls":
		return "did not accept a connection within " + a.Limits.Connect.String()
	case !a.deadline.IsZero() && !time.Now().Before(a.deadline):
		return "did not finish within the total limit of " + a.Limits.Total.String()
	case !a.content && a.Limits.FirstContent > 0 && time.Since(a.rec.Started) >= a.Limits.FirstContent:
		return "sent no content within " + a.Limits.FirstContent.String()
	}
	return "sent nothing for " + a.Limits.Idle.String()
}

// watchAfter is how long an upstream may take before the client is watched for leaving, so that the fast path pays
// nothing for it.
const watchAfter = 50 * time.Millisecond

// await waits until more of the answer is there. When that takes long, the client is watched and, in a stream, told at
// intervals that we wait.
func (a *active) await() error {
	if !a.client.watching {
		ready, err := a.call.Wait(watchAfter)
		if ready || err != nil {
			return err
		}
		a.client.watch(a.left)
	}
	if !a.Facts.Stream || a.Limits.KeepAlive <= 0 {
		return nil
	}
	for {
		ready, err := a.call.Wait(a.Limits.KeepAlive)
		if ready || err != nil {
			return err
		}
		a.keepAlive()
	}
}

// left is called from another goroutine when the client has left: the upstream call is ended, now or after it has had
// time to tell its usage.
func (a *active) left() {
	if a.Limits.Cancel || a.Limits.DrainTime <= 0 {
		a.call.Abort()
		return
	}
	a.client.drainTimer = time.AfterFunc(a.Limits.DrainTime, a.call.Abort)
}

// keepAlive tells a waiting client that we wait. The head goes out first where it has not; what follows can then only
// fail inside the stream, but another candidate may still serve.
func (a *active) keepAlive() {
	if !a.res.Committed {
		a.early = true
		if !a.commit(true, nil) {
			return
		}
	}
	a.client.write(a.Dialect.KeepAlive())
}

// commit sends the head of a stream; false where the client is gone.
func (a *active) commit(early bool, fields []h1.Field) bool {
	c := Committing{Stream: true, Early: early, Fields: fields, Result: &a.res}
	if !early {
		c.Upstream = a.up
		a.res.Served = a.up
		if e := a.plan.encoded; e != nil {
			a.res.Dropped = e.Dropped
		}
	}
	a.Exchange.DeclareTrailer("Server-Timing")
	a.fields = a.Answer.AppendFields(a.fields[:0], c)
	if a.Framing == "array" {
		a.fields = append(a.fields, "Content-Type: application/json\r\nCache-Control: no-cache\r\n"...)
	} else {
		a.fields = append(a.fields, "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"...)
	}
	a.res.Committed = true
	if err := a.Exchange.Commit(200, a.fields, -1); err != nil {
		a.client.lose()
		return false
	}
	return true
}

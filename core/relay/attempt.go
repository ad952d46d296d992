package relay

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/sdk"
)

// active is an attempt on its way. Its memory is used again by later tasks.
type active struct {
	*run
	index      int    // of its candidate
	credential int    // the index of its credential; noCredential
	authorized []byte // what that gave
	up         *Upstream
	terms      *Terms
	plan       *plan
	pass       health.Pass
	race       *race // nil: nobody runs beside it
	serving    bool  // it is the one that may write to the client
	rec        Attempt
	until      time.Time // when it must have ended; zero: never
	out        h1.Outgoing
	place      reach.Place
	crowded    bool // the pool had no connection for it
	signing    Signing
	call       h1.Call
	fields     []byte
	edits      []jsonspan.Edit
	segs       [][]byte
	seen       jsonspan.Doc // for observers
	held       []byte       // for the client, before the commit point
	reading    answerBody
	form       pipe.Form   // of the answer
	hideUsage  bool        // usage was asked for by us alone
	content    bool        // the answer has content
	committed  bool        // the answer is the client's
	timed      bool        // its end is on the clock
	lost       atomic.Bool // another attempt serves
}

// begin makes an attempt of an earlier one's memory.
func (a *active) begin(r *run, i, credential int) {
	c := &r.Candidates[i]
	a.run, a.index, a.up, a.terms, a.plan = r, i, c.Upstream, &c.Terms, &r.plans[i]
	a.credential, a.authorized, a.race, a.serving = credential, nil, nil, false
	a.form, a.hideUsage, a.content, a.committed, a.timed, a.held = pipe.AsFrames, false, false, false, false, a.held[:0]
	a.lost.Store(false)
	if cap(a.held) > maxHeld {
		a.held = nil
	}
	a.rec = Attempt{Upstream: c.Upstream, Number: r.res.Tried, Started: time.Now()}
	a.until = r.deadline
	if c.Terms.Total > 0 {
		a.until = earlier(a.until, a.rec.Started.Add(c.Terms.Total))
	}
	if credential != noCredential {
		a.rec.Credential = c.Credentials[a.credential]
	}
}

// ask sends the request and, when the answer has content, carries it to the end. Whatever happens, a panic too, the
// call is closed and its record ends, once.
func (a *active) ask() (f *sdk.Failure) {
	recorded, returned := false, false
	defer func() {
		if !returned {
			f = ownFault()
			a.pass.Done(health.Outcome{Neutral: true, Ended: time.Now()})
		}
		a.became(f)
		if recorded {
			a.Records.End(&a.rec)
		}
	}()
	faultpoint.Reach(faultpoint.Record)
	if a.Records != nil {
		if err := a.Records.Begin(&a.rec); err != nil {
			returned = true
			return asFailure(err) // the gateway's own, which says nothing of the upstream
		}
		recorded = true
	}
	defer a.call.Close()
	f = a.try()
	returned = true
	return f
}

// ownFault is the failure of an attempt in which the gateway has panicked.
func ownFault() *sdk.Failure { return sdk.Fail(sdk.Internal, "the gateway has met a fault of its own") }

// refusesUsage says whether an upstream has refused the one member that we, not the client, put into the request.
func (a *active) refusesUsage(f *sdk.Failure) bool {
	return f.Kind == sdk.BadRequest && !a.up.noUsage.Load() && (a.hideUsage || a.asksUsage()) &&
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

// finish ends the attempt on the clock, once. In a race the clock is that of the attempt that serves.
func (a *active) finish(f *sdk.Failure) {
	if !a.writes() || a.timed {
		return
	}
	a.timed = true
	a.Clock.AttemptEnd(a.desc(f))
}

// desc names an attempt in the timing for those who may see backends.
func (a *active) desc(f *sdk.Failure) string {
	if !a.Backends {
		return ""
	}
	desc := a.up.Deployment.Provider.ID + "#" + strconv.Itoa(a.rec.Number)
	switch {
	case a.rec.Status != 0:
		desc += " " + strconv.Itoa(a.rec.Status)
	case f != nil:
		desc += " " + f.Kind.String()
	}
	return desc
}

// try sends the request and relays the answer.
func (a *active) try() *sdk.Failure {
	if f := a.send(); f != nil {
		return f
	}
	a.rec.Sent = true
	faultpoint.Reach(faultpoint.Sent)
	if a.lost.Load() { // since before there was a call that could be aborted
		return lostRace()
	}
	if err := a.await(); err != nil {
		return a.transport(err)
	}
	if err := a.call.ReadHead(); err != nil {
		return a.transport(err)
	}
	a.rec.Status = a.call.Status()
	faultpoint.Reach(faultpoint.Head)
	if a.rec.Status < 200 || a.rec.Status > 299 {
		return a.refused()
	}
	if a.Facts.Stream {
		return a.stream()
	}
	return a.whole()
}

// outgoing makes the upstream request: the client's own bytes with splices, or the plugin's plan. What authorizes it comes
// last, when all else is known.
func (a *active) outgoing() *sdk.Failure {
	d, w := a.up.Deployment, a.plan.way
	out := &a.out
	*out = h1.Outgoing{Method: "POST", Target: w.Target}
	switch {
	case a.Count:
		out.Target = w.CountTarget
	case batched(a.Dialect):
		out.Target = w.BatchTarget
	case a.Facts.Stream:
		out.Target = w.StreamTarget
	}
	a.fields = append(a.fields[:0], staticFields...)
	switch {
	case !a.Facts.Stream:
		a.fields = append(a.fields, "Accept: application/json\r\n"...)
	case w.Dialect.Framing == "aws-event-stream":
		a.fields = append(a.fields, "Accept: application/vnd.amazon.eventstream\r\n"...)
	default:
		a.fields = append(a.fields, "Accept: text/event-stream\r\n"...)
	}
	if w.Pass {
		a.passed(out, w)
	} else {
		a.translated(out, d)
	}
	if a.up.Places != nil {
		a.place = a.up.Places.Place(out.Target)
	} else {
		a.place = reach.Place{Pool: a.up.Pool, Base: d.Provider.Base, Target: out.Target}
	}
	out.Target = a.place.Target
	if f := a.authorize(out); f != nil {
		return f
	}
	out.Fields = a.fields
	return nil
}

func batched(d dialect.Dialect) bool {
	b, ok := d.(dialect.Batcher)
	return ok && b.Batched()
}

// authorize appends the credential's lines.
func (a *active) authorize(out *h1.Outgoing) *sdk.Failure {
	c := a.rec.Credential
	if c == nil || c.Authorize == nil {
		return nil
	}
	a.signing = Signing{Method: out.Method, Base: a.place.Base, Target: out.Target, Fields: a.fields, Segments: out.Segments}
	lines, err := c.Authorize(&a.signing)
	if err != nil {
		log := a.Log.Error
		if c.Own {
			log = a.Log.Info
		}
		log("credential: not to be had", "request_id", a.RequestID, "provider", a.up.Deployment.Provider.ID, "credential", c.Name, "error", err)
		return sdk.Fail(sdk.UpstreamAuth, "the provider's credential is not to be had")
	}
	a.authorized = lines
	a.fields = append(a.fields, lines...)
	return nil
}

// authorizedAnew says whether a refusal of the credential was one of a token that has ended before its time, in whose place
// there is another.
func (a *active) authorizedAnew(f *sdk.Failure) bool {
	c := a.rec.Credential
	return f.Kind == sdk.UpstreamAuth && a.rec.Status == 401 && c != nil && c.Refused != nil && a.authorized != nil && c.Refused(a.authorized)
}

// staticFields stand in every upstream request.
const staticFields = "Content-Type: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: penstock\r\n"

// passed fills in a request whose body is the client's.
func (a *active) passed(out *h1.Outgoing, w *catalog.Way) {
	a.fields = dialectFields(a.fields, w.Dialect.Headers, a.Exchange.Head(), w.Dialect.Forward)
	a.edits, a.hideUsage = catalog.Splice(a.edits[:0], a.Doc, w.Rules, catalog.SpliceOptions{Stream: a.Facts.Stream, Count: a.Count, NoUsage: a.up.noUsage.Load(), Header: joined(a.Exchange.Head())})
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
	if a.Facts.Stream && a.up.noUsage.Load() {
		out.Segments = withoutMember(e.Segments, catalog.UsageMember(a.plan.way.Rules))
	}
}

// transport turns an error of the connection into a failure.
func (a *active) transport(err error) *sdk.Failure {
	a.elsewhere(err) // for the next attempt: a call may connect again while the head is awaited
	a.rec.Sent, a.crowded = !h1.NotSent(err), h1.Crowded(err)
	var late *h1.TimeoutError
	switch {
	case a.lost.Load():
		return lostRace()
	case a.client.Gone() && errors.Is(err, h1.ErrAborted):
		return sdk.Fail(sdk.ClientGone, "the client left")
	case a.client.Ending() && errors.Is(err, h1.ErrAborted):
		return shuttingDown()
	case errors.As(err, &late):
		return sdk.Fail(sdk.Timeout, "the provider "+a.lateness(late))
	case errors.Is(err, h1.ErrTruncated):
		a.rec.Broke = true
		return sdk.Fail(sdk.UpstreamError, "the provider's answer ended before it was complete")
	case !a.rec.Sent:
		return sdk.Fail(sdk.UpstreamError, a.unreached(err))
	}
	a.rec.Broke = true
	return sdk.Fail(sdk.UpstreamError, "the connection to the provider broke")
}

// lateness says which limit was met.
func (a *active) lateness(e *h1.TimeoutError) string {
	switch {
	case h1.NotSent(e):
		return a.unsentWithin(e)
	case a.until.After(a.rec.Started) && !a.until.Equal(a.deadline) && !time.Now().Before(a.until):
		return "did not finish within " + a.terms.Total.String()
	case !a.deadline.IsZero() && !time.Now().Before(a.deadline):
		return "did not finish within the total limit of " + a.Limits.Total.String()
	case !a.content && a.terms.FirstContent > 0 && time.Since(a.rec.Started) >= a.terms.FirstContent:
		return "sent no content within " + a.terms.FirstContent.String()
	}
	return "sent nothing for " + a.terms.Idle.String()
}

// watchAfter is how long an upstream may take before the client is watched for leaving, so that the fast path pays
// nothing for it.
const watchAfter = 50 * time.Millisecond

// forever is longer than any limit of a call, which ends the wait by itself.
const forever = 24 * time.Hour

// writes says whether the attempt may write to the client.
func (a *active) writes() bool { return a.race == nil || a.serving }

// await waits until more of the answer is there. When that takes long, the client is watched and, in a stream, told at
// intervals that we wait.
func (a *active) await() error {
	if !a.writes() { // who leads the race watches the client
		_, err := a.call.Wait(forever)
		return err
	}
	if !a.client.Watching() {
		ready, err := a.call.Wait(watchAfter)
		if ready || err != nil {
			return err
		}
		a.client.Watch(a.left)
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
// time to tell its usage. It is ended now, too, where the server is about to be closed: the client is told.
func (a *active) left() {
	faultpoint.Reach(faultpoint.Left)
	if a.client.Ending() || a.terms.Cancel || a.terms.DrainTime <= 0 {
		a.call.Abort()
		return
	}
	a.client.After(a.terms.DrainTime, a.call.Abort)
}

// shuttingDown is the failure of what a server's end has cut short.
func shuttingDown() *sdk.Failure {
	return &sdk.Failure{Kind: sdk.Draining, Message: "the gateway is shutting down", RetryAfter: shortWait}
}

// keepAlive tells a waiting client that we wait. The head goes out first where it has not; what follows can then only
// fail inside the stream, but another candidate may still serve.
func (r *run) keepAlive() {
	if !r.res.Committed {
		r.early = true
		if !r.head(Committing{Stream: true, Early: true, Result: &r.res}) {
			return
		}
	}
	r.client.Write(r.Dialect.KeepAlive())
	r.told = time.Now()
}

// head sends the head of a stream; false where the client is gone.
func (r *run) head(c Committing) bool {
	r.Exchange.DeclareTrailer("Server-Timing")
	r.fields = r.Answer.AppendFields(r.fields[:0], c)
	if r.Framing == "array" {
		r.fields = append(r.fields, "Content-Type: application/json\r\nCache-Control: no-cache\r\n"...)
	} else {
		r.fields = append(r.fields, "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"...)
	}
	r.res.Committed = true
	if err := r.Exchange.Commit(200, r.fields, -1); err != nil {
		r.client.Lose()
		return false
	}
	return true
}

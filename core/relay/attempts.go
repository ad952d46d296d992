package relay

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/sdk"
)

// tries is what has become of a candidate so far.
type tries struct {
	failures int    // that are repeated
	refused  uint64 // bits of the credentials that are not asked with again
}

// attempts tries candidates until one serves, none is left, or the limits are met.
func (r *run) attempts() {
	r.tries = r.tries[:0]
	for range r.Candidates {
		r.tries = append(r.tries, tries{})
	}
	r.order()
	for len(r.waiting) > 0 && r.res.Tried < r.most() {
		i := r.nextCandidate()
		if !r.expressible(i) {
			continue
		}
		if n := r.tries[i].failures; n > 0 && !r.backoff(n, r.res.Failure) {
			return
		}
		races := r.races(i)
		a := r.enter(i)
		if a == nil {
			continue
		}
		var f *sdk.Failure
		if races {
			f = r.race(a)
		} else {
			f = r.single(a)
		}
		r.res.Failure = f
		if f == nil || r.res.Committed && !r.early && !r.mending || r.client.Gone() {
			return
		}
		if r.stop || r.expired() {
			return
		}
	}
	r.exhausted()
}

// most is how many attempts there may be.
func (r *run) most() int { return max(r.Limits.Attempts, 1) }

// single makes an attempt with nobody beside it.
func (r *run) single(a *active) *sdk.Failure {
	r.Clock.AttemptStart()
	f := a.ask()
	a.finish(f)
	r.leave(a, f)
	return f
}

// enter makes an attempt at a candidate ready; nil where the candidate is not to be asked now.
func (r *run) enter(i int) *active {
	pass, credential, ok := r.admit(i)
	if !ok {
		return nil
	}
	r.res.Tried++
	if r.res.Tried > len(r.actives) {
		r.actives = append(r.actives, new(active))
	}
	a := r.actives[r.res.Tried-1]
	a.begin(r, i, credential)
	a.pass = pass
	return a
}

// leave records an attempt that has ended, and lines up what may follow it.
func (r *run) leave(a *active, f *sdk.Failure) {
	r.res.Attempts = append(r.res.Attempts, a.rec)
	if a.rec.Usage.Known {
		r.res.Usage = a.rec.Usage
	}
	if f == nil || a.rec.Lost {
		a.tellHealth(f, outcome{})
		return
	}
	o := follows(f, a.rec.Sent)
	if a.authorizedAnew(f) {
		o = outcome{then: now}
	}
	a.tellHealth(f, o)
	if a.committed { // who may go on with it is in line already
		return
	}
	if f.Kind == sdk.ContentRefused && a.terms.Refusals {
		o.then = another
	}
	switch {
	case a.refusesUsage(f):
		a.up.noUsage.Store(true)
		o.then = now
	case a.reconsidered(f):
		o.then = now
	}
	r.lineUp(a, o)
}

// lineUp puts the candidate of a failed attempt where the outcome wants it.
func (r *run) lineUp(a *active, o outcome) {
	i, then := a.index, o.then
	if o.hold == theCredential && a.credential != noCredential {
		r.tries[i].refused |= 1 << a.credential
	}
	if then == otherKey {
		if then = o.alone; r.credential(i, time.Now()) != noCredential {
			then = now
		}
	}
	switch then {
	case giveUp:
		r.stop = true
	case same:
		if r.tries[i].failures++; a.terms.Tries > 0 && r.tries[i].failures >= a.terms.Tries {
			return
		}
		r.tries[i].refused = 0
		r.waiting = append(r.waiting, i)
	case now:
		r.waiting = slices.Insert(r.waiting, 0, i)
	case larger:
		r.waiting = r.largerThan(i, r.waiting)
	}
}

// order lists the candidates that may be asked.
func (r *run) order() {
	r.waiting = r.waiting[:0]
	for i := range r.Candidates {
		if r.plans[i].skip == "" {
			r.waiting = append(r.waiting, i)
		}
	}
}

// nextCandidate takes the first candidate out of the line, which keeps its memory.
func (r *run) nextCandidate() int {
	i := r.waiting[0]
	r.waiting = slices.Delete(r.waiting, 0, 1)
	return i
}

// largerThan keeps those candidates whose context is known to be larger than that of candidate i.
func (r *run) largerThan(i int, waiting []int) []int {
	than := r.Candidates[i].Deployment.Context
	var list []int
	for _, j := range waiting {
		if c := r.Candidates[j].Deployment.Context; c > than && c < catalog.Unlimited {
			list = append(list, j)
		}
	}
	return list
}

// exhausted marks the failure that is left when nothing more can be tried: another request would meet the same, unless it
// comes when the provider has said that it may. That is not believed of spent money: it comes back by being paid, and the
// client is told that alone.
func (r *run) exhausted() {
	f := r.res.Failure
	if f == nil {
		r.res.Failure = r.noTarget()
		return
	}
	if f.Kind == sdk.UpstreamMoney {
		f.RetryAfter = 0
	}
	f.Final = f.RetryAfter == 0
}

// noTarget is the failure of a request that no candidate can even be asked. Where some are set aside for a while only, the
// client is told as if that had been so when the request was routed: when the first of them may be asked, and of the
// provider's limit of requests where that is all that is in the way.
func (r *run) noTarget() *sdk.Failure {
	w := &r.waits
	for i := range r.plans {
		if p := &r.plans[i]; p.failure != nil && w.refused == 0 {
			return p.failure
		}
	}
	f := sdk.Fail(sdk.NoTarget, "no deployment of the model "+strconv.Quote(r.Facts.Model)+" can serve this request")
	for i, s := range r.res.Skips {
		if i == maxSaid {
			f.Message += "; …"
			break
		}
		f.Message += "; " + s.Deployment + ": " + s.Reason
	}
	if w.refused > 0 {
		f.RetryAfter = max(time.Until(w.soonest), time.Millisecond)
		if w.limited == w.refused {
			f.Kind = sdk.UpstreamRate
		}
	}
	return f
}

// maxSaid bounds the skipped candidates that a client is told of.
const maxSaid = 8

// expired says whether the total limit is over, and makes that the failure.
func (r *run) expired() bool {
	if r.deadline.IsZero() || time.Now().Before(r.deadline) {
		return false
	}
	r.res.Failure = sdk.Fail(sdk.Timeout, "the request took longer than "+r.Limits.Total.String()+" in all")
	return true
}

// backoff waits before a deployment is asked again; false where the wait is not worth it: the client left, or the wait
// would end after the request's limit.
func (r *run) backoff(failures int, last *sdk.Failure) bool {
	wait := fullJitter(r.Limits.BackoffFirst, r.Limits.BackoffMax, failures)
	if last != nil && last.RetryAfter > wait {
		wait = last.RetryAfter
		if r.Limits.BackoffMax > 0 && wait > r.Limits.BackoffMax {
			r.exhausted()
			return false
		}
	}
	if !r.deadline.IsZero() && time.Now().Add(wait).After(r.deadline) {
		r.exhausted()
		return false
	}
	r.Clock.BackoffStart()
	defer r.Clock.BackoffEnd()
	if r.client.Sleep(wait) {
		return true
	}
	r.res.Failure = sdk.Fail(sdk.ClientGone, "the client left")
	if r.client.Ending() {
		r.res.Failure = shuttingDown()
	}
	return false
}

// fullJitter draws a wait between zero and first·2^(n-1), at most limit
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "full jitter").
func fullJitter(first, limit time.Duration, n int) time.Duration {
	if first <= 0 {
		return 0
	}
	top := first << min(n-1, 20)
	if limit > 0 && top > limit {
		top = limit
	}
	return time.Duration(rand.Int64N(int64(top) + 1))
}

// next says what follows a failed attempt.
type next uint8

const (
	giveUp   next = iota // no other deployment could do better
	another              // another deployment may serve; this one is not asked again
	same                 // this deployment may be asked again, after the others
	larger               // only a deployment with a larger context may serve
	now                  // this deployment is asked again at once, in another way
	otherKey             // this deployment is asked again at once with another credential, where it has one
)

// hold says who is to be left alone for a while after a failed attempt.
type hold uint8

const (
	nobody hold = iota
	theDeployment
	theCredential
)

// outcome is a row of the table of outcomes.
type outcome struct {
	then  next
	alone next // in the place of then, where that is another credential and there is none
	hold  hold
}

// follows is the table of outcomes: what may be tried after a failure of each kind, and who is held.
//
// An attempt whose outcome is unknown (a time-out, a reset after the request was sent) is not repeated at the same
// deployment, where it may have been charged; another deployment is asked. A limit of rate or of money is an account's,
// a refused credential is that credential's: another one may serve at once.
func follows(f *sdk.Failure, sent bool) outcome {
	switch f.Kind {
	case sdk.BadRequest, sdk.ContentRefused, sdk.TooLarge, sdk.ClientGone, sdk.Internal, sdk.Shedding, sdk.Draining:
		return outcome{then: giveUp}
	case sdk.ContextTooLong:
		return outcome{then: larger}
	case sdk.UpstreamRate:
		return outcome{then: otherKey, alone: same, hold: theCredential}
	case sdk.UpstreamAuth, sdk.UpstreamMoney:
		return outcome{then: otherKey, alone: another, hold: theCredential}
	case sdk.Overloaded:
		return outcome{then: same, hold: theDeployment}
	case sdk.UpstreamError:
		if f.Status >= 500 || !sent || notBegun(f.Status) {
			return outcome{then: same, hold: theDeployment}
		}
		return outcome{then: another, hold: theDeployment}
	case sdk.UpstreamEmpty:
		return outcome{then: same, hold: theDeployment}
	case sdk.Timeout:
		if notBegun(f.Status) {
			return outcome{then: same, hold: theDeployment}
		}
		return outcome{then: another, hold: theDeployment}
	case sdk.UpstreamModel, sdk.PluginFailed:
		return outcome{then: another, hold: theDeployment}
	}
	return outcome{then: another}
}

// notBegun says whether a status tells that the request was not worked on, so that it may be repeated where it was sent: it
// did not come in time (408), something else had what it needs (409, which the SDKs of OpenAI and Anthropic repeat as a lock
// time-out), it came too early (425). RFC 9110 15.5.9 and 15.5.10, RFC 8470 5.2.
func notBegun(status int) bool { return status == 408 || status == conflict || status == 425 }

// conflict is the status of a request that another one was in the way of. It says nothing of how the deployment is.
const conflict = 409

package relay

import (
	"math/rand/v2"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/sdk"
)

// next says what follows a failed attempt.
type next uint8

const (
	giveUp  next = iota // no other deployment could do better
	another             // another deployment may serve; this one is not asked again
	same                // this deployment may be asked again, after the others
	larger              // only a deployment with a larger context may serve
	now                 // this deployment is asked again at once, in another way
)

// follows is the table of outcomes: what may be tried after a failure of each kind.
//
// An attempt whose outcome is unknown (a time-out, a reset after the request was sent) is not repeated at the same
// deployment, where it may have been charged; another deployment is asked.
func follows(f *sdk.Failure, sent bool) next {
	switch f.Kind {
	case sdk.BadRequest, sdk.ContentRefused, sdk.TooLarge, sdk.ClientGone, sdk.Internal:
		return giveUp
	case sdk.ContextTooLong:
		return larger
	case sdk.UpstreamRate, sdk.Overloaded:
		return same
	case sdk.UpstreamError:
		if f.Status >= 500 || !sent {
			return same
		}
		return another
	case sdk.UpstreamEmpty:
		return same
	case sdk.PluginFailed, sdk.Timeout:
		return another
	}
	return another
}

// attempts tries candidates until one serves, none is left, or the limits are met.
func (r *run) attempts() {
	r.again = r.again[:0] // failures of each candidate so far
	for range r.Candidates {
		r.again = append(r.again, 0)
	}
	again, waiting := r.again, r.order()
	tried := 0
	for len(waiting) > 0 && tried < max(r.Limits.Attempts, 1) {
		i := waiting[0]
		waiting = waiting[1:]
		if again[i] > 0 && !r.backoff(again[i], r.res.Failure) {
			return
		}
		tried++
		f, then := r.attempt(i)
		r.res.Failure = f
		if f == nil || r.res.Committed && !r.early || r.client.gone() {
			return
		}
		switch then {
		case giveUp:
			return
		case same:
			again[i]++
			waiting = append(waiting, i)
		case now:
			waiting = append([]int{i}, waiting...)
		case larger:
			waiting = r.largerThan(i, waiting)
		}
		if r.expired() {
			return
		}
	}
	r.exhausted(tried)
}

// order lists the candidates that the dry run left.
func (r *run) order() []int {
	r.waiting = r.waiting[:0]
	for i := range r.Candidates {
		if r.plans[i].skip == "" {
			r.waiting = append(r.waiting, i)
		}
	}
	return r.waiting
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

// exhausted marks the failure that is left when nothing more can be tried.
func (r *run) exhausted(tried int) {
	if r.res.Failure == nil && tried == 0 {
		r.res.Failure = r.noTarget()
		return
	}
	r.res.Failure.Final = true
}

// noTarget is the failure of a request that no candidate can even be asked.
func (r *run) noTarget() *sdk.Failure {
	for i := range r.plans {
		if p := &r.plans[i]; p.failure != nil {
			return p.failure
		}
	}
	f := sdk.Fail(sdk.NoTarget, "no deployment can serve this request")
	if len(r.res.Skips) > 0 {
		f.Message += ": " + r.res.Skips[0].Deployment + ": " + r.res.Skips[0].Reason
	}
	return f
}

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
			r.exhausted(1)
			return false
		}
	}
	if !r.deadline.IsZero() && time.Now().Add(wait).After(r.deadline) {
		r.exhausted(1)
		return false
	}
	r.Clock.BackoffStart()
	defer r.Clock.BackoffEnd()
	if r.client.sleep(wait) {
		return true
	}
	r.res.Failure = sdk.Fail(sdk.ClientGone, "the client left")
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

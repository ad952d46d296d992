package relay

import (
	"time"

	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

// How long a credential is left alone when the provider does not say.
const (
	refusedFor = time.Minute     // the credential itself was refused
	brokeFor   = 5 * time.Minute // its money is spent
)

// admit asks for admission to a candidate and chooses its credential; where it is refused, why is a skip record.
func (r *run) admit(i int) (pass health.Pass, credential int, ok bool) {
	c, now := &r.Candidates[i], time.Now()
	if credential = r.credential(i, now); credential == noCredential && len(c.Credentials) > 0 {
		r.skip(c.Upstream, "credential", "each of its credentials is held", c.heldUntil(now))
		return pass, credential, false
	}
	if c.Health == nil {
		return pass, credential, true
	}
	if r.tries[i].failures > 0 && !c.Health.RetryAllowed(now, c.Care) {
		r.skip(c.Upstream, "retries", "retries of it are used up for now", time.Time{})
		return pass, credential, false
	}
	if pass, ok = c.Health.Admit(now, c.Care); !ok {
		s := c.Health.Look(now)
		r.skip(c.Upstream, "health", s.Reason, s.Until)
	}
	return pass, credential, ok
}

// skip records a candidate that is not asked, and when it may be.
func (r *run) skip(u *Upstream, stage, why string, until time.Time) {
	r.res.Skips = append(r.res.Skips, Skip{Deployment: u.Deployment.ID, Stage: stage, Reason: why})
	if !until.IsZero() && (r.soonest.IsZero() || until.Before(r.soonest)) {
		r.soonest = until
	}
}

// noCredential is the index of the credential of an attempt that has none.
const noCredential = -1

// credential chooses the credential that a candidate is asked with: the first that is fit for use and that this request
// has not been refused with; noCredential where there is none.
func (r *run) credential(i int, now time.Time) int {
	c := &r.Candidates[i]
	for j := range c.Credentials {
		if r.tries[i].refused&(1<<j) == 0 && c.fit(j, now) {
			return j
		}
	}
	return noCredential
}

// fit says whether nothing holds a credential back.
func (u *Upstream) fit(j int, now time.Time) bool {
	h := u.Credentials[j].Health
	return (h == nil || h.Ready(now)) && (u.Rates == nil || u.Rates[j].Ready(now))
}

// heldUntil is when the first of the credentials may be used again.
func (u *Upstream) heldUntil(now time.Time) (soonest time.Time) {
	for j, c := range u.Credentials {
		var until time.Time
		if c.Health != nil {
			until = c.Health.Look(now).Until
		}
		if u.Rates != nil {
			if t := u.Rates[j].Look(now).Until; t.After(until) {
				until = t
			}
		}
		if soonest.IsZero() || until.Before(soonest) {
			soonest = until
		}
	}
	return soonest
}

// tellHealth says what became of an attempt to those who keep watch.
func (a *active) tellHealth(f *sdk.Failure, o outcome) {
	at := health.Outcome{OK: f == nil, Status: a.rec.Status, Started: a.rec.Started, FirstContent: a.rec.First, Ended: a.rec.Ended,
		OutputTokens: a.rec.Usage.TotalOutput(), Neutral: a.rec.Gone || a.rec.Lost}
	if f != nil {
		at.Kind = f.Kind
		if o.hold == theDeployment {
			at.Hold = f.RetryAfter
		}
	}
	a.pass.Done(at)
	if f == nil || a.credential == noCredential || o.hold != theCredential || a.up.Care == nil {
		return
	}
	whole, ofModel := a.up.Credentials[a.credential].Health, a.up.Rates[a.credential]
	at.Hold = f.RetryAfter
	switch {
	case f.Kind == sdk.UpstreamRate, f.Status == 403: // a model may be refused to a credential that is good for others
		if f.Kind != sdk.UpstreamRate {
			at.Hold = max(at.Hold, refusedFor)
		}
		ofModel.Hold(at, a.up.Care)
	case f.Kind == sdk.UpstreamMoney:
		at.Hold = max(at.Hold, brokeFor)
		whole.Hold(at, a.up.Care)
	default:
		at.Hold = max(at.Hold, refusedFor)
		whole.Hold(at, a.up.Care)
	}
}

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
		r.refuse(c.Upstream, "credential", c.held(now))
		return pass, credential, false
	}
	if c.Health == nil {
		return pass, credential, true
	}
	if r.tries[i].failures > 0 && !c.Health.RetryAllowed(now, c.Care) {
		r.skip(c.Upstream, "retries", "retries of it are used up for now")
		return pass, credential, false
	}
	if pass, ok = c.Health.Admit(now, c.Care); !ok {
		r.refuse(c.Upstream, "health", c.Health.Look(now))
	}
	return pass, credential, ok
}

// waits is what is known of candidates that are not asked for their health's sake, or their credentials'.
type waits struct {
	refused int
	limited int       // of them, for nothing but the provider's limit of requests
	soonest time.Time // when the first of them may be asked; zero: there is none
}

// skip records a candidate that is not asked.
func (r *run) skip(u *Upstream, stage, why string) {
	r.res.Skips = append(r.res.Skips, Skip{Deployment: u.Deployment.ID, Stage: stage, Reason: why})
}

// refuse records a candidate that is not asked for what it, or its credential, has gone through since the request was
// routed. A state that refuses nothing is that of credentials which this request itself has been refused with.
func (r *run) refuse(u *Upstream, stage string, s health.State) {
	if s.Until.IsZero() {
		r.skip(u, stage, "none of its credentials is left to this request")
		return
	}
	r.skip(u, stage, s.Reason)
	w := &r.waits
	if w.refused++; s.Phase == health.Held && s.Kind == sdk.UpstreamRate {
		w.limited++
	}
	if w.soonest.IsZero() || s.Until.Before(w.soonest) {
		w.soonest = s.Until
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

// held gives the state of the credential that may be used again first.
func (u *Upstream) held(now time.Time) (first health.State) {
	for j, c := range u.Credentials {
		var worst health.State
		if c.Health != nil {
			worst = c.Health.Look(now)
		}
		if u.Rates != nil {
			if s := u.Rates[j].Look(now); s.Until.After(worst.Until) {
				worst = s
			}
		}
		if j == 0 || worst.Until.Before(first.Until) {
			first = worst
		}
	}
	return first
}

// tellHealth says what became of an attempt to those who keep watch.
func (a *active) tellHealth(f *sdk.Failure, o outcome) {
	at := health.Outcome{OK: f == nil, Status: a.rec.Status, Started: a.rec.Started, FirstContent: a.rec.First, Ended: a.rec.Ended,
		OutputTokens: a.rec.Usage.TotalOutput(), Neutral: a.rec.Gone || a.rec.Lost || a.crowded || a.rec.Status == conflict, Unsent: f != nil && !a.rec.Sent && f.Kind != sdk.PluginFailed}
	if f != nil {
		at.Kind = f.Kind
		at.Neutral = at.Neutral || f.Kind == sdk.Shedding || f.Kind == sdk.Draining // for want of memory or time here
		if o.hold == theDeployment {
			at.Hold = f.RetryAfter
		}
		if c := a.rec.Credential; c != nil && c.Own && f.Kind == sdk.UpstreamModel { // the account may not use it
			at.Neutral = true
		}
	}
	a.pass.Done(at)
	if f == nil || a.credential == noCredential || o.hold != theCredential || a.up.Care == nil {
		return
	}
	whole, ofModel := a.up.Credentials[a.credential].Health, a.up.Rates[a.credential]
	at.Hold = f.RetryAfter
	switch {
	case f.Kind == sdk.UpstreamRate, a.rec.Status == 403: // a model may be refused to a credential that is good for others
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

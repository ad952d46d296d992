package route

import (
	"math"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

// Backend is what may be down: a deployment, or a credential. It is core/health's; its methods are called from several
// goroutines.
type Backend interface {
	Ready(now time.Time) bool
	Look(now time.Time) health.State
	Load(now time.Time) health.Load
	Stats(now time.Time) health.Stats
}

// Watch is what the health of a deployment hangs on.
type Watch struct {
	Deployment Backend
	Accounts   []Account // of which one must be fit for use; none: no credential is needed
}

// Account is a credential as the deployment uses it: all of its backends must be ready.
type Account []Backend

// target is a deployment with its place in the table's records.
type target struct {
	*catalog.Deployment
	place    int     // among the table's targets
	backend  int     // its own place among the table's backends; -1: it is not watched
	accounts [][]int // places of backends
}

// wave is what a request has read of backends: each once, however many branches and targets share it, and all that a batch
// of branches needs before the batch is expanded. It is the memory of a decision.
type wave struct {
	readings []reading // by the backend's place
	brought  []brought // by the target's place, of requests that bring accounts
	request  uint32    // which request's the readings are
	waits    waits
}

// reading is what was read of one backend.
type reading struct {
	request uint32 // for which it was read
	loaded  bool
	bad     *health.State // nil: ready
	load    health.Load
}

// brought is what was read of the accounts that a request brings for a target itself.
type brought struct {
	request uint32        // for which it was read
	any     bool          // there are some
	why     string        // the target cannot be asked with them
	bad     *health.State // nil: one of them is ready
}

// waits is what is known of deployments that health refused.
type waits struct {
	refused int
	limited int       // of them, for the rate of requests
	soonest time.Time // when the first of them may be asked
}

// begin forgets what was read for the request before.
func (w *wave) begin(backends int) {
	if w.request++; len(w.readings) < backends || w.request == 0 {
		w.readings, w.brought, w.request = make([]reading, backends), nil, 1
	}
	w.waits = waits{}
}

// read reads a backend if it was not read yet.
func (w *wave) read(on *Table, place int, now time.Time, load bool) {
	r := &w.readings[place]
	if r.request != w.request {
		*r = reading{request: w.request}
		if b := on.backends[place]; !b.Ready(now) {
			if s := b.Look(now); !s.OK { // it may have come back in between
				r.bad = &s
			}
		}
	}
	if load && !r.loaded {
		r.loaded, r.load = true, on.backends[place].Load(now)
	}
}

// survey reads all that the expansion of some branches looks at.
func (x *expansion) survey(list []branch) {
	if len(x.table.backends) == 0 && x.q.Accounts == nil {
		return
	}
	w := &x.into.wave
	for i := range list {
		if list[i].model == nil {
			continue
		}
		load := x.measures(&list[i])
		for _, t := range x.table.deployments(list[i].model, x.q.Now) {
			if t.backend >= 0 {
				w.read(x.table, t.backend, x.q.Now, load)
			}
			for _, account := range t.accounts {
				for _, place := range account {
					w.read(x.table, place, x.q.Now, false)
				}
			}
			if x.q.Accounts != nil {
				w.ask(x.q, t, len(x.table.targets))
			}
		}
	}
}

// ask reads the accounts that a request brings for a target, if they were not read yet.
func (w *wave) ask(q *Request, t *target, targets int) {
	if len(w.brought) < targets {
		w.brought = make([]brought, targets)
	}
	b := &w.brought[t.place]
	if b.request == w.request {
		return
	}
	own, why := q.Accounts(t.Deployment)
	*b = brought{request: w.request, any: len(own) > 0, why: why}
	if b.any {
		b.bad = worstOf(own, q.Now)
	}
}

// own gives what was read of the accounts that the request brings for a target; nothing where it brings none.
func (w *wave) own(t *target) (b brought) {
	if t.place < len(w.brought) && w.brought[t.place].request == w.request {
		b = w.brought[t.place]
	}
	return b
}

// ill says which stage refuses a deployment for its health, and the state that it is in; "" where none does. Accounts of
// the request's own stand in the place of the table's.
func (w *wave) ill(t *target) (stage string, s *health.State) {
	if t.backend >= 0 {
		if s := w.readings[t.backend].bad; s != nil {
			if s.Phase == health.Quarantined {
				return "quarantine", s
			}
			return "health", s
		}
	}
	if own := w.own(t); own.bad != nil {
		return "credential", own.bad
	} else if own.any {
		return "", nil
	}
	for _, account := range t.accounts {
		worst := w.worst(account)
		if worst == nil {
			return "", nil
		}
		if s == nil || worst.Until.Before(s.Until) {
			s = worst
		}
	}
	if s != nil {
		stage = "credential"
	}
	return stage, s
}

// worstOf gives the state of those of some accounts that ends first; nil where one of them is ready.
func worstOf(own []Account, now time.Time) (s *health.State) {
	for _, account := range own {
		var worst *health.State
		for _, b := range account {
			if b.Ready(now) {
				continue
			}
			if state := b.Look(now); !state.OK && (worst == nil || state.Until.After(worst.Until)) {
				worst = &state
			}
		}
		if worst == nil {
			return nil
		}
		if s == nil || worst.Until.Before(s.Until) {
			s = worst
		}
	}
	return s
}

// worst gives the state of an account that lasts longest; nil where it is ready.
func (w *wave) worst(account []int) *health.State {
	var worst *health.State
	for _, place := range account {
		if s := w.readings[place].bad; s != nil && (worst == nil || s.Until.After(worst.Until)) {
			worst = s
		}
	}
	return worst
}

// note takes note of a deployment that health refused.
func (w *waits) note(s *health.State) {
	if w.refused++; s.Phase == health.Held && s.Kind == sdk.UpstreamRate {
		w.limited++
	}
	if w.soonest.IsZero() || s.Until.Before(w.soonest) {
		w.soonest = s.Until
	}
}

func (w *waits) add(o *waits) {
	w.refused += o.refused
	w.limited += o.limited
	if !o.soonest.IsZero() && (w.soonest.IsZero() || o.soonest.Before(w.soonest)) {
		w.soonest = o.soonest
	}
}

// RetryAt says when the first of the deployments that were refused for their health may be asked, and whether all of them
// were for the provider's limit of requests alone. It is zero where none was refused.
func (d *Decision) RetryAt() (at time.Time, limited bool) {
	w := &d.wave.waits
	return w.soonest, w.refused > 0 && w.limited == w.refused
}

// reasonOf words why a state refuses.
func reasonOf(s *health.State, now time.Time) string {
	left := s.Until.Sub(now)
	if left > time.Second {
		left = time.Duration(math.Ceil(left.Seconds())) * time.Second
	} else {
		left = left.Round(time.Millisecond)
	}
	switch s.Phase {
	case health.Open:
		return "open after " + s.Reason + "; probed in " + left.String()
	case health.HalfOpen:
		return "a probe is under way, after " + s.Reason
	case health.Held:
		return "left alone for " + left.String() + " after " + s.Reason
	}
	return s.Reason + "; for another " + left.String()
}

package route

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/policy"
)

// Router is a name whose models are chosen by a policy. It is used by pointer.
type Router struct {
	Name          string
	Policy        *policy.Program
	MinCandidates int      // the reserve is looked at where the first branches give fewer; at least 1 is asked for
	OnError       []string // names that are tried where the policy fails; nil: the request fails

	overran overruns
}

// ErrQuarantined is the failure of a policy that is not asked for a while.
var ErrQuarantined = errors.New("the policy overran its bounds repeatedly and is set aside for a minute")

// A policy that overruns its bounds this often within the time is not asked for as long: each overrun costs what
// thousands of decisions do.
const (
	maxOverruns = 3
	overrunTime = time.Minute
)

// overruns remembers the last overruns of a policy.
type overruns struct {
	until atomic.Int64 // Unix nanoseconds up to which the policy is set aside; 0: it never was

	mu   sync.Mutex // guards last
	last [maxOverruns]time.Time
}

// Quarantined says whether the policy is set aside at a time.
func (r *Router) Quarantined(now time.Time) bool {
	until := r.overran.until.Load()
	return until != 0 && now.UnixNano() < until
}

// failed takes note of what a call of the policy failed with.
func (r *Router) failed(err error, now time.Time) {
	if !overran(err) {
		return
	}
	o := &r.overran
	o.mu.Lock()
	defer o.mu.Unlock()
	copy(o.last[1:], o.last[:])
	o.last[0] = now
	if oldest := o.last[maxOverruns-1]; !oldest.IsZero() && now.Sub(oldest) < overrunTime {
		o.until.Store(now.Add(overrunTime).UnixNano())
		o.last = [maxOverruns]time.Time{}
	}
}

// overran says whether a policy used more than its bounds. A call that ended with its request did not.
func overran(err error) bool {
	var e *policy.Error
	if !errors.As(err, &e) || e.Unwrap() != nil {
		return false
	}
	return e.Kind == policy.Steps || e.Kind == policy.Time || e.Kind == policy.Memory
}

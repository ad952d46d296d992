package route

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/policy"
)

// Router is a name whose models are chosen by a policy. It is used by pointer.
type Router struct {
	Name          string
	Policy        *policy.Program
	MinCandidates int             // the reserve is looked at where the first branches give fewer; at least 1 is asked for
	Shadow        *policy.Program // decides beside Policy, and is not followed; nil: none
	OnError       []string        // names that are tried where the policy fails; nil: the request fails

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

// Cycles lists the ways on which routers lead back to themselves, each as names from a router to itself again. What a
// policy branches to is known only once it is asked: it is asked for requests of all kinds, over the models that there
// are. A cycle that none of these shows is a failure of the policy when a request meets it.
func (t *Table) Cycles(ctx context.Context) [][]string {
	leads := make(map[*Router][]*Router, len(t.order))
	for _, r := range t.order {
		leads[r] = t.leads(ctx, r)
	}
	var cycles [][]string
	done := map[*Router]bool{}
	var open []*Router
	var walk func(r *Router)
	walk = func(r *Router) {
		if i := slices.Index(open, r); i >= 0 {
			var names []string
			for _, o := range open[i:] {
				names = append(names, o.Name)
			}
			cycles = append(cycles, append(names, r.Name))
			return
		}
		if done[r] {
			return
		}
		open = append(open, r)
		for _, next := range leads[r] {
			walk(next)
		}
		open = open[:len(open)-1]
		done[r] = true
	}
	for _, r := range t.order {
		walk(r)
	}
	return cycles
}

// leads lists the routers that a router may branch to.
func (t *Table) leads(ctx context.Context, r *Router) []*Router {
	var list []*Router
	add := func(names []string) {
		for _, name := range names {
			if next := t.lookup(name).router; next != nil && !slices.Contains(list, next) {
				list = append(list, next)
			}
		}
	}
	add(r.OnError)
	for _, req := range probes(r.Name) {
		if names, err := r.Policy.Route(ctx, &req, t.measured.now.Load().Models(), nil); err == nil { // a failure leads nowhere but to on_error
			add(names)
		}
	}
	return list
}

// probes are requests that differ in what policies look at.
func probes(model string) []policy.Request {
	plain := policy.Request{Model: model, Dialect: "openai-chat", Tokens: 1000, MaxOutput: defaultOutput, Inputs: []string{"text"}}
	var list []policy.Request
	add := func(change func(*policy.Request)) {
		r := plain
		change(&r)
		list = append(list, r)
	}
	add(func(*policy.Request) {})
	add(func(r *policy.Request) { r.Tokens, r.MaxOutput = 1, 1 })
	add(func(r *policy.Request) { r.Tokens = 500_000 })
	add(func(r *policy.Request) { r.Tools, r.Needs = true, []string{"tools"} })
	add(func(r *policy.Request) { r.Structured, r.Needs = true, []string{"json_schema"} })
	add(func(r *policy.Request) { r.Inputs, r.Needs = []string{"text", "image"}, []string{"images"} })
	add(func(r *policy.Request) { r.Effort, r.Needs = "high", []string{"thinking"} })
	add(func(r *policy.Request) { r.Stream = true })
	for _, class := range [...]string{"main", "subagent", "workflow", "compaction", "auxiliary"} {
		add(func(r *policy.Request) {
			r.Dialect, r.Client.RequestClass, r.Client.Compaction = "anthropic", class, class == "compaction"
		})
	}
	return list
}

// defaultOutput is the output that a request is taken to ask for where it does not say.
const defaultOutput = 4096

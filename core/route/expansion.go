package route

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/store"
)

const (
	batch       = 8   // branches that are expanded together
	maxBranches = 16  // the first batch and the reserve
	maxBeyond   = 256 // skip records of branches beyond these
)

// expansion is one request on its way through a table.
type expansion struct {
	table    *Table
	q        *Request
	into     *Decision
	prefs    Preferences
	req      *policy.Request // described when a policy is first asked
	models   *policy.Models
	stats    *Statistics                    // that all policies of this request see
	disabled map[string]store.DisabledModel // read once
	failed   map[*Router]error              // policies that are not asked again for this request
	losses   *losses                        // made with req
	open     []*Router                      // those whose branches are being listed, outermost first

	planning planning
}

// root expands one of the names that the request asks for.
func (x *expansion) root(ctx context.Context, name string) error {
	f := x.table.lookup(name)
	if f.router == nil && f.model == nil && x.off(f.name) == "" {
		return ErrUnknown
	}
	if !permitted(x.q.Caller, f.name, f.model) {
		return ErrForbidden
	}
	if f.router == nil {
		x.begin()
		x.into.addBranch(branch{found: f})
		_, err := x.batches(ctx, 1)
		return err
	}
	if x.into.Router == "" {
		x.into.Router = f.router.Name
	}
	branches, skips, candidates, waits := len(x.into.Branches), len(x.into.Skips), len(x.into.Candidates), x.into.wave.waits
	for {
		x.begin()
		if err := x.router(ctx, f.router, f.variant); err != nil {
			return err
		}
		bad, err := x.batches(ctx, max(f.router.MinCandidates, 1))
		if err == nil {
			bad, err = x.plan(ctx, candidates)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The decision is made once more without the policy that failed; its on_error says what takes its place. There
		// are fewer policies to ask each time.
		x.fail(bad, err)
		d := x.into
		for _, c := range d.Candidates[candidates:] {
			delete(d.seen, c)
		}
		d.Branches, d.Skips, d.Candidates, d.by = d.Branches[:branches], d.Skips[:skips], d.Candidates[:candidates], d.by[:candidates]
		d.Plans, d.wave.waits = d.Plans[:min(len(d.Plans), candidates)], waits
	}
}

// begin forgets the branches of what was expanded before; their memory stays.
func (x *expansion) begin() {
	x.into.branches, x.into.beyond, x.open = x.into.branches[:0], x.into.beyond[:0], x.open[:0]
}

// fail sets a policy aside for this request.
func (x *expansion) fail(r *Router, err error) {
	r.failed(err, x.q.Now)
	if x.failed == nil {
		x.failed = map[*Router]error{}
	}
	x.failed[r] = err
}

// router lists the branches of a router, or what its on_error names.
func (x *expansion) router(ctx context.Context, r *Router, v variant) error {
	if slices.Contains(x.open, r) {
		return &Failure{x.open[len(x.open)-1].Name, &policy.Error{Kind: policy.Result, Msg: "routers lead back to themselves: " + cycle(x.open, r)}}
	}
	x.open = append(x.open, r)
	defer func() { x.open = x.open[:len(x.open)-1] }()
	listed, beyond := len(x.into.branches), len(x.into.beyond)
	err := x.ask(ctx, r, v)
	if err == nil || ctx.Err() != nil {
		return err
	}
	f, ok := err.(*Failure)
	if !ok {
		f = &Failure{r.Name, err}
	}
	if r.OnError == nil {
		return f
	}
	x.into.Failures = append(x.into.Failures, *f)
	x.into.branches, x.into.beyond = x.into.branches[:listed], x.into.beyond[:beyond]
	return x.list(ctx, r.OnError, nil, v)
}

func cycle(open []*Router, again *Router) string {
	var names []string
	for _, r := range open[slices.Index(open, again):] {
		names = append(names, r.Name)
	}
	return strings.Join(append(names, again.Name), ", ")
}

// ask has a router's policy name its branches. The error is the policy's, or a *Failure of a router that it branched to.
func (x *expansion) ask(ctx context.Context, r *Router, v variant) error {
	if err := x.failed[r]; err != nil {
		return err
	}
	if r.Quarantined(x.q.Now) {
		return ErrQuarantined
	}
	if x.req == nil {
		x.stats = x.table.Statistics(x.q.Now)
		x.req, x.models, x.losses = x.q.Caller.Describe(), x.q.Caller.Models(x.stats), new(losses)
	}
	trace := policy.Trace{KeepPrints: x.q.KeepPrints}
	names, err := r.Policy.Route(ctx, x.req, x.models, &trace)
	x.into.count(&trace)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.fail(r, err)
		return err
	}
	return x.list(ctx, names, r, v)
}

func (d *Decision) count(t *policy.Trace) {
	d.Steps += t.Steps
	d.Prints = append(d.Prints, t.Prints...)
}

// list turns names into branches; a router among them is replaced by its own. The policy of by chooses; nil: none does.
func (x *expansion) list(ctx context.Context, names []string, by *Router, v variant) error {
	for _, name := range names {
		d := x.into
		if len(d.branches) >= maxBranches {
			if len(d.beyond) < maxBeyond {
				d.beyond = append(d.beyond, name)
			}
			continue
		}
		f := x.table.lookup(name)
		f.variant = v.with(f.variant)
		if f.router != nil {
			if err := x.router(ctx, f.router, f.variant); err != nil {
				return err
			}
			continue
		}
		d.addBranch(branch{found: f, by: by})
	}
	return nil
}

// planning is the memory of asking policies how their candidates are tried.
type planning struct {
	places []int // of the candidates that are asked about
	seats  []policy.Candidate
	plans  []policy.Plan
}

// plan asks each policy that plans about the candidates of its branches, from a place on. The error is a policy's, whose
// router is given.
func (x *expansion) plan(ctx context.Context, from int) (*Router, error) {
	d := x.into
	for i := from; i < len(d.Candidates); i++ {
		r := d.by[i]
		if r == nil || !r.Policy.HasPlan() || slices.Contains(d.by[from:i], r) {
			continue
		}
		w := &x.planning
		w.places, w.seats = w.places[:0], w.seats[:0]
		for j := i; j < len(d.Candidates); j++ {
			if d.by[j] == r {
				w.places = append(w.places, j)
				w.seats = append(w.seats, x.seat(d.Candidates[j], r))
			}
		}
		w.plans = slices.Grow(w.plans[:0], len(w.seats))[:len(w.seats)]
		trace := policy.Trace{KeepPrints: x.q.KeepPrints}
		err := r.Policy.Plan(ctx, x.req, w.seats, w.plans, &trace)
		d.count(&trace)
		if err != nil {
			return r, err
		}
		d.padPlans()
		for k, j := range w.places {
			d.Plans[j] = w.plans[k]
		}
	}
	return nil, nil
}

// padPlans gives each candidate a plan, one that says nothing where it has none.
func (d *Decision) padPlans() {
	for len(d.Plans) < len(d.Candidates) {
		d.Plans = append(d.Plans, policy.Plan{})
	}
}

// sortPlanned orders the candidates, and their plans with them.
func (x *expansion) sortPlanned() {
	d := x.into
	plans := make(map[*catalog.Deployment]policy.Plan, len(d.Plans))
	for i := range d.Plans {
		plans[d.Candidates[i]] = d.Plans[i]
	}
	x.arrange(d.Candidates, variant{})
	for i := range d.Plans {
		d.Plans[i] = plans[d.Candidates[i]]
	}
}

// Translator is implemented by a caller who can tell what translation for a deployment would drop of the request. It is
// asked only for policies that read that, and for one deployment at a time.
type Translator interface {
	Loses(d *catalog.Deployment) []string
}

// losses is what is known of that, each deployment asked about once. Branches look at it beside each other.
type losses struct {
	mu sync.Mutex // guards by
	by map[string][]string
}

// of gives what a deployment loses; nothing where the caller cannot tell.
func (l *losses) of(c Caller, d *catalog.Deployment) []string {
	ask, ok := c.(Translator)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	list, known := l.by[d.ID]
	if !known {
		list = ask.Loses(d)
		if l.by == nil {
			l.by = map[string][]string{}
		}
		l.by[d.ID] = list
	}
	return list
}

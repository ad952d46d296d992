package route

import (
	"context"
	"slices"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/policy"
)

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
				w.seats = append(w.seats, x.seat(d.Candidates[j]))
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

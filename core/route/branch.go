package route

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/policy"
)

// branch is a model among those that are looked at, and what came of it.
type branch struct {
	found
	by *Router // whose policy chooses; nil: the model's strategy orders
	work
}

// work is what the expansion of a branch writes, and nobody else while it lasts.
type work struct {
	fit    []*catalog.Deployment
	skips  []Skip
	waits  waits
	seats  []policy.Candidate
	choice policy.Choice
	trace  policy.Trace
	err    error // of the policy
}

// addBranch appends a branch and keeps the memory of the one that stood in its place before.
func (d *Decision) addBranch(b branch) {
	if n := len(d.branches); n < cap(d.branches) {
		b.work = d.branches[:n+1][n].work
	}
	d.branches = append(d.branches, b)
}

func (w *work) begin(keepPrints bool) {
	clear(w.fit)
	clear(w.seats)
	w.fit, w.skips, w.seats = w.fit[:0], w.skips[:0], w.seats[:0]
	w.trace, w.err, w.waits = policy.Trace{KeepPrints: keepPrints}, nil, waits{}
}

func (w *work) skip(deployment, stage, reason string) {
	w.skips = append(w.skips, Skip{Deployment: deployment, Stage: stage, Reason: reason})
}

// batches expands the branches that were listed: the first eight, and the reserve where these give fewer candidates than
// are asked for. The error is a policy's, whose router is given.
func (x *expansion) batches(ctx context.Context, enough int) (*Router, error) {
	d := x.into
	first, had := len(d.Branches), len(d.Candidates)
	alone := len(d.branches) == 1 && len(x.q.Also) == 0
	for i := range d.branches {
		d.Branches = append(d.Branches, d.branches[i].name)
	}
	for from := 0; from < len(d.branches) && len(d.Candidates)-had < enough; from += batch {
		list := d.branches[from:min(from+batch, len(d.branches))]
		x.survey(list)
		x.expand(ctx, list, first+from)
		for i := range list {
			b := &list[i]
			d.count(&b.trace)
			if b.err != nil {
				return b.by, b.err
			}
			d.merge(b, first+from+i, alone)
		}
	}
	for i, name := range d.beyond {
		d.Skips = append(d.Skips, Skip{Branch: first + len(d.branches) + i, Deployment: name, Stage: "branches", Reason: "branch limit"})
	}
	return nil, nil
}

// merge adds what came of a branch. A deployment that is a candidate already is none again,
// which is not looked at where a branch stands alone.
func (d *Decision) merge(b *branch, index int, alone bool) {
	d.wave.waits.add(&b.waits)
	for _, s := range b.skips {
		s.Branch = index
		d.Skips = append(d.Skips, s)
	}
	if alone {
		d.Candidates = append(d.Candidates, b.fit...)
		for range b.fit {
			d.by = append(d.by, b.by)
		}
		return
	}
	if d.seen == nil {
		d.seen = map[*catalog.Deployment]int{}
	}
	for _, c := range b.fit {
		if _, ok := d.seen[c]; ok {
			d.Skips = append(d.Skips, Skip{Branch: index, Deployment: c.ID, Stage: "repeat", Reason: "a candidate of an earlier branch"})
			continue
		}
		d.seen[c] = index
		d.Candidates, d.by = append(d.Candidates, c), append(d.by, b.by)
	}
}

// What expanding is taken to cost: a call of a policy, and each target in it, which is the design's figure for a quiet
// machine. Goroutines are started above the least alone: below it they cost more than the branches do.
const (
	callCost     = 2 * time.Microsecond
	targetCost   = 500 * time.Nanosecond
	leastForMany = 300 * time.Microsecond
)

// expand expands branches, beside each other where that pays. Each writes to itself alone.
func (x *expansion) expand(ctx context.Context, list []branch, index int) {
	workers := min(len(list), batch, runtime.GOMAXPROCS(0))
	switch x.table.workers {
	case Single:
		workers = 1
	case Many:
		workers = len(list)
	default:
		if estimate(list) < leastForMany {
			workers = 1
		}
	}
	if workers < 2 {
		for i := range list {
			x.branch(ctx, &list[i], index+i)
			if list[i].err != nil {
				return
			}
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	var fault atomic.Pointer[string] // of a panic, which is the request's
	for range workers {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n%s", p, debug.Stack())
					fault.Store(&text)
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				x.branch(ctx, &list[i], index+i)
			}
		})
	}
	wait.Wait()
	if text := fault.Load(); text != nil {
		panic(*text)
	}
}

func estimate(list []branch) time.Duration {
	var sum time.Duration
	for i := range list {
		if b := &list[i]; b.model != nil && b.by != nil && b.by.Policy.HasChoose() {
			sum += callCost + time.Duration(len(b.model.Deployments))*targetCost
		}
	}
	return sum
}

// branch expands one branch. Beside it others may be expanded, so it changes nothing but b.
func (x *expansion) branch(ctx context.Context, b *branch, index int) {
	faultpoint.Reach(faultpoint.Branch)
	b.begin(x.q.KeepPrints)
	off := x.off(b.name)
	switch {
	case b.model == nil && off == "":
		b.skip(b.name, "resolve", ErrUnknown.Error())
		return
	case !permitted(x.q.Caller, b.name, b.model):
		b.skip(b.name, "resolve", ErrForbidden.Error())
		return
	case off != "":
		b.skip(b.name, "disabled", off)
		return
	}
	for _, d := range x.table.deployments(b.model, x.q.Now) {
		if why := x.off(d.ID); why != "" {
			b.skip(d.ID, "disabled", why)
		} else if why := x.prefs.refuse(d.Deployment, b.variant, x.q.Now); why != "" {
			b.skip(d.ID, "provider", why)
		} else if stage, why := unfit(d.Deployment, x.q.Facts); stage != "" {
			b.skip(d.ID, stage, why)
		} else if why := x.into.wave.own(d).why; why != "" {
			b.skip(d.ID, "credential", why)
		} else if stage, state := x.into.wave.ill(d); state != nil {
			b.skip(d.ID, stage, reasonOf(state, x.q.Now))
			b.waits.note(state)
		} else {
			b.fit = append(b.fit, d.Deployment)
		}
	}
	switch {
	case len(b.fit) == 0:
		return
	case b.by != nil && b.by.Policy.HasChoose():
		x.choose(ctx, b)
	case b.model.Strategy == catalog.Weighted:
		shuffle(b.fit, newDraws(x.q.Seed, index))
	case b.model.Strategy == catalog.Fastest:
		x.fastest(b.fit, newDraws(x.q.Seed, index))
	}
	x.arrange(b.fit, b.variant)
}

// seat is a deployment as a router's policy sees it for this request.
func (x *expansion) seat(d *catalog.Deployment, by *Router) policy.Candidate {
	c := policy.Candidate{Target: x.stats.targets[x.table.targets[d].place].box, Cached: x.q.Warm[d.ID]}
	if by.Policy.ReadsLosses() || by.Shadow != nil && by.Shadow.ReadsLosses() {
		c.Loses = x.losses.of(x.q.Caller, d)
	}
	return c
}

// choose has the policy order the deployments of a branch.
func (x *expansion) choose(ctx context.Context, b *branch) {
	for _, d := range b.fit {
		b.seats = append(b.seats, x.seat(d, b.by))
	}
	if b.err = b.by.Policy.Choose(ctx, x.req, b.seats, &b.choice, &b.trace); b.err != nil {
		return
	}
	for _, s := range b.choice.Skips {
		b.skip(b.fit[s.Candidate].ID, "choose", s.Reason)
	}
	all := len(b.fit)
	for _, i := range b.choice.Order {
		b.fit = append(b.fit, b.fit[i])
	}
	b.fit = append(b.fit[:0], b.fit[all:]...)
}

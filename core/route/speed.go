package route

import (
	"cmp"
	"slices"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/health"
)

// measures says whether a branch is ordered by what is measured.
func (x *expansion) measures(b *branch) bool {
	return b.model.Strategy == catalog.Fastest || b.variant.sort > ByPrice || x.prefs.Sort > ByPrice
}

// load gives what was read of a deployment. One that is not watched is like one that was not measured.
func (x *expansion) load(d *catalog.Deployment) health.Load {
	t := x.table.targets[d]
	if t.backend < 0 {
		return health.Load{}
	}
	return x.into.wave.readings[t.backend].load
}

// bySpeed puts the higher speed first, before it what is to be measured, and last what is being measured or gave no speed.
func bySpeed(a, b health.Load) int {
	rank := func(l health.Load) int {
		switch {
		case l.Cost == 0:
			return 0
		case l.Speed > 0:
			return 1
		}
		return 2
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	return cmp.Compare(b.Speed, a.Speed)
}

// fastest puts that deployment first which is expected to answer soonest: the better of two that are drawn, so that
// requests at the same time do not all go to the one that was best a moment ago
// (https://www.eecs.harvard.edu/~michaelm/postscripts/handbook2001.pdf, "The Power of Two Random Choices"). The others
// follow, best first. One that was not measured yet goes first of all, a bounded number of times: see health.Load.
func (x *expansion) fastest(list []*catalog.Deployment, draw draws) {
	if len(list) < 2 {
		return
	}
	slices.SortStableFunc(list, func(a, b *catalog.Deployment) int { return cmp.Compare(x.load(a).Cost, x.load(b).Cost) })
	if x.load(list[0]).Cost == 0 || len(list) == 2 {
		return
	}
	i := int(draw.next() % uint64(len(list)))
	j := int(draw.next() % uint64(len(list)-1))
	if j >= i {
		j++
	}
	best := min(i, j)
	d := list[best]
	copy(list[1:best+1], list[:best])
	list[0] = d
}

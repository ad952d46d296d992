package route

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/price"
)

// Options say what a table is made of.
type Options struct {
	Catalog  *catalog.Catalog
	Routers  []*Router
	Disabled []string                      // models that are configured and not served
	Off      *Disabled                     // those that operators took out of service since; nil: none
	Health   map[*catalog.Deployment]Watch // of those that are watched
	Workers  Workers
}

// Workers says whether branches are expanded beside each other. The decision is the same; Auto takes what is faster.
type Workers uint8

// The choices.
const (
	Auto   Workers = iota // several at once where the estimate says that it pays
	Single                // one after the other
	Many                  // always several at once
)

// Table is what can be asked for in one generation. But for the record of policies that overran it does not change.
type Table struct {
	catalog  *catalog.Catalog
	order    []*Router
	routers  map[string]*Router
	disabled map[string]bool
	off      *Disabled
	byID     map[string]*catalog.Model    // a deployment by itself
	lists    map[*catalog.Model][]*target // in the order of the strategy, but for prices that depend on the time
	targets  map[*catalog.Deployment]*target
	backends []Backend
	measured measured
	workers  Workers
	dated    bool // a price depends on the time
}

// NewTable makes a table.
func NewTable(o Options) *Table {
	t := &Table{catalog: o.Catalog, order: o.Routers, workers: o.Workers, off: o.Off, routers: make(map[string]*Router, len(o.Routers)),
		disabled: make(map[string]bool, len(o.Disabled)), byID: map[string]*catalog.Model{},
		lists: map[*catalog.Model][]*target{}, targets: map[*catalog.Deployment]*target{}}
	for _, name := range o.Disabled {
		t.disabled[name] = true
	}
	for _, r := range o.Routers {
		t.routers[r.Name] = r
	}
	places := map[Backend]int{}
	for _, m := range o.Catalog.Models {
		for _, d := range m.Deployments {
			alone := &catalog.Model{Name: d.ID, Deployments: []*catalog.Deployment{d}}
			one := t.watch(d, o.Health, places)
			t.byID[d.ID], t.lists[alone], t.targets[d] = alone, []*target{one}, one
		}
		for _, d := range m.Deployments {
			t.lists[m] = append(t.lists[m], t.targets[d])
			t.dated = t.dated || d.Price.Dated()
		}
		if m.Strategy == catalog.Cheapest {
			sortByPrice(t.lists[m], time.Time{})
		}
	}
	t.measured.now.Store(t.measure(nil, time.Time{}))
	return t
}

// watch makes the target of a deployment, and gives what it hangs on places among the table's backends.
func (t *Table) watch(d *catalog.Deployment, health map[*catalog.Deployment]Watch, places map[Backend]int) *target {
	place := func(b Backend) int {
		i, ok := places[b]
		if !ok {
			i = len(t.backends)
			places[b] = i
			t.backends = append(t.backends, b)
		}
		return i
	}
	one := &target{Deployment: d, place: len(t.targets), backend: -1}
	w, ok := health[d]
	if !ok {
		return one
	}
	one.backend = place(w.Deployment)
	for _, account := range w.Accounts {
		var list []int
		for _, b := range account {
			list = append(list, place(b))
		}
		one.accounts = append(one.accounts, list)
	}
	return one
}

// Routers lists the routers in the configuration's order.
func (t *Table) Routers() []*Router { return t.order }

// Shadowed says whether a router has a shadow.
func (t *Table) Shadowed() bool {
	return slices.ContainsFunc(t.order, func(r *Router) bool { return r.Shadow != nil })
}

// Router gives the router of a name.
func (t *Table) Router(name string) (*Router, bool) {
	r, ok := t.routers[name]
	return r, ok
}

// deployments gives a model's deployments in the order of its strategy; drawing by weight, and what is measured, are left
// to be looked at.
func (t *Table) deployments(m *catalog.Model, now time.Time) []*target {
	list := t.lists[m]
	if t.dated && m.Strategy == catalog.Cheapest {
		list = slices.Clone(list)
		sortByPrice(list, now)
	}
	return list
}

// found is what stands behind a name: a router, or a model; neither where it is unknown.
type found struct {
	name    string // without its suffix
	router  *Router
	model   *catalog.Model
	variant variant
}

// lookup finds a name, with or without a suffix. A name that is configured with a colon is that name.
func (t *Table) lookup(name string) found {
	f := t.named(name)
	if f.router != nil || f.model != nil {
		return f
	}
	base, suffix, ok := cutSuffix(name)
	if !ok {
		return f
	}
	f = t.named(base)
	f.variant = suffix
	return f
}

func (t *Table) named(name string) found {
	if m, ok := t.catalog.Find(name); ok {
		return found{name: name, model: m}
	}
	if r, ok := t.routers[name]; ok {
		return found{name: name, router: r}
	}
	return found{name: name, model: t.byID[name]}
}

// permitted says whether a key may use a model; one that may use a model may use each of its deployments by itself.
func permitted(c Caller, name string, m *catalog.Model) bool {
	return c.Allows(name) || m != nil && len(m.Deployments) == 1 && c.Allows(m.Deployments[0].Name)
}

// USD for a million tokens, of nano-USD.
func usd(nano int64) float64 { return float64(nano) / 1e9 }

// blended is the price by which deployments are compared when nothing is known of the request: three tokens in for one
// out, as conversations are. It is in nano-USD for four million tokens.
func blended(d *catalog.Deployment, now time.Time) float64 {
	r := rates(d, now)
	if r == nil {
		return math.Inf(1)
	}
	return 3*float64(r.Input) + float64(r.Output)
}

// rates are those of a usual request at a time; nil where the price is not known.
func rates(d *catalog.Deployment, now time.Time) *price.Rates {
	if p := d.Price.At(now); p != nil {
		return &p.Rates
	}
	return nil
}

func sortByPrice(list []*target, now time.Time) {
	slices.SortStableFunc(list, func(a, b *target) int { return byPrice(a.Deployment, b.Deployment, now) })
}

func byPrice(a, b *catalog.Deployment, now time.Time) int {
	switch x, y := blended(a, now), blended(b, now); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// variant is what a suffix of a name asks for.
type variant struct {
	sort Sort
	free bool
}

// with gives a variant within another: the inner order beats the outer.
func (v variant) with(inner variant) variant {
	if inner.sort != Unsorted {
		v.sort = inner.sort
	}
	v.free = v.free || inner.free
	return v
}

// cutSuffix takes a suffix that routing knows off a name.
func cutSuffix(name string) (string, variant, bool) {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 {
		return name, variant{}, false
	}
	switch name[i+1:] {
	case "nitro":
		return name[:i], variant{sort: ByThroughput}, true
	case "floor":
		return name[:i], variant{sort: ByPrice}, true
	case "free":
		return name[:i], variant{free: true}, true
	}
	return name, variant{}, false
}

package route

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/price"
)

// Preferences are what a request says of providers (OpenRouter's `provider` member). The zero value prefers nothing.
type Preferences struct {
	Order       []string // ids of providers, tried first in this order
	Only        []string // nil: all
	Ignore      []string
	NoFallbacks bool // none beside Order's; without an Order, none beside the best
	Sort        Sort
	Across      bool // Sort orders the candidates of all models together
	MaxInput    *int64
	MaxOutput   *int64 // nano-USD for a million tokens; nil: no limit
}

// Sort is an order of deployments.
type Sort uint8

// The orders. By throughput and by latency begin with what was not measured yet, a bounded number of times: see health.Load.
const (
	Unsorted Sort = iota
	ByPrice
	ByThroughput
	ByLatency
)

// refuse says why a deployment is not wanted; "" where it is.
func (p *Preferences) refuse(d *catalog.Deployment, v variant, now time.Time) string {
	if v.free && !free(rates(d, now)) {
		return "not free"
	}
	if p.Only == nil && p.Ignore == nil && !p.NoFallbacks && p.MaxInput == nil && p.MaxOutput == nil {
		return ""
	}
	id := d.Provider.ID
	switch {
	case p.Only != nil && place(p.Only, id) < 0:
		return "provider.only does not name " + id
	case place(p.Ignore, id) >= 0:
		return "provider.ignore names " + id
	case p.NoFallbacks && p.Order != nil && place(p.Order, id) < 0:
		return "provider.order does not name " + id + ", and fallbacks are not allowed"
	}
	if p.MaxInput == nil && p.MaxOutput == nil {
		return ""
	}
	r := rates(d, now)
	if r == nil {
		return "its price is not known, and provider.max_price is said"
	}
	if why := above("input", r.Input, p.MaxInput); why != "" {
		return why
	}
	return above("output", r.Output, p.MaxOutput)
}

func free(r *price.Rates) bool { return r != nil && r.Input == 0 && r.Output == 0 && r.Request == 0 }

func above(what string, price int64, limit *int64) string {
	if limit == nil || price <= *limit {
		return ""
	}
	return "its price for " + what + ", " + amount(price) + " USD for a million tokens, is above provider.max_price"
}

func amount(nano int64) string { return strconv.FormatFloat(usd(nano), 'f', -1, 64) }

// place is where a list names a provider; -1 where it does not. Clients write the names as they like.
func place(list []string, id string) int {
	return slices.IndexFunc(list, func(s string) bool { return strings.EqualFold(s, id) })
}

// arrange orders the candidates of one branch.
func (x *expansion) arrange(list []*catalog.Deployment, v variant) {
	by := x.prefs.Sort
	if v.sort != Unsorted {
		by = v.sort
	}
	if by > ByPrice && len(x.table.backends) == 0 {
		by = Unsorted
	}
	if len(list) < 2 || x.prefs.Order == nil && by == Unsorted {
		return
	}
	slices.SortStableFunc(list, func(a, b *catalog.Deployment) int {
		if c := cmp.Compare(x.prefs.rank(a), x.prefs.rank(b)); c != 0 {
			return c
		}
		switch by {
		case ByPrice:
			return byPrice(a, b, x.q.Now)
		case ByThroughput:
			return bySpeed(x.load(a), x.load(b))
		case ByLatency:
			return cmp.Compare(x.load(a).Cost, x.load(b).Cost)
		}
		return 0
	})
}

// rank is the place of a deployment's provider in Order; behind it where it is not there.
func (p *Preferences) rank(d *catalog.Deployment) int {
	if p.Order == nil {
		return 0
	}
	if i := place(p.Order, d.Provider.ID); i >= 0 {
		return i
	}
	return len(p.Order)
}

// finish does what is about all candidates together.
func (x *expansion) finish() {
	p, d := &x.prefs, x.into
	if p.Across {
		x.sortPlanned()
	}
	if !p.NoFallbacks || p.Order != nil || len(d.Candidates) < 2 {
		return
	}
	for _, c := range d.Candidates[1:] {
		d.Skips = append(d.Skips, Skip{Branch: d.seen[c], Deployment: c.ID, Stage: "provider", Reason: "fallbacks are not allowed"})
	}
	d.Candidates, d.Plans = d.Candidates[:1], d.Plans[:min(len(d.Plans), 1)]
}

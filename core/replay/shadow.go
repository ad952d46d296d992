package replay

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/route"
)

// recentShadows bounds the disagreements that are remembered.
const recentShadows = 256

// Shadow compares what routers decided with what their shadows would have. The zero Shadow is ready.
type Shadow struct {
	// What follows is the recorder's.
	under    *route.Statistics
	replayer *route.Replayer
	decision route.Decision

	mu      sync.Mutex // guards what follows
	tallies map[string]*Tally
	recent  []Difference // oldest first
}

// Tally counts, by router, how its shadow's decisions compare.
type Tally struct {
	Router    string `json:"router"`
	Decided   int64  `json:"decided"`
	Same      int64  `json:"same"`
	Reordered int64  `json:"reordered"` // the first candidate is the same, what follows is not
	Moved     int64  `json:"moved"`     // the request would have gone elsewhere
	Failed    int64  `json:"failed"`    // the shadow gave no decision
}

// Report is what an operator is shown of shadows.
type Report struct {
	Routers []Tally      `json:"routers"`
	Recent  []Difference `json:"recent"` // newest first
}

// Report gives the counts and the last disagreements.
func (s *Shadow) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Routers: []Tally{}, Recent: append([]Difference{}, s.recent...)}
	slices.Reverse(r.Recent)
	for _, t := range s.tallies {
		r.Routers = append(r.Routers, *t)
	}
	slices.SortFunc(r.Routers, func(a, b Tally) int { return strings.Compare(a.Router, b.Router) })
	return r
}

// compare asks the shadow of the router that decided.
func (s *Shadow) compare(ctx context.Context, d *Decision, in *route.Input) {
	if !d.Shadowed() {
		return
	}
	if s.under != d.Statistics {
		s.under, s.replayer = d.Statistics, route.NewReplayer(d.Statistics.Picture(), shadows(d.Routers()))
	}
	if s.replayer.Decide(ctx, in, false, &s.decision); ctx.Err() != nil { // its error is a part of what is compared
		return
	}
	s.count(d.Router, difference(d.RequestID, d.Router, d.Explanation(d.Generation, 0), s.decision.Explain(d.Generation, 0), in, d.Statistics.Picture))
}

// shadows gives the routers with their shadows in the place of their policies. A shadow that fails gives no decision:
// what on_error would lead to says nothing of it.
func shadows(list []*route.Router) []*route.Router {
	var out []*route.Router
	for _, r := range list {
		c := &route.Router{Name: r.Name, Policy: r.Policy, MinCandidates: r.MinCandidates, OnError: r.OnError}
		if r.Shadow != nil {
			c.Policy, c.OnError = r.Shadow, nil
		}
		out = append(out, c)
	}
	return out
}

func (s *Shadow) count(router string, d *Difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tallies[router]
	if t == nil {
		if s.tallies == nil {
			s.tallies = map[string]*Tally{}
		}
		t = &Tally{Router: router}
		s.tallies[router] = t
	}
	t.Decided++
	switch {
	case d == nil:
		t.Same++
		return
	case d.Error != "":
		t.Failed++
	case d.Moved:
		t.Moved++
	default:
		t.Reordered++
	}
	if len(s.recent) == recentShadows {
		s.recent = append(s.recent[:0], s.recent[1:]...)
	}
	s.recent = append(s.recent, *d)
}

// Difference is a decision that would be another.
type Difference struct {
	RequestID string    `json:"request_id"`
	At        time.Time `json:"at"`
	Router    string    `json:"router"`
	Moved     bool      `json:"moved"`           // the request would go elsewhere
	Was       string    `json:"was"`             // the first candidate; "" where there was none
	Now       string    `json:"now"`             // and what it would be
	Error     string    `json:"error,omitempty"` // why there would be no decision
	// USD is how much more the request would cost, as its input is estimated and for the most output that it may have; nil
	// where a price is not known.
	USD *float64 `json:"usd,omitempty"`
	// Seconds is how much longer it would take, by the median of whole answers; nil where one is not measured.
	Seconds *float64 `json:"seconds,omitempty"`
}

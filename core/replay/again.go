package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

// Source is where decisions were kept; *store.Store is one.
type Source interface {
	Decisions(ctx context.Context, router string, since time.Time) iter.Seq2[store.Decision, error]
	DecisionFacts(ctx context.Context, hash [32]byte) ([]byte, error)
}

// Summary is what became of decisions that were made again.
type Summary struct {
	Decisions   int `json:"decisions"`
	Same        int `json:"same"`
	Reordered   int `json:"reordered"`    // the first candidate is the same, what follows is not
	Moved       int `json:"moved"`        // the request would go elsewhere
	Failed      int `json:"failed"`       // of these, those that would have no decision
	NotReplayed int `json:"not_replayed"` // the router is not there any more, or the decision hung on time
	// USD and Seconds are the sums over the decisions that moved, of which as many have one.
	USD      float64 `json:"usd"`
	Priced   int     `json:"priced"`
	Seconds  float64 `json:"seconds"`
	Measured int     `json:"measured"`
}

// mostPictures bounds the pictures that are kept ready.
const mostPictures = 16

// Again makes decisions again by some routers: those of one router since a time, or of all where router is "". It tells
// each difference.
func Again(ctx context.Context, from Source, routers []*route.Router, router string, since time.Time, tell func(*Difference)) (*Summary, error) {
	a := &again{from: from, routers: routers, pictures: map[[32]byte]*picture{}}
	known := map[string]bool{}
	for _, r := range routers {
		known[r.Name] = true
	}
	sum := new(Summary)
	for row, err := range from.Decisions(ctx, router, since) {
		if err != nil {
			return nil, err
		}
		sum.Decisions++
		d, ok, err := a.decide(ctx, &row, known[row.Router])
		switch {
		case err != nil:
			return nil, fmt.Errorf("decision %s: %w", row.RequestID, err)
		case !ok:
			sum.NotReplayed++
		case d == nil:
			sum.Same++
		default:
			sum.add(d)
			tell(d)
		}
	}
	return sum, nil
}

func (s *Summary) add(d *Difference) {
	if !d.Moved {
		s.Reordered++
	} else {
		s.Moved++
	}
	if d.Error != "" {
		s.Failed++
	}
	if d.USD != nil {
		s.USD += *d.USD
		s.Priced++
	}
	if d.Seconds != nil {
		s.Seconds += *d.Seconds
		s.Measured++
	}
}

// again is a run over decisions.
type again struct {
	from     Source
	routers  []*route.Router
	pictures map[[32]byte]*picture
	decision route.Decision
}

// picture is one with what decides under it.
type picture struct {
	*route.Picture
	*route.Replayer
}

// decide makes one decision again; false where that would tell nothing.
func (a *again) decide(ctx context.Context, row *store.Decision, known bool) (*Difference, bool, error) {
	in, was := new(route.Input), new(route.Explanation)
	if err := errors.Join(json.Unmarshal(row.Input, in), json.Unmarshal(row.Outcome, was)); err != nil {
		return nil, false, err
	}
	if !known || in.Timely || in.Request == nil {
		return nil, false, nil
	}
	p, err := a.picture(ctx, row.Facts)
	if err != nil {
		return nil, false, err
	}
	if p.Decide(ctx, in, false, &a.decision); ctx.Err() != nil { // its error is a part of what is compared
		return nil, false, ctx.Err()
	}
	now := a.decision.Explain(was.Generation, 0)
	return difference(row.RequestID, row.Router, was, now, in, func() *route.Picture { return p.Picture }), true, nil
}

// picture gives what decisions saw.
func (a *again) picture(ctx context.Context, hash [32]byte) (*picture, error) {
	if p := a.pictures[hash]; p != nil {
		return p, nil
	}
	data, err := a.from.DecisionFacts(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("what it saw: %w", err)
	}
	seen, err := unpackPicture(data)
	if err != nil {
		return nil, fmt.Errorf("what it saw: %w", err)
	}
	if len(a.pictures) == mostPictures {
		clear(a.pictures)
	}
	p := &picture{seen, route.NewReplayer(seen, a.routers)}
	a.pictures[hash] = p
	return p, nil
}

package admit

import (
	"context"
	"time"

	"github.com/penstock-gateway/penstock/core/flight"
	"github.com/penstock-gateway/penstock/core/limits"
)

// spending reads from the ledger's sums what budgets have been used for, when the counters know nothing of them: after a
// start, or when their server has lost its memory.
type spending struct {
	store   Store
	flights flight.Group[levelKey, int64]
	down    outage
}

type levelKey struct {
	kind, name string
	since      int64
}

func (s *spending) init(st Store) {
	s.store = st
	s.flights.Limit = readLimit
}

// of gives what a level has spent in the period that now is in, in nano-USD.
func (s *spending) of(ctx context.Context, l *limits.Level, now time.Time) (int64, error) {
	if s.down.is(now) {
		return 0, errDown
	}
	since := l.Budget.Each.Start(now)
	n, err := s.flights.Do(ctx, levelKey{l.Kind, l.Name, since.Unix()}, func(ctx context.Context) (int64, error) {
		if l.Kind == "team" {
			return s.store.SpentByTeam(ctx, l.Name, since)
		}
		return s.store.SpentByKey(ctx, l.Name, since)
	})
	if err != nil {
		s.down.note(ctx, err)
	}
	return n, err
}

func (s *spending) close() { s.flights.Close() }

// seed tells the counters what a level has spent.
func (a *Admitter) seed(ctx context.Context, account *limits.Account, level int, now time.Time) error {
	var spent int64
	if a.store != nil {
		var err error
		if spent, err = a.spending.of(ctx, &account.Levels[level], now); err != nil {
			return err
		}
	}
	return a.counters.Seed(ctx, account, level, spent, now)
}

package admit

import (
	"context"
	"sync"
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

// Usage is what a key has spent, in nano-USD, by the ledger's sums: rows that are still to be written are missing.
type Usage struct {
	Total, Day, Week, Month int64
	// Left is what the key may still spend in the period of its own budget, reservations taken off; where it has one.
	Left int64
}

// Usage reads what a key has spent.
func (a *Admitter) Usage(ctx context.Context, key *Key, now time.Time) (u Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if l, i := key.own(); l != nil && l.Budget.Set {
		m, known, err := a.counters.Spent(ctx, key.Account, i, now)
		if err == nil && !known {
			if err = a.seed(ctx, key.Account, i, now); err == nil {
				m, _, err = a.counters.Spent(ctx, key.Account, i, now)
			}
		}
		if err != nil {
			return u, err
		}
		u.Left = max(l.Budget.Nano-m.Spent-m.Held, 0)
	}
	if a.store == nil {
		return u, nil
	}
	var errs [4]error
	var reads sync.WaitGroup
	for i, into := range [...]*int64{limits.Total: &u.Total, limits.Day: &u.Day, limits.Week: &u.Week, limits.Month: &u.Month} {
		reads.Go(func() { *into, errs[i] = a.store.SpentByKey(ctx, key.Name, limits.Period(i).Start(now)) })
	}
	reads.Wait()
	for _, err := range errs {
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// own gives the key's own level and its place in the account; nil where it has no limits of its own.
func (k *Key) own() (*limits.Level, int) {
	for i := range k.Account.Levels {
		if k.Account.Levels[i].Kind == "key" {
			return &k.Account.Levels[i], i
		}
	}
	return nil, 0
}

// Budget gives the key's own budget; not set where it has none.
func (k *Key) Budget() limits.Budget {
	if l, _ := k.own(); l != nil {
		return l.Budget
	}
	return limits.Budget{}
}

// PerMinute gives the key's own limit of requests a minute; 0 where it has none.
func (k *Key) PerMinute() int64 {
	if l, _ := k.own(); l != nil {
		return l.PerMinute[limits.Requests]
	}
	return 0
}

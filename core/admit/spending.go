package admit

import (
	"context"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
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
	n, err := s.since(ctx, l.Kind, l.Name, since)
	if err != nil {
		s.down.note(ctx, err)
	}
	return n, err
}

// since reads what a level has spent since a moment. A panic of the store is an error.
func (s *spending) since(ctx context.Context, kind, name string, since time.Time) (int64, error) {
	return s.flights.Do(ctx, levelKey{kind, name, since.Unix()}, func(ctx context.Context) (int64, error) {
		faultpoint.Reach(faultpoint.ReadSpent)
		switch kind {
		case "team":
			return s.store.SpentByTeam(ctx, name, since)
		case "organisation":
			return s.store.SpentByOrganisation(ctx, name, since)
		}
		return s.store.SpentByKey(ctx, name, since)
	})
}

func (s *spending) close() { s.flights.Close() }

// flushLimit is how long rows are waited for that are on their way into the sums.
const flushLimit = 250 * time.Millisecond

// seed tells the counters what those levels of an account have spent that are set in unknown, a bit each. The ledger's sums
// are read beside each other.
func (a *Admitter) seed(ctx context.Context, account *limits.Account, unknown uint, now time.Time) error {
	spent, errs := make([]int64, len(account.Levels)), make([]error, len(account.Levels))
	if a.flush != nil {
		ctx, cancel := context.WithTimeout(ctx, flushLimit)
		a.flush(ctx) // where it fails the sums are what they are
		cancel()
	}
	var reads sync.WaitGroup
	for i := range account.Levels {
		if a.store != nil && unknown&(1<<i) != 0 {
			reads.Go(func() { spent[i], errs[i] = a.spending.of(ctx, &account.Levels[i], now) })
		}
	}
	reads.Wait()
	for i := range account.Levels {
		if unknown&(1<<i) == 0 {
			continue
		}
		if errs[i] != nil {
			return errs[i]
		}
		if err := a.counters.Seed(ctx, account, i, spent[i], now); err != nil {
			return err
		}
	}
	return nil
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
			if err = a.seed(ctx, key.Account, 1<<i, now); err == nil {
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
		reads.Go(func() { *into, errs[i] = a.spending.since(ctx, "key", key.Name, limits.Period(i).Start(now)) })
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

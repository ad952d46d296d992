package limits

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// leases are the holds of this gateway that are open at the server.
type leases struct {
	mu  sync.Mutex // guards what follows, the leases' own times included
	all map[uint64]*lease
}

// lease is one hold's.
type lease struct {
	keys  []string // of the levels' leases
	names []string
	until time.Time
}

func (s *leases) add(h *Hold) {
	l := &lease{until: h.leased}
	for i, k := range h.account.keys() {
		if i%2 == 1 {
			l.keys = append(l.keys, k)
			l.names = append(l.names, h.lease(i/2))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[h.id] = l
}

// remove gives until when a hold that ends was leased.
func (s *leases) remove(h *Hold) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[h.id]
	if l == nil {
		return h.leased
	}
	delete(s.all, h.id)
	return l.until
}

// due lists the leases that end before a moment.
func (s *leases) due(before time.Time) []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*lease
	for _, l := range s.all {
		if l.until.Before(before) {
			list = append(list, l)
		}
	}
	return list
}

// renewAtOnce is how many leases one call renews.
const renewAtOnce = 256

// renew prolongs the leases of which half or less is left.
func (s *Shared) renew(ctx context.Context, now time.Time) {
	until := now.Add(leaseFor)
	for list := s.leases.due(now.Add(leaseFor / 2)); len(list) > 0; {
		n := min(len(list), renewAtOnce)
		_, err := s.link.call(ctx, func(ctx context.Context, c valkey.Client) error { return prolong(ctx, c, list[:n], until) })
		if err != nil {
			return // the next round comes before they end
		}
		s.leases.mu.Lock()
		for _, l := range list[:n] {
			l.until = until
		}
		s.leases.mu.Unlock()
		list = list[n:]
	}
}

// prolong moves the ends of leases. One that has been removed stays removed.
func prolong(ctx context.Context, c valkey.Client, list []*lease, until time.Time) error {
	var cmds valkey.Commands
	for _, l := range list {
		for i, key := range l.keys {
			cmds = append(cmds,
				c.B().Zadd().Key(key).Xx().ScoreMember().ScoreMember(float64(until.UnixMilli()), l.names[i]).Build(),
				c.B().Pexpireat().Key(key).MillisecondsTimestamp(until.Add(keepLeast).UnixMilli()).Build())
		}
	}
	for _, r := range c.DoMulti(ctx, cmds...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// mostLate bounds the ends that wait for the server.
const mostLate = 20_000

// backlog is the ends that the server has not been told of.
type backlog struct {
	mu   sync.Mutex // guards what follows
	list []ending
}

func (b *backlog) add(e ending, log *slog.Logger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) >= mostLate {
		log.Error("counters: the end of a request is lost, its reservation counts as spent", "levels", e.hold.account.group)
		return
	}
	b.list = append(b.list, e)
}

// pop gives the first, or nil.
func (b *backlog) pop() *ending {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		b.list = nil
		return nil
	}
	e := b.list[0]
	b.list = b.list[1:]
	return &e
}

// catchUp tells the server of ends that it has missed.
func (s *Shared) catchUp(ctx context.Context, _ time.Time) {
	for e := s.late.pop(); e != nil; e = s.late.pop() {
		if !s.tell(ctx, e) {
			s.late.add(*e, s.log)
			return
		}
	}
}

// refused remembers for how long the server will refuse further requests.
type refused struct {
	mu  sync.Mutex // guards what follows
	all map[string]refusedUntil
}

type refusedUntil struct {
	limit int64
	at    time.Time
}

// mostRefused bounds what is remembered: it is an optimisation.
const mostRefused = 4096

func (m *refused) add(r *Refusal, now time.Time) {
	if r.Limit != OverRequests || r.After <= 0 || r.Need != 1 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) >= mostRefused {
		m.all = map[string]refusedUntil{}
	}
	m.all[r.Level.id] = refusedUntil{limit: r.Most, at: now.Add(r.After)}
}

// until gives how much longer a level refuses; a limit that has changed is asked for again.
func (m *refused) until(l *Level, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.all[l.id]
	if !ok {
		return 0
	}
	if u.limit != l.PerMinute[Requests] || !now.Before(u.at) {
		delete(m.all, l.id)
		return 0
	}
	return u.at.Sub(now)
}

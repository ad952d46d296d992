package limits

import (
	"context"
	"hash/maphash"
	"sync"
	"time"
)

// shards is how many maps the levels are spread over.
const shards = 64

// Memory is counters in the process. They end with it: budgets are seeded from the ledger when it starts again, and the
// rates begin unused. To rebuild those too would cost a read of the ledger's last minute at each start, for less than a
// minute of a limit that protects from floods and not from costs.
type Memory struct {
	start time.Time // the clock's zero: a step of the wall clock does not move the rates
	seed  maphash.Seed
	parts [shards]shard
}

// shard is some of the levels.
type shard struct {
	mu     sync.RWMutex // guards what follows
	levels map[string]*counter
	sweep  int // the number of levels at which idle ones are forgotten
}

// counter is one level's. Of an account's counters the inner ones are locked first.
type counter struct {
	mu     sync.Mutex // guards what follows
	rates  [rates]rate
	atOnce int64
	known  bool // the money
	each   Period
	window int64 // the period's start, Unix
	money  Money
	gone   bool // it has been forgotten: look it up again
}

// NewMemory makes counters whose clock begins at now.
func NewMemory(now time.Time) *Memory { return &Memory{start: now, seed: maphash.MakeSeed()} }

// minSweep is below how many levels a shard forgets none.
const minSweep = 256

// counter gives a level's counter, locked.
func (m *Memory) counter(l *Level, now int64) *counter {
	for {
		c := m.find(l.id, now)
		c.mu.Lock()
		if !c.gone {
			return c
		}
		c.mu.Unlock()
	}
}

func (m *Memory) find(id string, now int64) *counter {
	s := &m.parts[maphash.String(m.seed, id)%shards]
	s.mu.RLock()
	c := s.levels[id]
	s.mu.RUnlock()
	if c != nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.levels[id]; c != nil {
		return c
	}
	if s.levels == nil {
		s.levels, s.sweep = map[string]*counter{}, minSweep
	}
	if len(s.levels) >= s.sweep {
		s.forget(now)
	}
	c = new(counter)
	s.levels[id] = c
	return c
}

// forget drops the counters that a new one would not differ from: nothing taken, and no budget.
func (s *shard) forget(now int64) {
	for id, c := range s.levels {
		if !c.mu.TryLock() {
			continue // in use
		}
		if c.idle(now) {
			c.gone = true
			delete(s.levels, id)
		}
		c.mu.Unlock()
	}
	s.sweep = max(minSweep, 2*len(s.levels))
}

func (c *counter) idle(now int64) bool {
	for r := range rates {
		if c.rates[r].full > now {
			return false
		}
	}
	return c.atOnce == 0 && !c.known
}

// lock gives the counters of an account, locked, the inner ones first.
func (m *Memory) lock(a *Account, now int64) (all [maxLevels]*counter) {
	for i := range a.Levels {
		all[i] = m.counter(&a.Levels[i], now)
	}
	return all
}

func unlock(all *[maxLevels]*counter) {
	for _, c := range all {
		if c != nil {
			c.mu.Unlock()
		}
	}
}

// read tells how a counter stands, in the period that now is in.
func (c *counter) read(l *Level, at int64, now time.Time) (r reading) {
	for i := range rates {
		if limit := l.PerMinute[i]; limit > 0 {
			r.ahead[i] = c.rates[i].ahead(at, limit)
		}
	}
	if l.Budget.Set && c.known {
		c.roll(l.Budget.Each, now)
	}
	r.atOnce, r.known, r.money = c.atOnce, c.known, c.money
	return r
}

// roll begins a new period where now is in one. What was spent in a period of another length has to be told again. A
// moment before the period, of a request that was overtaken at its edge, counts as of it.
func (c *counter) roll(each Period, now time.Time) {
	if c.each != each {
		c.known, c.money = false, Money{}
	} else if w := each.Start(now).Unix(); w > c.window {
		c.window, c.money = w, Money{}
	}
}

// Look implements Counters.
func (m *Memory) Look(a *Account, now time.Time) (v Verdict) {
	at := m.at(now)
	all := m.lock(a, at)
	defer unlock(&all)
	n := Need{Requests: 1}
	for i := range a.Levels {
		r := all[i].read(&a.Levels[i], at, now)
		a.Levels[i].judge(&n, now, &r, &v)
		a.Levels[i].gauge(&Need{}, &r, &v.Standing)
	}
	return v
}

// at is a moment on the counters' own clock, in ns.
func (m *Memory) at(now time.Time) int64 { return int64(now.Sub(m.start)) }

// Reserve implements Counters. It does not wait and has no error.
func (m *Memory) Reserve(_ context.Context, a *Account, n Need, now time.Time, h *Hold) (Verdict, error) {
	at := m.at(now)
	all := m.lock(a, at)
	defer unlock(&all)
	var read [maxLevels]reading
	for i := range a.Levels {
		read[i] = all[i].read(&a.Levels[i], at, now)
	}
	v := judge(a, &n, now, &read)
	if !v.OK() {
		return v, nil
	}
	*h = Hold{account: a, need: n}
	for i := range a.Levels {
		all[i].take(&a.Levels[i], at, &n, &h.marks[i])
	}
	return v, nil
}

func (c *counter) take(l *Level, at int64, n *Need, k *mark) {
	for r := range rates {
		if limit := l.PerMinute[r]; limit > 0 {
			c.rates[r].take(at, limit, n.of(r))
			k.full[r], k.limit[r] = c.rates[r].full, limit
		}
	}
	c.atOnce++
	if l.Budget.Set {
		k.each, k.window = c.each, c.window
		c.money.Held = add(c.money.Held, max(n.Nano, 0))
	}
}

// Settle implements Counters.
func (m *Memory) Settle(h *Hold, used Use, now time.Time) {
	m.end(h, Need{Use: used, Requests: h.need.Requests}, now)
}

// Refund implements Counters.
func (m *Memory) Refund(h *Hold, now time.Time) { m.end(h, Need{}, now) }

// end puts what was used in the place of what a hold took.
func (m *Memory) end(h *Hold, used Need, now time.Time) {
	if !h.Open() {
		return
	}
	at := m.at(now)
	all := m.lock(h.account, at)
	defer unlock(&all)
	for i := range h.account.Levels {
		all[i].end(&h.account.Levels[i], at, h, i, &used)
	}
	h.account = nil
}

func (c *counter) end(l *Level, at int64, h *Hold, i int, used *Need) {
	k := &h.marks[i]
	for r := range rates {
		if k.limit[r] == 0 {
			continue
		}
		if took, is := h.need.of(r), used.of(r); is > took {
			c.rates[r].take(at, c.rates[r].limit, is-took)
		} else {
			c.rates[r].giveBack(at, took-is, k.full[r], k.limit[r])
		}
	}
	c.atOnce = max(c.atOnce-1, 0)
	if l.Budget.Set && c.known && c.each == k.each && c.window == k.window {
		c.money.Held = max(c.money.Held-max(h.need.Nano, 0), 0)
		c.money.Spent = add(c.money.Spent, max(used.Nano, 0))
	}
}

// Seed implements Counters.
func (m *Memory) Seed(_ context.Context, a *Account, level int, nano int64, now time.Time) error {
	l := &a.Levels[level]
	c := m.counter(l, m.at(now))
	defer c.mu.Unlock()
	if !c.known {
		each := l.Budget.Each
		c.known, c.each, c.window, c.money = true, each, each.Start(now).Unix(), Money{Spent: max(nano, 0)}
	}
	return nil
}

// Spent implements Counters.
func (m *Memory) Spent(_ context.Context, a *Account, level int, now time.Time) (Money, bool, error) {
	l := &a.Levels[level]
	at := m.at(now)
	c := m.counter(l, at)
	defer c.mu.Unlock()
	r := c.read(l, at, now)
	return r.money, r.known, nil
}

// Close implements Counters.
func (m *Memory) Close() {}

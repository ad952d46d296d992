package limits

import (
	"context"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model counts one level as the rules say, with numbers that have no end.
type model struct {
	limits Limits
	full   [rates]*big.Int // ns on the clock of the counters
	atOnce int64
	window time.Time
	spent  *big.Int
	held   *big.Int
}

func newModel(l Limits) *model {
	m := &model{limits: l, spent: new(big.Int), held: new(big.Int)}
	for r := range m.full {
		m.full[r] = big.NewInt(math.MinInt64)
	}
	return m
}

// held is a hold in the model.
type held struct {
	hold   *Hold
	need   Need
	full   [rates]*big.Int
	window time.Time
}

func num(n int64) *big.Int { return big.NewInt(n) }

// span is n × 60 s / limit, rounded down but not to nothing, and 52 days at most.
func (m *model) span(n *big.Int, r Rate) *big.Int {
	if n.Sign() <= 0 {
		return num(0)
	}
	s := new(big.Int).Mul(n, num(minute))
	s.Div(s, num(m.limits.PerMinute[r]))
	if s.Sign() == 0 {
		s.SetInt64(1)
	}
	if s.Cmp(num(furthest)) > 0 {
		s.SetInt64(furthest)
	}
	return s
}

func (m *model) ahead(now int64, r Rate) *big.Int {
	a := new(big.Int).Sub(m.full[r], num(now))
	if a.Sign() < 0 {
		a.SetInt64(0)
	}
	return a
}

func positive(n int64) *big.Int { return num(max(n, 0)) }

// tokens is what a rate counts of a need.
func tokens(n Need, r Rate) *big.Int {
	sum := new(big.Int)
	switch r {
	case Requests:
		return positive(n.Requests)
	case Tokens:
		sum.Add(positive(n.Input), positive(n.Output))
	case Input:
		sum = positive(n.Input)
	case Output:
		sum = positive(n.Output)
	}
	if sum.Cmp(num(math.MaxInt64)) > 0 {
		sum.SetInt64(math.MaxInt64)
	}
	return sum
}

// roll begins the period that now is in.
func (m *model) roll(now time.Time) {
	if w := m.limits.Budget.Each.Start(now); w.After(m.window) {
		m.window, m.spent, m.held = w, new(big.Int), new(big.Int)
	}
}

// reserve says whether the need fits, and takes it where it does.
func (m *model) reserve(n Need, now time.Time, at int64) (*held, bool) {
	m.roll(now)
	for r := range rates {
		limit := m.limits.PerMinute[r]
		need := tokens(n, r)
		if limit == 0 || need.Sign() == 0 {
			continue
		}
		after := new(big.Int).Add(m.ahead(at, r), m.span(need, r))
		if need.Cmp(num(limit)) > 0 || after.Cmp(num(minute)) > 0 {
			return nil, false
		}
	}
	if m.limits.AtOnce > 0 && m.atOnce >= m.limits.AtOnce {
		return nil, false
	}
	after := new(big.Int).Add(new(big.Int).Add(m.spent, m.held), positive(n.Nano))
	if n.Nano > 0 && after.Cmp(num(m.limits.Budget.Nano)) > 0 {
		return nil, false
	}
	h := &held{need: n, window: m.window}
	for r := range rates {
		if m.limits.PerMinute[r] > 0 {
			m.use(r, at, tokens(n, r))
			h.full[r] = new(big.Int).Set(m.full[r])
		}
	}
	m.atOnce++
	m.held.Add(m.held, positive(n.Nano))
	return h, true
}

func (m *model) use(r Rate, at int64, n *big.Int) {
	ahead := m.ahead(at, r)
	ahead.Add(ahead, m.span(n, r))
	if ahead.Cmp(num(furthest)) > 0 {
		ahead.SetInt64(furthest)
	}
	m.full[r] = ahead.Add(ahead, num(at))
}

// end puts what was used in the place of what was held.
func (m *model) end(h *held, used Need, at int64) {
	for r := range rates {
		if m.limits.PerMinute[r] == 0 {
			continue
		}
		more := new(big.Int).Sub(tokens(used, r), tokens(h.need, r))
		if more.Sign() > 0 {
			m.use(r, at, more)
			continue
		}
		back := m.span(more.Neg(more), r)
		for _, bound := range []*big.Int{m.ahead(at, r), new(big.Int).Sub(h.full[r], num(at))} {
			if bound.Sign() < 0 {
				bound.SetInt64(0)
			}
			if back.Cmp(bound) > 0 {
				back = bound
			}
		}
		m.full[r] = new(big.Int).Sub(m.full[r], back)
	}
	m.atOnce--
	if h.window.Equal(m.window) {
		m.held.Sub(m.held, positive(h.need.Nano))
		m.spent.Add(m.spent, positive(used.Nano))
	}
}

// amounts are numbers from small to the ends of their range.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-2, 50), rapid.Int64Range(0, 5000), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1 << 53, 1<<53 + 1}))
}

// levels are limits from none to the end of their range.
func levels() *rapid.Generator[Limits] {
	limit := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 100), rapid.Int64Range(1, math.MaxInt64))
	return rapid.Custom(func(t *rapid.T) Limits {
		l := Limits{AtOnce: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 4)).Draw(t, "at once")}
		for r := range l.PerMinute {
			l.PerMinute[r] = limit.Draw(t, "per minute")
		}
		l.Budget = Budget{Set: true, Nano: rapid.OneOf(rapid.Int64Range(0, 10_000), rapid.Int64Range(0, mostMoney-1)).Draw(t, "budget"),
			Each: rapid.SampledFrom([]Period{Total, Day, Week, Month}).Draw(t, "period")}
		return l
	})
}

// play makes random requests of one key and compares every answer with the model's. Money is kept below what both forms
// count to, so that their ends do not show.
func play(t *rapid.T, c Counters, name string, amounts *rapid.Generator[int64], l Limits, later func(now time.Time)) {
	ctx := context.Background()
	a := NewAccount(Level{Kind: "key", Name: name, Limits: l})
	now := noon
	m := newModel(l)
	m.window = l.Budget.Each.Start(now)
	if err := c.Seed(ctx, a, 0, 0, now); err != nil {
		t.Fatal(err)
	}
	var open []*held
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		step := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, minute - 1, minute, minute + 1}), rapid.Int64Range(0, 3*minute), rapid.Int64Range(0, 40*24*60*minute)).Draw(t, "later")
		if edge := l.Budget.Each.End(now); l.Budget.Each != Total && rapid.IntRange(0, 9).Draw(t, "to the edge") == 0 {
			step = int64(edge.Sub(now)) + rapid.Int64Range(-1, 1).Draw(t, "beside the edge")
		}
		now = now.Add(time.Duration(max(step, 0)))
		at := int64(now.Sub(noon))
		later(now)
		use := Use{Input: amounts.Draw(t, "input"), Output: amounts.Draw(t, "output"), Nano: rapid.OneOf(rapid.Int64Range(-1, 3000), rapid.Int64Range(0, mostMoney/64)).Draw(t, "nano")}
		if i := rapid.IntRange(-1, len(open)).Draw(t, "which"); i >= 0 && i < len(open) {
			h := open[i]
			open = append(open[:i], open[i+1:]...)
			if rapid.Bool().Draw(t, "refund") {
				m.end(h, Need{}, at)
				c.Refund(h.hold, now)
			} else {
				m.end(h, Need{Use: use, Requests: h.need.Requests}, at)
				c.Settle(h.hold, use, now)
			}
			continue
		}
		need := Need{Use: use, Requests: 1}
		h, want := m.reserve(need, now, at)
		hold := new(Hold)
		v, err := c.Reserve(ctx, a, need, now, hold)
		if err != nil || v.OK() != want || hold.Open() != want {
			t.Fatalf("at %s for %+v of %+v: %+v, error %v; want %v\nspent %s, held %s, running %d", now, need, l, v, err, want, m.spent, m.held, m.atOnce)
		}
		if want {
			h.hold = hold
			open = append(open, h)
		}
		checkMoney(t, c, a, now, m)
	}
	for _, h := range open {
		m.end(h, Need{}, int64(now.Sub(noon)))
		c.Refund(h.hold, now)
	}
	checkMoney(t, c, a, now, m)
	if m.held.Sign() != 0 {
		t.Fatalf("%s is held when all has ended", m.held)
	}
}

func checkMoney(t *rapid.T, c Counters, a *Account, now time.Time, m *model) {
	m.roll(now)
	got, known, err := c.Spent(context.Background(), a, 0, now)
	if err != nil || !known || num(got.Spent).Cmp(m.spent) != 0 || num(got.Held).Cmp(m.held) != 0 {
		t.Fatalf("money: %+v, known %v, error %v; want %s spent and %s held", got, known, err, m.spent, m.held)
	}
}

func TestModelOfMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		play(t, NewMemory(noon), "k", amounts(), levels().Draw(t, "limits"), func(time.Time) {})
	})
}

// The server counts in doubles: tokens and limits are kept to numbers that those hold.
func TestModelOfShared(t *testing.T) {
	s := startServer(t).shared(t)
	small := rapid.OneOf(rapid.Int64Range(-2, 50), rapid.Int64Range(0, 5000), rapid.Int64Range(0, 1<<40))
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		l := levels().Draw(t, "limits")
		for r := range l.PerMinute {
			l.PerMinute[r] = min(l.PerMinute[r], 1<<40)
		}
		play(t, s, "k"+time.Duration(n).String(), small, l, func(now time.Time) { s.renew(context.Background(), now) })
	})
}

package limits

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// noon is a Wednesday, so far ahead that a server whose own clock ends keys ends none.
var noon = time.Date(2093, 11, 25, 12, 0, 0, 0, time.UTC)

// both runs a test with each form of the counters.
func both(t *testing.T, f func(t *testing.T, c Counters)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { f(t, NewMemory(noon)) })
	t.Run("shared", func(t *testing.T) { f(t, startServer(t).shared(t)) })
}

// account makes one of a single key.
func account(l Limits) *Account { return NewAccount(Level{Kind: "key", Name: "ci", Limits: l}) }

// reserve reserves, and seeds budgets with nothing.
func reserve(t testing.TB, c Counters, a *Account, n Need, now time.Time) (*Hold, Verdict) {
	t.Helper()
	for {
		h := new(Hold)
		v, err := c.Reserve(context.Background(), a, n, now, h)
		if err != nil {
			t.Fatal(err)
		}
		if v.Unknown == 0 {
			return h, v
		}
		if err := c.Seed(context.Background(), a, bits.TrailingZeros(v.Unknown), 0, now); err != nil {
			t.Fatal(err)
		}
	}
}

func one(u Use) Need { return Need{Use: u, Requests: 1} }

func TestRequestsPerMinute(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Requests: 7}})
		for i := range 7 {
			if _, v := reserve(t, c, a, one(Use{}), noon); !v.OK() || v.Standing[Requests].Left != int64(6-i) {
				t.Fatalf("request %d: %+v", i, v)
			}
		}
		_, v := reserve(t, c, a, one(Use{}), noon)
		if v.Refusal.Limit != OverRequests || v.Refusal.Never {
			t.Fatalf("the eighth: %+v", v)
		}
		if look := c.Look(a, noon).Refusal; look.Limit != OverRequests || look.After != v.Refusal.After {
			t.Errorf("a look says %+v, the refusal was %+v", look, v.Refusal)
		}
		if _, again := reserve(t, c, a, one(Use{}), noon.Add(v.Refusal.After-1)); again.OK() {
			t.Error("a nanosecond before the time that the refusal named: admitted")
		}
		if look := c.Look(a, noon.Add(v.Refusal.After)).Refusal; look.Limit != NoLimit {
			t.Errorf("at the time that the refusal named: a look says %+v", look)
		}
		if _, again := reserve(t, c, a, one(Use{}), noon.Add(v.Refusal.After)); !again.OK() {
			t.Errorf("at the time that the refusal named: %+v", again)
		}
	})
}

func TestTogetherOrNotAtAll(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Requests: 2}, AtOnce: 1})
		first, _ := reserve(t, c, a, one(Use{}), noon)
		for range 5 {
			if _, v := reserve(t, c, a, one(Use{}), noon); v.Refusal.Limit != OverAtOnce {
				t.Fatalf("beside the first: %+v", v)
			}
		}
		c.Settle(first, Use{}, noon)
		if _, v := reserve(t, c, a, one(Use{}), noon); !v.OK() {
			t.Errorf("after it, with a limit of 2 a minute: %+v", v)
		}
	})
}

func TestTeamMustAllow(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		team := Level{Kind: "team", Name: "search", Limits: Limits{Budget: Budget{Set: true, Nano: 10, Each: Day}}}
		a := NewAccount(Level{Kind: "key", Name: "a", Limits: Limits{AtOnce: 5}}, team)
		b := NewAccount(Level{Kind: "key", Name: "b", Limits: Limits{Budget: Budget{Set: true, Nano: 100, Each: Day}}}, team)
		h, v := reserve(t, c, a, one(Use{Nano: 8}), noon)
		if !v.OK() {
			t.Fatalf("%+v", v)
		}
		_, v = reserve(t, c, b, one(Use{Nano: 3}), noon)
		if v.Refusal.Limit != OverBudget || v.Refusal.Level.String() != `team "search"` || v.Refusal.Left != 2 || v.Refusal.After != 12*time.Hour {
			t.Fatalf("another key of the team: %+v", v)
		}
		money(t, c, b, 0, noon, Money{})
		c.Refund(h, noon)
		c.Refund(h, noon)
		if _, v = reserve(t, c, b, one(Use{Nano: 10}), noon); !v.OK() {
			t.Fatalf("after the first was refunded: %+v", v)
		}
		money(t, c, b, 0, noon, Money{Held: 10})
		money(t, c, b, 1, noon, Money{Held: 10})
	})
}

// money checks what a level's budget has been used for.
func money(t *testing.T, c Counters, a *Account, level int, now time.Time, want Money) {
	t.Helper()
	if got, known, err := c.Spent(context.Background(), a, level, now); err != nil || !known || got != want {
		t.Errorf("%s: %+v (known %v, error %v), want %+v", &a.Levels[level], got, known, err, want)
	}
}

func TestTokens(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Tokens: 1000, Output: 400}})
		if _, v := reserve(t, c, a, one(Use{Input: 2, Output: 50_000}), noon); !v.Refusal.Never || v.Refusal.Limit != OverTokens || v.Refusal.Need != 50_002 {
			t.Fatalf("larger than the limit: %+v", v)
		}
		h, v := reserve(t, c, a, one(Use{Input: 500, Output: 400}), noon)
		if !v.OK() || v.Standing[Tokens].Left != 100 || v.Standing[Output].Left != 0 {
			t.Fatalf("%+v", v)
		}
		if _, v := reserve(t, c, a, one(Use{Input: 100, Output: 1}), noon); v.Refusal.Limit != OverOutput {
			t.Fatalf("%+v", v)
		}
		c.Settle(h, Use{Input: 600, Output: 100}, noon)
		if _, v = reserve(t, c, a, one(Use{Input: 100, Output: 100}), noon); !v.OK() || v.Standing[Tokens].Left != 100 || v.Standing[Output].Left != 200 {
			t.Errorf("after settling at 700, 100 of them out: %+v", v)
		}
	})
}

// A long request's reservation has run off when it ends: giving it back would lend it out twice.
func TestGivesBackOnlyWhatIsLeft(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Tokens: 1000}})
		h, _ := reserve(t, c, a, one(Use{Input: 1000}), noon)
		later := noon.Add(5 * time.Minute)
		if _, v := reserve(t, c, a, one(Use{Input: 1000}), later); !v.OK() {
			t.Fatalf("%+v", v)
		}
		c.Settle(h, Use{}, later)
		if _, v := reserve(t, c, a, one(Use{Input: 1}), later); v.OK() {
			t.Error("a reservation of five minutes ago was lent out a second time")
		}
	})
}

func TestUsedMoreThanReserved(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Tokens: 600}, Budget: Budget{Set: true, Nano: 100, Each: Month}})
		h, _ := reserve(t, c, a, one(Use{Input: 10, Nano: 10}), noon)
		c.Settle(h, Use{Input: 1200, Nano: 150}, noon)
		_, v := reserve(t, c, a, one(Use{Input: 1}), noon)
		if want := time.Minute + 100*time.Millisecond; v.Refusal.Limit != OverTokens || v.Refusal.After != want {
			t.Errorf("%+v, want to wait %s", v, want)
		}
		if _, v = reserve(t, c, a, one(Use{Nano: 1}), noon); v.Refusal.Limit != OverBudget {
			t.Errorf("%+v", v)
		}
		if _, v = reserve(t, c, a, one(Use{}), noon); !v.OK() {
			t.Errorf("what costs nothing, on a spent budget: %+v", v)
		}
		money(t, c, a, 0, noon, Money{Spent: 150})
	})
}

func TestPeriodEdges(t *testing.T) {
	for each, edge := range map[Period]time.Time{
		Day:   time.Date(2093, 11, 26, 0, 0, 0, 0, time.UTC),
		Week:  time.Date(2093, 11, 30, 0, 0, 0, 0, time.UTC),
		Month: time.Date(2093, 12, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(each.String(), func(t *testing.T) {
			both(t, func(t *testing.T, c Counters) {
				a := account(Limits{Budget: Budget{Set: true, Nano: 10, Each: each}})
				h, v := reserve(t, c, a, one(Use{Nano: 10}), edge.Add(-1))
				if !v.OK() {
					t.Fatalf("%+v", v)
				}
				if _, v := reserve(t, c, a, one(Use{Nano: 1}), edge.Add(-1)); v.Refusal.After != 1 {
					t.Fatalf("a nanosecond before the edge: %+v", v)
				}
				if _, v := reserve(t, c, a, one(Use{Nano: 10}), edge); !v.OK() {
					t.Fatalf("at the edge: %+v", v)
				}
				if _, v := reserve(t, c, a, one(Use{Nano: 1}), edge.Add(-1)); v.OK() {
					t.Error("a request that was overtaken at the edge began the old period again")
				}
				c.Settle(h, Use{Nano: 7}, edge.Add(1)) // of the old period
				money(t, c, a, 0, edge.Add(1), Money{Held: 10})
			})
		})
	}
}

func TestSeed(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		ctx := context.Background()
		a := account(Limits{Budget: Budget{Set: true, Nano: 10, Each: Total}})
		h := new(Hold)
		if v, err := c.Reserve(ctx, a, one(Use{}), noon, h); err != nil || v.Unknown != 1 || h.Open() {
			t.Fatalf("before the budget's spending is known: %+v, error %v", v, err)
		}
		for _, n := range []int64{6, 0} {
			if err := c.Seed(ctx, a, 0, n, noon); err != nil {
				t.Fatal(err)
			}
		}
		money(t, c, a, 0, noon, Money{Spent: 6})
		if _, v := reserve(t, c, a, one(Use{Nano: 5}), noon); v.Refusal.Limit != OverBudget {
			t.Errorf("%+v", v)
		}
	})
}

// What was used counts on when a limit changes, and what is running too.
func TestLimitsChange(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		small := account(Limits{PerMinute: [rates]int64{Requests: 10}})
		for range 8 {
			reserve(t, c, small, one(Use{}), noon)
		}
		now := noon.Add(time.Second) // a sixth of a request later
		large := account(Limits{PerMinute: [rates]int64{Requests: 20}, AtOnce: 20})
		for left := range 12 {
			if _, v := reserve(t, c, large, one(Use{}), now); !v.OK() || v.Standing[Requests].Left != int64(11-left) {
				t.Errorf("with %d of 20 left: %+v", 12-left, v)
			}
		}
		if _, v := reserve(t, c, large, one(Use{}), now); v.Refusal.Limit != OverRequests && v.Refusal.Limit != OverAtOnce {
			t.Errorf("with 20 used and running: %+v", v)
		}
		narrow := account(Limits{AtOnce: 20})
		if _, v := reserve(t, c, narrow, one(Use{}), now); v.Refusal.Limit != OverAtOnce {
			t.Errorf("with 20 running: %+v", v)
		}
	})
}

func TestExtremes(t *testing.T) {
	both(t, func(t *testing.T, c Counters) {
		a := account(Limits{PerMinute: [rates]int64{Tokens: math.MaxInt64}, Budget: Budget{Set: true, Nano: math.MaxInt64, Each: Total}})
		h, v := reserve(t, c, a, one(Use{Input: math.MaxInt64, Output: math.MaxInt64, Nano: math.MinInt64}), noon)
		if !v.OK() {
			t.Fatalf("%+v", v)
		}
		c.Settle(h, Use{Input: math.MaxInt64, Output: math.MinInt64, Nano: math.MaxInt64}, noon)
		m, _, err := c.Spent(context.Background(), a, 0, noon)
		if err != nil || m.Held != 0 || m.Spent < mostMoney {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// A budget for 40 lets exactly 40 of 200 pass, however they come.
func TestBudgetRace(t *testing.T) {
	f := func(t *testing.T, forms ...Counters) {
		a := account(Limits{PerMinute: [rates]int64{Requests: 100_000, Tokens: 1 << 40}, AtOnce: 1000, Budget: Budget{Set: true, Nano: 40_000, Each: Month}})
		if err := forms[0].Seed(context.Background(), a, 0, 0, noon); err != nil {
			t.Fatal(err)
		}
		var admitted atomic.Int64
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				if _, v := reserve(t, forms[i%len(forms)], a, one(Use{Input: 10, Nano: 1000}), noon); v.OK() {
					admitted.Add(1)
				}
			})
		}
		group.Wait()
		if n := admitted.Load(); n != 40 {
			t.Errorf("%d were admitted, want 40", n)
		}
	}
	t.Run("memory", func(t *testing.T) { f(t, NewMemory(noon)) })
	t.Run("two gateways", func(t *testing.T) {
		s := startServer(t)
		f(t, s.shared(t), s.shared(t))
	})
}

func TestForgetsIdleLevels(t *testing.T) {
	m := NewMemory(noon)
	for i := range 64 * 4 * minSweep {
		a := NewAccount(Level{Kind: "key", Name: fmt.Sprint(i), Limits: Limits{PerMinute: [rates]int64{Requests: 6000}}})
		now := noon.Add(time.Duration(i) * time.Millisecond)
		h, _ := reserve(t, m, a, one(Use{}), now)
		m.Settle(h, Use{}, now)
	}
	n := 0
	for i := range m.parts {
		n += len(m.parts[i].levels)
	}
	if n > 64*2*minSweep {
		t.Errorf("%d levels are kept, of which a hundred or so are in use", n)
	}
}

func BenchmarkMemory(b *testing.B) {
	m := NewMemory(noon)
	a := account(Limits{PerMinute: [rates]int64{Requests: 1 << 40, Tokens: 1 << 50}, AtOnce: 1000, Budget: Budget{Set: true, Nano: math.MaxInt64, Each: Month}})
	m.Seed(context.Background(), a, 0, 0, noon)
	n := one(Use{Input: 100, Output: 1000, Nano: 1000})
	now := noon
	b.ReportAllocs()
	for b.Loop() {
		var h Hold
		now = now.Add(time.Microsecond)
		if v, _ := m.Reserve(context.Background(), a, n, now, &h); !v.OK() {
			b.Fatal(v)
		}
		m.Settle(&h, Use{Input: 90, Output: 500, Nano: 500}, now)
	}
}

func BenchmarkShared(b *testing.B) {
	s := startServer(b).shared(b)
	a := account(Limits{PerMinute: [rates]int64{Requests: 1 << 40, Tokens: 1 << 50}, AtOnce: 1000, Budget: Budget{Set: true, Nano: math.MaxInt64, Each: Month}})
	n := one(Use{Input: 100, Output: 1000, Nano: 1000})
	for b.Loop() {
		h, v := reserve(b, s, a, n, time.Now())
		if !v.OK() {
			b.Fatal(v)
		}
		s.Settle(h, Use{Input: 90, Output: 500, Nano: 500}, time.Now())
	}
}

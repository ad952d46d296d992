package admit

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// keyed makes a key of its own limits.
func keyed(t testing.TB, settings string) *Key {
	t.Helper()
	var s Settings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		t.Fatal(err)
	}
	l, err := s.Counted()
	if err != nil {
		t.Fatal(err)
	}
	k := &Key{Name: "ci"}
	k.join(l, nil, nil)
	return k
}

func TestNeeds(t *testing.T) {
	deployment := func(in, out, write int64, most int) *catalog.Deployment {
		return &catalog.Deployment{Price: price.Flat(price.Rates{Input: in, Output: out, CacheWrite: write}), MaxOutput: most}
	}
	cheap, dear, free := deployment(1e9, 2e9, 0, 8000), deployment(3e9, 15e9, 4e9, 2000), &catalog.Deployment{MaxOutput: catalog.Unlimited}
	f := func(what string, facts dialect.Facts, choices int, account string, want limits.Use, candidates ...*catalog.Deployment) {
		t.Helper()
		n := Needs(&Asked{Facts: &facts, Choices: choices}, keyed(t, account).Account, candidates, new(ledger.Estimator))
		if n.Requests != 1 || n.Use != want {
			t.Errorf("%s: %+v, want %+v", what, n, want)
		}
	}
	f("at the dearest", dialect.Facts{TextBytes: 395, Messages: 1, MaxOutput: 10}, 1, `{}`, limits.Use{Input: 103, Output: 10, Nano: 103*4000 + 10*15000}, cheap, dear)
	f("not said: as the largest may give", dialect.Facts{TextBytes: 4}, 0, `{}`, limits.Use{Input: 1, Output: 2000, Nano: 4000 + 2000*15000}, dear)
	f("not said: as answers usually need", dialect.Facts{TextBytes: 4}, 1, `{}`, limits.Use{Input: 1, Output: 4096}, free)
	f("not said: what the limit leaves", dialect.Facts{TextBytes: 400}, 1, `{"limits":{"tpm":1000}}`, limits.Use{Input: 100, Output: 900}, free)
	f("not said, and no room: one", dialect.Facts{TextBytes: 4000}, 1, `{"limits":{"tpm":1000}}`, limits.Use{Input: 1000, Output: 1}, free)
	f("said: whatever the limit is", dialect.Facts{MaxOutput: 50_000}, 1, `{"limits":{"tpm":1000}}`, limits.Use{Output: 50_000}, free)
	f("each answer", dialect.Facts{MaxOutput: 10}, 3, `{}`, limits.Use{Output: 30}, free)
	f("more answers than there can be", dialect.Facts{MaxOutput: 10}, math.MaxInt, `{}`, limits.Use{Output: 10 * mostChoices}, free)
	f("more tokens than there can be", dialect.Facts{MaxOutput: math.MaxInt}, 1, `{}`, limits.Use{Output: 1 << 40, Nano: store.MaxCost}, dear)
	f("no answer at all", dialect.Facts{TextBytes: 4, Needs: dialect.Embeddings}, 1, `{}`, limits.Use{Input: 1, Nano: 4000}, dear)
	f("a picture", dialect.Facts{MaxOutput: 1, Needs: dialect.Images, Media: dialect.Media{Images: 1}}, 1, `{}`, limits.Use{Input: 1600, Output: 1, Nano: 1600*4000 + 15000}, dear)
}

// TestNeedsOfDates holds that the price is that of the request's start, and that of what is not known yet nothing.
func TestNeedsOfDates(t *testing.T) {
	began := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	d := &catalog.Deployment{MaxOutput: 1, Price: price.List{{From: began, Rates: price.Usual(1e9, 1e9)}, {From: began.AddDate(0, 1, 0), Rates: price.Usual(5e9, 5e9)}}}
	for days, want := range map[int]int64{-1: 0, 0: 2000, 29: 2000, 30: 10_000} {
		asked := &Asked{Facts: &dialect.Facts{TextBytes: 4}, Start: began.AddDate(0, 0, days)}
		if n := Needs(asked, keyed(t, `{}`).Account, []*catalog.Deployment{d}, new(ledger.Estimator)); n.Nano != want {
			t.Errorf("after %d days: %d nano-USD, want %d", days, n.Nano, want)
		}
	}
}

// TestNeedsLearn holds that admission reckons with what was learned of a family of models, and with its worst candidate.
func TestNeedsLearn(t *testing.T) {
	var e ledger.Estimator
	for range 1000 {
		e.Learn("glyph-1", 1000, 1000)
	}
	plain, glyph := &catalog.Deployment{Model: "plain-1"}, &catalog.Deployment{Model: "glyph-2"}
	asked := &Asked{Facts: &dialect.Facts{TextBytes: 4000}}
	if n := Needs(asked, keyed(t, `{}`).Account, []*catalog.Deployment{plain}, &e); n.Input != 1000 {
		t.Errorf("%d tokens, want 1000", n.Input)
	}
	if n := Needs(asked, keyed(t, `{}`).Account, []*catalog.Deployment{plain, glyph}, &e); n.Input < 3500 || n.Input > 4000 {
		t.Errorf("%d tokens, want about as many as bytes", n.Input)
	}
}

// TestNeedsBound holds that no call of any candidate that stays within the tokens of a Need costs more than it, and that it
// covers what the request says that it may have.
func TestNeedsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(most int64, what string) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
		rates := func() price.Rates {
			r := price.Usual(n(1e9, "in"), n(1e9, "out"))
			r.CacheWrite, r.CacheWriteHour, r.Reasoning, r.ImageOutput = n(1e9, "write"), n(1e9, "hour"), n(1e9, "think"), n(1e9, "image out")
			r.AudioInput, r.ImageInput, r.Request, r.Image = n(1e9, "audio"), n(1e9, "image in"), n(1e6, "request"), n(1e6, "image")
			return r
		}
		f := dialect.Facts{TextBytes: int(n(5000, "bytes")), Messages: int(n(9, "messages")), MaxOutput: int(n(2000, "most"))}
		for range n(3, "images") {
			f.Image()
		}
		var candidates []*catalog.Deployment
		for range 1 + n(2, "candidates") {
			p := price.Period{Rates: rates(), Tiers: []price.Tier{{Above: n(3000, "above"), Rates: rates()}}}
			candidates = append(candidates, &catalog.Deployment{MaxOutput: int(n(3000, "can")), Price: price.List{p}})
		}
		need := Needs(&Asked{Facts: &f}, new(limits.Account), candidates, new(ledger.Estimator))
		if f.MaxOutput > 0 && need.Output < int64(f.MaxOutput) {
			t.Fatalf("%d tokens of output, want %d", need.Output, f.MaxOutput)
		}
		u := sdk.Usage{Input: n(need.Input, "used"), Output: n(need.Output, "used")}
		u.CacheWriteHour, u.Reasoning = n(need.Input-u.Input, "hour"), n(need.Output-u.Output, "think")
		if f.Media.Images > 0 {
			u.ImageInput = n(need.Input-u.TotalInput(), "images")
		}
		for _, d := range candidates {
			if cost := d.Price[0].Cost(u, int64(f.Media.Images)); cost > need.Nano {
				t.Fatalf("%+v costs %d, want %d at most", u, cost, need.Nano)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // at midnight UTC of Saturday, 2000-01-01
		f := func(settings string, first, second limits.Use, want sdk.Failure) {
			t.Helper()
			a := New(Options{Counters: limits.NewMemory(time.Now()), Log: slog.New(slog.DiscardHandler)})
			defer a.Close()
			key := keyed(t, settings)
			var r Reservation
			a.Reserve(context.Background(), &directory{}, key, limits.Need{Use: first, Requests: 1}, &r)
			got := a.Reserve(context.Background(), &directory{}, key, limits.Need{Use: second, Requests: 1}, new(Reservation))
			if got == nil || got.Kind != want.Kind || got.Message != want.Message || got.RetryAfter != want.RetryAfter || got.Final != want.Final {
				t.Errorf("%s:\n got %+v\nwant %+v", settings, got, &want)
			}
		}
		f(`{"limits":{"rpm":1}}`, limits.Use{}, limits.Use{}, sdk.Failure{Kind: sdk.RateLimited, RetryAfter: time.Minute,
			Message: `the key "ci" may send 1 requests per minute; try again in 1m0s`})
		f(`{"limits":{"concurrency":1}}`, limits.Use{}, limits.Use{}, sdk.Failure{Kind: sdk.RateLimited, RetryAfter: time.Second,
			Message: `the key "ci" may have 1 requests at the same time, and has; try again in 1s`})
		f(`{"limits":{"tpm":1000}}`, limits.Use{Input: 900}, limits.Use{Input: 150}, sdk.Failure{Kind: sdk.RateLimited, RetryAfter: 3 * time.Second,
			Message: `the key "ci" may use 1000 tokens per minute: this request may need 150 and 100 are left; try again in 3s`})
		f(`{"limits":{"tpm":1000}}`, limits.Use{}, limits.Use{Output: 1001}, sdk.Failure{Kind: sdk.OverTokenLimit, Final: true,
			Message: `the key "ci" may use 1000 tokens per minute and this request alone may need 1001: ask for a shorter answer or send less`})
		f(`{"budget":{"usd":"1.50","every":"week"}}`, limits.Use{Nano: 1e9}, limits.Use{Nano: 6e8}, sdk.Failure{Kind: sdk.BudgetSpent, Final: true,
			Message: `the key "ci" may spend 1.5 USD a week: 0.5 are left and this request may cost 0.6; the next week begins at 2000-01-03T00:00:00Z`})
		f(`{"budget":{"usd":1,"every":"total"}}`, limits.Use{Nano: 1e9}, limits.Use{Nano: 1}, sdk.Failure{Kind: sdk.BudgetSpent, Final: true,
			Message: `the key "ci" may spend 1 USD: 0 are left and this request may cost 0.000000001`})
	})
}

// A reservation ends once, whoever ends it how often.
func TestReservationEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{Counters: limits.NewMemory(time.Now()), Log: slog.New(slog.DiscardHandler)})
		defer a.Close()
		key := keyed(t, `{"budget":{"usd":1},"limits":{"concurrency":1}}`)
		var r Reservation
		reserve := func(nano int64) *sdk.Failure {
			return a.Reserve(context.Background(), &directory{}, key, limits.Need{Use: limits.Use{Nano: nano}, Requests: 1}, &r)
		}
		spent := func(want limits.Money) {
			t.Helper()
			m, _, err := a.counters.Spent(context.Background(), key.Account, 0, time.Now())
			if err != nil || m != want {
				t.Errorf("%+v, %v; want %+v", m, err, want)
			}
		}
		kind(t, "the first", reserve(100), sdk.KindNone)
		spent(limits.Money{Held: 100})
		r.Settle(limits.Use{Nano: 60})
		r.Settle(limits.Use{Nano: 60})
		r.End()
		spent(limits.Money{Spent: 60})
		kind(t, "the second", reserve(100), sdk.KindNone)
		r.End()
		r.Settle(limits.Use{Nano: 60})
		spent(limits.Money{Spent: 60})
		kind(t, "a refusal", reserve(2e9), sdk.BudgetSpent)
		r.End()
		r.Settle(limits.Use{Nano: 60})
		spent(limits.Money{Spent: 60})
		new(Reservation).End()
	})
}

// downCounters are counters whose server is gone.
type downCounters struct{ limits.Counters }

func (downCounters) Reserve(context.Context, *limits.Account, limits.Need, time.Time, *limits.Hold) (limits.Verdict, error) {
	return limits.Verdict{}, limits.ErrDown
}

func TestCountersDown(t *testing.T) {
	a := New(Options{Counters: downCounters{}, Log: slog.New(slog.DiscardHandler)})
	defer a.Close()
	f := func(settings string, d *directory, want sdk.Kind) {
		t.Helper()
		var r Reservation
		kind(t, settings, a.Reserve(context.Background(), d, keyed(t, settings), limits.Need{Requests: 1}, &r), want)
		r.Settle(limits.Use{}) // does nothing
	}
	f(`{"limits":{"rpm":1}}`, &directory{}, sdk.KindNone)
	f(`{"limits":{"rpm":1}}`, &directory{closed: true}, sdk.StoreDown)
	f(`{"budget":{"usd":1}}`, &directory{}, sdk.StoreDown)
	f(`{}`, &directory{closed: true}, sdk.KindNone) // nothing is counted
}

// Budgets go on from what the ledger says, and wait for it.
func TestBudgetIsSeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{spent: 900_000_000}
		a, done := admitter(s)
		defer done()
		key := keyed(t, `{"budget":{"usd":1}}`)
		reserve := func(nano int64) *sdk.Failure {
			return a.Reserve(context.Background(), &directory{}, key, limits.Need{Use: limits.Use{Nano: nano}, Requests: 1}, new(Reservation))
		}
		s.err = context.DeadlineExceeded
		kind(t, "while the store is down", reserve(1), sdk.StoreDown)
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		time.Sleep(downFor)
		kind(t, "more than is left", reserve(200_000_000), sdk.BudgetSpent)
		kind(t, "less than is left", reserve(100_000_000), sdk.KindNone)
		if n := s.count("spent"); n != 2 {
			t.Errorf("the sums were read %d times, want 2", n)
		}
	})
}

func TestHeaders(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	r := Reservation{standing: limits.Standing{
		limits.Requests: {Limit: 600, Left: 599, Reset: 100_000_001},
		limits.Tokens:   {Limit: 1000, Left: 0, Reset: time.Minute},
	}}
	f := func(dialect, want string) {
		t.Helper()
		if got := string(r.AppendHeaders(nil, dialect, now)); got != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Errorf("%s:\n%s", dialect, got)
		}
	}
	f("openai-chat", `x-ratelimit-limit-requests: 600
x-ratelimit-remaining-requests: 599
x-ratelimit-reset-requests: 101ms
x-ratelimit-limit-tokens: 1000
x-ratelimit-remaining-tokens: 0
x-ratelimit-reset-tokens: 1m0s
`)
	f("anthropic", `anthropic-ratelimit-requests-limit: 600
anthropic-ratelimit-requests-remaining: 599
anthropic-ratelimit-requests-reset: 2026-01-01T00:00:01Z
anthropic-ratelimit-tokens-limit: 1000
anthropic-ratelimit-tokens-remaining: 0
anthropic-ratelimit-tokens-reset: 2026-01-01T00:01:01Z
`)
}

// BenchmarkAdmission is what a request with a key, limits and a budget costs, of its own and its team's.
func BenchmarkAdmission(b *testing.B) {
	now := time.Now()
	a := New(Options{Counters: limits.NewMemory(now), Log: slog.New(slog.DiscardHandler)})
	defer a.Close()
	secret := []byte("psk-for-a-benchmark-000000000001")
	l := limits.Limits{PerMinute: [4]int64{limits.Requests: 1 << 40, limits.Tokens: 1 << 50}, AtOnce: 1000, Budget: limits.Budget{Set: true, Nano: 1 << 60, Each: limits.Month}}
	key := &Key{Name: "ci", sum: sha256.Sum256(secret)}
	key.join(l, &Team{Name: "search", Limits: l}, nil)
	d := &directory{keys: map[[32]byte]*Key{key.sum: key}}
	asked, tokens := &Asked{Facts: &dialect.Facts{TextBytes: 4000, Messages: 3, MaxOutput: 1000}, Start: now}, new(ledger.Estimator)
	candidates := []*catalog.Deployment{{Price: price.Flat(price.Usual(3e9, 15e9))}}
	b.ReportAllocs()
	for b.Loop() {
		k, f := a.Authenticate(context.Background(), d, secret, now)
		var r Reservation
		if f == nil {
			f = a.Look(k, now, &r)
		}
		if f == nil {
			f = a.Reserve(context.Background(), d, k, Needs(asked, k.Account, candidates, tokens), &r)
		}
		if f != nil {
			b.Fatal(f)
		}
		r.Settle(limits.Use{Input: 1000, Output: 500, Nano: 100})
	}
}

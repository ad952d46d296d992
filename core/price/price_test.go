package price

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/sdk"
)

// TestCost holds each rate by itself, and what they come to together.
func TestCost(t *testing.T) {
	p := &Period{Rates: Rates{Input: 1e6, Output: 2e6, CacheRead: 3e6, CacheWrite: 4e6, CacheWriteHour: 5e6, Reasoning: 6e6, AudioInput: 7e6, ImageInput: 8e6,
		AudioOutput: 9e6, ImageOutput: 10e6}}
	each := &Period{Rates: Rates{Request: 3, Image: 20, Search: 500}}
	f := func(what string, p *Period, u sdk.Usage, images, want int64) {
		t.Helper()
		if got := p.Cost(u, images); got != want {
			t.Errorf("%s: %d nano-USD, want %d", what, got, want)
		}
	}
	f("nothing", p, sdk.Usage{}, 0, 0)
	f("input", p, sdk.Usage{Input: 10}, 0, 10)
	f("output", p, sdk.Usage{Output: 10}, 0, 20)
	f("cache read", p, sdk.Usage{CacheRead: 10}, 0, 30)
	f("cache write", p, sdk.Usage{CacheWrite: 10}, 0, 40)
	f("cache write for an hour", p, sdk.Usage{CacheWriteHour: 10}, 0, 50)
	f("reasoning", p, sdk.Usage{Reasoning: 10}, 0, 60)
	f("audio in", p, sdk.Usage{AudioInput: 10}, 0, 70)
	f("images in", p, sdk.Usage{ImageInput: 10}, 0, 80)
	f("audio out", p, sdk.Usage{AudioOutput: 10}, 0, 90)
	f("images out", p, sdk.Usage{ImageOutput: 10}, 0, 100)
	f("all", p, sdk.Usage{Input: 1, AudioInput: 1, ImageInput: 1, CacheRead: 1, CacheWrite: 1, CacheWriteHour: 1, Output: 1, Reasoning: 1, AudioOutput: 1, ImageOutput: 1}, 1, 55)
	f("a call", each, sdk.Usage{Input: 10, Output: 10}, 0, 3)
	f("a call, images and searches", each, sdk.Usage{Searches: 2}, 3, 1063)
	f("half up, once", &Period{Rates: Rates{Input: 250_000, Output: 250_000}}, sdk.Usage{Input: 1, Output: 1}, 0, 1)
	f("below half", &Period{Rates: Rates{Input: 249_999, Output: 250_000}}, sdk.Usage{Input: 1, Output: 1}, 0, 0)
	f("not known", nil, sdk.Usage{Input: 1e9}, 9, 0)
	f("below zero", &Period{Rates: Rates{Input: -5, Output: 1e6}}, sdk.Usage{Input: 1, Output: -1}, -1, 0)
	f("more than there can be", &Period{Rates: Rates{Input: math.MaxInt64, Output: math.MaxInt64, Reasoning: math.MaxInt64, AudioInput: math.MaxInt64, Image: math.MaxInt64}},
		sdk.Usage{Input: math.MaxInt64 / 4, Output: math.MaxInt64, Reasoning: math.MaxInt64, AudioInput: math.MaxInt64 / 4}, math.MaxInt64, Most)
}

// TestTiers holds that all of a request moves to a tier, by all of its input.
func TestTiers(t *testing.T) {
	p := &Period{Rates: Usual(1e6, 2e6), Tiers: []Tier{{200, Usual(10e6, 20e6)}, {1000, Usual(100e6, 200e6)}}}
	f := func(u sdk.Usage, want int64) {
		t.Helper()
		if got := p.Cost(u, 0); got != want {
			t.Errorf("%+v: %d nano-USD, want %d", u, got, want)
		}
	}
	f(sdk.Usage{Input: 200, Output: 1}, 202)
	f(sdk.Usage{Input: 201, Output: 1}, 2030)
	f(sdk.Usage{Input: 1, CacheRead: 100, CacheWriteHour: 100, Output: 1}, 2030)
	f(sdk.Usage{Input: 1, Output: 100_000}, 200_001)
	f(sdk.Usage{Input: 1001}, 100_100)
}

func TestListAt(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	l := List{{From: day(2), Rates: Rates{Input: 2}}, {From: day(4), Rates: Rates{Input: 4}}}
	f := func(l List, at time.Time, want int64) {
		t.Helper()
		got := int64(-1)
		if p := l.At(at); p != nil {
			got = p.Input
		}
		if got != want {
			t.Errorf("%v: %d, want %d", at, got, want)
		}
	}
	f(l, day(1), -1)
	f(l, day(2).Add(-1), -1)
	f(l, day(2), 2)
	f(l, day(4).Add(-1), 2)
	f(l, day(4), 4)
	f(l, day(9), 4)
	f(nil, day(4), -1)
	f(Flat(Rates{Input: 9}), time.Time{}, 9)
	if !l.Turns(day(3), day(4)) || l.Turns(day(2), day(3)) || List(nil).Turns(day(1), day(9)) || !l.Turns(day(1), day(2)) {
		t.Error("the price turns on the 2nd and the 4th, and at no other time")
	}
	if !l.Dated() || !l[:1].Dated() || Flat(Rates{}).Dated() || List(nil).Dated() {
		t.Error("what depends on the time")
	}
}

// drawn makes a price.
func drawn(t *rapid.T, most int64) *Period {
	rates := func(name string) Rates {
		n := func(what string) int64 { return rapid.Int64Range(0, most).Draw(t, name+" "+what) }
		return Rates{n("in"), n("out"), n("read"), n("write"), n("hour"), n("think"), n("audio in"), n("image in"), n("audio out"), n("image out"), n("request"), n("image"), n("search")}
	}
	p := &Period{Rates: rates("base")}
	above := int64(0)
	for range rapid.IntRange(0, 2).Draw(t, "tiers") {
		above += rapid.Int64Range(1, 1000).Draw(t, "above")
		p.Tiers = append(p.Tiers, Tier{above, rates("tier")})
	}
	return p
}

// usedUpTo makes a usage of at most so much.
func usedUpTo(t *rapid.T, input, output int64) (u sdk.Usage) {
	for _, part := range []*int64{&u.Input, &u.AudioInput, &u.ImageInput, &u.CacheRead, &u.CacheWrite, &u.CacheWriteHour} {
		*part = rapid.Int64Range(0, input-u.TotalInput()).Draw(t, "in")
	}
	for _, part := range []*int64{&u.Output, &u.Reasoning, &u.AudioOutput, &u.ImageOutput} {
		*part = rapid.Int64Range(0, output-u.TotalOutput()).Draw(t, "out")
	}
	return u
}

// TestCostExact compares the cost with what numbers without a bound come to.
func TestCostExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, 1e15)
		u := usedUpTo(t, 1<<30, 1<<30)
		u.Searches = rapid.Int64Range(0, 100).Draw(t, "searches")
		images := rapid.Int64Range(0, 100).Draw(t, "images")
		r, sum := p.For(u.TotalInput()), new(big.Int)
		for _, x := range [][2]int64{{r.Input, u.Input}, {r.Output, u.Output}, {r.CacheRead, u.CacheRead}, {r.CacheWrite, u.CacheWrite},
			{r.CacheWriteHour, u.CacheWriteHour}, {r.Reasoning, u.Reasoning}, {r.AudioInput, u.AudioInput}, {r.ImageInput, u.ImageInput},
			{r.AudioOutput, u.AudioOutput}, {r.ImageOutput, u.ImageOutput}, {r.Request, 1e6}, {r.Image, images * 1e6}, {r.Search, u.Searches * 1e6}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1])))
		}
		sum.Add(sum, big.NewInt(million/2)).Quo(sum, big.NewInt(million))
		want := int64(Most)
		if sum.IsInt64() {
			want = min(sum.Int64(), Most)
		}
		if got := p.Cost(u, images); got != want {
			t.Fatalf("%+v at %+v: %d nano-USD, want %d", u, p, got, want)
		}
	})
}

// TestDearest holds that nothing that stays within an estimate costs more than its dearest.
func TestDearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, 1e9)
		for i := range p.Service {
			p.Service[i] = rapid.Int64Range(0, 10_000_000).Draw(t, "factor")
		}
		n := func(most int64, what string) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
		a := Ask{n(3000, "input"), n(3000, "output"), n(9, "images"), rapid.Bool().Draw(t, "audio"), rapid.Bool().Draw(t, "pictures"),
			sdk.Tier(rapid.IntRange(0, int(sdk.Tiers)).Draw(t, "tier"))}
		u := usedUpTo(t, a.Input, a.Output)
		u.Tier = a.Tier
		if !a.Audio {
			u.AudioInput, u.AudioOutput = 0, 0
		}
		if !a.Pictures {
			u.ImageInput = 0
		}
		if cost, most := p.Cost(u, a.Images), p.Dearest(a); cost > most {
			t.Fatalf("%+v costs %d, want %d at most", u, cost, most)
		}
	})
}

func BenchmarkCost(b *testing.B) {
	p := &Period{Rates: Usual(3e9, 15e9), Tiers: []Tier{{200_000, Usual(6e9, 22.5e9)}}}
	u := sdk.Usage{Input: 1000, CacheRead: 2000, Output: 200, Reasoning: 100}
	for b.Loop() {
		p.Cost(u, 0)
	}
}

// TestServiceTiers: a tier of service multiplies what tokens cost, of the tier of length too, and nothing else; one that has no
// factor costs as usual. What is reserved for a request that asks for a tier is enough for it.
func TestServiceTiers(t *testing.T) {
	r := Usual(1_000_000_000, 4_000_000_000)
	r.CacheRead, r.Request, r.Search = 100_000_000, 7, 1000
	p := &Period{Rates: r, Tiers: []Tier{{Above: 100, Rates: Usual(2_000_000_000, 8_000_000_000)}}}
	p.Service[sdk.TierFlex], p.Service[sdk.TierPriority] = 500_000, 2_500_000
	f := func(tier sdk.Tier, input, want int64) {
		t.Helper()
		u := sdk.Usage{Input: input, CacheRead: 10, Output: 20, Searches: 3, Tier: tier}
		if got := p.Cost(u, 0); got != want {
			t.Errorf("tier %d, %d tokens: %d, want %d", tier, input, got, want)
		}
		if most := p.Dearest(Ask{Input: u.TotalInput(), Output: 20, Tier: tier}); most < want-3000 {
			t.Errorf("tier %d, %d tokens: %d reserved, and it may cost %d", tier, input, most, want)
		}
	}
	f(sdk.TierUsual, 50, 50_000+1000+80_000+7+3000)
	f(sdk.TierFlex, 50, 25_000+500+40_000+7+3000)
	f(sdk.TierPriority, 50, 125_000+2500+200_000+7+3000)
	f(sdk.TierBatch, 50, 50_000+1000+80_000+7+3000)
	f(sdk.TierFlex, 100, (110*2000+20*8000)/2)
	f(sdk.Tiers, 50, 50_000+1000+80_000+7+3000)
}

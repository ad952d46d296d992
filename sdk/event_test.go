package sdk

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestUsageConventions holds what the figures of both kinds come to, also where they cannot be.
func TestUsageConventions(t *testing.T) {
	f := func(what string, got, want Usage) {
		t.Helper()
		want.Known = true
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", what, d)
		}
	}
	f("within", UsageWithin(Counts{Input: 100, CacheRead: 30, CacheWrite: 20, CacheWriteHour: 5, AudioInput: 10, ImageInput: 7, Output: 50, Reasoning: 20, AudioOutput: 8, ImageOutput: 2, Searches: 3}),
		Usage{Input: 33, AudioInput: 10, ImageInput: 7, CacheRead: 30, CacheWrite: 15, CacheWriteHour: 5, Output: 20, Reasoning: 20, AudioOutput: 8, ImageOutput: 2, Searches: 3})
	f("beside", UsageBeside(Counts{Input: 10, CacheRead: 30, CacheWrite: 20, CacheWriteHour: 20, Output: 5}),
		Usage{Input: 10, CacheRead: 30, CacheWriteHour: 20, Output: 5})
	f("sound that is cached too", UsageWithin(Counts{Input: 100, CacheRead: 80, AudioInput: 60}), Usage{AudioInput: 20, CacheRead: 80})
	f("more cached than there is", UsageWithin(Counts{Input: 10, CacheRead: 11}), Usage{CacheRead: 10, Disputed: true})
	f("more reasoning than there is", UsageBeside(Counts{Output: 1, Reasoning: 2}), Usage{Reasoning: 1, Disputed: true})
	f("more sound than was said", UsageWithin(Counts{Output: 3, Reasoning: 2, AudioOutput: 2}), Usage{Reasoning: 2, AudioOutput: 1, Disputed: true})
	f("more for an hour than was written", UsageBeside(Counts{CacheWrite: 1, CacheWriteHour: 2}), Usage{CacheWriteHour: 1, Disputed: true})
	f("below zero", UsageWithin(Counts{Input: -1, Output: 2}), Usage{Output: 2, Disputed: true})
}

// TestUsageSums holds for any figures that no part is below zero and that the parts come to the provider's own sums.
func TestUsageSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Counts
		v := reflect.ValueOf(&c).Elem()
		for i := range v.NumField() {
			if !v.Field(i).CanInt() {
				continue
			}
			v.Field(i).SetInt(rapid.Int64Range(-2, 100).Draw(t, v.Type().Field(i).Name))
		}
		within, beside := UsageWithin(c), UsageBeside(c)
		for _, u := range []Usage{within, beside} {
			v := reflect.ValueOf(u)
			for i := range v.NumField() {
				if v.Field(i).CanInt() && v.Field(i).Int() < 0 {
					t.Fatalf("%+v: a part below zero", u)
				}
			}
			if got := u.TotalOutput(); got != max(c.Output, 0) {
				t.Fatalf("%+v: %d tokens of output, want %d", u, got, c.Output)
			}
			if u.Plus(u).TotalInput() != 2*u.TotalInput() || u.Plus(u).TotalOutput() != 2*u.TotalOutput() || u.Plus(u).Searches != 2*u.Searches {
				t.Fatalf("%+v: twice it is not twice as much", u)
			}
		}
		if got := within.TotalInput(); got != max(c.Input, 0) {
			t.Fatalf("%+v: %d tokens of input, want %d", within, got, c.Input)
		}
		if got, want := beside.TotalInput(), max(c.Input, 0)+max(c.CacheRead, 0)+max(c.CacheWrite, 0); got != want {
			t.Fatalf("%+v: %d tokens of input, want %d", beside, got, want)
		}
	})
}

// TestUsageOfOlderPlugin reads the event of a plugin that knows only the first parts of a usage.
func TestUsageOfOlderPlugin(t *testing.T) {
	b, err := hex.DecodeString("0d" + "8008" + "0e" + "08" + "00" + "04" + "02" + "01" + "00")
	if err != nil {
		t.Fatal(err)
	}
	var e Event
	c := coder{b: b, reading: true}
	c.event(&e)
	if err := c.end("event"); err != nil {
		t.Fatal(err)
	}
	if want := (Usage{Input: 7, CacheRead: 4, Output: 2, Reasoning: 1, Known: true}); e.Kind != UsageSeen || e.Usage != want {
		t.Errorf("%+v, want %+v", e, want)
	}
}

// TestTierOf: the words of the providers, and what is none of theirs.
func TestTierOf(t *testing.T) {
	for word, want := range map[string]Tier{"": TierUsual, "default": TierUsual, "auto": TierUsual, "standard": TierUsual, "scale": TierUsual, "ON_DEMAND": TierUsual,
		"flex": TierFlex, "ON_DEMAND_FLEX": TierFlex, "priority": TierPriority, "ON_DEMAND_PRIORITY": TierPriority, "batch": TierBatch, "fast": TierFast} {
		if got := TierOf(word); got != want {
			t.Errorf("%q: %d, want %d", word, got, want)
		}
	}
	if u := UsageWithin(Counts{Input: 1, Tier: TierFlex}); u.Tier != TierFlex {
		t.Errorf("got %+v", u)
	}
}

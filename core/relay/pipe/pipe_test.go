package pipe

import (
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// TestTold: zeros are no figures, but of an answer that no model made.
func TestTold(t *testing.T) {
	f := func(u, want sdk.Usage) {
		t.Helper()
		if got := Told(u); got != want {
			t.Errorf("%+v: %+v, want %+v", u, got, want)
		}
	}
	f(sdk.Usage{}, sdk.Usage{})
	f(sdk.UsageWithin(sdk.Counts{}), sdk.Usage{})
	f(sdk.UsageWithin(sdk.Counts{Tier: sdk.TierFlex}), sdk.Usage{})
	f(sdk.Usage{Known: true, Free: true}, sdk.Usage{Known: true, Free: true})
	f(sdk.UsageWithin(sdk.Counts{CacheRead: 1, Input: 1}), sdk.Usage{CacheRead: 1, Known: true})
	f(sdk.UsageWithin(sdk.Counts{Output: 1}), sdk.Usage{Output: 1, Known: true})
}

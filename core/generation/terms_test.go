package generation

import (
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/relay"
)

func TestCommit(t *testing.T) {
	f := func(rule string, want relay.Commit) {
		t.Helper()
		if got := commit(rule); got != want {
			t.Errorf("%s: %+v, want %+v", rule, got, want)
		}
	}
	f("content", relay.Commit{})
	f("first_byte", relay.Commit{Rule: relay.OnFirstByte})
	f("whole", relay.Commit{Rule: relay.OnWhole})
	f("bytes:4096", relay.Commit{Rule: relay.OnBytes, Bytes: 4096})
	f("time:1m30s", relay.Commit{Rule: relay.OnTime, After: 90 * time.Second})
}

func TestTerms(t *testing.T) {
	cfg := &config.Config{Stream: config.Stream{Commit: "content", Cancel: true, DrainBytes: 1 << 20}}
	if got := terms(cfg, &config.Model{}, nil); !got.Cancel || got.DrainBytes != 1<<20 || got.Commit.Rule != relay.OnContent {
		t.Errorf("what the configuration says: %+v", got)
	}
	if got := terms(cfg, &config.Model{Commit: "whole", OnDisconnect: "drain", Hedge: time.Second}, nil); got.Cancel || got.HedgeAfter != time.Second || got.Commit.Rule != relay.OnWhole {
		t.Errorf("what the model says: %+v", got)
	}
	cfg.Stream.DrainUSD = 1e7                               // a cent
	dear := price.Flat(price.Rates{Output: 100 * 1e9})      // 100 USD for a million tokens: a cent buys 100
	cheap := price.Flat(price.Rates{Output: 1e6, Input: 1}) // a thousandth: it buys ten million
	later := price.List{cheap[0], {From: time.Unix(1<<40, 0), Rates: price.Rates{Output: 1e6, Reasoning: 100 * 1e9}}}
	for _, f := range []struct {
		prices price.List
		want   int64
	}{{dear, 100 * tokenBytes}, {cheap, 1 << 20}, {later, 100 * tokenBytes}, {price.Flat(price.Rates{}), 1 << 20}} {
		if got := terms(cfg, &config.Model{}, f.prices); got.DrainBytes != f.want {
			t.Errorf("a cent at %+v: %d bytes, want %d", f.prices, got.DrainBytes, f.want)
		}
	}
}

// TestOnDisconnect: what a policy says of a client that leaves goes before what its key says, and that before the model.
func TestOnDisconnect(t *testing.T) {
	d := new(catalog.Deployment)
	f := func(stream bool, model, key, plan string, cancel bool) {
		t.Helper()
		up := &relay.Candidate{Terms: terms(&config.Config{Stream: config.Stream{Cancel: stream}}, &config.Model{OnDisconnect: model}, nil)}
		g := &Generation{upstreams: map[*catalog.Deployment]*relay.Candidate{d: up}}
		p := &policy.Plan{OnDisconnect: plan}
		if plan == "" {
			p = nil
		}
		if got := g.Candidate(d, &Key{Key: &admit.Key{OnDisconnect: key}}, p); got.Terms.Cancel != cancel {
			t.Errorf("stream %v, model %q, key %q, policy %q: cancel %v", stream, model, key, plan, got.Terms.Cancel)
		}
		if up.Terms.Cancel != (model == "cancel" || model == "" && stream) {
			t.Errorf("the key has changed the model's own terms")
		}
	}
	f(false, "", "", "", false)
	f(true, "", "", "", true)
	f(true, "drain", "", "", false)
	f(true, "drain", "cancel", "", true)
	f(false, "cancel", "drain", "", false)
	f(true, "cancel", "cancel", "drain", false)
	f(false, "drain", "", "cancel", true)
}

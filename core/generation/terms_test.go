package generation

import (
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
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
	cfg.Stream.DrainUSD = 1e7                      // a cent
	dear := &catalog.Price{Output: 100 * 1e9}      // 100 USD for a million tokens: a cent buys 100
	cheap := &catalog.Price{Output: 1e6, Input: 1} // a thousandth: it buys ten million
	for price, want := range map[*catalog.Price]int64{dear: 100 * tokenBytes, cheap: 1 << 20, {Output: 0}: 1 << 20} {
		if got := terms(cfg, &config.Model{}, price); got.DrainBytes != want {
			t.Errorf("a cent at %+v: %d bytes, want %d", price, got.DrainBytes, want)
		}
	}
}

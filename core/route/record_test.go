package route

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// drawn is a backend in some state, which may have changed since the statistics were made.
type drawn struct {
	state health.State
	load  health.Load
	stats health.Stats
}

func (b *drawn) Ready(time.Time) bool         { return b.state.OK }
func (b *drawn) Look(time.Time) health.State  { return b.state }
func (b *drawn) Load(time.Time) health.Load   { return b.load }
func (b *drawn) Stats(time.Time) health.Stats { return b.stats }

func (b *drawn) draw(t *rapid.T, now time.Time) {
	b.state = health.State{OK: true, Phase: health.Closed}
	if rapid.IntRange(0, 3).Draw(t, "ill") == 0 {
		b.state = health.State{Phase: rapid.SampledFrom([]health.Phase{health.Open, health.HalfOpen, health.Held, health.Quarantined}).Draw(t, "phase"), Reason: "faults",
			Until: now.Add(time.Duration(rapid.Int64Range(1, 3e9).Draw(t, "left"))), Kind: rapid.SampledFrom([]sdk.Kind{sdk.UpstreamRate, sdk.UpstreamError}).Draw(t, "kind")}
	}
	b.load = health.Load{Cost: rapid.SampledFrom([]float64{0, 0.1, 1.0 / 3, math.Inf(1)}).Draw(t, "cost"), Speed: rapid.SampledFrom([]float64{0, 10, 200.0 / 3}).Draw(t, "speed")}
	b.stats = health.Stats{P50: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "p50")), ErrorRate: rapid.Float64Range(0, 1).Draw(t, "errors"), InFlight: 3}
}

// watchAll gives each deployment a backend, and one account of two backends that it shares with others.
func watchAll(t *rapid.T, c *catalog.Catalog, now time.Time) (map[*catalog.Deployment]Watch, []*drawn) {
	var all []*drawn
	fresh := func() *drawn {
		b := new(drawn)
		b.draw(t, now)
		all = append(all, b)
		return b
	}
	shared := fresh()
	watch := map[*catalog.Deployment]Watch{}
	for _, m := range c.Models {
		if rapid.IntRange(0, 4).Draw(t, "fastest") == 0 {
			m.Strategy = catalog.Fastest
		}
		for _, d := range m.Deployments {
			if rapid.IntRange(0, 4).Draw(t, "watched") > 0 {
				watch[d] = Watch{Deployment: fresh(), Accounts: []Account{{shared, fresh()}, {fresh()}}}
			}
		}
	}
	return watch, all
}

// through writes a value out and reads it back.
func through[T any](t *rapid.T, v *T) *T {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	back := new(T)
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestRecordsReplay holds that a decision that was kept as text is made again as it was, to its skip records, plans and
// steps: over catalogues, health that has changed since the statistics, keys, disabled models, and failures.
func TestRecordsReplay(t *testing.T) {
	routers := drawnRouters(t)
	decisions, ill := 0, 0
	check := func(t *rapid.T) {
		c, q, metadata := drawRequest(t, routers)
		watch, backends := watchAll(t, c, q.Now)
		off := new(Disabled)
		set := map[string]store.DisabledModel{"m3": {Name: "m3", Reason: "gone"}, "m5/1": {Name: "m5/1"}}
		off.set.Store(&set)
		on := NewTable(Options{Catalog: c, Routers: routers, Disabled: []string{"off"}, Off: off, Health: watch, Workers: Single})
		on.Statistics(q.Now)
		for _, b := range backends {
			if rapid.IntRange(0, 4).Draw(t, "changed") == 0 {
				b.draw(t, q.Now)
			}
		}
		if rapid.Bool().Draw(t, "preferences") {
			q.Preferences = &Preferences{Order: []string{"p-m1/0"}, Sort: Sort(rapid.IntRange(0, 3).Draw(t, "sort")), Across: rapid.Bool().Draw(t, "across"),
				NoFallbacks: rapid.IntRange(0, 9).Draw(t, "no fallbacks") == 0}
		}
		by := &caller{table: on, req: policy.Request{Tokens: 1, MaxOutput: 1, Metadata: metadata, Seed: q.Seed}}
		if rapid.IntRange(0, 3).Draw(t, "narrow") == 0 {
			by.only = append(drawNames(t, "allowed", 1, 12, 0), "r0", "r1", "r2", "r3", "r4")
		}
		q.Caller = by
		q.Warm = map[string]float64{"m0/0": rapid.Float64Range(0, 1).Draw(t, "warm"), "m1/1": 1}
		var made, again Decision
		err := on.Expand(context.Background(), &q, &made)
		kept := made.Capture(&q, by.Allows)
		if kept == nil {
			return
		}
		in := through(t, kept.Input())
		ill += len(in.Backends)
		err2 := NewReplayer(through(t, kept.Statistics.Picture()), routers).Decide(context.Background(), in, false, &again)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("made with error %v, again: %v", err, err2)
		}
		if d := cmp.Diff(made.Explain(1, 0), again.Explain(1, 0)); d != "" {
			t.Fatalf("-made +again\n%s", d)
		}
		decisions++
	}
	for range 10 {
		rapid.Check(t, check)
	}
	if decisions < 500 || ill < decisions {
		t.Errorf("%d decisions that saw %d backends in some state: too few to tell anything", decisions, ill)
	}
}

// TestCaptureOutlivesTheDecision holds that what was captured is not changed by the decisions that follow.
func TestCaptureOutlivesTheDecision(t *testing.T) {
	on := table([]*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1)), model("b", catalog.Ordered, deployment("b1", 1))},
		router(t, "first", branches("a", "none")), router(t, "second", branches("b", "a", "none2")))
	var d Decision
	q, _ := ask(on, "first")
	if err := on.Expand(t.Context(), q, &d); err != nil {
		t.Fatal(err)
	}
	kept := d.Capture(q, func(name string) bool { return name != "b" })
	want := kept.Explanation(7, time.Millisecond)
	other, _ := ask(on, "second")
	if err := on.Expand(t.Context(), other, &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kept.Explanation(7, time.Millisecond)); diff != "" || want.Branches[0] != "a" || want.Generation != 7 {
		t.Errorf("%+v, and later\n%s", want, diff)
	}
	if got, want := kept.Input().Allowed, []string{"a", "a1", "b1", "first", "off", "second"}; !slices.Equal(got, want) {
		t.Errorf("allowed: %v, want %v", got, want)
	}
	plain, _ := ask(on, "a")
	if err := on.Expand(t.Context(), plain, &d); err != nil {
		t.Fatal(err)
	}
	if d.Capture(plain, nil) != nil {
		t.Error("a decision without a policy was captured")
	}
}

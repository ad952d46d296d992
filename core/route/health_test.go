package route

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

// ward is backends whose state is what a test did to them.
type ward struct {
	*health.Registry
	care *health.Settings
	now  time.Time
}

func newWard() *ward {
	return &ward{health.NewRegistry(slog.New(slog.DiscardHandler)), health.Defaults(), time.Now()}
}

// end has a backend be asked n times, with the same outcome.
func (w *ward) end(b *health.Backend, n int, o health.Outcome, took time.Duration) {
	for range n {
		p, _ := b.Admit(w.now, w.care)
		o.Started, o.Ended = w.now.Add(-took), w.now
		p.Done(o)
	}
}

func (w *ward) breaks(b *health.Backend) {
	w.end(b, 5, health.Outcome{Kind: sdk.UpstreamError, Status: 500}, 0)
}

// answers has a backend measured.
func (w *ward) answers(b *health.Backend, took time.Duration, tokens int64) {
	w.end(b, 5, health.Outcome{OK: true, OutputTokens: tokens}, took)
}

// guarded is a table of one model whose deployments are watched by backends of the same name.
func (w *ward) guarded(s catalog.Strategy, names ...string) *Table {
	var list []*catalog.Deployment
	watch := map[*catalog.Deployment]Watch{}
	for _, name := range names {
		d := deployment(name, 1)
		list, watch[d] = append(list, d), Watch{Deployment: w.Backend(name)}
	}
	return NewTable(Options{Catalog: catalog.New([]*catalog.Model{model("m", s, list...)}), Health: watch})
}

// asks is a request now.
func (w *ward) asks(on *Table, name string) *Request {
	q, _ := ask(on, name)
	q.Now = w.now
	return q
}

func TestTheIllAreSkipped(t *testing.T) {
	w := newWard()
	on := w.guarded(catalog.Ordered, "a", "b", "c")
	w.breaks(w.Backend("a"))
	w.care.QuarantineAfter = 1
	w.breaks(w.Backend("b"))
	d := expect(t, on, w.asks(on, "m"), "c | 0 a health: open after 5 failures in a row, the last: upstream_error (status 500); probed in 10s"+
		" | 0 b quarantine: 5 failures in a row, the last: upstream_error (status 500); for another 10m0s")
	if at, limited := d.RetryAt(); !at.Equal(w.now.Add(10*time.Second)) || limited {
		t.Errorf("they may be asked at %v, limited %t", at, limited)
	}
	w.now = w.now.Add(10 * time.Second)
	expect(t, on, w.asks(on, "m"), "a c | 0 b quarantine: 5 failures in a row, the last: upstream_error (status 500); for another 9m50s")
	if _, ok := w.Backend("a").Admit(w.now, w.care); !ok {
		t.Fatal("no probe")
	}
	expect(t, on, w.asks(on, "a"), " | 0 a health: a probe is under way, after 5 failures in a row, the last: upstream_error (status 500)")

	on = w.guarded(catalog.Ordered, "d")
	w.end(w.Backend("d"), 1, health.Outcome{Kind: sdk.UpstreamRate, Status: 429, Hold: 1500 * time.Millisecond}, 0)
	d = expect(t, on, w.asks(on, "m"), " | 0 d health: left alone for 2s after upstream_rate (status 429)")
	if at, limited := d.RetryAt(); !at.Equal(w.now.Add(1500*time.Millisecond)) || !limited {
		t.Errorf("it may be asked at %v, limited %t", at, limited)
	}
	d = expect(t, on, w.asks(on, "m:free"), " | 0 d provider: not free")
	if at, limited := d.RetryAt(); !at.IsZero() || limited {
		t.Errorf("a price is waited for until %v, limited %t", at, limited)
	}
}

// TestCredentials holds that one fit credential is enough, and that a credential is fit where all that it hangs on is.
func TestCredentials(t *testing.T) {
	w := newWard()
	d := deployment("d", 1)
	whole, other, rate := w.Credential("one"), w.Credential("two"), w.Credential("one for d")
	on := NewTable(Options{Catalog: catalog.New([]*catalog.Model{model("m", catalog.Ordered, d)}),
		Health: map[*catalog.Deployment]Watch{d: {Deployment: w.Backend("d"), Accounts: []Account{{whole, rate}, {other}}}}})
	says := func() string { return on.measure(nil, w.now).targets[0].credential }
	hold := func(b *health.Backend, k sdk.Kind, d time.Duration) {
		b.Hold(health.Outcome{Kind: k, Hold: d, Ended: w.now}, w.care)
	}
	hold(rate, sdk.UpstreamRate, time.Minute)
	expect(t, on, w.asks(on, "m"), "d")
	if got := says(); got != "ok" {
		t.Errorf("with one credential left it is %s", got)
	}
	hold(other, sdk.UpstreamMoney, time.Hour)
	expect(t, on, w.asks(on, "m"), " | 0 d credential: left alone for 1m0s after upstream_rate")
	if got := says(); got != "limited" {
		t.Errorf("with one limited and one refused it is %s", got)
	}
	hold(whole, sdk.UpstreamAuth, 30*time.Minute)
	expect(t, on, w.asks(on, "m"), " | 0 d credential: left alone for 30m0s after upstream_auth")
	if got := says(); got != "refused" {
		t.Errorf("with both refused it is %s", got)
	}
	whole.Release(w.now, "a test")
	w.now = w.now.Add(time.Minute)
	expect(t, on, w.asks(on, "m"), "d")
}

func TestFastest(t *testing.T) {
	w := newWard()
	on := w.guarded(catalog.Fastest, "slow", "quick", "middle")
	expect(t, on, w.asks(on, "m"), "slow quick middle") // none is measured
	w.answers(w.Backend("slow"), 900*time.Millisecond, 90)
	expect(t, on, w.asks(on, "m"), "quick middle slow") // those that are not go first
	w.answers(w.Backend("quick"), 100*time.Millisecond, 20)
	w.answers(w.Backend("middle"), 500*time.Millisecond, 500)
	first := map[string]int{}
	const draws = 3000
	for i := range draws {
		q := w.asks(on, "m")
		q.Seed = uint64(i)
		var d Decision
		if err := on.Expand(context.Background(), q, &d); err != nil {
			t.Fatal(err)
		}
		first[d.Candidates[0].ID]++
		if again := expect(t, on, q, d.text()); again.Candidates[0] != d.Candidates[0] {
			t.Fatal("the same seed, another choice")
		}
	}
	// Of three pairs the quickest is in two, and the slowest is the better of none.
	if first["slow"] > 0 || first["quick"] < draws/2 || first["middle"] < draws/4 {
		t.Errorf("of %d requests went to each: %v", draws, first)
	}
	expect(t, on, w.asks(on, "m:nitro"), "middle quick slow") // 1000, 200 and 100 tokens a second
	q := w.asks(on, "m")
	q.Preferences = &Preferences{Sort: ByLatency}
	expect(t, on, q, "quick middle slow")

	busy := w.Backend("quick")
	for range 9 {
		busy.Admit(w.now, w.care)
	}
	expect(t, on, q, "middle slow quick") // ten at once share it
}

// TestUntriedBackendIsTriedAFewTimes holds that a backend of which nothing is known is not given all requests until it answers.
func TestUntriedBackendIsTriedAFewTimes(t *testing.T) {
	w := newWard()
	on := w.guarded(catalog.Fastest, "known", "new")
	w.answers(w.Backend("known"), time.Second, 10)
	for range 3 {
		expect(t, on, w.asks(on, "m"), "new known")
		w.Backend("new").Admit(w.now, w.care)
	}
	expect(t, on, w.asks(on, "m"), "known new")
	expect(t, on, w.asks(on, "m:nitro"), "known new")
}

// counted counts the readings of a backend.
type counted struct {
	*health.Backend
	ready, stats, looks, loads *atomic.Int64
}

func (c counted) Ready(now time.Time) bool         { c.ready.Add(1); return c.Backend.Ready(now) }
func (c counted) Stats(now time.Time) health.Stats { c.stats.Add(1); return c.Backend.Stats(now) }
func (c counted) Look(now time.Time) health.State  { c.looks.Add(1); return c.Backend.Look(now) }
func (c counted) Load(now time.Time) health.Load   { c.loads.Add(1); return c.Backend.Load(now) }

// TestEachIsReadOnce counts what a request over 16 branches of 4 targets, which share 5 backends and 2 credentials, reads:
// cold, when the statistics are made first, and warm.
func TestEachIsReadOnce(t *testing.T) {
	w := newWard()
	var ready, stats, looks, loads atomic.Int64
	count := func(b *health.Backend) counted { return counted{b, &ready, &stats, &looks, &loads} }
	var backends, accounts []Backend
	for i := range 5 {
		backends = append(backends, count(w.Backend(fmt.Sprint("b", i))))
	}
	for i := range 2 {
		accounts = append(accounts, count(w.Credential(fmt.Sprint("c", i))))
	}
	w.breaks(w.Backend("b4"))
	var models []*catalog.Model
	var names []string
	watch := map[*catalog.Deployment]Watch{}
	for i := range 16 {
		var list []*catalog.Deployment
		for j := range 4 {
			d := deployment(fmt.Sprintf("m%d/%d", i, j), 1)
			list = append(list, d)
			watch[d] = Watch{Deployment: backends[(i+j)%5], Accounts: []Account{{accounts[j%2]}}}
		}
		names = append(names, fmt.Sprint("m", i))
		models = append(models, model(names[i], catalog.Fastest, list...))
	}
	for _, workers := range [...]Workers{Single, Many} {
		r := router(t, "r", branches(names...)+"\ndef choose(req, targets):\n    for t in targets:\n        use(t, t.latency.p50)\n")
		r.MinCandidates = 64
		on := NewTable(Options{Catalog: catalog.New(models), Routers: []*Router{r}, Health: watch, Workers: workers})
		read := func(when string, statistics int64) {
			t.Helper()
			ready.Store(0)
			stats.Store(0)
			looks.Store(0)
			loads.Store(0)
			var d Decision
			if err := on.Expand(context.Background(), w.asks(on, "r"), &d); err != nil {
				t.Fatal(err)
			}
			if len(d.Branches) != 16 || len(d.Candidates) != 52 || len(d.Skips) != 12 {
				t.Errorf("%s: %d branches, %d candidates, %d skips", when, len(d.Branches), len(d.Candidates), len(d.Skips))
			}
			if stats.Load() != statistics || loads.Load() != 5 {
				t.Errorf("%s: %d statistics and %d loads are read, want %d and 5", when, stats.Load(), loads.Load(), statistics)
			}
			if statistics == 0 && (ready.Load() != 7 || looks.Load() != 1) {
				t.Errorf("%s: readiness is read %d times and a state %d times, want 7 and once", when, ready.Load(), looks.Load())
			}
		}
		read("cold", 7)
		read("warm", 0)
	}
}

// TestStatistics holds what policies see, and that statistics are made anew only when they are old.
func TestStatistics(t *testing.T) {
	w := newWard()
	p := router(t, "r", `
def route(req, models):
    print(models[0].healthy, models[0].latency.ttft > 0, models[0].error_rate)
    return ["m"]

def choose(req, targets):
    for t in targets:
        print(t.deployment, t.health, t.latency.p50 > 0, t.in_flight)
`)
	tab := w.guarded(catalog.Ordered, "a", "b")
	on := NewTable(Options{Catalog: tab.catalog, Routers: []*Router{p}, Health: map[*catalog.Deployment]Watch{
		tab.byID["a"].Deployments[0]: {Deployment: w.Backend("a")}, tab.byID["b"].Deployments[0]: {Deployment: w.Backend("b")}}})
	sees := func(want string) {
		t.Helper()
		q := w.asks(on, "r")
		q.KeepPrints = true
		var d Decision
		if err := on.Expand(context.Background(), q, &d); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.Prints, "; "); got != want {
			t.Errorf("policies see %s, want %s", got, want)
		}
	}
	fresh := "2 False 0.0; a up False 0; b up False 0"
	sees(fresh)
	w.answers(w.Backend("a"), time.Second, 10)
	w.Backend("a").Admit(w.now, w.care)
	w.breaks(w.Backend("b"))
	sees("2 False 0.0; a up False 0") // b itself is skipped at once
	w.now = w.now.Add(statisticsAge)
	sees("1 True 0.0; a up True 1")
	was := on.Statistics(w.now)
	w.now = w.now.Add(statisticsAge)
	if is := on.Statistics(w.now); is == was || is.Models() != was.Models() {
		t.Error("statistics in which nothing has changed are boxed anew, or were not made")
	}
	w.now = w.now.Add(10 * time.Second)
	sees("2 True 0.0; a up True 1; b probing False 0")
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const byPrice = `"""test: by price."""

def route(req, models):
    return [m.name for m in sorted(models, key = lambda m: m.price)]

def choose(req, targets):
    for t in targets:
        if t.health == "down":
            skip(t, "down")
        elif t.context < req.tokens:
            skip(t, "context too small")
        else:
            use(t, t.price.input * %s + t.latency.p50 + rendezvous(str(req.seed), t.deployment))
`

func compiled(t testing.TB, src string) *policy.Program {
	t.Helper()
	p, err := policy.Compile("test.star", []byte(src), policy.Options{Bounds: policy.Bounds{Time: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// backend is one whose measurements move all the time.
type backend struct {
	mu sync.Mutex
	n  int
}

func (b *backend) Ready(time.Time) bool        { return true }
func (b *backend) Look(time.Time) health.State { return health.State{OK: true, Phase: health.Closed} }
func (b *backend) Load(time.Time) health.Load  { return health.Load{Cost: 1} }
func (b *backend) Stats(time.Time) health.Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return health.Stats{P50: time.Duration(b.n) * time.Millisecond, TokensPerSecond: 100.0 / float64(b.n)}
}

// testTable has 4 models of 3 deployments, which differ in price.
func testTable(routers ...*route.Router) *route.Table {
	var models []*catalog.Model
	watch := map[*catalog.Deployment]route.Watch{}
	for i := range 4 {
		m := &catalog.Model{Name: fmt.Sprintf("m%d", i)}
		for j := range 3 {
			d := &catalog.Deployment{ID: fmt.Sprintf("m%d/%d", i, j), Name: m.Name, Provider: &catalog.Provider{ID: fmt.Sprintf("p%d", j)}, Weight: 1, Context: 1000 << j,
				MaxOutput: catalog.Unlimited, Can: ^dialect.Need(0), Price: price.Flat(price.Rates{Input: int64(1+i) * 1e9, Output: int64(1+j) * 1e9})}
			watch[d] = route.Watch{Deployment: new(backend)}
			m.Deployments = append(m.Deployments, d)
		}
		models = append(models, m)
	}
	return route.NewTable(route.Options{Catalog: catalog.New(models), Routers: routers, Health: watch})
}

// anyone may use all.
type anyone struct{ req policy.Request }

func (anyone) Allows(string) bool                        { return true }
func (anyone) Models(s *route.Statistics) *policy.Models { return s.Models() }
func (a anyone) Describe() *policy.Request               { return &a.req }

// when is the time of a request.
func when(n int) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(n) * 2 * time.Millisecond)
}

// bring is what a request of a number brings of accounts: for some providers none, for some one that may be held, and for some
// one that cannot be used.
func bring(n int, d *catalog.Deployment) ([]route.Account, string) {
	switch (n + int(d.Provider.ID[1])) % 4 {
	case 0:
		return nil, "its credential cannot be used"
	case 1:
		return nil, ""
	case 2:
		return []route.Account{{new(held)}}, ""
	}
	return []route.Account{{new(held)}, {new(backend)}}, ""
}

// held is a backend that is left alone.
type held struct{ backend }

func (*held) Ready(time.Time) bool { return false }
func (*held) Look(now time.Time) health.State {
	return health.State{Phase: health.Held, Reason: "being refused", Until: now.Add(time.Minute)}
}

// decide has a table decide about a request that differs from number to number.
func decide(t testing.TB, on *route.Table, n int, into *route.Decision) *Decision {
	t.Helper()
	at := when(n)
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	q := &route.Request{Name: "auto", Facts: &dialect.Facts{TextBytes: 6 * rng.IntN(5000)}, Seed: rng.Uint64(), Now: at}
	q.Caller = anyone{policy.Request{Model: "auto", Tokens: q.Facts.TextBytes / 6, MaxOutput: 100, Seed: q.Seed, Metadata: map[string]string{"user": "x"}}}
	if n%3 == 1 {
		q.Accounts = func(d *catalog.Deployment) ([]route.Account, string) { return bring(n, d) }
	}
	if err := on.Expand(t.Context(), q, into); err != nil && !errors.As(err, new(*route.Failure)) {
		t.Fatal(err)
	}
	return &Decision{RequestID: fmt.Sprintf("req_%05d", n), Generation: 1, Capture: into.Capture(q, func(string) bool { return true })}
}

// record runs a recorder over decisions about some requests, and ends it.
func record(t testing.TB, r *Recorder, on *route.Table, requests int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { r.Run(ctx) })
	var d route.Decision
	for n := range requests {
		for len(r.queue) == cap(r.queue) { // a request would not wait
			runtime.Gosched()
		}
		if r.Wants(on.Shadowed()) {
			r.Add(decide(t, on, n, &d))
		}
	}
	cancel()
	run.Wait()
}

func openStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

func newRecorder(st Store, burst int) *Recorder {
	return NewRecorder(Options{Store: st, Log: slog.New(slog.DiscardHandler), Burst: burst, Keep: 1e9 * time.Second})
}

// TestAgainIsTheSame holds that decisions that were kept are made again without one difference by the same policy, and with
// differences that are told and summed by another: of 500 decisions, 2000 with CI=true, and 10,000 with PENSTOCK_LONG=1.
func TestAgainIsTheSame(t *testing.T) {
	requests := 500
	switch {
	case os.Getenv("PENSTOCK_LONG") != "":
		requests = 10_000
	case os.Getenv("CI") == "true":
		requests = 2000
	}
	last := requests / 2
	st := openStore(t)
	r := newRecorder(st, 1<<30)
	record(t, r, testTable(&route.Router{Name: "auto", Policy: compiled(t, fmt.Sprintf(byPrice, "1")), MinCandidates: 3}), requests)
	if c := r.Counts(); c != (Counts{Kept: int64(requests)}) {
		t.Fatalf("%+v, want %d kept", c, requests)
	}
	replay := func(p *policy.Program, from int) (*Summary, []*Difference) {
		t.Helper()
		var list []*Difference
		sum, err := Again(t.Context(), st, []*route.Router{{Name: "auto", Policy: p, MinCandidates: 3}}, "", when(from), func(d *Difference) { list = append(list, d) })
		if err != nil {
			t.Fatal(err)
		}
		return sum, list
	}
	same, list := replay(compiled(t, fmt.Sprintf(byPrice, "1")), 0)
	if *same != (Summary{Decisions: requests, Same: requests}) {
		t.Errorf("the same policy: %+v, first %+v", same, list[:min(len(list), 1)])
	}
	dearer := strings.Replace(fmt.Sprintf(byPrice, "1"), "lambda m: m.price", "lambda m: -m.price", 1)
	sum, list := replay(compiled(t, dearer), requests-last)
	if sum.Same+sum.Reordered+sum.Moved != last || sum.Moved < last/2 || len(list) != sum.Moved+sum.Reordered || sum.Failed != 0 {
		t.Errorf("another policy: %+v with %d differences", sum, len(list))
	}
	if sum.Priced != sum.Moved || sum.USD <= 0 || sum.Measured == 0 {
		t.Errorf("another policy: %+v, want each difference priced and money spent", sum)
	}
	fails, _ := replay(compiled(t, "def route(req, models):\n    fail(\"no\")\n"), requests-last)
	if fails.Failed != last || fails.Moved == 0 {
		t.Errorf("a policy that fails: %+v", fails)
	}
	gone, err := Again(t.Context(), st, nil, "auto", when(requests-last), func(*Difference) {})
	if err != nil || gone.NotReplayed != last {
		t.Errorf("without the router: %+v, %v", gone, err)
	}
}

// TestShadow holds that a shadow is compared and never followed, whatever it does.
func TestShadow(t *testing.T) {
	base := fmt.Sprintf(byPrice, "1")
	for _, c := range []struct {
		name, shadow string
		want         func(Tally) bool
	}{
		{"the same", base, func(t Tally) bool { return t.Same == t.Decided }},
		{"the dearest", strings.Replace(base, "lambda m: m.price", "lambda m: -m.price", 1), func(t Tally) bool { return t.Moved > 0 && t.Same+t.Moved+t.Reordered == t.Decided }},
		{"fails", "def route(req, models):\n    fail(\"no\")\n", func(t Tally) bool { return t.Failed == t.Decided }},
		{"fails at times", strings.Replace(base, "for t in targets:", "if req.tokens % 2:\n        fail(\"odd\")\n    for t in targets:", 1),
			func(t Tally) bool { return t.Failed > 0 && t.Failed+t.Same == t.Decided }},
		{"never ends", "def route(req, models):\n    for i in range(60000):\n        for j in range(60000):\n            pass\n", func(t Tally) bool { return t.Failed == t.Decided }},
	} {
		t.Run(c.name, func(t *testing.T) {
			const requests = 100
			p, err := policy.Compile("shadow.star", []byte(c.shadow), policy.Options{Bounds: policy.Bounds{Time: time.Minute}, DryRun: func(*policy.Program) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			st := openStore(t)
			r := newRecorder(st, 1<<30)
			record(t, r, testTable(&route.Router{Name: "auto", Policy: compiled(t, base), MinCandidates: 3, Shadow: p}), requests)
			report := r.Shadow.Report()
			if len(report.Routers) != 1 || report.Routers[0].Router != "auto" || report.Routers[0].Decided != requests || !c.want(report.Routers[0]) {
				t.Errorf("%+v", report.Routers)
			}
			if n := report.Routers[0]; len(report.Recent) != min(recentShadows, int(n.Decided-n.Same)) {
				t.Errorf("%d disagreements are listed of %+v", len(report.Recent), n)
			}
			same, err := Again(t.Context(), st, []*route.Router{{Name: "auto", Policy: compiled(t, base), MinCandidates: 3}}, "auto", time.Time{}, func(*Difference) {})
			if err != nil || same.Same != requests {
				t.Errorf("what was kept is not the policy's: %+v, %v", same, err)
			}
		})
	}
}

// TestBudget holds that no more is kept than the budget allows, and that what is left out is counted.
func TestBudget(t *testing.T) {
	st := openStore(t)
	r := newRecorder(st, 50_000)
	record(t, r, testTable(&route.Router{Name: "auto", Policy: compiled(t, fmt.Sprintf(byPrice, "1")), MinCandidates: 1}), 500)
	c := r.Counts()
	if c.Kept == 0 || c.LeftOut == 0 || c.Kept+c.LeftOut != 500 {
		t.Fatalf("%+v of 500", c)
	}
	bytes := 0
	for d, err := range st.Decisions(t.Context(), "", time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(d.Input) + len(d.Outcome)
	}
	if bytes > 60_000 {
		t.Errorf("%d bytes are kept, the budget is 50,000", bytes)
	}
}

// broken is a store that does not answer.
type broken struct{}

func (broken) PutDecisionFacts(context.Context, [32]byte, time.Time, []byte) error {
	return errors.New("gone")
}
func (broken) PutDecisions(context.Context, []store.Decision) error { return errors.New("gone") }
func (broken) ForgetDecisions(context.Context, time.Time) error     { return errors.New("gone") }

// TestWithoutStore holds that requests are routed on, and that what is lost is counted.
func TestWithoutStore(t *testing.T) {
	r := newRecorder(broken{}, 1<<30)
	record(t, r, testTable(&route.Router{Name: "auto", Policy: compiled(t, fmt.Sprintf(byPrice, "1")), MinCandidates: 1}), 500)
	if c := r.Counts(); c != (Counts{Dropped: 500}) {
		t.Errorf("%+v, want 500 dropped", c)
	}
}

// TestRetention holds that what is older than the recorder keeps is removed.
func TestRetention(t *testing.T) {
	st := openStore(t)
	r := newRecorder(st, 1<<30)
	record(t, r, testTable(&route.Router{Name: "auto", Policy: compiled(t, fmt.Sprintf(byPrice, "1")), MinCandidates: 1}), 10)
	if list, err := st.DecisionsOf(t.Context(), "req_00003"); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	r.Keep = -1e9 * time.Second // as if the time had come
	r.forget(t.Context())
	for d := range st.Decisions(t.Context(), "", time.Time{}) {
		t.Errorf("%s is still kept", d.RequestID)
	}
}

// BenchmarkCapture is what a decision costs the request beyond being made, where it is kept and where it is not.
func BenchmarkCapture(b *testing.B) {
	on := testTable(&route.Router{Name: "auto", Policy: compiled(b, fmt.Sprintf(byPrice, "1")), MinCandidates: 12})
	var d route.Decision
	q := &route.Request{Name: "auto", Facts: &dialect.Facts{}, Caller: anyone{}, Now: time.Unix(1_800_000_000, 0)}
	if err := on.Expand(b.Context(), q, &d); err != nil {
		b.Fatal(err)
	}
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d.Capture(q, anyone{}.Allows) == nil {
				b.Fatal("nothing was captured")
			}
		}
	})
	b.Run("resting", func(b *testing.B) {
		r := newRecorder(broken{}, 1)
		r.resting.Store(true)
		b.ReportAllocs()
		for b.Loop() {
			if r.Wants(on.Shadowed()) {
				b.Fatal("wanted")
			}
		}
	})
}

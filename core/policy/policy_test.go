package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program compiles a policy whose route is beside the point.
func program(t testing.TB, rest string) *Program {
	t.Helper()
	p, err := Compile("p.star", []byte("def route(_req, _models):\n    return ['a', 'b']\n"+rest), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func some(names ...string) []Candidate {
	var list []Candidate
	for i, n := range names {
		list = append(list, Candidate{Target: BoxTarget(&Target{Deployment: n, Weight: i})})
	}
	return list
}

func TestChoose(t *testing.T) {
	f := func(body string, order []int, skips ...Skip) {
		t.Helper()
		p := program(t, "def choose(req, targets):\n    for i, t in enumerate(targets):\n        "+body)
		var c Choice
		for range 2 { // The second time over the same memory.
			if err := p.Choose(t.Context(), &Request{}, some("a", "b", "c", "d"), &c, nil); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(order, c.Order); d != "" {
				t.Errorf("%s: order: %s", body, d)
			}
			if d := cmp.Diff(skips, c.Skips[:len(c.Skips):len(c.Skips)]); d != "" && len(skips)+len(c.Skips) > 0 {
				t.Errorf("%s: skips: %s", body, d)
			}
		}
	}
	f("use(t, i)", []int{0, 1, 2, 3})
	f("use(t, -i)", []int{3, 2, 1, 0})
	f("use(t)", []int{0, 1, 2, 3})
	f("use(t, score = i % 2)", []int{0, 2, 1, 3})
	f("use(target = t, score = 5) if False else use(t, 1e308)", []int{0, 1, 2, 3})
	f("use(t, float('-inf') if i == 2 else float('inf'))", []int{2, 0, 1, 3})
	f("use(t, 1 << 90)", []int{0, 1, 2, 3})
	f("use(t, i) if i else None", []int{1, 2, 3}, Skip{0, Unmarked})
	f("skip(t, 'no')", nil, Skip{0, "no"}, Skip{1, "no"}, Skip{2, "no"}, Skip{3, "no"})
	f("skip(t, why = 'x' * 300)", nil, Skip{0, strings.Repeat("x", 200)}, Skip{1, strings.Repeat("x", 200)},
		Skip{2, strings.Repeat("x", 200)}, Skip{3, strings.Repeat("x", 200)})
	f("use(t, i)\n        if i < 2: skip(t, 'after all')", []int{2, 3}, Skip{0, "after all"}, Skip{1, "after all"})
	f("skip(t, 'no')\n        if i < 2: use(t, i)", []int{0, 1}, Skip{2, "no"}, Skip{3, "no"})
	f("use(targets[len(targets) - 1 - i], i)", []int{3, 2, 1, 0})
}

// TestChooseOfManySizes holds that a run which is used again knows only the candidates of its call.
func TestChooseOfManySizes(t *testing.T) {
	p := program(t, "def choose(_req, targets):\n    for t in targets:\n        use(t, -t.weight)\n")
	var c Choice
	for _, n := range []int{3, 1, 0, 5, 5, 2, 40, 3} {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		if err := p.Choose(t.Context(), &Request{}, some(names...), &c, nil); err != nil {
			t.Fatal(err)
		}
		if len(c.Order) != n || n > 0 && c.Order[0] != n-1 || len(c.Skips) != 0 {
			t.Errorf("%d candidates: got %v, %v", n, c.Order, c.Skips)
		}
	}
}

// TestFailedChoose holds that a failure leaves nothing of itself to the next call.
func TestFailedChoose(t *testing.T) {
	p, err := Compile("p.star", []byte(`
def route(req, models):
    return ["a", "b"]

def choose(req, targets):
    for t in targets:
        use(t, 1)
    if req.model == "bad":
        fail("no", targets[0].deployment)
    if req.model == "loop":
        for i in range(60000):
            for j in range(60000):
                pass
`), Options{Bounds: Bounds{Time: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	var c Choice
	for range 3 {
		for model, kind := range map[string]Kind{"bad": Failed, "loop": Steps, "good": ""} {
			err := p.Choose(t.Context(), &Request{Model: model}, some("a", "b"), &c, nil)
			var e *Error
			if errors.As(err, &e) != (kind != "") || e != nil && e.Kind != kind {
				t.Errorf("%s: got %v", model, err)
			}
			if err == nil && len(c.Order) != 2 {
				t.Errorf("%s: got %v", model, c.Order)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	p := program(t, `
def plan(_req, targets):
    attempt(targets[0], connect = 0.5, first_content = 20, idle = 30, total = 600, hedge = 1.25, retries = 2, commit = "bytes:4096",
            on_disconnect = "cancel", on_break = "continue", continuation = "Go on.")
    attempt(targets[-1], retries = 5, idle = 1)
    attempt(targets[-1], retries = 0, total = None, refusals = True)
`)
	if !p.HasPlan() || p.HasChoose() {
		t.Error("want a plan and no choose")
	}
	plans := []Plan{{Tries: 7}, {Tries: 7}, {Tries: 7}}
	if err := p.Plan(t.Context(), &Request{}, some("a", "b", "c"), plans, nil); err != nil {
		t.Fatal(err)
	}
	want := []Plan{
		{Connect: 500 * time.Millisecond, FirstContent: 20 * time.Second, Idle: 30 * time.Second, Total: 10 * time.Minute,
			Hedge: 1250 * time.Millisecond, Tries: 3, Commit: "bytes:4096", OnDisconnect: "cancel", OnBreak: "continue", Continuation: "Go on."},
		{}, {Tries: 1, Refusals: true},
	}
	if d := cmp.Diff(want, plans); d != "" {
		t.Error(d)
	}
	const said = `connect = 0.5, first_content = 20, idle = 30, total = 600, hedge = 1.25, retries = 2, commit = "bytes:4096", ` +
		`on_disconnect = "cancel", on_break = "continue", continuation = "Go on."`
	for i, want := range []string{said, "", "retries = 0, refusals = True"} {
		if got := plans[i].String(); got != want {
			t.Errorf("plan %d: got %s, want %s", i, got, want)
		}
	}
}

// TestCommitRule holds the verb to the pattern of the configuration.
func TestCommitRule(t *testing.T) {
	var s struct {
		Properties struct {
			Stream struct {
				Properties struct {
					Commit struct{ Pattern string }
				}
			}
		}
	}
	if err := json.Unmarshal(schemas.Config, &s); err != nil {
		t.Fatal(err)
	}
	if got, want := commitRule.String(), s.Properties.Stream.Properties.Commit.Pattern; got != want {
		t.Errorf("got %s, the schema has %s", got, want)
	}
}

// TestFacts sets every attribute by its name, reads it back through a policy, and holds the tables to have a name for
// each member of the structs and no member twice.
func TestFacts(t *testing.T) {
	shape(t, requestTable)
	shape(t, keyTable)
	shape(t, clientTable)
	shape(t, modelTable)
	shape(t, targetTable)
	shape(t, priceTable)
	shape(t, latencyTable)
	for name := range attributes {
		if _, ok := methods[name]; ok {
			t.Errorf("%s: is the name of a method, too", name)
		}
	}
	if _, err := Compile("p.star", []byte(`
def route(_req, models):
    return [m.name for m in models if m.latency.p50 >= 0]
`), Options{}); err != nil {
		t.Error(err)
	}
}

func shape[T any](t *testing.T, table *table[T]) {
	t.Helper()
	var facts T
	v := reflect.ValueOf(&facts).Elem()
	seen := map[any]string{}
	for _, f := range table.fields {
		seen[f.at(&facts)] = f.name
	}
	for i := range v.NumField() {
		at := v.Field(i).Addr().Interface()
		if seen[at] == "" {
			t.Errorf("%T: %s has no name in policies", facts, v.Type().Field(i).Name)
		}
		if box(at) == starlark.None {
			t.Errorf("%T: %s: policies have no values of its type", facts, v.Type().Field(i).Name)
		}
	}
	if len(seen) != v.NumField() {
		t.Errorf("%T: %d names for %d members", facts, len(seen), v.NumField())
	}
}

func TestFactsReadBack(t *testing.T) {
	req := Request{
		Model: "auto", Tokens: 12, Inputs: []string{"text", "image"}, Tools: true, Key: Key{Name: "dev", Tags: []string{"x"}},
		Client: Client{RequestClass: "main", Compaction: true}, Headers: map[string]string{"x-b": "2", "x-a": "1"}, Seed: math.MaxUint64,
	}
	target := Target{Deployment: "m/p", Price: Price{1.5, math.Inf(1), 0, 0}, Context: Unlimited, Latency: Latency{P99: 2.5}, Tags: []string{"t"}}
	f := func(expr, want string) {
		t.Helper()
		p := program(t, "def choose(req, targets):\n    t = targets[0]\n    print("+expr+")\n    use(t)\n")
		trace := Trace{KeepPrints: true}
		list := []Candidate{{Target: BoxTarget(&target), Cached: 0.5, Loses: []string{"seed"}}}
		if err := p.Choose(t.Context(), &req, list, new(Choice), &trace); err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if got := trace.Prints[0]; got != want || trace.Printed != 1 {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
	f("req.model, req.tokens, req.inputs, req.tools, req.stream", `auto 12 ("text", "image") True False`)
	f("req.key.name, req.key.team, req.key.tags", `dev  ("x",)`)
	f("req.client.request_class, req.client.compaction", `main True`)
	f("req.seed", "18446744073709551615")
	f("req.headers.get('x-a'), req.headers.get('x-z'), req.headers.get('x-z', 3), 'x-b' in req.headers, 3 in req.headers", "1 None 3 True False")
	f("[k for k in req.headers], len(req.headers), dict(req.headers), bool(req.metadata)", `["x-a", "x-b"] 2 {"x-a": "1", "x-b": "2"} False`)
	f("t.deployment, t.price.input, t.price.output, t.context, t.latency.p99, t.tags", `m/p 1.5 +inf 1152921504606846976 2.5 ("t",)`)
	f("t.cached, t.loses, t, {t: 1}[t], type(t), type(req)", `0.5 ("seed",) m/p 1 target request`)
}

func TestSetFact(t *testing.T) {
	dict := func(pairs ...starlark.Value) *starlark.Dict {
		d := new(starlark.Dict)
		for i := 0; i < len(pairs); i += 2 {
			if err := d.SetKey(pairs[i], pairs[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	words := starlark.Tuple{starlark.String("a"), starlark.String("b")}
	f := func(facts any, name string, v starlark.Value, want string) {
		t.Helper()
		err := SetFact(facts, name, v)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	var r Request
	f(&r, "model", starlark.String("m"), "")
	f(&r, "tokens", starlark.MakeInt(Unlimited), "")
	f(&r, "seed", starlark.MakeUint64(math.MaxUint64), "")
	f(&r, "tools", starlark.True, "")
	f(&r, "inputs", words, "")
	f(&r, "headers", dict(starlark.String("h"), starlark.String("v")), "")
	f(&r, "key", dict(starlark.String("tags"), words), "")
	f(&r, "client", dict(starlark.String("compaction"), starlark.True), "")
	want := Request{Model: "m", Tokens: Unlimited, Seed: math.MaxUint64, Tools: true, Inputs: []string{"a", "b"},
		Headers: map[string]string{"h": "v"}, Key: Key{Tags: []string{"a", "b"}}, Client: Client{Compaction: true}}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	f(&r, "modell", starlark.True, "modell: a request has no such attribute")
	f(&r, "model", starlark.True, "model: got bool, want a string")
	f(&r, "tokens", starlark.Float(1), "tokens: got float, want an int of 64 bits")
	f(&r, "seed", starlark.MakeInt(-1), "seed: got int, want an int, not negative")
	f(&r, "tools", starlark.MakeInt(1), "tools: got int, want a bool")
	f(&r, "inputs", starlark.String("a"), "inputs: got string, want a list of strings")
	f(&r, "inputs", starlark.Tuple{starlark.None}, "inputs: got tuple, want a list of strings")
	f(&r, "headers", words, "headers: got tuple, want a dict")
	f(&r, "headers", dict(starlark.MakeInt(1), starlark.None), "headers: got dict, want a dict whose keys are strings")
	f(&r, "key", dict(starlark.String("nam"), starlark.None), "key: got dict, want a dict with right members: nam: a key has no such attribute")
	f(new(Target), "price", dict(starlark.String("input"), starlark.MakeInt(3)), "")
	f(new(Target), "price", starlark.MakeInt(3), "price: got int, want a dict")
	f(new(Model), "price", starlark.MakeInt(3), "")
	f(new(Candidate), "cached", starlark.Float(0.5), "")
	f(new(int), "x", starlark.None, "*int: want a request, model, target or candidate")
}

// TestSharedByCalls runs one program from many goroutines over the same boxed facts; each call decides what a lone one
// does. The race detector watches.
func TestSharedByCalls(t *testing.T) {
	p, err := Compile("p.star", []byte(`
ORDER = {"a": 2, "b": 1, "c": 3}

def route(req, models):
    return sorted([m.name for m in models], key = lambda n: rendezvous(req.seed, n))

def choose(req, targets):
    for t in targets:
        use(t, ORDER.get(t.deployment, 9) * rendezvous(req.seed, t.deployment))
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	models, list := BoxModels([]Model{{Name: "x"}, {Name: "y"}, {Name: "z"}}), some("a", "b", "c")
	decide := func(seed uint64) string {
		req := &Request{Seed: seed}
		names, err := p.Route(t.Context(), req, models, nil)
		if err != nil {
			return err.Error()
		}
		var c Choice
		if err := p.Choose(t.Context(), req, list, &c, nil); err != nil {
			return err.Error()
		}
		return fmt.Sprint(names, c.Order, c.Score)
	}
	var want [64]string
	different := map[string]bool{}
	for i := range want {
		want[i] = decide(uint64(i))
		different[want[i]] = true
	}
	if len(different) < len(want)/2 {
		t.Errorf("the seed makes no difference: %v", different)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range want {
				if got := decide(uint64(i)); got != want[i] {
					t.Errorf("seed %d: got %s, alone %s", i, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestContextEnds(t *testing.T) {
	p, err := Compile("p.star", []byte("def route(req, _models):\n    for i in range(req.tokens):\n        pass\n    return ['a', 'b']\n"), Options{
		DryRun: func(*Program) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Route(ctx, &Request{Tokens: 60000}, BoxModels(nil), nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Time || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Route(ctx, &Request{Tokens: 1}, BoxModels(nil), nil); err != nil {
		t.Errorf("a call that is over before the first look at the clock: %v", err)
	}
}

func TestTrace(t *testing.T) {
	p := program(t, "def choose(req, targets):\n    print('x' * 3000)\n    for t in targets:\n        use(t)\n")
	var trace Trace
	for range 3 {
		if err := p.Choose(t.Context(), &Request{}, some("a", "b"), new(Choice), &trace); err != nil {
			t.Fatal(err)
		}
	}
	if trace.Printed != 3 || trace.Prints != nil {
		t.Errorf("got %d prints, kept %d", trace.Printed, len(trace.Prints))
	}
	if trace.Steps < 3*20 || trace.Steps > 3*60 || trace.Bytes < 3*3000 {
		t.Errorf("got %d steps, %d bytes", trace.Steps, trace.Bytes)
	}
	trace = Trace{KeepPrints: true}
	if err := p.Choose(t.Context(), &Request{}, some("a"), new(Choice), &trace); err != nil || len(trace.Prints[0]) > maxPrint+4 {
		t.Errorf("got %v, %d bytes", err, len(trace.Prints[0]))
	}
}

func TestRendezvous(t *testing.T) {
	p, err := Compile("p.star", []byte(`
def route(req, _models):
    if req.model == "pairs":
        return [str(rendezvous("ab", "c") != rendezvous("a", "bc")), str(rendezvous(1, "x") != rendezvous("1", "x"))]
    names = ["a", "b", "c"]
    return [min(names, key = lambda n: rendezvous(req.seed, n, weight = 2 if n == "a" else 1))]
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Route(t.Context(), &Request{Model: "pairs"}, BoxModels(nil), nil)
	if err != nil || !slices.Equal(got, []string{"True", "True"}) {
		t.Errorf("got %v, %v", got, err)
	}
	count := map[string]int{}
	for seed := range uint64(4000) {
		got, err := p.Route(t.Context(), &Request{Seed: seed}, BoxModels(nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		count[got[0]]++
	}
	for name, want := range map[string]int{"a": 2000, "b": 1000, "c": 1000} {
		if n := count[name]; n < want-150 || n > want+150 {
			t.Errorf("%s is first %d times, want about %d", name, n, want)
		}
	}
}

// TestBusyMachine holds that a policy does not fail for time that the machine gave to others, and does for its own.
func TestBusyMachine(t *testing.T) {
	pause := func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		<-time.After(time.Minute) // As if the thread was not run for so long.
		return starlark.None, nil
	}
	src := "def route(req, _models):\n    for i in range(req.tokens):\n        pause()\n        for j in range(300):\n            pass\n    return ['a', 'b']\n"
	p, err := Compile("p.star", []byte(src), Options{
		Env:    starlark.StringDict{"pause": starlark.NewBuiltin("pause", pause)},
		DryRun: func(*Program) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := p.Route(t.Context(), &Request{Tokens: 5}, BoxModels(nil), nil); err != nil {
			t.Errorf("five pauses: %v", err)
		}
		_, err := p.Route(t.Context(), &Request{Tokens: 20}, BoxModels(nil), nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Time {
			t.Errorf("twenty pauses: got %v", err)
		}
	})
}

package route

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a key that may use some models, or all.
type caller struct {
	table *Table
	only  []string // nil: all
	req   policy.Request
	asked int
}

func (c *caller) Allows(name string) bool { return c.only == nil || slices.Contains(c.only, name) }

func (c *caller) Models(s *Statistics) *policy.Models {
	if c.only == nil {
		return s.Models()
	}
	return s.Describe(c.Allows)
}

func (c *caller) Describe() *policy.Request {
	c.asked++
	return &c.req
}

// deployment makes one that can do all.
func deployment(id string, weight int) *catalog.Deployment {
	return &catalog.Deployment{ID: id, Name: id, Weight: weight, Provider: &catalog.Provider{ID: "p-" + id}, Context: catalog.Unlimited, MaxOutput: catalog.Unlimited, Can: math.MaxUint16}
}

// model makes a model and names its deployments' model.
func model(name string, s catalog.Strategy, list ...*catalog.Deployment) *catalog.Model {
	for _, d := range list {
		d.Name = name
	}
	return &catalog.Model{Name: name, Strategy: s, Deployments: list}
}

// router compiles a policy whose functions are given.
func router(t testing.TB, name, body string, onError ...string) *Router {
	t.Helper()
	p, err := policy.Compile(name+".star", []byte(body), policy.Options{
		Bounds: policy.Bounds{Time: time.Minute}, // a busy machine is no overrun
		DryRun: func(*policy.Program) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return &Router{Name: name, Policy: p, MinCandidates: 1, OnError: onError}
}

// branches is a policy that names some.
func branches(names ...string) string {
	return fmt.Sprintf("def route(req, models):\n    return [%s]\n", `"`+strings.Join(names, `", "`)+`"`)
}

func table(models []*catalog.Model, routers ...*Router) *Table {
	return NewTable(Options{Catalog: catalog.New(models), Routers: routers, Disabled: []string{"off"}})
}

func ask(t *Table, name string) (*Request, *caller) {
	c := &caller{table: t, req: policy.Request{Model: name, Tokens: 10, MaxOutput: 10}}
	return &Request{Name: name, Facts: &dialect.Facts{}, Caller: c, Now: time.Unix(1e9, 0)}, c
}

// text writes a decision as "candidates | branch deployment stage: reason | …".
func (d *Decision) text() string {
	var b strings.Builder
	for i, c := range d.Candidates {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.ID)
		if len(d.Plans) > 0 && d.Plans[i] != (policy.Plan{}) {
			b.WriteString("(" + d.Plans[i].String() + ")")
		}
	}
	for _, s := range d.Skips {
		fmt.Fprintf(&b, " | %d %s %s: %s", s.Branch, s.Deployment, s.Stage, s.Reason)
	}
	return b.String()
}

// expect expands and compares.
func expect(t *testing.T, on *Table, q *Request, want string) *Decision {
	t.Helper()
	var d Decision
	if err := on.Expand(context.Background(), q, &d); err != nil {
		if err.Error() != want {
			t.Errorf("%s: got the error %q, want %q", q.Name, err, want)
		}
	} else if got := d.text(); got != want {
		t.Errorf("%s:\n got %s\nwant %s", q.Name, got, want)
	}
	return &d
}

func TestPlainModelsAskNoPolicy(t *testing.T) {
	small, plain := deployment("small", 1), deployment("plain", 1)
	small.Context, plain.Can = 100, dialect.Tools
	on := table([]*catalog.Model{model("m", catalog.Ordered, small, plain, deployment("able", 1)), model("n", catalog.Ordered, deployment("b", 1), deployment("a", 9))})
	q, c := ask(on, "m")
	q.Facts = &dialect.Facts{Needs: dialect.Tools | dialect.Images | dialect.Audio, TextBytes: 6000}
	expect(t, on, q, "able | 0 small context: about 1000 tokens are more than the context of 100 | 0 plain capabilities: no images, audio")
	q, _ = ask(on, "n")
	for q.Seed = range 20 {
		expect(t, on, q, "b a")
	}
	q, _ = ask(on, "a") // a deployment by itself
	expect(t, on, q, "a")
	q, _ = ask(on, "off")
	expect(t, on, q, " | 0 off disabled: the model is disabled")
	q, c2 := ask(on, "n")
	c2.only = []string{"m"}
	expect(t, on, q, ErrForbidden.Error())
	if c.asked+c2.asked != 0 {
		t.Error("a policy's view of the request was made, and no policy decides")
	}
}

func TestWeightedDrawsInProportion(t *testing.T) {
	on := table([]*catalog.Model{model("m", catalog.Weighted, deployment("a", 1), deployment("b", 3), deployment("c", 0))})
	first := map[string]int{}
	var d Decision
	q, _ := ask(on, "m")
	const n = 40000
	for q.Seed = range n {
		if err := on.Expand(context.Background(), q, &d); err != nil || len(d.Candidates) != 3 {
			t.Fatalf("%s, %v; want all three", d.text(), err)
		}
		first[d.Candidates[0].ID]++
	}
	if first["c"] != 0 || first["a"] < n/4-600 || first["a"] > n/4+600 {
		t.Errorf("first drawn: %v of %d, want a quarter a, the rest b", first, n)
	}
}

func TestCheapestAndSuffixes(t *testing.T) {
	price := func(id string, in, out int64) *catalog.Deployment {
		d := deployment(id, 1)
		d.Price = price.Flat(price.Rates{Input: in * 1e9, Output: out * 1e9})
		return d
	}
	list := func() []*catalog.Deployment {
		return []*catalog.Deployment{deployment("unknown", 1), price("mid", 2, 2), price("low", 1, 4), price("free", 0, 0)}
	}
	named := list()
	for _, d := range named {
		d.ID = "n-" + d.ID
	}
	on := table([]*catalog.Model{model("m", catalog.Cheapest, list()...), model("n", catalog.Ordered, named...)}, router(t, "r", branches("n")))
	f := func(name, want string) {
		t.Helper()
		q, _ := ask(on, name)
		expect(t, on, q, want)
	}
	f("m", "free low mid unknown")
	f("n", "n-unknown n-mid n-low n-free")
	f("n:floor", "n-free n-low n-mid n-unknown")
	f("n:nitro", "n-unknown n-mid n-low n-free")
	f("n:free", "n-free | 0 n-unknown provider: not free | 0 n-mid provider: not free | 0 n-low provider: not free")
	f("r:floor", "n-free n-low n-mid n-unknown")
	f("n:other", ErrUnknown.Error())
}

func TestBranches(t *testing.T) {
	models := []*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1), deployment("a2", 1)), model("b", catalog.Ordered, deployment("b1", 1))}
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	for i := 8; i < 10; i++ {
		models = append(models, model(names[i], catalog.Ordered, deployment(fmt.Sprintf("d%d", i), 1)))
	}
	unknown := func(from, to int) (s string) {
		for i := from; i < to; i++ {
			s += fmt.Sprintf(" | %d x%d resolve: no model or router of this name", i, i)
		}
		return s
	}
	limit := ""
	for i := 16; i < 20; i++ {
		limit += fmt.Sprintf(" | %d x%d branches: branch limit", i, i)
	}
	backward := "def choose(req, targets):\n    for i, t in enumerate(targets):\n        if t.deployment == \"b1\":\n            skip(t, \"not b\")\n        else:\n            use(t, -i)\n"
	on := table(models,
		router(t, "plain", branches("a", "off", "b")),
		router(t, "chooses", branches("b", "a")+backward),
		router(t, "nested", branches("b", "chooses", "a")),
		router(t, "reserve", branches(names...)))
	f := func(name, want string) {
		t.Helper()
		q, _ := ask(on, name)
		expect(t, on, q, want)
	}
	f("plain", "a1 a2 b1 | 1 off disabled: the model is disabled")
	f("chooses", "a2 a1 | 0 b1 choose: not b")
	f("nested", "b1 a2 a1 | 1 b1 choose: not b | 3 a1 repeat: a candidate of an earlier branch | 3 a2 repeat: a candidate of an earlier branch")
	f("reserve", "d8 d9"+unknown(0, 8)+unknown(10, 16)+limit)
	q, c := ask(on, "plain")
	c.only = []string{"plain", "b"}
	expect(t, on, q, "b1 | 0 a resolve: the key may not use it | 1 off resolve: the key may not use it")
	q, _ = ask(on, "nothing")
	q.Also = []string{"b", "plain"}
	expect(t, on, q, "b1 a1 a2 | 0 nothing resolve: no model or router of this name | 3 off disabled: the model is disabled | 4 b1 repeat: a candidate of an earlier branch")
}

func TestMinCandidates(t *testing.T) {
	var models []*catalog.Model
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("m%d", i))
		models = append(models, model(names[i], catalog.Ordered, deployment(fmt.Sprintf("d%d", i), 1)))
	}
	r := router(t, "r", branches(names...))
	on := table(models, r)
	q, _ := ask(on, "r")
	expect(t, on, q, "d0 d1 d2 d3 d4 d5 d6 d7")
	r.MinCandidates = 9
	expect(t, on, q, "d0 d1 d2 d3 d4 d5 d6 d7 d8 d9")
}

func TestFailuresFollowOnError(t *testing.T) {
	const fails, loops = "def route(req, models):\n    fail(\"no\")\n", "def route(req, models):\n    for i in range(60000):\n        for j in range(60000):\n            pass\n"
	const bad = "def choose(req, targets):\n    use(targets[0], 1 // 0)\n"
	models := []*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1)), model("b", catalog.Ordered, deployment("b1", 1))}
	on := table(models,
		router(t, "fails", fails), router(t, "falls", fails, "a", "b"), router(t, "chooses", branches("a", "b")+bad, "b"),
		router(t, "outer", branches("b", "fails")), router(t, "outer2", branches("b", "falls")), router(t, "outer3", branches("b", "fails"), "a"),
		router(t, "circle", branches("circle2")), router(t, "circle2", branches("a", "circle"), "b"),
		router(t, "mixed", branches("a", "chooses")), router(t, "loops", loops, "a"))
	f := func(name, want string, failures int) {
		t.Helper()
		q, _ := ask(on, name)
		if d := expect(t, on, q, want); len(d.Failures) != failures {
			t.Errorf("%s: failures %v, want %d", name, d.Failures, failures)
		}
	}
	f("fails", "router fails: fails.star:2:9: fail: no", 0)
	f("falls", "a1 b1", 1)
	f("chooses", "b1", 1)
	f("outer", "router fails: fails.star:2:9: fail: no", 0)
	f("outer2", "b1 a1 | 2 b1 repeat: a candidate of an earlier branch", 1)
	f("outer3", "a1", 1)
	f("circle", "b1", 1)
	f("mixed", "a1 b1", 1)
	cycles := on.Cycles(context.Background())
	if len(cycles) != 1 || strings.Join(cycles[0], " ") != "circle circle2 circle" {
		t.Errorf("cycles %v, want that of circle and circle2", cycles)
	}
}

func TestOverrunsSetThePolicyAside(t *testing.T) {
	const loops = "def route(req, models):\n    if req.tools:\n        for i in range(60000):\n            for j in range(60000):\n                pass\n    return [\"b\"]\n"
	on := table([]*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1)), model("b", catalog.Ordered, deployment("b1", 1))}, router(t, "r", loops, "a"))
	q, c := ask(on, "r")
	expect(t, on, q, "b1")
	c.req.Tools = true
	for i := range maxOverruns {
		q.Now = q.Now.Add(overrunTime / 4)
		if d := expect(t, on, q, "a1"); errors.Is(d.Failures[0].Err, ErrQuarantined) {
			t.Errorf("set aside after %d overruns", i)
		}
	}
	c.req.Tools = false
	if d := expect(t, on, q, "a1"); len(d.Failures) != 1 || d.Failures[0].Err != ErrQuarantined {
		t.Errorf("failures %v, want ErrQuarantined", d.Failures)
	}
	q.Now = q.Now.Add(overrunTime)
	expect(t, on, q, "b1")
	c.req.Tools = true // as many overruns, and further apart
	for range 2 * maxOverruns {
		q.Now = q.Now.Add(overrunTime/2 + time.Second)
		if d := expect(t, on, q, "a1"); errors.Is(d.Failures[0].Err, ErrQuarantined) {
			t.Error("set aside for overruns that lie apart")
		}
	}
}

func TestAnEndedRequestIsNoFailureOfThePolicy(t *testing.T) {
	r := router(t, "r", branches("a"), "a")
	on := table([]*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1))}, r)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	q, _ := ask(on, "r")
	var d Decision
	if err := on.Expand(ctx, q, &d); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a decision or the context's error", err)
	}
	if len(d.Failures) != 0 {
		t.Errorf("failures %v, want none", d.Failures)
	}
}

package route

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/price"
)

// TestPlans holds plans to stand with their candidates, whosever branches these are from and however they are ordered.
func TestPlans(t *testing.T) {
	const once = "def plan(req, targets):\n    for i, t in enumerate(targets):\n        attempt(t, retries = i)\n"
	const bad = "def plan(req, targets):\n    attempt(targets[1], retries = 11)\n"
	dear := deployment("b1", 1)
	dear.Price = price.Flat(price.Rates{Input: 9e9})
	cheap := deployment("c1", 1)
	cheap.Price = price.Flat(price.Rates{Input: 1e9})
	on := table([]*catalog.Model{model("a", catalog.Ordered, deployment("a1", 1), deployment("a2", 1)), model("b", catalog.Ordered, dear), model("c", catalog.Ordered, cheap)},
		router(t, "plans", branches("a", "b")+once), router(t, "plain", branches("c")),
		router(t, "mixed", branches("a", "plans", "plain", "c")+once), router(t, "bad", branches("a")+bad), router(t, "falls", branches("a")+bad, "b"))
	f := func(name, want string, also ...string) *Decision {
		t.Helper()
		q, _ := ask(on, name)
		q.Also = also
		return expect(t, on, q, want)
	}
	f("plans", "a1(retries = 0) a2(retries = 1) b1(retries = 2)")
	f("plain", "c1")
	f("mixed", "a1(retries = 0) a2(retries = 1) b1(retries = 0) c1 | 1 a1 repeat: a candidate of an earlier branch | 1 a2 repeat: a candidate of an earlier branch | 4 c1 repeat: a candidate of an earlier branch")
	f("plain", "c1 a1(retries = 0) a2(retries = 1) b1(retries = 2)", "plans")
	f("plans", "a1(retries = 0) a2(retries = 1) b1(retries = 2) c1", "c")
	f("bad", `router bad: bad.star:4:12: attempt: retries: got 11, want 0 to 10`)
	if d := f("falls", "b1"); len(d.Failures) != 1 || len(d.Plans) != 0 {
		t.Errorf("failures %v and plans %v, want one and none", d.Failures, d.Plans)
	}
	q, _ := ask(on, "plans")
	q.Also, q.Preferences = []string{"c"}, &Preferences{Sort: ByPrice, Across: true}
	expect(t, on, q, "c1 b1(retries = 2) a1(retries = 0) a2(retries = 1)")
	q.Preferences.NoFallbacks = true
	if d := expect(t, on, q, "c1 | 1 b1 provider: fallbacks are not allowed | 0 a1 provider: fallbacks are not allowed | 0 a2 provider: fallbacks are not allowed"); len(d.Plans) != 1 {
		t.Errorf("%d plans, want one", len(d.Plans))
	}
}

package policytest_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
	"github.com/penstock-gateway/penstock/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const policyText = `"""p: for tests."""

def route(req, models):
    if req.tools:
        print("tools", req.tokens)
        return helper(models)
    if req.model == "none":
        fail("no such thing")
    return [m.name for m in models]

def helper(models):
    return [m.name for m in models if "tools" in m.capabilities]

def choose(req, targets):
    for t in targets:
        if t.cached > 0.5:
            use(t, -t.cached)
        elif t.health == "up":
            use(t, t.price.input)
        else:
            skip(t, "it is " + t.health)

def plan(req, targets):
    for t in targets:
        if t.loses:
            attempt(t, total = 2.5, commit = "content")
`

// results runs a test file and gives a line for each test: its name, then ok or what it failed with.
func results(t *testing.T, tests string, o policytest.Options) (string, *policytest.Report) {
	t.Helper()
	folder := fstest.MapFS{"p.star": {Data: []byte(policyText)}, "p_test.star": {Data: []byte(tests)}}
	r, err := policytest.Run(t.Context(), folder, "p_test.star", o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, test := range r.Tests {
		if test.Err == nil {
			fmt.Fprintf(&b, "%s ok\n", test.Name)
		} else {
			fmt.Fprintf(&b, "%s %s\n", test.Name, test.Err)
		}
	}
	return b.String(), r
}

// TestAsserts holds each assertion to fail when it should, at the line where it stands.
func TestAsserts(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		got, _ := results(t, "def test_it():\n    "+body+"\n", policytest.Options{})
		if want = "test_it " + want + "\n"; got != want {
			t.Errorf("%s\ngot  %swant %s", body, got, want)
		}
	}
	f(`assert.eq(1, 1)`, "ok")
	f(`assert.eq([1, {"a": (2,)}], [1, {"a": (2,)}])`, "ok")
	f(`assert.eq([1], [2])`, `p_test.star:2:14: assert.eq: got [1], want [2]`)
	f(`assert.eq("a", 1)`, `p_test.star:2:14: assert.eq: got "a", want 1`)
	f(`assert.ne(1, 2)`, "ok")
	f(`assert.ne(1, 1)`, `p_test.star:2:14: assert.ne: got 1 twice`)
	f(`assert.true([0])`, "ok")
	f(`assert.true(0)`, `p_test.star:2:16: assert.true: not true`)
	f(`assert.true("", why = "it is empty")`, `p_test.star:2:16: assert.true: it is empty`)
	f(`assert.contains([1, 2], 2)`, "ok")
	f(`assert.contains("abc", "b")`, "ok")
	f(`assert.contains({"a": 1}, "a")`, "ok")
	f(`assert.contains([1], 2)`, `p_test.star:2:20: assert.contains: 2 is not in [1]`)
	f(`assert.contains("abc", 1)`, `p_test.star:2:20: assert.contains: 1 is not in "abc"`)
	f(`assert.contains(3, 1)`, `p_test.star:2:20: assert.contains: got int, want a string, list or dict`)
	f(`assert.fails(lambda: fail("oh"), "oh")`, "ok")
	f(`assert.fails(lambda: 1 // 0, "division")`, "ok")
	f(`assert.fails(lambda: 1, "oh")`, `p_test.star:2:17: assert.fails: it did not fail, want "oh"`)
	f(`assert.fails(lambda: fail("ah"), "oh")`, `p_test.star:2:17: assert.fails: it failed with "fail: ah", want "oh"`)
	f(`assert.eq([[0] * 60000], [[0] * 60000])`, `p_test.star:2:14: list of more than 64 KiB`)
	f(`fail("by hand")`, `p_test.star:2:9: fail: by hand`)
	f(`x = [0] * 100000000`, `p_test.star:2:13: list repeated 100000000 times, the limit is 1024 KiB`)
}

// TestCalls holds the three calls of the policy to their results, and to errors that name the place.
func TestCalls(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		got, _ := results(t, "def test_it():\n    "+body+"\n", policytest.Options{})
		if want = "test_it " + want + "\n"; got != want {
			t.Errorf("%s\ngot  %swant %s", body, got, want)
		}
	}
	f(`assert.eq(route(fake_request(), [fake_model(name = "a"), fake_model(name = "b")]), ["a", "b"])`, "ok")
	f(`assert.eq(route(fake_request(tools = True), [fake_model(name = "a", capabilities = ("tools",))]), ["a"])`, "ok")
	f(`route(fake_request(model = "none"), [])`, "p.star:8:13: fail: no such thing")
	f(`route(fake_request(), [])`, "p.star:3:1: route: returned no branch")
	f(`assert.fails(lambda: route(fake_request(model = "none"), []), "no such thing")`, "ok")
	f(`route(fake_request(), [fake_target()])`, "p_test.star:2:10: route: got fake_target in the list, want what fake_model gives")
	f(`choose(fake_request(), [fake_model()])`, "p_test.star:2:11: choose: got fake_model in the list, want what fake_target gives")
	f(`route({}, [])`, "p_test.star:2:10: route: got dict, want what fake_request gives")
	f(`route(fake_request(), 3)`, "p_test.star:2:10: route: got int, want a list of fakes")
	f(`fake_request(tokenz = 3)`, "p_test.star:2:17: fake_request: tokenz: a request has no such attribute")
	f(`fake_request(3)`, "p_test.star:2:17: fake_request: want each attribute by its name")
	f(`fake_target(context = "large")`, "p_test.star:2:16: fake_target: context: got string, want an int of 64 bits")
	f(`assert.eq(choose(fake_request(), [fake_target(provider = "x", price = 2), fake_target(deployment = "y", price = {"input": 1}), `+
		`fake_target(deployment = "z", health = "down"), fake_target(deployment = "w", cached = 0.75)]), `+
		`{"order": ["w", "y", "model/x"], "score": {"w": -0.75, "y": 1.0, "model/x": 2.0}, "skipped": {"z": "it is down"}})`, "ok")
	f(`assert.eq(plan(fake_request(), [fake_target(deployment = "x"), fake_target(deployment = "y", loses = ["seed"])]), `+
		`{"x": {}, "y": {"total": 2.5, "commit": "content"}})`, "ok")
}

func TestReport(t *testing.T) {
	const tests = `
def test_b():
    route(fake_request(tools = True, tokens = 7), [fake_model(capabilities = ["tools"])])
    print("done")

def help():
    pass

def test_a():
    assert.true(False)

def test_with_argument(x):
    pass
`
	got, r := results(t, tests, policytest.Options{Cover: true})
	if want := "test_b ok\ntest_a p_test.star:10:16: assert.true: not true\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r.Failed() != 1 {
		t.Errorf("got %d failed", r.Failed())
	}
	if d := cmp.Diff([]string{"done", "tools 7"}, r.Tests[0].Prints); d != "" {
		t.Error(d)
	}
	if r.Tests[0].Steps < 20 || r.Tests[1].Steps != 0 {
		t.Errorf("got %d and %d steps", r.Tests[0].Steps, r.Tests[1].Steps)
	}
	// The dry run, when the policy is compiled, runs lines as well; what it reached does not count as tested.
	want := []policytest.Coverage{{File: "p.star", Ran: 4, Total: 16, Missed: []int{7, 8, 9, 15, 16, 17, 18, 19, 21, 24, 25, 26}}}
	if d := cmp.Diff(want, r.Cover); d != "" {
		t.Error(d)
	}
	got, r = results(t, tests, policytest.Options{Match: regexp.MustCompile("_b$")})
	if got != "test_b ok\n" || r.Cover != nil {
		t.Errorf("got %q, %v", got, r.Cover)
	}
}

func TestRunRefuses(t *testing.T) {
	f := func(folder fstest.MapFS, file, want string) {
		t.Helper()
		_, err := policytest.Run(t.Context(), folder, file, policytest.Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	ok := &fstest.MapFile{Data: []byte(policyText)}
	f(nil, "p.star", "p.star: not a test file: want a name that ends in _test.star")
	f(nil, "p_test.star", "p_test.star: no policy p.star beside it")
	f(fstest.MapFS{"p.star": ok}, "p_test.star", "p_test.star: no such file")
	f(fstest.MapFS{"p.star": {Data: []byte("x")}}, "p_test.star", "p.star:1:1: undefined: x")
	f(fstest.MapFS{"p.star": ok, "p_test.star": {Data: []byte("x")}}, "p_test.star", "p_test.star:1:1: undefined: x")
	f(fstest.MapFS{"p.star": ok, "p_test.star": {Data: []byte("def test_x():\n    assert.equal(1, 1)\n")}}, "p_test.star",
		"p_test.star:2:12: equal: no value has this attribute")
}

// TestAPIPage runs the examples of the page for authors.
func TestAPIPage(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(policies.API, -1)
	folder := fstest.MapFS{"mine.star": {Data: []byte(blocks[0][1])}, "mine_test.star": {Data: []byte(blocks[1][1])}}
	r, err := policytest.Run(t.Context(), folder, "mine_test.star", policytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tests) != 2 || r.Failed() != 0 {
		t.Errorf("got %+v", r.Tests)
	}
}

// TestErrorsAreThePolicys holds that a failure deep in a policy comes with the calls that led there, the test's too.
func TestErrorsAreThePolicys(t *testing.T) {
	_, r := results(t, "def test_it():\n    route(fake_request(model = \"none\"), [])\n", policytest.Options{})
	e := r.Tests[0].Err
	var is *policy.Error
	if !errors.As(error(e), &is) || e.Kind != policy.Failed {
		t.Fatalf("got %v", e)
	}
	const want = "p.star:8:13: fail: no such thing\n\tin route at p.star:8:13\n\tin test_it at p_test.star:2:10"
	if got := e.Backtrace(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

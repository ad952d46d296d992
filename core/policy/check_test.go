package policy

import (
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	f := func(src string, want ...string) {
		t.Helper()
		r := Check("p.star", []byte(src), Options{})
		var got []string
		for _, e := range r.Faults {
			got = append(got, e.Error())
		}
		for _, n := range r.Notes {
			got = append(got, n.String())
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s\ngot\n\t%s\nwant\n\t%s", src, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
	f(`"""p: fine."""

def route(req, models):
    """In order, for any model."""
    return [m.name for m in models if m.context >= req.tokens]
`)
	f(`"""no colon here"""

def route(req, models):
    return ["a"]
`, `p.star:1:1: want the file to open with """name: one line""" (docstring)`,
		`p.star:3:1: route never returns more than one branch: nothing is left when it fails (fallback)`,
		`p.star:3:1: route: want a docstring that says how it decides (docstring)`,
		`p.star:3:11: req: route does not look at this argument; call it _req where that is meant (unused)`,
		`p.star:3:16: models: route does not look at this argument; call it _models where that is meant (unused)`)
	f(`"""p: ends."""

def route(req, models):
    """In order."""
    if req.tokens >= 1:
        return [m.name for m in models]
    elif req.tools:
        fail("never")

def choose(req, targets):
    """The first that streams."""
    if req.stream:
        use(targets[0])
`, `p.star:3:1: route can come to its end without returning branches (fallback)`,
		`p.star:10:1: choose leaves targets without use or skip: they are skipped without a reason (unmarked)`)
	f(`"""p: names."""

def route(req, models):
    """Unknown names are found all at once."""
    return [nme for m in modles]
`, `p.star:5:26: undefined: modles (did you mean models?)`, `p.star:5:13: undefined: nme`)
	f("def route(:\n", `p.star:1:12: got ':', want ')'`)
	f(`"""p: fails when it meets what it does not know."""

def route(req, models):
    """By price, which may be infinite."""
    return [m.name for m in sorted(models, key = lambda m: int(m.price * req.tokens))]
`, `p.star:5:63: int: cannot convert float infinity to integer`)
}

func TestCheckCost(t *testing.T) {
	src := `"""p: costs."""

def route(_req, models):
    """In order."""
    return [m.name for m in models]

def choose(_req, targets):
    """In order."""
    for t in targets:
        use(t)

def plan(_req, targets):
    """One try."""
    for t in targets:
        attempt(t, retries = 0)
`
	c := Check("p.star", []byte(src), Options{}).Cost
	if c.Route < 20 || c.Choose < 20 || c.Plan < 20 || c.Models < 4 || c.Targets < 4 {
		t.Errorf("got %+v", c)
	}
}

func TestFormat(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		got, err := Format("p.star", []byte(src))
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
		again, err := Format("p.star", got)
		if err != nil || string(again) != want {
			t.Errorf("again: got %q, %v", again, err)
		}
	}
	f("x=1 # one\n\n\n# two\ny = [ 1,2 ]", "x = 1  # one\n\n# two\ny = [1, 2]\n")
	f("def f( a,b=1 ):\n  return a+b\n", "def f(a, b = 1):\n    return a + b\n")
	f("", "")
	for src, want := range map[string]string{
		"x = (":    "p.star:1:6: got end of file, want primary expression",
		"x = {*a}": "p.star:1:6: got '*', want primary expression",
	} {
		var e *Error
		if _, err := Format("p.star", []byte(src)); !errors.As(err, &e) || e.Kind != Syntax || e.Error() != want {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
}

func TestDryRunTolerates(t *testing.T) {
	f := func(body string) {
		t.Helper()
		if _, err := Compile("p.star", []byte("def route(req, models):\n    "+body+"\n"), Options{}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	f(`return [m.name for m in models if "no such tag" in m.tags]`)
	f(`fail("nothing here can do it")`)
}

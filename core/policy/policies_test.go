package policy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/policies"
)

func compile(t testing.TB, name string) *policy.Program {
	t.Helper()
	src, err := policies.FS.ReadFile(name + ".star")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Compile(name+".star", src, policy.Options{Folder: policies.FS})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestShipped holds the policies that come with the gateway to what is asked of others: no fault, no remark, and the one
// layout.
func TestShipped(t *testing.T) {
	for _, name := range policies.Names() {
		src, err := policies.FS.ReadFile(name + ".star")
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Check(name+".star", src, policy.Options{Folder: policies.FS})
		for _, e := range r.Faults {
			t.Error(e.Backtrace())
		}
		for _, n := range r.Notes {
			t.Error(n)
		}
		t.Logf("%s: %+v", name, r.Cost)
		formatted, err := policy.Format(name+".star", src)
		if err != nil {
			t.Fatal(err)
		}
		if string(formatted) != string(src) {
			t.Errorf("%s.star: not in the one layout:\n%s", name, formatted)
		}
	}
}

// TestAPIPage holds the page for authors to name all there is, and the policy that it opens with to work.
func TestAPIPage(t *testing.T) {
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`[a-z][a-z_0-9]*`).FindAllString(policies.API, -1) {
		words[w] = true
	}
	for _, name := range policy.Vocabulary() {
		if !words[name] {
			t.Errorf("API.md: says nothing of %s", name)
		}
	}
	for _, kind := range []policy.Kind{policy.Syntax, policy.Names, policy.Load, policy.Steps, policy.Time, policy.Memory,
		policy.Raised, policy.Failed, policy.Result, policy.Empty} {
		if !strings.Contains(policies.API, "`"+string(kind)+"`") {
			t.Errorf("API.md: says nothing of the kind %s", kind)
		}
	}
	for _, rule := range []string{"docstring", "unused", "fallback", "unmarked"} {
		if !strings.Contains(policies.API, "- `"+rule+"`:") {
			t.Errorf("API.md: says nothing of the rule %s", rule)
		}
	}
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(policies.API, -1)
	if len(blocks) != 2 {
		t.Fatalf("API.md: got %d blocks of Starlark, want 2", len(blocks))
	}
	r := policy.Check("mine.star", []byte(blocks[0][1]), policy.Options{})
	if len(r.Faults) > 0 {
		t.Error(r.Faults[0])
	}
	for _, n := range r.Notes {
		if n.Rule != "unused" {
			t.Error(n)
		}
	}
	for _, b := range blocks {
		if formatted, err := policy.Format("mine.star", []byte(b[1])); err != nil || string(formatted) != b[1] {
			t.Errorf("API.md: %v: not in the one layout:\n%s", err, formatted)
		}
	}
}

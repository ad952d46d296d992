package policy_test

import (
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

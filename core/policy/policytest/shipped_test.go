package policytest_test

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
	"github.com/penstock-gateway/penstock/policies"
)

// TestShipped runs the tests of each policy that comes with the gateway; there is none without, and no line that they do
// not reach.
func TestShipped(t *testing.T) {
	shared := map[int]int{} // lines of lib/needs.star: how many policies miss each
	names := policies.Names()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			r, err := policytest.Run(context.Background(), policies.FS, name+policytest.Suffix, policytest.Options{Cover: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Tests) == 0 {
				t.Error("no tests")
			}
			for _, test := range r.Tests {
				if test.Err != nil {
					t.Errorf("%s: %s", test.Name, test.Err.Backtrace())
				}
			}
			for _, c := range r.Cover {
				if c.File != r.Policy {
					for _, line := range c.Missed {
						shared[line]++
					}
				} else if len(c.Missed) > 0 {
					t.Errorf("%s: lines %v do not run in its tests", c.File, c.Missed)
				}
			}
		})
	}
	for line, missed := range shared {
		if missed == len(names) {
			t.Errorf("lib/needs.star:%d: does not run in any test", line)
		}
	}
}

// TestExamples runs the tests of the examples' policies.
func TestExamples(t *testing.T) {
	folder := os.DirFS("../../../examples/policies")
	files, err := fs.Glob(folder, "*"+policytest.Suffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		r, err := policytest.Run(context.Background(), folder, file, policytest.Options{})
		if err != nil || len(r.Tests) == 0 {
			t.Fatalf("%s: %d tests, %v", file, len(r.Tests), err)
		}
		for _, test := range r.Tests {
			if test.Err != nil {
				t.Errorf("%s: %s: %s", file, test.Name, test.Err.Backtrace())
			}
		}
	}
}

// TestShippedTestsAreFormatted holds the test files and what is shared to the one layout, too.
func TestShippedTestsAreFormatted(t *testing.T) {
	files := []string{"lib/needs.star"}
	for _, name := range policies.Names() {
		files = append(files, name+policytest.Suffix)
	}
	for _, file := range files {
		src, err := policies.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := policy.Format(file, src)
		if err != nil {
			t.Fatal(err)
		}
		if string(formatted) != string(src) {
			t.Errorf("%s: not in the one layout:\n%s", file, formatted)
		}
	}
}

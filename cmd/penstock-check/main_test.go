package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the findings that testdata expects")

// TestRules runs each rule over a tree of its own that breaks it. A rule without
// one, or whose tree is clean, would be a rule that cannot fail.
func TestRules(t *testing.T) {
	for _, c := range append([]rule{{"exceptions", initFunctions}}, rules...) {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join("testdata", c.name+".txtar")
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			comment, files := sections(string(text))
			want := &files[len(files)-1]
			if want.name != "want" {
				t.Fatalf("%s: its last file is %s, want want", name, want.name)
			}
			ran := c
			if c.name == "exceptions" {
				ran.name = "init"
			}
			got := findingsIn(t, files[:len(files)-1], ran)
			if *update {
				want.text = got
				if err := os.WriteFile(name, []byte(archive(comment, files)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got == "" {
				t.Errorf("rule %s: found nothing in the tree that breaks it", c.name)
			}
			if diff := cmp.Diff(want.text, got); diff != "" {
				t.Errorf("rule %s (-want +got):\n%s", c.name, diff)
			}
		})
	}
}

// findingsIn is what a rule prints about a tree of files.
func findingsIn(t *testing.T, files []section, c rule) string {
	t.Helper()
	tree, err := readTree(mapFS(files))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.broken) > 0 {
		t.Fatalf("tree: %v", tree.broken)
	}
	var out strings.Builder
	r := &run{stdout: &out, tree: tree}
	if clean := r.style([]rule{c}); clean != (out.Len() == 0) {
		t.Errorf("rule %s: reported %t and printed %q", c.name, clean, out.String())
	}
	return out.String()
}

// TestRepository holds this repository to the rules, so that go test alone tells.
func TestRepository(t *testing.T) {
	tree, err := readTree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(tree.broken, styleFindings(tree, rules)...) {
		t.Error(f)
	}
}

// clean is a module in which nothing is found.
const clean = `
-- go.mod --
module github.com/penstock-gateway/penstock

go 1.26.0
-- a/a.go --
// Package a is there.
package a

// One is one.
const One = 1
-- a/a_test.go --
package a

import "testing"

func TestOne(t *testing.T) {
	if One != 1 {
		t.Fatal(One)
	}
}
`

// broken is one in which each step finds something.
const broken = clean + `
-- b/b.go --
package b

func init() {}

var  x = 1
-- b/b_test.go --
package b

import "testing"

func TestB(t *testing.T) { t.Fatal("b is broken") }
-- c/c.go --
package c

import "fmt"

func f() string { return fmt.Sprintf("%d", "text") }
-- schemas/c.go --
package schemas

const c = "c" + 1
`

// TestCommand runs the command in modules on disk, with the real go command.
func TestCommand(t *testing.T) {
	cases := []struct {
		name, tree, args string
		code             int
		want             []string // texts of the output, in order
		last             string   // what its last line begins with
	}{
		{"clean gofmt", clean, "-only gofmt", exitClean, nil, ""},
		{"clean vet", clean, "-only vet", exitClean, nil, ""},
		{"clean rule", clean, "-only init", exitClean, nil, ""},
		{"clean star", clean, "-only star", exitClean, nil, ""},
		{"clean schemas", clean, "-only schemas", exitClean, nil, ""},
		{"clean test", clean, "-only test", exitClean, nil, "ok  \tgithub.com/penstock-gateway/penstock/a"},
		{"gofmt", broken, "-only gofmt", exitFindings, []string{"b/b.go:5: is not as gofmt has it"}, ""},
		{"vet", broken, "-only vet", exitFindings, []string{"c/c.go:5:"}, ""},
		{"rule", broken, "-only init", exitFindings, []string{"b/b.go:3: init: runs unasked"}, "b/b.go"},
		{"schemas", broken, "-only schemas", exitFindings, []string{"schemas/c.go:3"}, ""},
		{"test", broken, "-only test", exitFindings, []string{"a\t", "b is broken", "FAIL b TestB", "b_test.go:5: b is broken"}, "FAIL schemas [build failed]"},
		{"does not parse", "-- go.mod --\nmodule github.com/penstock-gateway/penstock\n-- a.go --\npackage\n", "-only gofmt", exitFindings, []string{"a.go:1:"}, ""},
		{"another module", "-- go.mod --\nmodule example.org/x\n", "", exitUsage, []string{"want to be run at the top"}, ""},
		{"no module", "-- a --\n", "", exitUsage, []string{"want to be run at the top"}, ""},
		{"unknown step", clean, "-only nothing", exitUsage, []string{`-only "nothing": no such step or rule`}, ""},
		{"argument", clean, "vet", exitUsage, []string{`got "vet", want flags alone`}, ""},
		{"list", clean, "-list", exitClean, []string{"steps: gofmt vet staticcheck style star schemas test\n", "rules: top-level "}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeAll(t, dir, c.tree)
			var out bytes.Buffer
			code := command(context.Background(), dir, strings.Fields(c.args), &out, &out)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			rest := out.String()
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("output %q, want %q in it", out.String(), want)
				}
				rest = after
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.last) {
				t.Errorf("last line %q, want one that begins with %q", last, c.last)
			}
		})
	}
}

// TestSteps wants the tests last, and without them under -fast.
func TestSteps(t *testing.T) {
	names := func(fast bool) (all string) {
		chosen, err := choose("", fast)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range chosen {
			all += s.name + " "
		}
		return all
	}
	if got := names(false); got != names(true)+testStep+" " {
		t.Errorf("steps %q, want those of -fast (%q) and the tests after them", got, names(true))
	}
}

func TestStarFindings(t *testing.T) {
	f := func(report, want string) {
		t.Helper()
		found, err := starFindings([]byte(report))
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if (want == "[]") != (got == "[]") || !strings.Contains(got, want) {
			t.Errorf("report %s: got %s, want %s in it", report, got, want)
		}
	}
	f(`{"success":true,"files":[{"filename":"a.star","formatted":true,"valid":true,"warnings":[]}]}`, "[]")
	f(`{"success":false,"files":[{"filename":"a.star","formatted":false,"valid":true,"warnings":[]}]}`, "a.star:1: is not as buildifier has it")
	f(`{"success":false,"files":[{"filename":"a.star","formatted":false,"valid":false,"warnings":[]}]}`, "a.star:1: does not parse")
	f(``, `report ""`)
}

// Penstock-check is all that is run before a change goes in: format, vet,
// staticcheck, the rules of this repository, and the tests. It is run from the
// top of the repository, and needs nothing but Go:
//
//	go run ./cmd/penstock-check
//
// Each finding is a line "file:line: message". The exit code is 0 when there is
// none, 1 when there is one or a test fails, 2 when the command is used wrongly.
// The tests come last: the last lines are those of go test, and where a test
// failed, which one and what it said.
//
//	-fast        without the tests
//	-only NAME   one step, or one rule of the step style
//	-list        the names
//
// The rules are functions on a parsed tree, by subject: docs.go, size.go,
// names.go, state.go, text.go, calls.go, data.go, layout.go. Where a rule has to
// give way, exceptions.txt says so with a reason. The order of the packages is
// not here but in core/layers_test.go. What is outside the repository, such as
// packages of the system that tests need, is left to .ci/run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, ".", os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitClean = iota
	exitFindings
	exitUsage
)

// command runs the steps that args ask for in the repository at dir.
func command(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("penstock-check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	fast := flags.Bool("fast", false, "leave the tests out")
	only := flags.String("only", "", "run one step, or one rule, by `name`")
	list := flags.Bool("list", false, "print the names of steps and rules")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitClean
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "penstock-check: got %q, want flags alone\n", flags.Arg(0))
		return exitUsage
	case *list:
		printNames(stdout)
		return exitClean
	}
	chosen, err := choose(*only, *fast)
	if err != nil {
		fmt.Fprintln(stderr, "penstock-check:", err)
		return exitUsage
	}
	r, err := newRun(dir, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "penstock-check:", err)
		return exitUsage
	}
	return r.all(ctx, chosen)
}

// A step is one thing that is run. It reports whether it was clean.
type step struct {
	name string
	run  func(*run, context.Context) bool
}

// steps are all that is run, in order; the tests last.
var steps = []step{
	{"gofmt", (*run).gofmt},
	{"vet", (*run).vet},
	{"staticcheck", (*run).staticcheck},
	{"style", rulesStep(rules)},
	{"star", (*run).star},
	{"schemas", (*run).schemas},
	{testStep, (*run).test},
}

// rulesStep is a step that runs rules.
func rulesStep(chosen []rule) func(*run, context.Context) bool {
	return func(r *run, _ context.Context) bool { return r.style(chosen) }
}

// testStep is the step that -fast leaves out.
const testStep = "test"

// A rule is one check of the tree.
type rule struct {
	name  string
	check func(*tree) []finding
}

// rules are the repository's own. Each has testdata/NAME.txtar, a tree that
// breaks it.
var rules = []rule{
	{"top-level", topLevel},
	{"dependencies", dependencies},
	{"package-comment", packageComments},
	{"exported-doc", exportedDocs},
	{"names", names},
	{"function-size", functionSizes},
	{"file-size", fileSizes},
	{"init", initFunctions},
	{"state", sharedState},
	{"stored-context", storedContexts},
	{"print", printing},
	{"words", errorWords},
	{"left-work", leftWork},
	{"sleep", testSleeps},
	{"sql", builtSQL},
	{"secrets", comparedSecrets},
	{"http-client", outbound},
	{"read-all", unboundedReads},
	{"context", requestContexts},
	{"client-json", clientJSON},
}

// choose gives the steps to run. The name of a rule is the step style with that
// rule alone.
func choose(only string, fast bool) ([]step, error) {
	if only == "" {
		return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return fast && s.name == testStep }), nil
	}
	for _, s := range steps {
		if s.name == only {
			return []step{s}, nil
		}
	}
	for _, c := range rules {
		if c.name == only {
			return []step{{only, rulesStep([]rule{c})}}, nil
		}
	}
	return nil, fmt.Errorf("-only %q: no such step or rule, want one that -list prints", only)
}

func printNames(w io.Writer) {
	var all []string
	for _, s := range steps {
		all = append(all, s.name)
	}
	fmt.Fprintln(w, "steps:", strings.Join(all, " "))
	all = nil
	for _, c := range rules {
		all = append(all, c.name)
	}
	fmt.Fprintln(w, "rules:", strings.Join(all, " "))
}

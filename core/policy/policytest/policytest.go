// Package policytest runs the tests of policies. A file NAME_test.star beside NAME.star has functions whose names begin
// with test_; each runs on its own, calls the policy's route, choose and plan over fake facts, and asserts. API.md in
// folder policies describes what a test finds defined.
//
// Finding the files and printing the report is left to the command; that a change of configuration is refused when its
// policies' tests fail is core/generation's.
package policytest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"github.com/penstock-gateway/penstock/core/policy"
)

// Suffix is how the name of a test file ends.
const Suffix = "_test.star"

// The bounds of one test. What the policy does in it is bounded as a served request is, but for the time: a test must not
// fail because the machine is busy.
const (
	maxSteps  = 2_000_000
	maxTime   = time.Second
	maxMemory = 256 << 20
)

// Options say what is run.
type Options struct {
	Match *regexp.Regexp // names of the tests to run; nil: all
	Cover bool           // record which lines of the policy ran
}

// Report is what came of one test file.
type Report struct {
	File   string // the test file
	Policy string // the file under test
	Tests  []Test // in the order of the text
	Cover  []Coverage
}

// Test is one test that ran.
type Test struct {
	Name   string
	Err    *policy.Error // nil: passed
	Steps  uint64        // that the policy took, all its calls together
	Prints []string      // what the test and the policy printed
}

// Failed counts the tests that failed.
func (r *Report) Failed() int {
	n := 0
	for _, t := range r.Tests {
		if t.Err != nil {
			n++
		}
	}
	return n
}

// Run runs a test file of a folder. The error is a *policy.Error where the policy or the test file does not compile, and
// says otherwise that a file is missing. Tests that fail are in the report.
func Run(ctx context.Context, folder fs.FS, file string, o Options) (*Report, error) {
	name, ok := strings.CutSuffix(file, Suffix)
	if !ok {
		return nil, fmt.Errorf("%s: not a test file: want a name that ends in %s", file, Suffix)
	}
	report := &Report{File: file, Policy: name + ".star"}
	src, err := fs.ReadFile(folder, report.Policy)
	if err != nil {
		return nil, fmt.Errorf("%s: no policy %s beside it", file, report.Policy)
	}
	var lines *lines
	options := policy.Options{Folder: folder, Bounds: policy.Bounds{Time: maxTime}}
	if o.Cover {
		lines = newLines()
		options.Visit = lines.visit
	}
	p, err := policy.Compile(report.Policy, src, options)
	if err != nil {
		return nil, err
	}
	if o.Cover {
		lines.forget() // What the dry run reached is not tested.
	}
	b := &bench{policy: p}
	tests, err := b.compile(ctx, folder, file)
	if err != nil {
		return nil, err
	}
	for _, fn := range tests.Functions() {
		if strings.HasPrefix(fn, "test_") && (o.Match == nil || o.Match.MatchString(fn)) {
			report.Tests = append(report.Tests, b.run(ctx, tests, fn))
		}
	}
	if o.Cover {
		report.Cover, err = lines.coverage(folder, append([]string{report.Policy}, p.Loads()...))
	}
	return report, err
}

// bench is where one test runs: the policy under test, and what the test used of it so far.
type bench struct {
	policy *policy.Program
	trace  *policy.Trace // of the policy in the test that runs
}

func (b *bench) compile(ctx context.Context, folder fs.FS, file string) (*policy.Script, error) {
	src, err := fs.ReadFile(folder, file)
	if err != nil {
		return nil, fmt.Errorf("%s: no such file", file)
	}
	env := starlark.StringDict{"assert": asserts}
	for name, fn := range map[string]builtin{
		"fake_request": fakeRequest, "fake_model": fakeModel, "fake_target": fakeTarget,
		"route": in(ctx, b.route), "choose": in(ctx, b.choose), "plan": in(ctx, b.plan),
	} {
		env[name] = starlark.NewBuiltin(name, fn)
	}
	return policy.CompileScript(file, src, policy.Options{Folder: folder, Env: env,
		Bounds: policy.Bounds{Steps: maxSteps, Time: maxTime, Memory: maxMemory}})
}

func (b *bench) run(ctx context.Context, s *policy.Script, fn string) Test {
	b.trace = &policy.Trace{KeepPrints: true}
	own := &policy.Trace{KeepPrints: true}
	t := Test{Name: fn}
	err := s.Call(ctx, fn, own)
	errors.As(err, &t.Err)
	t.Steps, t.Prints = b.trace.Steps, append(own.Prints, b.trace.Prints...)
	return t
}

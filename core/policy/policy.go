// Package policy runs router policies: Starlark files that order models and deployments for a request.
//
// A policy is compiled once for a generation and frozen; each call has a thread of its own and is bounded in steps, time
// and memory. It reads facts and gives a decision: it has no clock, no input or output, and no randomness but the
// request's seed, so the same facts give the same decision. Policies are code that the operator trusts, with guard rails
// against mistakes; they are no sandbox for tenants, since only a process with a memory limit would be one.
//
// Gathering the facts, checking that a decision names only what the key may use, and what happens when a policy fails
// are core/route's. The policies that come with the gateway are in folder policies, as is API.md, the page for authors.
package policy

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"go.starlark.net/starlark"
)

// Options say how a policy is compiled.
type Options struct {
	Folder fs.FS               // where load finds other files; nil: load is refused
	Bounds Bounds              // what is zero has its default
	Env    starlark.StringDict // more names that the file finds defined; for test runners
	// Visit is called before each statement of a function with its place; for coverage. All calls use it, at once.
	Visit  func(file string, line int)
	DryRun func(*Program) error // called last; nil: DryRun over made-up facts
}

// Program is a compiled policy. It never changes and is safe for concurrent use.
type Program struct {
	*Script
	route, choose, plan *starlark.Function
}

// Trace is what a call is known by afterwards. Calls one after the other add to it; calls at once want one each.
type Trace struct {
	Steps      uint64 // of the interpreter
	Bytes      uint64 // upper bound of the values made
	Printed    int    // calls of print
	KeepPrints bool   // keep what is printed: it may hold a user's data
	Prints     []string
}

// Compile compiles a policy: parse, guard, resolve, run the top level, freeze, and a dry run over made-up facts. The
// error is an *Error, the first of its faults; Check gives all.
func Compile(name string, src []byte, o Options) (*Program, error) {
	s, err := CompileScript(name, src, o)
	if err != nil {
		return nil, err
	}
	p := &Program{Script: s}
	for _, f := range []struct {
		name string
		to   **starlark.Function
	}{{"route", &p.route}, {"choose", &p.choose}, {"plan", &p.plan}} {
		if *f.to, err = s.entry(f.name); err != nil {
			return nil, err
		}
	}
	if p.route == nil {
		return nil, &Error{Kind: Names, Pos: Pos{name, 1, 1}, Msg: "no function route(req, models): want it to return branches, best first"}
	}
	dry := o.DryRun
	if dry == nil {
		dry = DryRun
	}
	served := p.bounds
	p.bounds.Time *= patience
	err = dry(p)
	p.bounds = served
	if err != nil {
		return nil, err
	}
	return p, nil
}

// entry finds a function that the gateway calls, with two arguments; nil where the file does not define it.
func (s *Script) entry(name string) (*starlark.Function, error) {
	v, ok := s.globals[name]
	if !ok {
		return nil, nil
	}
	fn, ok := v.(*starlark.Function)
	if !ok {
		return nil, &Error{Kind: Names, Pos: Pos{s.name, 1, 1}, Msg: fmt.Sprintf("%s: got %s, want a function", name, v.Type())}
	}
	required := 0
	for i := range fn.NumParams() - fn.NumKwonlyParams() {
		if fn.ParamDefault(i) == nil {
			required++
		}
	}
	if required > 2 || fn.NumParams()-fn.NumKwonlyParams() < 2 {
		return nil, &Error{Kind: Names, Pos: place(fn.Position()), Msg: name + ": want two arguments, the request and what to choose from"}
	}
	return fn, nil
}

// HasChoose says whether the policy orders targets; where it does not, the model's strategy orders.
func (p *Program) HasChoose() bool { return p.choose != nil }

// HasPlan says whether the policy says how targets are tried.
func (p *Program) HasPlan() bool { return p.plan != nil }

// maxBranches is far above what routing looks at; what is more is no decision but a mistake.
const (
	maxBranches = 1024
	maxName     = 256
)

// Route gives the names of models or routers to branch to, best first. They need not exist. The error is an *Error;
// trace may be nil.
func (p *Program) Route(ctx context.Context, req *Request, models *Models, trace *Trace) ([]string, error) {
	r := p.take(ctx, trace)
	v, err := r.call(p.route, req, models.list)
	if err != nil {
		return nil, err
	}
	names, bad := branches(v)
	p.give(r)
	if bad != nil {
		return nil, &Error{Kind: bad.kind, Pos: place(p.route.Position()), Msg: "route: " + bad.msg}
	}
	return names, nil
}

// branches reads what route returned.
func branches(v starlark.Value) ([]string, *refusal) {
	list, ok := v.(starlark.Indexable)
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
	default:
		ok = false
	}
	if !ok {
		return nil, &refusal{Result, fmt.Sprintf("returned %s, want a list of names", v.Type())}
	}
	n := list.Len()
	switch {
	case n == 0:
		return nil, &refusal{Empty, "returned no branch"}
	case n > maxBranches:
		return nil, &refusal{Result, fmt.Sprintf("returned %d branches, the limit is %d", n, maxBranches)}
	}
	names := make([]string, n)
	for i := range names {
		name, ok := starlark.AsString(list.Index(i))
		if !ok {
			return nil, &refusal{Result, fmt.Sprintf("branch %d is %s, want a name", i, list.Index(i).Type())}
		}
		if name == "" || len(name) > maxName {
			return nil, &refusal{Result, fmt.Sprintf("branch %d is a name of %d bytes, want 1 to %d", i, len(name), maxName)}
		}
		names[i] = name
	}
	return names, nil
}

// Choose orders the candidates of one branch into a choice. The error is an *Error, and the choice then says nothing;
// trace may be nil. It must not be called where HasChoose is false.
func (p *Program) Choose(ctx context.Context, req *Request, list []Candidate, into *Choice, trace *Trace) error {
	r := p.take(ctx, trace)
	into.begin(len(list))
	r.choice = into
	v, err := r.call(p.choose, req, r.sit(list))
	if err != nil {
		return err
	}
	p.give(r)
	if v != starlark.None {
		return &Error{Kind: Result, Pos: place(p.choose.Position()), Msg: fmt.Sprintf("choose: returned %s, want it to call use and skip", v.Type())}
	}
	into.finish()
	return nil
}

// Plan says how each candidate of a list is to be tried, into as many plans. The error is an *Error, and the plans then
// say nothing; trace may be nil. It must not be called where HasPlan is false.
func (p *Program) Plan(ctx context.Context, req *Request, list []Candidate, into []Plan, trace *Trace) error {
	r := p.take(ctx, trace)
	clear(into)
	r.plans = into[:len(list)]
	v, err := r.call(p.plan, req, r.sit(list))
	if err != nil {
		clear(into)
		return err
	}
	p.give(r)
	if v != starlark.None {
		return &Error{Kind: Result, Pos: place(p.plan.Position()), Msg: fmt.Sprintf("plan: returned %s, want it to call attempt", v.Type())}
	}
	return nil
}

// sit gives each candidate its seat in the call, and the seats as a policy sees them. Calls over as many candidates as
// the last one, the branches of a request as a rule, find their tuple ready.
func (r *run) sit(list []Candidate) starlark.Value {
	if len(r.seats) != len(list) || r.targets == nil {
		r.seats = slices.Grow(r.seats[:0], len(list))[:len(list)]
		targets := make(starlark.Tuple, len(list))
		for i := range r.seats {
			targets[i] = &r.seats[i]
		}
		r.targets = targets
	}
	for i, c := range list {
		r.seats[i] = seat{c, r, i}
	}
	return r.targets
}

// call calls a function of two arguments within the budget. A run that failed is not used again.
func (r *run) call(fn *starlark.Function, req *Request, over starlark.Value) (v starlark.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Kind: Raised, Pos: place(fn.Position()), Msg: fmt.Sprintf("the interpreter panicked: %v", p)}
		}
	}()
	r.request.facts = req
	r.args = [2]starlark.Value{r.request, over}
	v, err = starlark.Call(&r.thread, fn, r.args[:], nil)
	if err != nil {
		e := r.callError(err)
		r.end()
		return nil, e
	}
	return v, nil
}

func (s *Script) take(ctx context.Context, trace *Trace) *run {
	r, ok := s.runs.Get().(*run)
	if !ok {
		r = newRun(s)
	}
	r.begin(ctx, s.bounds, trace)
	return r
}

// give ends a run and keeps it for the next call.
func (s *Script) give(r *run) {
	r.end()
	s.runs.Put(r)
}

package policytest

import (
	"context"
	"fmt"
	"math"
	"time"

	"go.starlark.net/starlark"

	"github.com/penstock-gateway/penstock/core/policy"
)

type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// fake is a fact that a test made. To the test it is opaque; the policy sees the fact itself.
type fake[T any] struct {
	kind  string
	facts T
}

func (f *fake[T]) String() string        { return f.kind }
func (f *fake[T]) Type() string          { return f.kind }
func (f *fake[T]) Freeze()               {}
func (f *fake[T]) Truth() starlark.Bool  { return true }
func (f *fake[T]) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", f.kind) }

// target is the two parts of a fake target.
type target struct {
	policy.Target
	policy.Candidate
}

// none refuses arguments without a name: the attributes of a fact have no order.
func none(b *starlark.Builtin, args starlark.Tuple) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: want each attribute by its name", b.Name())
	}
	return nil
}

func fakeRequest(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	f := &fake[policy.Request]{kind: "fake_request", facts: policy.Request{
		Model: "auto", Dialect: "openai-chat", Tokens: 1000, MaxOutput: 1000, Inputs: []string{"text"}, Hour: 12,
	}}
	return f, fill(b, args, kwargs, &f.facts)
}

func fakeModel(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	f := &fake[policy.Model]{kind: "fake_model", facts: policy.Model{
		Name: "model", Price: math.Inf(1), Context: policy.Unlimited, MaxOutput: policy.Unlimited, Deployments: 1, Healthy: 1,
	}}
	return f, fill(b, args, kwargs, &f.facts)
}

func fill(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, facts any) error {
	if err := none(b, args); err != nil {
		return err
	}
	for _, kv := range kwargs {
		name, _ := starlark.AsString(kv[0])
		if err := policy.SetFact(facts, name, kv[1]); err != nil {
			return fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	return nil
}

// fakeTarget takes the attributes of a target; a price that is one number counts for input and output.
func fakeTarget(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := none(b, args); err != nil {
		return nil, err
	}
	unknown := math.Inf(1)
	f := &fake[target]{kind: "fake_target", facts: target{Target: policy.Target{
		Model: "model", Provider: "provider", Price: policy.Price{Input: unknown, Output: unknown, CacheRead: unknown, CacheWrite: unknown},
		Context: policy.Unlimited, MaxOutput: policy.Unlimited, Weight: 1, Health: "up", Credential: "ok",
	}}}
	for _, kv := range kwargs {
		name, _ := starlark.AsString(kv[0])
		var err error
		switch price, isNumber := starlark.AsFloat(kv[1]); {
		case name == "price" && isNumber:
			f.facts.Price = policy.Price{Input: price, Output: price, CacheRead: price, CacheWrite: price}
		case name == "cached" || name == "loses":
			err = policy.SetFact(&f.facts.Candidate, name, kv[1])
		default:
			err = policy.SetFact(&f.facts.Target, name, kv[1])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	if f.facts.Deployment == "" {
		f.facts.Deployment = f.facts.Model + "/" + f.facts.Provider
	}
	return f, nil
}

// facts unpacks a request, and a list of fakes of one kind.
func facts[T any](b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (*policy.Request, []T, error) {
	var req, list starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &req, &list); err != nil {
		return nil, nil, err
	}
	r, ok := req.(*fake[policy.Request])
	if !ok {
		return nil, nil, fmt.Errorf("%s: got %s, want what fake_request gives", b.Name(), req.Type())
	}
	all, ok := list.(starlark.Iterable)
	if !ok {
		return nil, nil, fmt.Errorf("%s: got %s, want a list of fakes", b.Name(), list.Type())
	}
	var out []T
	for v := range starlark.Elements(all) {
		f, ok := v.(*fake[T])
		if !ok {
			return nil, nil, fmt.Errorf("%s: got %s in the list, want %s", b.Name(), v.Type(), (&fake[T]{}).want())
		}
		out = append(out, f.facts)
	}
	return &r.facts, out, nil
}

func (f *fake[T]) want() string {
	if _, ok := any(f).(*fake[policy.Model]); ok {
		return "what fake_model gives"
	}
	return "what fake_target gives"
}

// in makes a built-in of a call of the policy, which ends with the tests' context.
func in(ctx context.Context, call func(context.Context, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return call(ctx, b, args, kwargs)
	}
}

// route calls the policy's route and gives the list of names that it returned.
func (t *bench) route(ctx context.Context, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	req, models, err := facts[policy.Model](b, args, kwargs)
	if err != nil {
		return nil, err
	}
	names, err := t.policy.Route(ctx, req, policy.BoxModels(models), t.trace)
	if err != nil {
		return nil, err
	}
	return list(names), nil
}

func list(names []string) *starlark.List {
	out := make([]starlark.Value, len(names))
	for i, n := range names {
		out[i] = starlark.String(n)
	}
	return starlark.NewList(out)
}

func candidates(targets []target) []policy.Candidate {
	out := make([]policy.Candidate, len(targets))
	for i := range targets {
		out[i] = targets[i].Candidate
		out[i].Target = policy.BoxTarget(&targets[i].Target)
	}
	return out
}

// choose calls the policy's choose and gives a dict: order, the deployments to use, best first; score, by deployment;
// and skipped, the reasons by deployment.
func (t *bench) choose(ctx context.Context, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	req, targets, err := facts[target](b, args, kwargs)
	if err != nil {
		return nil, err
	}
	if !t.policy.HasChoose() {
		return nil, fmt.Errorf("choose: the policy has none")
	}
	var c policy.Choice
	if err := t.policy.Choose(ctx, req, candidates(targets), &c, t.trace); err != nil {
		return nil, err
	}
	var order []string
	score, skipped := new(starlark.Dict), new(starlark.Dict)
	for _, i := range c.Order {
		order = append(order, targets[i].Deployment)
		put(score, targets[i].Deployment, starlark.Float(c.Score[i]))
	}
	for _, s := range c.Skips {
		put(skipped, targets[s.Candidate].Deployment, starlark.String(s.Reason))
	}
	out := new(starlark.Dict)
	put(out, "order", list(order))
	put(out, "score", score)
	put(out, "skipped", skipped)
	return out, nil
}

// put sets a member of a dict that nobody else has yet, which cannot fail.
func put(d *starlark.Dict, name string, v starlark.Value) {
	if err := d.SetKey(starlark.String(name), v); err != nil {
		panic(err)
	}
}

// plan calls the policy's plan and gives a dict by deployment: a dict of what was said of its attempts, in seconds.
func (t *bench) plan(ctx context.Context, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	req, targets, err := facts[target](b, args, kwargs)
	if err != nil {
		return nil, err
	}
	if !t.policy.HasPlan() {
		return nil, fmt.Errorf("plan: the policy has none")
	}
	plans := make([]policy.Plan, len(targets))
	if err := t.policy.Plan(ctx, req, candidates(targets), plans, t.trace); err != nil {
		return nil, err
	}
	out := new(starlark.Dict)
	for i := range plans {
		put(out, targets[i].Deployment, said(&plans[i]))
	}
	return out, nil
}

func said(p *policy.Plan) *starlark.Dict {
	d := new(starlark.Dict)
	for _, wait := range []struct {
		name string
		is   time.Duration
	}{{"connect", p.Connect}, {"first_content", p.FirstContent}, {"idle", p.Idle}, {"total", p.Total}, {"hedge", p.Hedge}} {
		if wait.is > 0 {
			put(d, wait.name, starlark.Float(wait.is.Seconds()))
		}
	}
	if p.Tries > 0 {
		put(d, "retries", starlark.MakeInt(p.Tries-1))
	}
	for _, word := range []struct{ name, is string }{{"commit", p.Commit}, {"on_disconnect", p.OnDisconnect}, {"on_break", p.OnBreak}, {"continuation", p.Continuation}} {
		if word.is != "" {
			put(d, word.name, starlark.String(word.is))
		}
	}
	if p.Refusals {
		put(d, "refusals", starlark.True)
	}
	return d
}

package route

import (
	"context"
	"slices"

	"github.com/penstock-gateway/penstock/core/policy"
)

// Cycles lists the ways on which routers lead back to themselves, each as names from a router to itself again. What a
// policy branches to is known only once it is asked: it is asked for requests of all kinds, over the models that there
// are. A cycle that none of these shows is a failure of the policy when a request meets it.
func (t *Table) Cycles(ctx context.Context) [][]string {
	leads := make(map[*Router][]*Router, len(t.order))
	for _, r := range t.order {
		leads[r] = t.leads(ctx, r)
	}
	var cycles [][]string
	done := map[*Router]bool{}
	var open []*Router
	var walk func(r *Router)
	walk = func(r *Router) {
		if i := slices.Index(open, r); i >= 0 {
			var names []string
			for _, o := range open[i:] {
				names = append(names, o.Name)
			}
			cycles = append(cycles, append(names, r.Name))
			return
		}
		if done[r] {
			return
		}
		open = append(open, r)
		for _, next := range leads[r] {
			walk(next)
		}
		open = open[:len(open)-1]
		done[r] = true
	}
	for _, r := range t.order {
		walk(r)
	}
	return cycles
}

// leads lists the routers that a router may branch to.
func (t *Table) leads(ctx context.Context, r *Router) []*Router {
	var list []*Router
	add := func(names []string) {
		for _, name := range names {
			if next := t.lookup(name).router; next != nil && !slices.Contains(list, next) {
				list = append(list, next)
			}
		}
	}
	add(r.OnError)
	for _, req := range probes(r.Name) {
		if names, err := r.Policy.Route(ctx, &req, t.measured.now.Load().Models(), nil); err == nil { // a failure leads nowhere but to on_error
			add(names)
		}
	}
	return list
}

// probes are requests that differ in what policies look at.
func probes(model string) []policy.Request {
	plain := policy.Request{Model: model, Dialect: "openai-chat", Tokens: 1000, MaxOutput: defaultOutput, Inputs: []string{"text"}}
	var list []policy.Request
	add := func(change func(*policy.Request)) {
		r := plain
		change(&r)
		list = append(list, r)
	}
	add(func(*policy.Request) {})
	add(func(r *policy.Request) { r.Tokens, r.MaxOutput = 1, 1 })
	add(func(r *policy.Request) { r.Tokens = 500_000 })
	add(func(r *policy.Request) { r.Tools, r.Needs = true, []string{"tools"} })
	add(func(r *policy.Request) { r.Structured, r.Needs = true, []string{"json_schema"} })
	add(func(r *policy.Request) { r.Inputs, r.Needs = []string{"text", "image"}, []string{"images"} })
	add(func(r *policy.Request) { r.Effort, r.Needs = "high", []string{"thinking"} })
	add(func(r *policy.Request) { r.Stream = true })
	for _, class := range [...]string{"main", "subagent", "workflow", "compaction", "auxiliary"} {
		add(func(r *policy.Request) {
			r.Dialect, r.Client.RequestClass, r.Client.Compaction = "anthropic", class, class == "compaction"
		})
	}
	return list
}

// defaultOutput is the output that a request is taken to ask for where it does not say.
const defaultOutput = 4096

package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Report is what Check found.
type Report struct {
	Faults []*Error // what keeps the policy from being used
	Notes  []Note   // what is likely to be a mistake
	Cost   Cost
}

// Note is a remark on a policy that can be used. Rule is one of docstring, unused, fallback and unmarked; API.md in
// folder policies has a line on each.
type Note struct {
	Pos  Pos
	Rule string
	Msg  string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s (%s)", n.Pos, n.Msg, n.Rule) }

// Cost is the most steps that a call took over the made-up facts, of which there are so many. A step takes 10 to 20 ns.
type Cost struct {
	Route, Choose, Plan uint64
	Models, Targets     int
}

// Check compiles a policy and looks for what is likely to be a mistake.
func Check(name string, src []byte, o Options) *Report {
	report := &Report{Cost: Cost{Models: len(madeUpModels()), Targets: len(madeUpTargets())}}
	o.DryRun = func(p *Program) error { return report.dryRun(p) }
	_, err := Compile(name, src, o)
	var e *Error
	if errors.As(err, &e) {
		report.Faults = allFaults(name, src, o, e)
		return report
	}
	tree, err := dialect.Parse(name, src, 0)
	if err != nil {
		report.Faults = textErrors(err)
		return report
	}
	report.lint(tree)
	slices.SortStableFunc(report.Notes, func(a, b Note) int {
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
	})
	return report
}

// allFaults adds to the first fault the others of its sort: the resolver finds all unknown names at once.
func allFaults(name string, src []byte, o Options, first *Error) []*Error {
	env := maps.Clone(predeclared)
	maps.Copy(env, o.Env)
	tree, err := parse(name, src, env, false)
	if err == nil {
		_, err = starlark.FileProgram(tree, env.Has)
	}
	if err == nil || first.Pos.File != name {
		return []*Error{first}
	}
	return textErrors(err)
}

// DryRun runs a policy over made-up facts: requests that ask for little and for much, targets of which nothing is known.
// What fails here would fail some request. A call of fail is no fault, nor is a route that finds no model able.
func DryRun(p *Program) error { return new(Report).dryRun(p) }

func (r *Report) dryRun(p *Program) error {
	models, targets := BoxModels(madeUpModels()), madeUpTargets()
	most, unmarked := 0, false
	for _, req := range madeUpRequests() {
		for _, m := range []*Models{models, BoxModels(madeUpModels()[:1])} {
			var t Trace
			names, err := p.Route(context.Background(), &req, m, &t)
			if err := tolerate(err); err != nil {
				return err
			}
			most, r.Cost.Route = max(most, len(names)), max(r.Cost.Route, t.Steps)
		}
		for _, list := range [][]Candidate{targets, targets[len(targets)-1:]} {
			open, err := r.dryChoose(p, &req, list)
			if err != nil {
				return err
			}
			unmarked = unmarked || open
		}
	}
	if most == 1 {
		r.note(p.route.Position(), "fallback", "route never returns more than one branch: nothing is left when it fails")
	}
	if unmarked {
		r.note(p.choose.Position(), "unmarked", "choose leaves targets without use or skip: they are skipped without a reason")
	}
	return nil
}

// dryChoose runs choose and plan, and says whether choose left a target unmarked.
func (r *Report) dryChoose(p *Program, req *Request, list []Candidate) (unmarked bool, err error) {
	if p.HasChoose() {
		var c Choice
		var t Trace
		if err := tolerate(p.Choose(context.Background(), req, list, &c, &t)); err != nil {
			return false, err
		}
		r.Cost.Choose = max(r.Cost.Choose, t.Steps)
		for _, s := range c.Skips {
			unmarked = unmarked || s.Reason == Unmarked
		}
	}
	if p.HasPlan() {
		var t Trace
		if err := tolerate(p.Plan(context.Background(), req, list, make([]Plan, len(list)), &t)); err != nil {
			return false, err
		}
		r.Cost.Plan = max(r.Cost.Plan, t.Steps)
	}
	return unmarked, nil
}

func tolerate(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Kind == Failed || e.Kind == Empty) {
		return nil
	}
	return err
}

func (r *Report) note(pos syntax.Position, rule, format string, args ...any) {
	r.Notes = append(r.Notes, Note{place(pos), rule, fmt.Sprintf(format, args...)})
}

// lint looks at the text alone.
func (r *Report) lint(tree *syntax.File) {
	if doc, ok := docstring(tree.Stmts); !ok || !strings.Contains(doc, ":") {
		r.note(syntax.MakePosition(&tree.Path, 1, 1), "docstring", `want the file to open with """name: one line"""`)
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		def, ok := n.(*syntax.DefStmt)
		if !ok {
			return true
		}
		r.unused(def)
		switch def.Name.Name {
		case "route":
			if !ends(def.Body) {
				r.note(def.Def, "fallback", "route can come to its end without returning branches")
			}
			fallthrough
		case "choose", "plan":
			if _, ok := docstring(def.Body); !ok {
				r.note(def.Def, "docstring", "%s: want a docstring that says how it decides", def.Name.Name)
			}
		}
		return true
	})
}

// unused notes the arguments that a function does not look at; a name that opens with an underscore says it is meant.
func (r *Report) unused(def *syntax.DefStmt) {
	seen := map[string]bool{}
	for _, s := range def.Body {
		syntax.Walk(s, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok {
				seen[id.Name] = true
			}
			return true
		})
	}
	for _, p := range def.Params {
		if id := param(p); !seen[id.Name] && id.Name[0] != '_' {
			r.note(id.NamePos, "unused", "%s: %s does not look at this argument; call it _%s where that is meant", id.Name, def.Name.Name, id.Name)
		}
	}
}

// ends says whether a body always returns or fails.
func ends(body []syntax.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	switch s := body[len(body)-1].(type) {
	case *syntax.ReturnStmt:
		return s.Result != nil
	case *syntax.IfStmt:
		return ends(s.True) && ends(s.False)
	case *syntax.ExprStmt:
		call, ok := s.X.(*syntax.CallExpr)
		if !ok {
			return false
		}
		fn, ok := call.Fn.(*syntax.Ident)
		return ok && fn.Name == "fail"
	}
	return false
}

// Format writes a policy in the one layout that Starlark has. Comments stay. The error is an *Error of kind Syntax.
func Format(name string, src []byte) ([]byte, error) {
	if _, err := dialect.Parse(name, src, 0); err != nil {
		return nil, textErrors(err)[0]
	}
	f, err := build.ParseDefault(name, src)
	if err != nil {
		var parse build.ParseError
		if errors.As(err, &parse) {
			return nil, &Error{Kind: Syntax, Pos: Pos{name, parse.Pos.Line, parse.Pos.LineRune}, Msg: parse.Message}
		}
		return nil, &Error{Kind: Syntax, Pos: Pos{name, 1, 1}, Msg: err.Error()}
	}
	return build.FormatWithoutRewriting(f), nil
}

// unknownAttribute words the error for a name that no value has.
func unknownAttribute(name string) string {
	best, least := "", 1+len(name)/3
	for _, have := range slices.Sorted(maps.Keys(attributes)) {
		if d := distance(name, have); d <= least {
			best, least = have, d-1
		}
	}
	if best == "" {
		return "no value has this attribute"
	}
	return fmt.Sprintf("no value has this attribute (did you mean .%s?)", best)
}

// distance is the number of single-byte edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range min(len(a), maxName) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func madeUpRequests() []Request {
	return []Request{
		{Model: "auto", Dialect: "openai-chat", Tokens: 1, MaxOutput: 1, Inputs: []string{"text"}},
		{
			Model: "auto", Dialect: "anthropic", Tokens: 120_000, MaxOutput: 32_000, Inputs: []string{"text", "image", "document"},
			Needs: []string{"tools", "images", "documents", "thinking"}, Tools: true, Stream: true, Effort: "high",
			Key:     Key{Name: "dev", Team: "core", Tags: []string{"gold"}},
			Client:  Client{SessionID: "s-1", AgentID: "a-1", ParentAgentID: "a-0", AgentType: "plan", RequestClass: "main"},
			Session: "s-1", Headers: map[string]string{"x-tier": "gold"}, Metadata: map[string]string{"user_id": "u-1"},
			Hour: 23, Weekday: 6, Seed: math.MaxUint64,
		},
		{
			Model: "auto", Dialect: "openai-responses", Tokens: 4_000_000, MaxOutput: 4096, Inputs: []string{"audio"},
			Needs: []string{"audio", "json_schema"}, Structured: true, Effort: "minimal", Client: Client{RequestClass: "auxiliary"}, Seed: 7,
		},
	}
}

func madeUpModels() []Model {
	unknown := Model{
		Name: "unknown", Price: math.Inf(1), Context: Unlimited, MaxOutput: Unlimited, Deployments: 1, Healthy: 1,
		Capabilities: []string{"tools", "parallel_tools", "images", "audio", "documents", "thinking", "json_schema", "prefill", "embeddings", "logprobs", "n"},
	}
	return []Model{
		{
			Name: "large", Price: 9, Tags: []string{"general", "tier-1"}, Capabilities: []string{"tools", "images", "documents", "thinking", "json_schema"},
			Context: 200_000, MaxOutput: 64_000, Deployments: 2, Healthy: 2, Latency: Latency{2, 9, 0.6, 70}, ErrorRate: 0.01,
		},
		{
			Name: "small", Price: 0.5, Tags: []string{"general", "tier-2"}, Capabilities: []string{"tools", "json_schema"},
			Context: 128_000, MaxOutput: 16_000, Deployments: 2, Healthy: 1, Latency: Latency{0.7, 3, 0.2, 150}, ErrorRate: 0.2,
		},
		{Name: "gift", Tags: []string{"free"}, Context: 32_000, MaxOutput: 4_000, Deployments: 1},
		{Name: "present", Capabilities: []string{"tools"}, Context: Unlimited, MaxOutput: Unlimited, Deployments: 1, Healthy: 1},
		unknown,
	}
}

func madeUpTargets() []Candidate {
	list := []Target{
		{
			Model: "large", Provider: "one", Deployment: "large/one", Price: Price{3, 15, 0.3, 3.75}, Context: 200_000, MaxOutput: 64_000,
			Capabilities: []string{"tools", "images", "documents", "thinking", "json_schema"}, Tags: []string{"tier-1"}, Weight: 1,
			Health: "up", Credential: "ok", Latency: Latency{2, 9, 0.6, 70}, ErrorRate: 0.01, InFlight: 3,
		},
		{
			Model: "large", Provider: "two", Deployment: "large/two", Price: Price{2, 12, 0.2, 2.5}, Context: 128_000, MaxOutput: 8_000,
			Capabilities: []string{"tools"}, Tags: []string{"tier-2"}, Weight: 3, Health: "down", Quarantine: "5 failures in a row",
			Credential: "limited", Latency: Latency{1, 30, 0.3, 40}, ErrorRate: 1,
		},
		{Model: "large", Provider: "gift", Deployment: "large/gift", Context: 8_000, MaxOutput: 1_000, Health: "probing", Credential: "refused"},
		{
			Model: "large", Provider: "new", Deployment: "large/new", Context: Unlimited, MaxOutput: Unlimited, Weight: 1, Health: "up", Credential: "ok",
			Price: Price{math.Inf(1), math.Inf(1), 0.1, math.Inf(1)},
		},
	}
	var out []Candidate
	for i := range list {
		out = append(out, Candidate{Target: BoxTarget(&list[i]), Cached: float64(i) / 4, Loses: []string{"thinking"}[:i%2]})
	}
	return out
}

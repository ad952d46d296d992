package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// TestShippedDecide runs the policies over facts of all kinds. They never fail but for want of a model that is able; the
// same facts give the same decision, and every target is either used or skipped with a reason.
func TestShippedDecide(t *testing.T) {
	for _, name := range policies.Names() {
		p := compile(t, name)
		rapid.Check(t, func(t *rapid.T) {
			req := &policy.Request{
				Dialect: rapid.SampledFrom([]string{"openai-chat", "openai-embeddings"}).Draw(t, "dialect"),
				Tokens:  rapid.IntRange(1, 1<<40).Draw(t, "tokens"), MaxOutput: rapid.IntRange(1, 1<<30).Draw(t, "max output"),
				Needs: words(t, "needs"), Effort: rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort"),
				Client:  policy.Client{RequestClass: rapid.SampledFrom([]string{"", "main", "auxiliary"}).Draw(t, "class")},
				Session: rapid.String().Draw(t, "session"), Seed: rapid.Uint64().Draw(t, "seed"),
			}
			var models []policy.Model
			var list []policy.Candidate
			for i := range rapid.IntRange(0, 6).Draw(t, "count") {
				models = append(models, policy.Model{
					Name: fmt.Sprint("m", i), Price: amount(t), Tags: words(t, "tags"), Capabilities: words(t, "can"),
					Context: limit(t), MaxOutput: limit(t), Healthy: i % 2, Latency: latency(t), ErrorRate: share(t),
				})
				list = append(list, policy.Candidate{Cached: share(t), Target: policy.BoxTarget(&policy.Target{
					Deployment: fmt.Sprint("d", i), Price: policy.Price{Input: amount(t), Output: amount(t), CacheRead: amount(t), CacheWrite: amount(t)},
					Context: limit(t), MaxOutput: limit(t), Capabilities: words(t, "can"), Tags: words(t, "tags"),
					Weight: i, Latency: latency(t), ErrorRate: share(t), InFlight: i * i,
				})})
			}
			first, again := decide(t, p, req, models, list), decide(t, p, req, models, list)
			if d := cmp.Diff(first, again); d != "" {
				t.Errorf("%s: the same facts give another decision: %s", name, d)
			}
		})
	}
}

// decision is all that a policy said.
type decision struct {
	Branches []string
	Order    []int
	Score    []float64
	Skips    []policy.Skip
}

func decide(t *rapid.T, p *policy.Program, req *policy.Request, models []policy.Model, list []policy.Candidate) decision {
	names, err := p.Route(context.Background(), req, policy.BoxModels(models), nil)
	var e *policy.Error
	if err != nil && (!errors.As(err, &e) || e.Kind != policy.Empty) {
		t.Fatal(err)
	}
	for i, n := range names {
		if !slices.ContainsFunc(models, func(m policy.Model) bool { return m.Name == n }) || slices.Contains(names[:i], n) {
			t.Errorf("branches %v: %s is no model, or there twice", names, n)
		}
	}
	var c policy.Choice
	if err := p.Choose(context.Background(), req, list, &c, nil); err != nil {
		t.Fatal(err)
	}
	if len(c.Order)+len(c.Skips) != len(list) {
		t.Errorf("%d targets: got %v, %v", len(list), c.Order, c.Skips)
	}
	for _, s := range c.Skips {
		if s.Reason == policy.Unmarked || s.Reason == "" {
			t.Errorf("target %d is skipped without a reason", s.Candidate)
		}
	}
	return decision{names, c.Order, c.Score, c.Skips}
}

func words(t *rapid.T, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tools", "images", "thinking", "embeddings", "general", "tier-1", "small"}), 0, 3, rapid.ID).Draw(t, label)
}

func amount(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{0, 0.1, 3, 75, math.Inf(1)}).Draw(t, "price")
}

func share(t *rapid.T) float64 { return rapid.SampledFrom([]float64{0, 0.01, 0.6, 1}).Draw(t, "share") }

func limit(t *rapid.T) int {
	return rapid.SampledFrom([]int{1, 8000, 200_000, policy.Unlimited}).Draw(t, "limit")
}

func latency(t *rapid.T) policy.Latency {
	first := rapid.SampledFrom([]float64{0, 0.2, 30}).Draw(t, "latency")
	return policy.Latency{P50: first * 4, P99: first * 20, TTFT: first, TokensPerSecond: first * 50}
}

package route

import (
	"math"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/policy"
)

// DescribeRequest gives what the facts and the time say of a request in a policy's terms. The key, the client and what
// else the facts do not hold are the caller's to add.
func DescribeRequest(f *dialect.Facts, dialectName string, at time.Time, seed uint64) *policy.Request {
	at = at.UTC()
	r := &policy.Request{
		Model: f.Model, Dialect: dialectName, Tokens: max(1, f.TextBytes/4), MaxOutput: f.MaxOutput, Inputs: []string{"text"}, Needs: f.Needs.Names(),
		Tools: f.Tools > 0, Structured: f.Needs&dialect.JSONSchema != 0, Stream: f.Stream, Effort: f.Effort,
		Hour: at.Hour(), Weekday: (int(at.Weekday()) + 6) % 7, Seed: seed,
	}
	if r.MaxOutput < 1 {
		r.MaxOutput = defaultOutput
	}
	for _, in := range [...]struct {
		need dialect.Need
		name string
	}{{dialect.Images, "image"}, {dialect.Audio, "audio"}, {dialect.Documents, "document"}} {
		if f.Needs&in.need != 0 {
			r.Inputs = append(r.Inputs, in.name)
		}
	}
	return r
}

func describeTarget(d *catalog.Deployment) *policy.Target {
	t := &policy.Target{Model: d.Name, Deployment: d.ID, Context: d.Context, MaxOutput: d.MaxOutput,
		Capabilities: d.Can.Names(), Tags: d.Tags, Weight: d.Weight, Health: "up", Credential: "ok"}
	if d.Provider != nil {
		t.Provider = d.Provider.ID
	}
	unknown := math.Inf(1)
	t.Price = policy.Price{Input: unknown, Output: unknown, CacheRead: unknown, CacheWrite: unknown}
	if p := d.Price; p != nil {
		t.Price = policy.Price{Input: usd(p.Input), Output: usd(p.Output), CacheRead: usd(p.CacheRead), CacheWrite: usd(p.CacheWrite)}
	}
	return t
}

func describeModel(m *catalog.Model) policy.Model {
	out := policy.Model{Name: m.Name, Tags: slices.Clone(m.Tags), Price: math.Inf(1), Deployments: len(m.Deployments), Healthy: len(m.Deployments)}
	var can dialect.Need
	for _, d := range m.Deployments {
		can |= d.Can
		out.Context, out.MaxOutput = max(out.Context, d.Context), max(out.MaxOutput, d.MaxOutput)
		out.Price = min(out.Price, blended(d)/4/1e9)
		for _, tag := range d.Tags {
			if !slices.Contains(out.Tags, tag) {
				out.Tags = append(out.Tags, tag)
			}
		}
	}
	out.Capabilities = can.Names()
	return out
}

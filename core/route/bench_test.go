package route_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/policies"
)

// benchTable has 16 models of 4 deployments each, and the router that is served where there is none.
func benchTable(b *testing.B, workers route.Workers) *route.Table {
	src, err := policies.FS.ReadFile("auto.star")
	if err != nil {
		b.Fatal(err)
	}
	p, err := policy.Compile("auto.star", src, policy.Options{Folder: policies.FS})
	if err != nil {
		b.Fatal(err)
	}
	var models []*catalog.Model
	for i := range 16 {
		var list []*catalog.Deployment
		for j := range 4 {
			list = append(list, &catalog.Deployment{ID: fmt.Sprintf("m%d/%d", i, j), Name: fmt.Sprintf("m%d", i), Provider: &catalog.Provider{ID: "p"},
				Weight: 1, Context: 200_000, MaxOutput: 64_000, Can: dialect.Tools | dialect.Images,
				Price: &catalog.Price{Input: int64(i*7%16+1) * 1e9, Output: int64(j+1) * 1e9}})
		}
		models = append(models, &catalog.Model{Name: fmt.Sprintf("m%d", i), Strategy: catalog.Strategy(i % 2), Deployments: list})
	}
	return route.NewTable(route.Options{Catalog: catalog.New(models), Routers: []*route.Router{{Name: "auto", Policy: p, MinCandidates: 64}}, Workers: workers})
}

// anyone is a caller who may use all.
type anyone struct{ on *route.Table }

func (anyone) Allows(string) bool { return true }

func (a anyone) Models(s *route.Statistics) *policy.Models { return s.Models() }

func (anyone) Describe() *policy.Request {
	return &policy.Request{Model: "auto", Dialect: "openai-chat", Tokens: 150_000, MaxOutput: 4096, Tools: true, Needs: []string{"tools"}}
}

// BenchmarkExpand is the expansion of a model by itself, and of the router over all 16 branches.
func BenchmarkExpand(b *testing.B) {
	for _, c := range []struct {
		label, name string
		workers     route.Workers
		want        int
	}{{"ordered", "m0", route.Auto, 4}, {"weighted", "m1", route.Auto, 4}, {"auto", "auto", route.Auto, 64}, {"auto-together", "auto", route.Many, 64}} {
		b.Run(c.label, func(b *testing.B) {
			on := benchTable(b, c.workers)
			q := &route.Request{Name: c.name, Facts: &dialect.Facts{}, Caller: anyone{on}, Now: time.Unix(1e9, 0)}
			var d route.Decision
			b.ReportAllocs()
			for b.Loop() {
				if err := on.Expand(context.Background(), q, &d); err != nil || len(d.Candidates) != c.want {
					b.Fatal(d, err)
				}
			}
		})
	}
}

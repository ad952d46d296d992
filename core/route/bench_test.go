package route_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/policies"
)

// benchTable has 16 models of 4 deployments each, watched by as many backends and a credential, and the router that is
// served where there is none.
func benchTable(b *testing.B, workers route.Workers, on *health.Registry) *route.Table {
	src, err := policies.FS.ReadFile("auto.star")
	if err != nil {
		b.Fatal(err)
	}
	p, err := policy.Compile("auto.star", src, policy.Options{Folder: policies.FS})
	if err != nil {
		b.Fatal(err)
	}
	var models []*catalog.Model
	watch := map[*catalog.Deployment]route.Watch{}
	account := route.Account{on.Credential("main")}
	for i := range 16 {
		var list []*catalog.Deployment
		for j := range 4 {
			list = append(list, &catalog.Deployment{ID: fmt.Sprintf("m%d/%d", i, j), Name: fmt.Sprintf("m%d", i), Provider: &catalog.Provider{ID: "p"},
				Weight: 1, Context: 200_000, MaxOutput: 64_000, Can: dialect.Tools | dialect.Images,
				Price: price.Flat(price.Rates{Input: int64(i*7%16+1) * 1e9, Output: int64(j+1) * 1e9})})
			watch[list[j]] = route.Watch{Deployment: on.Backend(list[j].ID), Accounts: []route.Account{account}}
		}
		models = append(models, &catalog.Model{Name: fmt.Sprintf("m%d", i), Strategy: catalog.Strategy(i % 3), Deployments: list})
	}
	return route.NewTable(route.Options{Catalog: catalog.New(models), Routers: []*route.Router{{Name: "auto", Policy: p, MinCandidates: 64}}, Health: watch, Workers: workers})
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
	}{{"ordered", "m0", route.Auto, 4}, {"weighted", "m1", route.Auto, 4}, {"fastest", "m2", route.Auto, 4}, {"auto", "auto", route.Auto, 64}, {"auto-together", "auto", route.Many, 64}} {
		b.Run(c.label, func(b *testing.B) {
			on := benchTable(b, c.workers, health.NewRegistry(slog.New(slog.DiscardHandler)))
			q := &route.Request{Name: c.name, Facts: &dialect.Facts{}, Caller: anyone{on}, Now: time.Now()}
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

// BenchmarkStatistics is what one request in a quarter of a second pays: all 64 targets have been asked since the last.
func BenchmarkStatistics(b *testing.B) {
	backends := health.NewRegistry(slog.New(slog.DiscardHandler))
	on, care, now := benchTable(b, route.Auto, backends), health.Defaults(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		now = now.Add(time.Second)
		for _, one := range backends.Backends() {
			p, ok := one.Admit(now, care)
			if !ok {
				b.Fatal("refused")
			}
			p.Done(health.Outcome{OK: true, Started: now.Add(-time.Second), Ended: now, OutputTokens: int64(10 + now.Nanosecond()%100)})
			one.Admit(now, care)
		}
		b.StartTimer()
		if s := on.Statistics(now); s == nil {
			b.Fatal("none")
		}
	}
}

package policy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/penstock-gateway/penstock/core/policy"
)

func facts(models, targets int) (*policy.Request, *policy.Models, []policy.Candidate) {
	var list []policy.Model
	var seats []policy.Candidate
	for i := range models {
		list = append(list, policy.Model{
			Name: fmt.Sprintf("model-%d", i), Price: float64(i*7%models) + 0.5, Tags: []string{"general"},
			Capabilities: []string{"tools", "images"}, Context: 200_000, MaxOutput: 64_000, Deployments: 4, Healthy: 4,
		})
	}
	for i := range targets {
		seats = append(seats, policy.Candidate{Target: policy.BoxTarget(&policy.Target{
			Model: "model", Provider: "p", Deployment: fmt.Sprintf("model/%d", i), Price: policy.Price{Input: float64(i % 3), Output: 9},
			Context: 100_000 << (i % 3), MaxOutput: 64_000, Capabilities: []string{"tools", "images"}, Health: "up", Credential: "ok",
		})})
	}
	req := &policy.Request{
		Model: "auto", Dialect: "openai-chat", Tokens: 150_000, MaxOutput: 4096, Tools: true, Stream: true,
		Inputs: []string{"text"}, Needs: []string{"tools"}, Seed: 42,
	}
	return req, policy.BoxModels(list), seats
}

// BenchmarkAuto is one request's worth of auto: route over 16 models, then choose for each of 16 branches.
func BenchmarkAuto(b *testing.B) {
	p := compile(b, "auto")
	req, models, targets := facts(16, 4)
	var choice policy.Choice
	b.ReportAllocs()
	for b.Loop() {
		names, err := p.Route(context.Background(), req, models, nil)
		if err != nil || len(names) != 16 {
			b.Fatal(names, err)
		}
		for range names {
			if err := p.Choose(context.Background(), req, targets, &choice, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkAutoRoute(b *testing.B) {
	p := compile(b, "auto")
	req, models, _ := facts(16, 4)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Route(context.Background(), req, models, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChoose32 is choose over 32 candidates, of which a third is skipped.
func BenchmarkChoose32(b *testing.B) {
	for _, name := range []string{"auto", "cheapest", "fastest", "sticky", "balanced"} {
		b.Run(name, func(b *testing.B) {
			p := compile(b, name)
			req, _, targets := facts(1, 32)
			var choice policy.Choice
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Choose(context.Background(), req, targets, &choice, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, "auto")
	}
}

func BenchmarkBoxTarget(b *testing.B) {
	t := policy.Target{Model: "m", Provider: "p", Deployment: "m/p", Capabilities: []string{"tools", "images"}}
	b.ReportAllocs()
	for b.Loop() {
		policy.BoxTarget(&t)
	}
}

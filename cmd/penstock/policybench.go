package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/route"
)

// benched is what decisions by a policy take.
type benched struct {
	Policy     string  `json:"policy"`
	Models     int     `json:"models"`
	Targets    int     `json:"targets"` // of each
	Steps      uint64  `json:"steps"`
	Candidates int     `json:"candidates"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	Allocs     uint64  `json:"allocs"`
	Bytes      uint64  `json:"bytes"`
}

func newPolicyBench() *cobra.Command {
	var rounds, models, targets int
	var output string
	cmd := &cobra.Command{
		Use:   "bench [FILE…]",
		Short: "Measure what decisions by policies take",
		Long: "Measure what decisions by policies take, over made-up models and targets: all branches are expanded. A policy is a\n" +
			"file, or penstock/NAME; without any, those of the configuration are measured.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if rounds < 1 || models < 1 || targets < 1 || models*targets > 100_000 {
				return fmt.Errorf("--n, --models, --targets: want at least 1, and 100,000 targets in all at most")
			}
			list, err := findPolicies(args)
			if err != nil {
				return err
			}
			out := []benched{}
			for _, f := range list {
				b := benched{Policy: f.at(f.name), Models: models, Targets: targets}
				p, err := f.compile()
				if err != nil {
					return err
				}
				if err := b.run(cmd.Context(), p, rounds); err != nil {
					return &exitError{exitInvalid, f.at(err.Error())}
				}
				out = append(out, b)
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			}
			return showBenched(cmd, out)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&rounds, "n", 2000, "decisions that are measured")
	fl.IntVar(&models, "models", 16, "models that there are")
	fl.IntVar(&targets, "targets", 4, "targets that each model has")
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func showBenched(cmd *cobra.Command, list []benched) error {
	var rows [][]string
	for _, b := range list {
		us := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
		rows = append(rows, []string{b.Policy, strconv.FormatUint(b.Steps, 10), strconv.Itoa(b.Candidates), us(b.P50), us(b.P99),
			strconv.FormatUint(b.Allocs, 10), strconv.FormatUint(b.Bytes, 10)})
	}
	return table(cmd, []string{"policy", "steps", "candidates", "p50 µs", "p99 µs", "allocs", "bytes"}, rows)
}

// run makes decisions, some to warm up and then those that count.
func (b *benched) run(ctx context.Context, p *policy.Program, rounds int) error {
	on := route.NewTable(route.Options{Catalog: madeUpCatalog(b.Models, b.Targets), Workers: route.Single,
		Routers: []*route.Router{{Name: "bench", Policy: p, MinCandidates: b.Models * b.Targets}}})
	q := &route.Request{Name: "bench", Facts: &dialect.Facts{}, Caller: benchCaller{}, Now: time.Now()}
	var d route.Decision
	for range rounds/10 + 1 {
		if err := on.Expand(ctx, q, &d); err != nil {
			return err
		}
	}
	took := make([]float64, rounds)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range took {
		q.Seed = uint64(i)
		begun := time.Now()
		if err := on.Expand(ctx, q, &d); err != nil {
			return err
		}
		took[i] = float64(time.Since(begun).Nanoseconds()) / 1e3
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	b.P50, b.P99 = took[rounds/2], took[rounds*99/100]
	b.Allocs, b.Bytes = (after.Mallocs-before.Mallocs)/uint64(rounds), (after.TotalAlloc-before.TotalAlloc)/uint64(rounds)
	b.Steps, b.Candidates = d.Steps, len(d.Candidates)
	return nil
}

// madeUpCatalog has models of different prices, the first of which are free.
func madeUpCatalog(models, targets int) *catalog.Catalog {
	var list []*catalog.Model
	for i := range models {
		m := &catalog.Model{Name: "model-" + strconv.Itoa(i), Tags: []string{"general", "tier-" + strconv.Itoa(1+i%3)}}
		for j := range targets {
			provider := "provider-" + strconv.Itoa(j)
			m.Deployments = append(m.Deployments, &catalog.Deployment{ID: m.Name + "/" + provider, Name: m.Name, Provider: &catalog.Provider{ID: provider}, Weight: 1,
				Context: 200_000, MaxOutput: 64_000, Can: dialect.Tools | dialect.Images, Price: price.Flat(price.Rates{Input: int64(i) * 1e9, Output: int64(i) * 4e9})})
		}
		list = append(list, m)
	}
	return catalog.New(list)
}

// benchCaller asks for tools in a conversation of some length.
type benchCaller struct{}

// Allows implements route.Caller, as do the others.
func (benchCaller) Allows(string) bool                        { return true }
func (benchCaller) Models(s *route.Statistics) *policy.Models { return s.Models() }
func (benchCaller) Describe() *policy.Request {
	return &policy.Request{Model: "bench", Dialect: "openai-chat", Tokens: 20_000, MaxOutput: 4096, Inputs: []string{"text"}, Tools: true, Needs: []string{"tools"}}
}

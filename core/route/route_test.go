package route

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
)

func deployment(id string, weight int) *catalog.Deployment {
	return &catalog.Deployment{ID: id, Weight: weight, Context: catalog.Unlimited, Can: math.MaxUint16}
}

func ids(list []*catalog.Deployment) string {
	s := ""
	for _, d := range list {
		s += d.ID
	}
	return s
}

func TestOrderedKeepsTheOrder(t *testing.T) {
	m := &catalog.Model{Deployments: []*catalog.Deployment{deployment("a", 1), deployment("b", 9), deployment("c", 5)}}
	var d Decision
	for range 20 {
		Expand(m, Request{Facts: &dialect.Facts{}, Draw: rand.Uint64}, &d)
		if got := ids(d.Candidates); got != "abc" || len(d.Skips) != 0 {
			t.Fatalf("candidates %s, skips %v; want abc and none", got, d.Skips)
		}
	}
}

func TestUnfitIsSkippedWithItsReason(t *testing.T) {
	small := deployment("small", 1)
	small.Context = 100
	plain := deployment("plain", 1)
	plain.Can = dialect.Tools
	m := &catalog.Model{Deployments: []*catalog.Deployment{small, plain, deployment("able", 1)}}
	var d Decision
	Expand(m, Request{Facts: &dialect.Facts{Needs: dialect.Tools | dialect.Images | dialect.Audio, TextBytes: 6000}}, &d)
	if got := ids(d.Candidates); got != "able" {
		t.Errorf("candidates %s, want able", got)
	}
	want := []Skip{
		{Deployment: "small", Stage: "context", Reason: "about 1000 tokens are more than the context of 100"},
		{Deployment: "plain", Stage: "capabilities", Reason: "no images, audio"},
	}
	if len(d.Skips) != 2 || d.Skips[0] != want[0] || d.Skips[1] != want[1] {
		t.Errorf("skips %v, want %v", d.Skips, want)
	}
}

func TestWeightedDrawsInProportion(t *testing.T) {
	m := &catalog.Model{Strategy: catalog.Weighted, Deployments: []*catalog.Deployment{deployment("a", 1), deployment("b", 3), deployment("c", 0)}}
	r := rand.New(rand.NewPCG(1, 2))
	first := map[string]int{}
	var d Decision
	const n = 40000
	for range n {
		Expand(m, Request{Facts: &dialect.Facts{}, Draw: r.Uint64}, &d)
		if len(d.Candidates) != 3 {
			t.Fatalf("candidates %s, want all three", ids(d.Candidates))
		}
		first[d.Candidates[0].ID]++
	}
	if first["c"] != 0 || first["a"] < n/4-600 || first["a"] > n/4+600 {
		t.Errorf("first drawn: %v of %d, want a quarter a, the rest b", first, n)
	}
}

func TestWeightsKeepTheOthersInOrder(t *testing.T) {
	list := []*catalog.Deployment{deployment("a", 1), deployment("b", 1), deployment("c", 1), deployment("d", 1)}
	draws := []uint64{2, 0, 0, 0}
	shuffle(list, func() uint64 { n := draws[0]; draws = draws[1:]; return n })
	if got := ids(list); got != "cabd" {
		t.Errorf("order %s, want cabd", got)
	}
}

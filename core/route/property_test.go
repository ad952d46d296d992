package route

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/sdk"
)

// drawnPolicy branches as the request's metadata says, and chooses in a way that differs from target to target: by
// price, by the seed, not at all, and with failures.
const drawnPolicy = `
def route(req, models):
    return req.metadata[%q].split(",")

def choose(req, targets):
    for t in targets:
        if "bad" in t.tags:
            fail("a bad target")
        elif "skip" in t.tags:
            skip(t, "skipped for " + t.deployment)
        elif "mute" not in t.tags:
            use(t, rendezvous(str(req.seed), t.deployment) if "hash" in t.tags else t.weight - t.cached)

def plan(req, targets):
    for i, t in enumerate(targets):
        if t.weight == 1:
            attempt(t, retries = min(i, 9))
        elif t.weight == 2 and rendezvous(str(req.seed), t.deployment) < 0.01:
            fail("no plan")
`

// drawnRouters are compiled once; what they branch to is drawn.
func drawnRouters(t testing.TB) []*Router {
	var list []*Router
	for i := range 4 {
		name := fmt.Sprintf("r%d", i)
		list = append(list, router(t, name, fmt.Sprintf(drawnPolicy, name)))
	}
	plain := router(t, "r4", "def route(req, models):\n    return req.metadata[\"r4\"].split(\",\")\n")
	return append(list, plain)
}

// drawCatalog draws models of all strategies, with deployments that differ in all that routing looks at.
func drawCatalog(t *rapid.T) *catalog.Catalog {
	var models []*catalog.Model
	for i := range rapid.IntRange(1, 24).Draw(t, "models") {
		m := &catalog.Model{Name: "m" + strconv.Itoa(i), Strategy: rapid.SampledFrom([]catalog.Strategy{catalog.Ordered, catalog.Weighted, catalog.Fastest, catalog.Cheapest}).Draw(t, "strategy")}
		for j := range rapid.IntRange(0, 4).Draw(t, "deployments") {
			bits := rapid.Uint32().Draw(t, "bits")
			d := deployment(fmt.Sprintf("m%d/%d", i, j), int(bits%5))
			d.Name = m.Name
			d.Tags = []string{[...]string{"", "hash", "hash", "skip", "mute", "", "", ""}[bits>>3&7]}
			if bits>>6&127 == 0 {
				d.Tags = append(d.Tags, "bad")
			}
			if bits>>12&7 == 0 {
				d.Context = 10
			}
			if bits>>15&7 == 0 {
				d.Can = dialect.Images
			}
			if bits>>18&3 != 0 {
				d.Price = price.Flat(price.Rates{Input: int64(bits >> 20 & 7 * 1e9), Output: int64(bits >> 23 & 7 * 1e9)})
			}
			m.Deployments = append(m.Deployments, d)
		}
		models = append(models, m)
	}
	return catalog.New(models)
}

// drawHealth has deployments watched by a few backends: some down, some held, some measured.
func drawHealth(t *rapid.T, c *catalog.Catalog, w *ward) map[*catalog.Deployment]Watch {
	var backends []*health.Backend
	for i := range 6 {
		b := w.Backend(strconv.Itoa(i))
		backends = append(backends, b)
		switch rapid.IntRange(0, 9).Draw(t, "how it is") { // small numbers are drawn more often
		case 9:
			w.breaks(b)
		case 8:
			w.end(b, 1, health.Outcome{Kind: sdk.UpstreamRate, Hold: time.Minute}, 0)
		case 0, 1, 2, 3:
			w.answers(b, time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms"))*time.Millisecond, 10)
		}
	}
	watch := map[*catalog.Deployment]Watch{}
	for _, m := range c.Models {
		for _, d := range m.Deployments {
			if i := rapid.IntRange(0, 2*len(backends)).Draw(t, "backend"); i < len(backends) {
				watch[d] = Watch{Deployment: backends[i], Accounts: []Account{{backends[len(backends)-1-i]}}}
			}
		}
	}
	return watch
}

// drawNames draws what a router branches to: models, deployments, routers behind it and, so that there are circles now
// and then, any.
func drawNames(t *rapid.T, label string, from, to, behind int) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		switch n := rapid.IntRange(0, 39).Draw(t, "name"); {
		case n < 30:
			return "m" + strconv.Itoa(n) + rapid.SampledFrom([]string{"", "", "", ":floor", ":free", ":nitro"}).Draw(t, "suffix")
		case n < 33:
			return "m1/" + strconv.Itoa(n-30)
		case n < 36:
			return "off"
		case n == 39 && rapid.IntRange(0, 9).Draw(t, "circle") == 0:
			behind = 0
		}
		return "r" + strconv.Itoa(rapid.IntRange(min(behind, 4), 4).Draw(t, "router"))
	}), from, to).Draw(t, label)
}

// drawRequest draws a catalogue, what the routers are to branch to, and a request.
func drawRequest(t *rapid.T, routers []*Router) (*catalog.Catalog, Request, map[string]string) {
	c := drawCatalog(t)
	metadata := map[string]string{}
	for i, r := range routers {
		names := drawNames(t, r.Name, 1, 24, i+1)
		if i == len(routers)-1 {
			names = slices.DeleteFunc(names, func(s string) bool { return s == r.Name })
		}
		metadata[r.Name] = strings.Join(append(names, "m0"), ",")
		r.OnError, r.MinCandidates = nil, rapid.IntRange(1, 12).Draw(t, "min_candidates")
		if rapid.Bool().Draw(t, "on_error") {
			r.OnError = drawNames(t, "on_error names", 1, 3, i+1)
		}
	}
	q := Request{Name: "r" + strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "router")), Also: drawNames(t, "also", 0, 2, 0), Seed: rapid.Uint64().Draw(t, "seed"), Now: time.Unix(1e9, 0),
		Facts: &dialect.Facts{TextBytes: rapid.SampledFrom([]int{0, 6000}).Draw(t, "text"), Needs: rapid.SampledFrom([]dialect.Need{0, dialect.Images, dialect.Tools}).Draw(t, "needs")}}
	return c, q, metadata
}

// TestTogetherIsAsOneByOne holds that branches that are expanded beside each other give the decision that they give one
// after the other, for 500 catalogues; for 2,000 with CI=true, and 100,000 with PENSTOCK_LONG=1.
func TestTogetherIsAsOneByOne(t *testing.T) {
	routers := drawnRouters(t)
	decisions, candidates, skips, failures := 0, 0, 0, 0
	check := func(t *rapid.T) {
		c, q, metadata := drawRequest(t, routers)
		w := newWard()
		watch := drawHealth(t, c, w)
		q.Now = w.now
		var got [2]Decision
		var errs [2]error
		for i, workers := range [...]Workers{Single, Many} {
			on := NewTable(Options{Catalog: c, Routers: routers, Disabled: []string{"off"}, Health: watch, Workers: workers})
			q.Caller = &caller{table: on, req: policy.Request{Tokens: 1, MaxOutput: 1, Metadata: metadata, Seed: q.Seed}}
			errs[i] = on.Expand(context.Background(), &q, &got[i])
		}
		one, many := &got[0], &got[1]
		if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) {
			t.Fatalf("one by one: error %v, together: %v", errs[0], errs[1])
		}
		if d := cmp.Diff(one.text(), many.text()); d != "" {
			t.Fatalf("-one by one +together\n%s", d)
		}
		if len(one.Plans) > 0 && len(one.Plans) != len(one.Candidates) {
			t.Fatalf("%d plans for %d candidates", len(one.Plans), len(one.Candidates))
		}
		if d := cmp.Diff(one.Branches, many.Branches); d != "" || one.Steps != many.Steps || fmt.Sprint(one.Failures) != fmt.Sprint(many.Failures) {
			t.Fatalf("steps %d and %d, failures %v and %v, branches\n%s", one.Steps, many.Steps, one.Failures, many.Failures, d)
		}
		decisions, candidates, skips, failures = decisions+1, candidates+len(one.Candidates), skips+len(one.Skips), failures+len(one.Failures)
	}
	rounds := 5
	switch {
	case os.Getenv("PENSTOCK_LONG") != "":
		rounds = 1000
	case os.Getenv("CI") == "true":
		rounds = 20
	}
	for range rounds {
		rapid.Check(t, check) // a hundred each
	}
	if candidates < decisions/2 || skips < decisions || failures < decisions/50 {
		t.Errorf("%d decisions with %d candidates, %d skips, %d failures: too few to tell anything", decisions, candidates, skips, failures)
	}
	t.Logf("%d decisions, %d candidates, %d skips, %d failures", decisions, candidates, skips, failures)
}

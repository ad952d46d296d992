package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/replay"
	"github.com/penstock-gateway/penstock/core/route"
)

// splitText sends requests of one class to one model and the others to another.
const splitText = `"""split: by class."""

def route(req, _models):
    """What the main agent asks is worth %[1]s."""
    return ["%[1]s", "%[2]s"] if req.client.request_class == "main" else ["%[2]s", "%[1]s"]

def choose(_req, targets):
    """As they are."""
    for i, t in enumerate(targets):
        use(t, i)

def plan(_req, targets):
    """Once."""
    for t in targets:
        attempt(t, retries = 0, first_content = 20)
`

// TestDecisionsAreKept holds that a decision is told as it was made, that it is made again without a difference by the
// policy that made it, and that another policy, and a shadow, are compared with it.
func TestDecisionsAreKept(t *testing.T) {
	t.Parallel()
	s := serveText(t, routed)
	s.write("mine.star", fmt.Sprintf(splitText, "dear", "cheap"))
	s.write("next.star", strings.Replace(fmt.Sprintf(splitText, "dear", "cheap"), `== "main"`, `in ("main", "workflow")`, 1))
	s.write("broken.star", "def route(_req, _models):\n    fail(\"no\")\n")
	s.rewrite(withRouters("  mine: {policy: mine.star, shadow: next.star, min_candidates: 2}\n  other: {policy: penstock/auto, shadow: broken.star}\n"))
	s.await("the routers", func() bool { return s.ask("mine") == "cheap" })

	const body = `{"model":"mine","messages":[{"role":"user","content":"a secret word"}]}`
	var last answer
	for _, class := range []string{"auxiliary", "workflow", "main", "main"} {
		last = s.post("/v1/chat/completions", body, "x-claude-code-request-class", class)
		if want := map[bool]string{true: "dear", false: "cheap"}[class == "main"]; last.header.Get("x-penstock-model") != want {
			t.Errorf("class %s: served by %s, want %s\n%s", class, last.header.Get("x-penstock-model"), want, last.body)
		}
	}
	s.wants(s.ask("other"), "gratis") // whose shadow fails

	out, errs, code := s.run("policy", "explain", "--request-id", last.header.Get("x-request-id"), "-o", "json", "-c", s.file)
	var e route.Explanation
	if code != 0 || json.Unmarshal([]byte(out), &e) != nil {
		t.Fatalf("explain: exit %d, %s%s", code, out, errs)
	}
	if e.Router != "mine" || strings.Join(e.Branches, " ") != "dear cheap" || len(e.Candidates) != 2 || e.Candidates[0].Deployment != "dear/demo" ||
		e.Candidates[0].Plan != "first_content = 20, retries = 0" || e.Generation < 2 || e.Steps == 0 {
		t.Errorf("explain: %s", out)
	}
	_, errs, code = s.run("policy", "explain", "--request-id", "req_none", "-c", s.file)
	if code != exitNotFound || !strings.Contains(errs, "no decision is kept of the request req_none") {
		t.Errorf("an unknown request: exit %d, %s", code, errs)
	}

	s.await("the decisions to be kept", func() bool { return s.replay().Decisions >= 6 })
	if sum := s.replay(); sum.Same != sum.Decisions || len(sum.Differences) != 0 {
		t.Errorf("the same policies: %+v", sum)
	}
	sum := s.replay("next.star", "--router", "mine")
	if sum.Moved != 1 || sum.Failed != 0 || len(sum.Differences) != 1 || sum.Differences[0].Was != "cheap/demo" || sum.Differences[0].Now != "dear/demo" ||
		sum.Differences[0].USD == nil || *sum.Differences[0].USD <= 0 {
		t.Errorf("another policy: %+v", sum)
	}
	if sum := s.replay("--router", "other"); sum.Decisions != 1 || sum.Same != 1 {
		t.Errorf("one router: %+v", sum)
	}
	out, _, _ = s.run("policy", "replay", "next.star", "--router", "mine", "-c", s.file)
	s.wants(out, " 1 elsewhere (0 without a decision), 0 not made again\n")

	report := s.shadows()
	if mine := report.Routers[0]; mine.Router != "mine" || mine.Moved != 1 || mine.Failed != 0 || mine.Same != mine.Decided-1 {
		t.Errorf("the shadow of mine: %+v", mine)
	}
	if other := report.Routers[1]; other.Router != "other" || other.Failed != 1 || other.Decided != 1 {
		t.Errorf("the shadow of other: %+v", other)
	}
}

// replay makes the decisions of a gateway again.
func (s *served) replay(args ...string) (sum struct {
	replay.Summary
	Differences []replay.Difference
}) {
	s.t.Helper()
	out, errs, code := s.run(append([]string{"policy", "replay", "-o", "json", "-c", s.file}, args...)...)
	if code != 0 || json.Unmarshal([]byte(out), &sum) != nil {
		s.t.Fatalf("replay %v: exit %d, %s%s", args, code, out, errs)
	}
	return sum
}

// shadows asks how the two shadows compare.
func (s *served) shadows() (report replay.Report) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.Admin+"/admin/v1/shadow", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.AdminToken)
	a, err := do(req)
	if err != nil || json.Unmarshal([]byte(a.body), &report) != nil || len(report.Routers) != 2 {
		s.t.Fatalf("shadow: %v, %s", err, a.body)
	}
	return report
}

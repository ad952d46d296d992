package main

import (
	"fmt"
	"testing"
)

const factsPolicy = `"""facts: what is seen."""

def route(req, _models):
    """The model of a tier."""
    if req.headers.get("authorization"):
        fail("a credential is shown")
    return [req.headers.get("x-tier", "m")]

def choose(_req, targets):
    """Those that lose nothing."""
    for t in targets:
        if t.loses:
            skip(t, "loses " + ", ".join(t.loses))
        else:
            use(t, 1)
`

// TestPolicySeesLossesAndHeaders: a policy is told what each target would lose of the request, and those headers that the
// configuration shows it. What it decided by that is decided again when it is replayed.
func TestPolicySeesLossesAndHeaders(t *testing.T) {
	t.Parallel()
	one, two := newUpstream(t, says("application/json", messagesAnswer)), newUpstream(t, answering("two"))
	config := func(more string) string {
		return fmt.Sprintf(`
providers:
  claude: {plugin: anthropic, base_url: %q, credentials: [{name: a, api_key: sk-one-aaaaaaaa}]}
  open: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-two-aaaaaaaa}]}
models:
  m: {deployments: [{provider: claude, model: m}, {provider: open, model: m}]}
  gold: {deployments: [{provider: claude, model: m}]}
translate: lenient
keys: [{name: test, secret: %s}]
%s
`, one.URL, two.URL+"/v1", testKey, more)
	}
	s := serveText(t, config(""))
	s.write("facts.star", factsPolicy)
	s.rewrite(config("routers: {r: {policy: facts.star}}\npolicies: {headers: [X-Tier]}\n"))
	s.await("the router", func() bool { return s.ask("r") == "m" })
	f := func(members, tier, want string) {
		t.Helper()
		s.wants(s.askWith(`"model":"r"`+members, "X-Tier", tier), want)
	}
	before := two.count()
	f("", "m", "m")
	if two.count() != before {
		t.Error("a target that loses nothing of the request was skipped")
	}
	f(`,"seed":1`, "m", "m")
	if two.count() != before+1 {
		t.Error("a target that loses a member was asked")
	}
	f("", "gold", "gold")
	f(`,"seed":1`, "gold", "gold/claude: loses seed")
	s.await("the decisions to be kept", func() bool { return s.replay().Decisions >= 4 })
	if sum := s.replay(); sum.Same != sum.Decisions {
		t.Errorf("decided again: %+v", sum)
	}
	s.wants(s.askWith(`"models":["m","gold"]`), "m") // as OpenRouter's clients have it
	s.wants(s.askWith(`"model":null,"models":["gold"],"seed":1`), "gold")
	s.wants(s.askWith(`"models":[]`), "400")
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// routed is a configuration with two models, one of which is cheap, and a router over them.
const routed = `
providers:
  demo: {plugin: demo}
models:
  dear: {deployments: [{provider: demo, model: echo, price: {input: 9, output: 9}}]}
  cheap: {deployments: [{provider: demo, model: echo, price: {input: 1, output: 1}}]}
  gratis: {tags: [small], deployments: [{provider: demo, model: echo, price: {input: 0, output: 0}}]}
keys:
  - {name: dev, secret: ` + testKey + `}
  - {name: narrow, secret: ` + narrowKey + `, models: [dear]}
`

const narrowKey = "psk-for-the-tests-of-the-program-000002"

// withRouters adds routers, one of which is named mine and may be used by the key named narrow.
func withRouters(routers string) string {
	return strings.Replace(routed, "models: [dear]", "models: [mine, dear]", 1) + "routers:\n" + routers
}

// write puts a file beside the configuration, whole or not at all.
func (s *served) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		s.t.Fatal(err)
	}
}

// ask asks a model and gives the name of the one that served, or the status and the body.
func (s *served) ask(model string, headers ...string) string {
	s.t.Helper()
	return s.askWith(fmt.Sprintf(`"model":%q`, model), headers...)
}

func (s *served) askWith(members string, headers ...string) string {
	s.t.Helper()
	a := s.post("/v1/chat/completions", `{`+members+`,"messages":[{"role":"user","content":"hello"}]}`, headers...)
	if a.status != 200 {
		return fmt.Sprintf("%d %s", a.status, a.body)
	}
	return a.header.Get("x-penstock-model")
}

func (s *served) wants(got, want string) {
	s.t.Helper()
	if !strings.Contains(got, want) {
		s.t.Errorf("got %s, want %s", got, want)
	}
}

const mineText = `"""mine: one model."""

def route(_req, _models):
    """One model alone."""
    return ["%s"]
`

func TestRoutersWithoutConfiguration(t *testing.T) {
	t.Parallel()
	s := serveText(t, routed)
	s.wants(s.ask("penstock/auto"), "gratis")
	s.wants(s.ask("penstock/free"), "gratis")
	s.wants(s.ask("dear:free"), "503")
	s.wants(s.ask("dear:floor"), "dear")
	s.wants(s.ask("dear/demo"), "dear")
	s.wants(s.ask("penstock/auto", "Authorization", "Bearer "+narrowKey), "403")
}

func TestAPolicyFileIsServedAndFollowed(t *testing.T) {
	t.Parallel()
	s := serveText(t, routed)
	s.write("policies/mine.star", fmt.Sprintf(mineText, "dear"))
	s.rewrite(withRouters("  mine: {policy: policies/mine.star}\n"))
	s.await("the router", func() bool { return s.ask("mine") == "dear" })
	s.wants(s.ask("penstock/auto"), "404")
	s.wants(s.ask("mine", "Authorization", "Bearer "+narrowKey), "dear")

	// Requests run on while the policy is edited; none of them fails.
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := s.ask("mine"); got != "dear" && got != "cheap" {
					t.Errorf("under load: %s", got)
					return
				}
			}
		})
	}
	s.write("policies/mine.star", fmt.Sprintf(mineText, "cheap"))
	s.await("the edit", func() bool { return s.ask("mine") == "cheap" })
	close(stop)
	load.Wait()

	// A key's bounds are not widened by a router.
	s.wants(s.ask("mine", "Authorization", "Bearer "+narrowKey), "cheap: the key may not use it")

	s.write("policies/mine.star", "def route(req, models):\n    return [\n")
	_, errs, code := s.run("reload")
	if code != exitInvalid || !strings.Contains(errs, filepath.Join("policies", "mine.star")+":3:1: ") {
		t.Errorf("reload of a syntax error: exit %d, %s; want 3 and mine.star:3:1", code, errs)
	}
	s.wants(s.ask("mine"), "cheap")

	// The test first: without it the policy is a good one, and taken by the watch.
	s.write("policies/mine_test.star", "def test_dear():\n    assert.eq(route(fake_request(), [fake_model()]), [\"dear\"])\n")
	s.write("policies/mine.star", fmt.Sprintf(mineText, "gratis"))
	_, errs, code = s.run("reload")
	if code != exitInvalid || !strings.Contains(errs, "mine_test.star:2:14: routers.mine.policy: test_dear: assert.eq: ") {
		t.Errorf("reload with a failing test: exit %d, %s; want 3 and mine_test.star:2:14", code, errs)
	}
	s.wants(s.ask("mine"), "cheap")
}

func TestOnError(t *testing.T) {
	t.Parallel()
	s := serveText(t, routed)
	s.write("bad.star", "\"\"\"bad: fails.\"\"\"\n\ndef route(_req, _models):\n    \"\"\"Nothing.\"\"\"\n    fail(\"no\")\n")
	s.rewrite(withRouters("  plain: {policy: bad.star}\n  mine: {policy: bad.star, on_error: [none, cheap]}\n"))
	_, errs, code := s.run("reload")
	if code != exitInvalid || !strings.Contains(errs, `unknown model "none"`) {
		t.Errorf("on_error with an unknown model: exit %d, %s", code, errs)
	}
	s.rewrite(withRouters("  plain: {policy: bad.star}\n  mine: {policy: bad.star, on_error: [cheap]}\n"))
	s.await("the routers", func() bool { return s.ask("mine") == "cheap" })
	a := s.post("/v1/chat/completions", `{"model":"plain","messages":[{"role":"user","content":"x"}]}`)
	if a.status != 500 || !strings.Contains(a.body, "policy_failed") || a.header.Get("x-should-retry") != "false" {
		t.Errorf("a failed policy: %d %s, x-should-retry %q", a.status, a.body, a.header.Get("x-should-retry"))
	}
}

func TestRouterCyclesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.star": fmt.Sprintf(mineText, "b"), "b.star": fmt.Sprintf(mineText, "a"),
		"penstock.yaml": withRouters("  mine: {policy: a.star}\n  a: {policy: a.star}\n  b: {policy: b.star}\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, errs, code := runProgram(t, dir, "validate")
	if code != exitInvalid || !strings.Contains(errs, "penstock.yaml:14:15: routers.b.policy: routers lead back to themselves: b, a, b") {
		t.Errorf("a cycle: exit %d, %s", code, errs)
	}
}

func TestModelsAndProviderMembers(t *testing.T) {
	t.Parallel()
	s := serveText(t, strings.Replace(routed, "models:\n", "  other: {plugin: demo}\n  third: {plugin: demo}\nmodels:\n"+
		"  both: {deployments: [{provider: demo, model: echo, price: {input: 5, output: 5}}, {provider: other, model: echo, price: {input: 2, output: 2}}]}\n", 1)+
		"server_timing: attempts\n")
	from := func(members string) string {
		a := s.post("/v1/chat/completions", `{`+members+`,"messages":[{"role":"user","content":"hello"}]}`)
		if a.status != 200 {
			return fmt.Sprintf("%d %s", a.status, a.body)
		}
		return a.header.Get("x-penstock-model") + "@" + a.header.Get("x-penstock-provider")
	}
	f := func(members, want string) {
		t.Helper()
		s.wants(from(members), want)
	}
	f(`"model":"both"`, "both@demo")
	f(`"model":"both:floor"`, "both@other")
	f(`"model":"both","provider":{"order":["Other"]}`, "both@other")
	f(`"provider":{"sort":"price"},"model":"both"`, "both@other")
	f(`"model":"both","provider":{"sort":{"by":"price","partition":"none"}}`, "both@other")
	f(`"model":"both","provider":{"ignore":["demo"]}`, "both@other")
	f(`"model":"both","provider":{"only":["third"]}`, "both/demo: provider.only does not name demo")
	f(`"model":"both","provider":{"order":["third"],"allow_fallbacks":false}`, "503")
	f(`"model":"both","provider":{"max_price":{"prompt":3}}`, "both@other")
	f(`"model":"both","provider":{"max_price":{"prompt":"3"}}`, "400")
	f(`"model":"both","provider":{"only":["third"]},"models":["cheap"]`, "both/demo: provider.only")
	f(`"model":"both","provider":{"max_price":{"prompt":1}},"models":["both","cheap"]`, "cheap@demo")
	f(`"model":"nothing","models":["cheap"]`, "cheap@demo")
	f(`"model":"nothing","models":["neither"]`, "404")
	f(`"model":"both","models":"cheap"`, "400")
	f(`"model":"both","provider":{"quantizations":["fp8"]}`, "provider.quantizations: not served")
	f(`"model":"both","provider":{"data_collection":"deny"}`, "provider.data_collection")
	f(`"model":"both","provider":{"zdr":false,"require_parameters":true,"data_collection":"allow","sort":null,"order":null}`, "both@demo")
}

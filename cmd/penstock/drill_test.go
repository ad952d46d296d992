package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// operators is a configuration such as people run: providers with secrets, a model of one deployment, a router.
const operators = `
listen: 0.0.0.0:443
providers:
  main: {plugin: openai, credentials: [{name: a, api_key: sk-of-the-operator-1}]}
  spare: {plugin: anthropic, base_url: "https://example.com/v1", credentials: [{name: a, api_key: sk-of-the-operator-2}]}
models:
  single: {deployments: [{provider: main, model: gpt-4.1}]}
  chat:
    strategy: weighted
    deployments:
      - {provider: main, model: gpt-4.1, dialect: openai-responses, weight: 3}
      - {provider: spare, model: claude-sonnet-4-5}
routers:
  auto: {policy: first.star}
retry: {attempts: 2}
timeout: {first_content: 17m}
keys: [{name: dev, secret: psk-of-the-operator-000001}]
`

// TestDrillPlan: nothing of a drill's configuration leads to a provider or holds a secret.
func TestDrillPlan(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("/etc/penstock/penstock.yaml", []byte(operators), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newDrillPlan(cfg, []byte(operators), "")
	if err != nil {
		t.Fatal(err)
	}
	if p.model != "chat" || p.at.alone {
		t.Errorf("drills %q, alone %v; want the model with two deployments", p.model, p.at.alone)
	}
	for _, f := range append(demo.Faults(), demo.Fault{}) {
		fault := &f
		if f.Name == "" {
			fault = nil
		}
		text, err := p.with(fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"operator", "example.com", "openai", "anthropic", "gpt", "443", "17m"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s: %q is left of the operator's: %s", f.Name, word, text)
			}
		}
		got, err := config.Parse("drill", text, config.Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", f.Name, err, text)
		}
		chat := got.Models[0]
		if got.Retry.Attempts != 2 || len(got.Models) != 2 || got.Routers[0].Policy != "/etc/penstock/first.star" {
			t.Errorf("%s: retries, models or routers are not the operator's: %s", f.Name, text)
		}
		if chat.Name != "chat" {
			chat = got.Models[1]
		}
		if fault != nil && (chat.Deployments[0].Provider != "drill-"+f.Name || chat.Deployments[1].Provider != "spare" || chat.Strategy != "ordered") {
			t.Errorf("%s: %+v, want the fault first and the spare behind it", f.Name, chat)
		}
	}
	alone, err := newDrillPlan(cfg, []byte(operators), "single")
	if err != nil || !alone.at.alone {
		t.Errorf("a model of one deployment: %+v %v, want a healthy one beside it", alone, err)
	}
	var absent *noModelError
	if _, err := newDrillPlan(cfg, []byte(operators), "nowhere"); !errors.As(err, &absent) {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestVerdicts: what is seen and what it is worth.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	whole := sighting{say: "abc", status: 200, text: "abc", ended: true}
	f := func(want verdict, late bool, change func(*sighting)) {
		t.Helper()
		s := whole
		s.stream = true
		change(&s)
		if got := s.judge(&demo.Fault{Late: late}, time.Second); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	broken := func(text, failure string) func(*sighting) {
		return func(s *sighting) { s.text, s.failure, s.ended = text, failure, false }
	}
	f(passed, false, func(*sighting) {})
	f(safe, false, broken("", "api_error: no"))
	f(safe, true, broken("ab", "api_error: no"))
	f(partial, false, broken("ab", "api_error: no"))
	f(failed, true, broken("ax", "api_error: no"))
	f(failed, true, broken("ab", ""))
	f(failed, true, func(s *sighting) { s.failure = "api_error: no" }) // an error, and the mark of a good end
	f(failed, false, func(s *sighting) { s.text = "abcabc" })
	f(failed, false, func(s *sighting) { s.text = "ab" })
	f(failed, false, func(s *sighting) { s.err = errors.New("cut") })
	f(failed, false, func(s *sighting) { s.took = 2 * time.Second })
}

// TestDrill runs a drill of the demo and of an operator's router. It has the package to itself: a drill judges by the clock.
func TestDrill(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report := func(args ...string) drillReport {
		stdout, stderr, code := runProgram(t, dir, append([]string{"drill", "-o", "json"}, args...)...)
		var r drillReport
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || r.Fail+r.Partial > 0 {
			t.Fatalf("%v: exit code %d, %v: %s\n%s", args, code, err, stdout, stderr)
		}
		return r
	}
	if r := report("--only", "^(500|503-storm|reset-midstream|client-gone-in-body)$"); r.Pass != 3 || r.Safe != 1 || len(r.Faults) != 4 || r.Faults[0].Name != "reset-midstream" {
		t.Errorf("%+v, want three that pass and one that is safe", r)
	}
	write("penstock.yaml", operators)
	write("first.star", "\"\"\"first: all there is.\"\"\"\n\ndef route(req, models):\n    return [m.name for m in models]\n")
	if r := report("--model", "auto", "--only", "^(refused|401)$"); r.Pass != 2 {
		t.Errorf("a router: %+v", r)
	}
	write("bad.yaml", "providers: {x: {plugin: nowhere, plugn: 1}}")
	for _, c := range []struct {
		code int
		has  string
		args []string
	}{
		{exitInvalid, "bad.yaml:1:", []string{"-c", "bad.yaml"}},
		{exitNotFound, `no model or router "nowhere"`, []string{"--model", "nowhere"}},
		{exitUsage, "matches no fault", []string{"--only", "nothing-is-called-so"}},
		{exitUsage, "--only", []string{"--only", "("}},
	} {
		if _, stderr, code := runProgram(t, dir, append([]string{"drill"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.has) {
			t.Errorf("%v: exit code %d: %s; want %d and %q", c.args, code, stderr, c.code, c.has)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// policyFolder makes a folder with files, each a name and a text.
func policyFolder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPolicyCommands(t *testing.T) {
	t.Parallel()
	dir := policyFolder(t,
		"mine.star", fmt.Sprintf(mineText, "dear"), "bad.star", "def route(req, models):\n    return nothing\n", "wide.star", "x  =  1\n",
		"mine_test.star", "def test_good():\n    assert.eq(route(fake_request(), [fake_model()]), [\"dear\"])\n\ndef test_bad():\n    assert.eq(1 // 1, 2)\n",
		"penstock.yaml", withRouters("  mine: {policy: mine.star}\n"))
	f := func(wantCode int, wantOut, wantErr string, args ...string) {
		t.Helper()
		out, errs, code := runProgram(t, dir, append([]string{"policy"}, args...)...)
		if code != wantCode || !strings.Contains(out, wantOut) || !strings.Contains(errs, wantErr) {
			t.Errorf("policy %v: exit %d\n%s%s\nwant %d, %q and %q", args, code, out, errs, wantCode, wantOut, wantErr)
		}
	}
	f(0, "mine.star: valid; steps: route ", "mine.star:3:1: route never returns more than one branch", "check")
	f(exitInvalid, "", "bad.star:2:12: undefined: nothing (names)", "check", "bad.star")
	f(0, "penstock/auto.star: valid", "", "check", "penstock/auto")
	f(exitNotFound, "", "none.star: no such policy", "check", "none.star")
	f(exitTests, "1 passed, 1 failed\n", "", "test")
	f(exitTests, "FAIL test_bad: mine_test.star:5:14: assert.eq: got 1, want 2", "", "test", "mine.star")
	f(0, "PASS test_good (", "", "test", "mine_test.star", "--run", "good")
	f(0, "mine.star: 1 of 1 lines reached", "", "test", "--run", "good", "--cover")
	f(exitTests, "wide.star\n", "", "fmt", "--check", "wide.star", "mine.star")
	f(0, "wide.star\n", "", "fmt", "wide.star")
	if b, err := os.ReadFile(filepath.Join(dir, "wide.star")); err != nil || string(b) != "x = 1\n" {
		t.Errorf("formatted: %q, %v", b, err)
	}
	f(0, "# Writing a policy", "", "doc")
	f(0, "\"\"\"auto: ", "", "show", "auto")
	f(0, "def able(", "", "show", "lib/needs")
	f(exitNotFound, "", "no policy none comes with the gateway", "show", "none")
	f(0, `"candidates":8,`, "", "bench", "penstock/auto", "--n", "20", "--models", "4", "--targets", "2", "-o", "json")
	f(0, "POLICY ", "", "bench", "--n", "5")
}

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	dir := policyFolder(t,
		"mine.star", "\"\"\"mine: two.\"\"\"\n\ndef route(req, _models):\n    print(\"class\", req.client.request_class)\n    return [\"none\", \"dear\", \"cheap\"]\n",
		"penstock.yaml", withRouters("  mine: {policy: mine.star}\n"), "body.json", `{"model":"mine","messages":[{"role":"user","content":"x"}]}`)
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		out, errs, code := runProgram(t, dir, append([]string{"policy", "explain"}, args...)...)
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("explain %v: exit %d\n%s%s\nwant %d and %s", args, code, out, errs, wantCode, want)
		}
	}
	const decision = `{"router":"mine","generation":0,"branches":["none","dear","cheap"],"candidates":[{"model":"dear","provider":"demo","deployment":"dear/demo"},` +
		`{"model":"cheap","provider":"demo","deployment":"cheap/demo"}],"skips":[{"branch":0,"deployment":"none","stage":"resolve","reason":"no model or router of this name"}],` +
		`"prints":["class main"],"steps":`
	f(0, decision, "--request", "body.json", "-o", "json", "-H", "x-claude-code-request-class: main")
	f(0, "  batch 0  branch 2  cheap\n", "--model", "mine")
	f(0, `"candidates":[{"model":"dear","provider":"demo","deployment":"dear/demo"}],"skips":[{"branch":0,`, "--model", "mine", "--key", "narrow", "-o", "json")
	f(exitNotFound, "the model \"nothing\" is not configured", "--model", "nothing")
	f(exitNotFound, "the key \"nobody\" is not configured", "--model", "mine", "--key", "nobody")
	f(exitUsage, "name a --model", "-o", "json")
}

func TestPolicyExplainLive(t *testing.T) {
	t.Parallel()
	s := serveText(t, routed)
	out, errs, code := s.run("policy", "explain", "--live", "--model", "penstock/auto", "-o", "json")
	if code != 0 || !strings.Contains(out, `{"router":"penstock/auto","generation":1,"branches":["gratis","cheap","dear"],"candidates":[{"model":"gratis",`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	out, errs, code = s.run("policy", "explain", "--live", "--model", "nothing")
	if code != exitNotFound || !strings.Contains(errs, "the model \"nothing\" is not configured") {
		t.Errorf("an unknown model: exit %d, %s%s", code, out, errs)
	}
}

package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBundledPluginsConform runs the conformance kit on the plugins that we ship, each in its process.
func TestBundledPluginsConform(t *testing.T) {
	t.Parallel()
	for _, name := range bundledNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := runProgram(t, t.TempDir(), "plugin", "test", name)
			if code != 0 || !strings.HasSuffix(stdout, " passed, 0 failed\n") || !strings.Contains(stdout, "PASS crash/stream\n") {
				t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
			}
		})
	}
}

// conforms checks a new plugin with its own fixtures, and that the kit finds what is changed in them.
func conforms(t *testing.T, executable string) {
	fixtures := filepath.Join(filepath.Dir(executable), "conformance")
	dir := t.TempDir()
	if stdout, stderr, code := runProgram(t, dir, "plugin", "test", executable); code != 0 || !strings.Contains(stdout, "PASS fixture/text\n") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	events := filepath.Join(fixtures, "text.events")
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(events, []byte(strings.Replace(string(text), "Hello", "Good day", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := runProgram(t, dir, "plugin", "test", executable, "-o", "json", "--junit", "out.xml", "--fixtures", fixtures)
	var sum testSum
	if err := json.Unmarshal([]byte(stdout), &sum); err != nil || code != exitTests || sum.Failed != 1 || sum.Passed+1 != len(sum.Checks) {
		t.Fatalf("exit code %d, %v: %s\n%s", code, err, stderr, stdout)
	}
	const reason = `event 2: got text text="Hello, ", want text text="Good day, "`
	for _, c := range sum.Checks {
		if !c.Pass && (c.Name != "fixture/text" || c.Reason != reason) {
			t.Errorf("%s: %s, want fixture/text: %s", c.Name, c.Reason, reason)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal(b, &suite); err != nil || suite.Tests != len(sum.Checks) || suite.Failures != 1 || len(suite.Cases) != suite.Tests {
		t.Errorf("%v: %s", err, b)
	}
}

func TestPluginTestIsRefused(t *testing.T) {
	t.Parallel()
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		_, stderr, code := runProgram(t, t.TempDir(), append([]string{"plugin", "test"}, args...)...)
		if code != wantCode || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s\nwant %d: %s", args, code, stderr, wantCode, want)
		}
	}
	f(exitUsage, "acme: want an executable penstock-provider-NAME, or one of openai, ", "acme")
	f(exitNotFound, "no such file", "./penstock-provider-acme")
	f(exitUsage, `--config: want JSON, got "{"`, "demo", "--config", "{")
	f(exitFailure, "fixtures: . has no NAME.frames", "demo", "--fixtures", ".")
}

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPinIsPutIn(t *testing.T) {
	t.Parallel()
	p := &pin{hash: strings.Repeat("01", 32)}
	quoted := `"` + p.hash + `"`
	f := func(text, want string) {
		t.Helper()
		got, err := p.edit([]byte(text), "acme")
		if err != nil {
			got = []byte(err.Error())
		}
		want = strings.ReplaceAll(want, "PIN", quoted)
		if string(got) != want {
			t.Errorf("edit(%q):\n got %q\nwant %q", text, got, want)
		}
		if again, err2 := p.edit(got, "acme"); err == nil && (err2 != nil || string(again) != string(got)) {
			t.Errorf("edit(%q) again: %q, %v", got, again, err2)
		}
	}
	f("providers:\n  acme:\n    plugin: acme # ours\n\n    base_url: x\n", "providers:\n  acme:\n    plugin: acme # ours\n    sha256: PIN\n\n    base_url: x\n")
	f("providers:\n  acme:\n    plugin:\n      acme", "providers:\n  acme:\n    plugin:\n      acme\n    sha256: PIN\n")
	f("providers:\n  # über\n  acme: {plugin: acme} # so\n", "providers:\n  # über\n  acme: {sha256: PIN, plugin: acme} # so\n")
	f("providers: {ü: {plugin: x}, acme: {plugin: acme}}\n", "providers: {ü: {plugin: x}, acme: {sha256: PIN, plugin: acme}}\n")
	f(`{"providers":{"acme":{"plugin":"acme"}}}`, `{"providers":{"acme":{"sha256": PIN, "plugin":"acme"}}}`)
	f("providers:\n  acme:\n    sha256: abc # old\n    plugin: acme\n", "providers:\n  acme:\n    sha256: PIN # old\n    plugin: acme\n")
	f("providers:\n  acme: {sha256: 'abc', plugin: acme}\n", "providers:\n  acme: {sha256: PIN, plugin: acme}\n")
	f("providers:\n  acme: {plugin: acme, sha256: abc}", "providers:\n  acme: {plugin: acme, sha256: PIN}")
	f("providers:\n  acme:\n    plugin: acme\n    sha256: ${PIN_OF_ACME}\n", "line 4: sha256 is a reference: change what it refers to")
	f("providers:\n  other: {plugin: acme}\n", "providers.acme: not found")
	f("models: {}\n", "providers.acme: not found")
}

// TestPin pins a file in a plugin folder; that it is a plugin is not asked.
func TestPin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := []byte("#!/bin/sh\n")
	if err := os.Mkdir(filepath.Join(dir, "plugins.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugins.d", "penstock-provider-acme"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "penstock.yaml")
	text := "plugin_dirs: [./plugins.d] # ours\nproviders:\n  one: {plugin: acme}\n  two:\n    plugin: acme\n  demo: {plugin: demo}\nmodels:\n  m: {deployments: [{provider: one, model: m}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("sha256: \"%x\"", sha256.Sum256(program))
	stdout, stderr, code := runProgram(t, dir, "plugin", "pin", "acme", "-c", file)
	if code != 0 || stdout != line+"\n" {
		t.Errorf("pin: exit code %d: %q %s, want %q", code, stdout, stderr, line)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("without --write the file has become %q, %v", got, err)
	}
	if _, stderr, code := runProgram(t, dir, "plugin", "pin", "acme", "--write"); code != 0 || !strings.Contains(stderr, "one, two pinned") {
		t.Errorf("pin --write: exit code %d: %s", code, stderr)
	}
	want := strings.Replace(text, "{plugin: acme}", "{"+line+", plugin: acme}", 1)
	want = strings.Replace(want, "    plugin: acme\n", "    plugin: acme\n    "+line+"\n", 1)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}
	for name, want := range map[string]int{"demo": exitUsage, "other": exitNotFound} {
		if _, stderr, code := runProgram(t, dir, "plugin", "pin", name); code != want {
			t.Errorf("pin %s: exit code %d: %s, want %d", name, code, stderr, want)
		}
	}
}

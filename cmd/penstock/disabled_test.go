package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/admin"
)

// restart ends the gateway in good order and starts another on the same configuration and state.
func (s *served) restart() {
	s.t.Helper()
	s.stop()
	ready := filepath.Join(s.dir, "ready.json")
	if err := os.Remove(ready); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(s.cmd.Path, s.cmd.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.cmd.Dir, s.cmd.Env, s.log, s.log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	s.cmd, s.ended = cmd, ended
	s.awaitReady(ready)
}

func TestModelsAreDisabled(t *testing.T) {
	t.Parallel()
	s := serveText(t, strings.Replace(routed, "models:\n", "models:\n  a/old: {disabled: true, deployments: [{provider: demo, model: echo}]}\n", 1))
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		out, errs, code := s.run(append([]string{"models"}, args...)...)
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("models %v: exit %d\n%s%s\nwant %d and %q", args, code, out, errs, wantCode, want)
		}
	}
	s.wants(s.ask("penstock/auto"), "gratis")
	f(0, "", "disable", "gratis", "--reason", "not today")
	s.wants(s.ask("penstock/auto"), "cheap")
	s.wants(s.ask("gratis"), "503")
	s.wants(s.ask("gratis"), "gratis: disabled: not today")
	f(0, "", "disable", "cheap/demo")
	s.wants(s.ask("penstock/auto"), "dear")
	s.wants(s.ask("a/old"), "a/old: the model is disabled")
	f(0, "by admin: not today", "list")
	f(exitNotFound, "no model or deployment is called none/such", "disable", "none/such")
	f(exitNotFound, "dear is not disabled", "enable", "dear")

	s.restart()
	s.wants(s.ask("penstock/auto"), "dear")
	if _, errs, code := s.run("reload"); code != 0 {
		t.Fatalf("reload: exit %d, %s", code, errs)
	}
	s.wants(s.ask("penstock/auto"), "dear")
	f(0, "", "enable", "cheap/demo")
	s.wants(s.ask("penstock/auto"), "cheap")

	out, _, _ := s.run("models", "list", "-o", "json")
	var list []admin.Model
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range list {
		got.WriteString(m.Name)
		if m.Disabled != nil {
			got.WriteString(" off by " + m.Disabled.By)
		}
		got.WriteString("; ")
	}
	if want := "dear; cheap; gratis off by admin; a/old off by configuration; "; got.String() != want {
		t.Errorf("list: %s, want %s", got.String(), want)
	}
}

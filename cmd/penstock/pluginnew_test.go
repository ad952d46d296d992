package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/pluginhost"
)

// scaffolded makes the plugin acme by `plugin new`, runs its tests as its author would, and gives its executable. The
// module stands on this tree; all that it needs is at hand, since this tree needs it too.
func scaffolded(t *testing.T) (executable string) {
	t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "acme")
	if _, stderr, code := runProgram(t, t.TempDir(), "plugin", "new", "acme", dir, "--sdk", tree); code != 0 {
		t.Fatalf("plugin new: exit code %d: %s", code, stderr)
	}
	executable = filepath.Join(dir, "penstock-provider-acme")
	for _, args := range [][]string{{"test", "./..."}, {"build", "-o", executable, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return executable
}

// acmeStream is what the service of the scaffold's provider streams.
const acmeStream = `{"id":"a1","model":"m"}` + "\n" + `{"text":"Hello"}` + "\n" + `{"usage":{"input":3,"output":1},"end":"stop"}` + "\n"

// acmeProvider is a configuration that serves the model acme by the plugin; more are further members of the provider.
func acmeProvider(up, more string) string {
	return fmt.Sprintf(`plugin_dirs: [./plugins.d]
providers:
  demo: {plugin: demo}
  acme:
    plugin: acme
    base_url: %q
    credentials: [{name: main, api_key: k}]
%smodels:
  echo: {deployments: [{provider: demo, model: echo}]}
  acme: {deployments: [{provider: acme, model: m}]}
keys: [{name: dev, secret: %s}]
`, up, more, testKey)
}

// beforeAcme is the configuration before the plugin is there.
func beforeAcme() string {
	return fmt.Sprintf(`plugin_dirs: [./plugins.d]
providers:
  demo: {plugin: demo}
models:
  echo: {deployments: [{provider: demo, model: echo}]}
keys: [{name: dev, secret: %s}]
`, testKey)
}

// drop puts an executable into the gateway's plugin folder, with a tail that makes it another one.
func (s *served) drop(executable, tail string) {
	s.t.Helper()
	program, err := os.ReadFile(executable)
	if err != nil {
		s.t.Fatal(err)
	}
	to := s.plugin(filepath.Base(executable))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(to+".tmp", append(program, tail...), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(to+".tmp", to); err != nil {
		s.t.Fatal(err)
	}
}

// plugin is the path of an executable in the gateway's plugin folder.
func (s *served) plugin(file string) string { return filepath.Join(s.dir, "plugins.d", file) }

// processes lists the processes of a plugin.
func (s *served) processes(name string) (list []pluginhost.Status) {
	s.t.Helper()
	stdout, stderr, code := s.run("plugin", "list", "-o", "json")
	var all []pluginhost.Status
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		s.t.Fatalf("plugin list: exit code %d: %s %s", code, stdout, stderr)
	}
	for _, p := range all {
		if p.Name == name {
			list = append(list, p)
		}
	}
	return list
}

const askAcme = `{"model":"acme","stream":true,"messages":[{"role":"user","content":"hi"}]}`

// TestNewPlugin follows a plugin from `plugin new` through its life in a running gateway.
func TestNewPlugin(t *testing.T) {
	t.Parallel()
	executable := scaffolded(t)
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		lines := strings.SplitAfter(acmeStream, "\n")
		io.WriteString(w, lines[0]+lines[1])
		w.(http.Flusher).Flush()
		if strings.HasPrefix(r.URL.Path, "/hold/") {
			held <- struct{}{}
			<-hold
		}
		io.WriteString(w, lines[2])
	})
	s := serveText(t, beforeAcme())
	if err := os.MkdirAll(filepath.Dir(s.plugin("x")), 0o755); err != nil {
		t.Fatal(err)
	}

	t.Run("conforms", func(t *testing.T) { conforms(t, executable) })
	t.Run("dropped in", func(t *testing.T) { droppedIn(t, s, executable, up) })
	t.Run("replaced", func(t *testing.T) { replaced(t, s, executable, up, hold, held) })
	t.Run("removed while named", func(t *testing.T) { removed(t, s, executable) })
	t.Run("pinned to another", func(t *testing.T) { pinnedToAnother(t, s, up) })
}

// droppedIn drops the plugin and names it: a request is served, soon.
func droppedIn(t *testing.T, s *served, executable string, up *upstream) {
	s.drop(executable, "")
	begin := time.Now()
	s.rewrite(acmeProvider(up.URL, ""))
	var got answer
	s.await("an answer by the plugin", func() bool {
		got = s.post("/v1/chat/completions", askAcme)
		return got.status == 200
	})
	t.Logf("served %v after the configuration named it", time.Since(begin).Round(time.Millisecond))
	if !strings.Contains(got.body, `"Hello"`) || !strings.Contains(got.body, "[DONE]") {
		t.Errorf("got %s", got.body)
	}
	if want := `{"model":"m","stream":true,"messages":[{"role":"user","text":"hi"}]}`; up.last().body != want {
		t.Errorf("the service was asked %s, want %s", up.last().body, want)
	}
}

// replaced puts another executable in the place of the one that runs, while an answer is under way.
func replaced(t *testing.T, s *served, executable string, up *upstream, hold, held chan struct{}) {
	s.rewrite(acmeProvider(up.URL+"/hold", ""))
	first := make(chan answer, 1)
	s.await("the address that holds", func() bool { _, _, code := s.run("reload"); return code == 0 })
	old := s.processes("acme")
	if len(old) != 1 {
		t.Fatalf("processes: %+v, want one", old)
	}
	go func() { first <- s.post("/v1/chat/completions", askAcme) }()
	<-held
	s.drop(executable, "another")
	s.await("a process beside the old one", func() bool { return len(s.processes("acme")) == 2 })
	s.rewrite(acmeProvider(up.URL, ""))
	s.await("the new address", func() bool { _, _, code := s.run("reload"); return code == 0 })
	if a := s.post("/v1/chat/completions", askAcme); a.status != 200 || !strings.Contains(a.body, "[DONE]") {
		t.Errorf("by the new process: %d %s", a.status, a.body)
	}
	if !alive(old[0].PID) {
		t.Error("the old process ended before its answer")
	}
	close(hold)
	if a := <-first; a.status != 200 || !strings.Contains(a.body, "[DONE]") {
		t.Errorf("by the old process: %d %s", a.status, a.body)
	}
	s.await("the end of the old process", func() bool { return !alive(old[0].PID) })
	if now := s.processes("acme"); len(now) != 1 || now[0].PID == old[0].PID {
		t.Errorf("processes: %+v, want the new one", now)
	}
}

// refusal gives the error of the newest generation, if it was refused.
func (s *served) refusal() string {
	stdout, stderr, code := s.run("generations", "list", "-o", "json")
	var list []generation.Record
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) == 0 {
		s.t.Fatalf("generations list: exit code %d: %s %s", code, stdout, stderr)
	}
	return list[0].Error
}

// removed removes the executable that the configuration names: the running generation serves on.
func removed(t *testing.T, s *served, executable string) {
	if err := os.Remove(s.plugin(filepath.Base(executable))); err != nil {
		t.Fatal(err)
	}
	s.await("a refusal", func() bool { return s.refusal() != "" })
	if got, want := s.refusal(), s.file+`:5:13: providers.acme.plugin: plugin "acme": not bundled, and not found as `; !strings.HasPrefix(got, want) {
		t.Errorf("refused with %s\nwant %s", got, want)
	}
	if a := s.post("/v1/chat/completions", askAcme); a.status != 200 {
		t.Errorf("after the removal: %d %s", a.status, a.body)
	}
	s.drop(executable, "another")
	s.await("the plugin's return", func() bool { _, _, code := s.run("reload"); return code == 0 })
}

// pinnedToAnother names a content that the executable does not have.
func pinnedToAnother(t *testing.T, s *served, up *upstream) {
	s.rewrite(acmeProvider(up.URL, "    sha256: "+strings.Repeat("ab", 32)+"\n"))
	_, stderr, code := s.run("reload")
	want := s.file + `:8:13: providers.acme.sha256: plugin "acme": `
	if code != exitInvalid || !strings.Contains(stderr, want) || !strings.Contains(stderr, "has SHA-256") {
		t.Errorf("reload: exit code %d: %s\nwant %d and %s", code, stderr, exitInvalid, want)
	}
	if a := s.post("/v1/chat/completions", askAcme); a.status != 200 {
		t.Errorf("after the refusal: %d %s", a.status, a.body)
	}
}

func TestNewPluginIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		_, stderr, code := runProgram(t, dir, append([]string{"plugin", "new"}, args...)...)
		if code != wantCode || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s\nwant %d: %s", args, code, stderr, wantCode, want)
		}
	}
	f(exitUsage, `plugin "Acme": want 1 to 64 lower-case letters`, "Acme")
	f(exitUsage, `--sdk .: want the folder of penstock's source`, "acme", "--sdk", ".")
	f(exitFailure, `.: is there already, and not empty`, "acme", ".")
}

// TestNewPluginOfRelease writes the module of a program that has a version.
func TestNewPluginOfRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, want string }{
		{"v1.2.3", "\nrequire github.com/penstock-gateway/penstock v1.2.3\n"},
		{"", "module example.com/x\n\ngo 1.26.0\n"},
	} {
		s := scaffold{Name: "acme", Module: "example.com/x", Version: c.version, dir: filepath.Join(t.TempDir(), "x")}
		if err := s.write(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
		if err != nil || !strings.HasSuffix(string(b), c.want) {
			t.Errorf("version %q: %v: go.mod is\n%s", c.version, err, b)
		}
		var out bytes.Buffer
		s.next(&out)
		if got := strings.Contains(out.String(), "@latest"); got != (c.version == "") {
			t.Errorf("version %q: next is %s", c.version, &out)
		}
	}
}

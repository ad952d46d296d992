package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonPlugin is the example in another language, or the test is skipped where it cannot run.
func pythonPlugin(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("/usr/bin/python3", "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3-grpcio is not there: %v\n%s", err, out)
		}
		t.Skipf("needs Debian's python3-grpcio: %v", err)
	}
	path, err := filepath.Abs("../../examples/plugins/echo-python/penstock-provider-echo-python")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPythonPlugin drops the plugin in and asks it, streamed and whole, with texts that stay with the gateway and answers
// that cross as skeletons.
func TestPythonPlugin(t *testing.T) {
	t.Parallel()
	executable := pythonPlugin(t)
	s := serveText(t, beforeAcme())
	s.drop(executable, "")
	s.rewrite(fmt.Sprintf(`plugin_dirs: [./plugins.d]
providers: {echo: {plugin: echo-python}}
models: {echo: {deployments: [{provider: echo, model: any}]}, asked: {deployments: [{provider: echo, model: any}]}}
keys: [{name: dev, secret: %s}]
`, testKey))
	ask := func(stream bool, text string) answer {
		return s.post("/v1/chat/completions", fmt.Sprintf(`{"model":"asked","stream":%t,"messages":[{"role":"system","content":"repeat"},{"role":"user","content":"%s"}]}`, stream, text))
	}
	if _, stderr, code := s.run("reload"); code != 0 {
		t.Fatalf("reload: exit code %d: %s", code, stderr)
	}
	if a := ask(false, "hello"); a.status != 200 || !strings.Contains(a.body, `"hello"`) {
		t.Errorf("whole: %d %s", a.status, a.body)
	}
	const short = `a \"word\" or \u00fc`
	if a := ask(true, short); a.status != 200 || !strings.Contains(a.body, `\"word\" `) || !strings.Contains(a.body, "[DONE]") {
		t.Errorf("streamed: %d %s", a.status, a.body)
	}
	long := strings.Repeat("word and again ", 1000)
	if a := ask(false, long); a.status != 200 || !strings.Contains(a.body, `"`+long+`"`) || !strings.Contains(a.body, `"completion_tokens":3000`) {
		t.Errorf("whole: %d, %d bytes: %.200s", a.status, len(a.body), a.body)
	}
	a := s.post("/v1/messages", `{"model":"asked","max_tokens":9,"messages":[{"role":"user","content":"hello"}],"tools":[{"name":"x","input_schema":{"type":"object"}}]}`)
	if a.status != 400 || !strings.Contains(a.body, "tools") {
		t.Errorf("with a tool: %d %s, want 400 and what cannot be said", a.status, a.body)
	}
}

// TestPythonPluginConforms runs the conformance kit on it.
func TestPythonPluginConforms(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runProgram(t, t.TempDir(), "plugin", "test", pythonPlugin(t))
	if code != 0 || !strings.HasSuffix(stdout, " passed, 0 failed\n") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}

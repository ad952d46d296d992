package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// numbered is a configuration whose upstream is told its number, so that an answer shows which one served it.
func numbered(up string, n int) string {
	return fmt.Sprintf(`
providers:
  openai: {plugin: openai, base_url: "%s/g%d", credentials: [{name: main, api_key: sk-upstream-openai}]}
  claude: {plugin: anthropic, base_url: "%s/g%d", credentials: [{name: main, api_key: sk-upstream-claude}]}
models:
  m: {deployments: [{provider: openai, model: g%d}]}
  x: {deployments: [{provider: claude, model: g%d}]}
keys: [{name: dev, secret: %s}]
`, up, n, up, n, n, n, testKey)
}

// tellsNumber answers with the number in the path and the one in the body.
func tellsNumber(w http.ResponseWriter, r *http.Request) {
	n := strings.Split(r.URL.Path, "/")[1]
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"path %s"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, n)
		return
	}
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"path %s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, n)
}

var pathNumber = regexp.MustCompile(`path g(\d+)`)

// reload asks for a reload by the command and gives the generation in force.
func (s *served) reload() (int64, string) {
	s.t.Helper()
	out, errs, code := s.run("reload")
	n, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if code != 0 || err != nil {
		return 0, fmt.Sprintf("exit code %d: %s%s", code, out, errs)
	}
	return n, ""
}

// apiReload asks the admin API for a reload.
func (s *served) apiReload() error {
	req, err := http.NewRequest("POST", s.Admin+"/admin/v1/reload", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.AdminToken)
	a, err := do(req)
	if err == nil && a.status != 200 {
		err = fmt.Errorf("%d %s", a.status, a.body)
	}
	return err
}

// TestReloadsUnderLoad changes the configuration every 100 ms, 100 times, while requests come: none fails, none sees two
// generations, no plugin process is started, and nothing is left behind.
func TestReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, tellsNumber)
	s := serveText(t, numbered(up.URL, 1))
	plugins := fmt.Sprint(children(s.PID))
	var served1, crossed atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			model := []string{"m", "x"}[i%2]
			for ctx.Err() == nil {
				a, err := s.tryPost(context.Background(), "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
				if err != nil || a.status != 200 {
					t.Errorf("a request failed: %v %d %s", err, a.status, a.body)
					return
				}
				m := pathNumber.FindStringSubmatch(a.body)
				if m == nil || m[1] != a.header.Get("x-penstock-generation") {
					t.Errorf("generation %s was served by the upstream of another: %s", a.header.Get("x-penstock-generation"), a.body)
					return
				}
				served1.Add(1)
				if i%2 == 1 {
					crossed.Add(1)
				}
			}
		})
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 2; n <= 101 && !t.Failed(); n++ {
		<-tick.C
		s.rewrite(numbered(up.URL, n))
		if err := s.apiReload(); err != nil {
			t.Errorf("reload %d: %v", n, err)
		}
	}
	stop()
	clients.Wait()
	if n, why := s.reload(); n != 101 {
		t.Errorf("generation %d in force after 100 reloads, want 101 %s", n, why)
	}
	if got := fmt.Sprint(children(s.PID)); got != plugins {
		t.Errorf("plugin processes %s, want those of the start: %s", got, plugins)
	}
	t.Logf("%d requests over 100 reloads", served1.Load())
	if served1.Load() < 100 || crossed.Load() == 0 {
		t.Errorf("%d requests were served, %d of them translated: too few to tell", served1.Load(), crossed.Load())
	}
	fresh := serveText(t, numbered(up.URL, 1))
	fresh.post("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	client.CloseIdleConnections()
	s.await("as many goroutines as a fresh gateway", func() bool { return descriptors(t, s.PID) <= descriptors(t, fresh.PID)+8 })
	if a, b := s.goroutines(), fresh.goroutines(); a > b+8 { // connections that are just being closed; a leak would be a hundred
		t.Errorf("%d goroutines after 100 reloads, a fresh gateway has %d", a, b)
	}
}

// descriptors counts the open files of a process.
func descriptors(t *testing.T, pid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip("no /proc to count in")
	}
	return len(list)
}

// goroutines ends the gateway with a dump of its stacks and counts them.
func (s *served) goroutines() int {
	s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.ended
	return strings.Count(s.log.String(), "\ngoroutine ")
}

func TestBadEditChangesNothing(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, tellsNumber)
	s := serveText(t, numbered(up.URL, 1))
	for _, c := range []struct{ edit, want string }{
		{strings.Replace(numbered(up.URL, 2), "plugin:", "plugn:", 1), `penstock.yaml:3:`},
		{"providers: [", "penstock.yaml:"},
		{strings.Replace(numbered(up.URL, 2), "plugin: openai", "plugin: nowhere", 1), `plugin "nowhere": not bundled`},
		{strings.Replace(numbered(up.URL, 2), "model: g2", "model: g2, dialect: latin", 1), `dialect "latin": plugin openai does not speak it`},
		{strings.Replace(numbered(up.URL, 2), "plugin: openai,", "plugin: openai, preset: nowhere,", 1), `no preset "nowhere"`},
		{strings.Replace(numbered(up.URL, 2), "credentials: [{name: main, api_key: sk-upstream-openai}]", "credentials: []", 1), "wants a credential"},
		{strings.Replace(numbered(up.URL, 2), "plugin: openai,", "plugin: openai, tls: {ca: nowhere.pem},", 1), "nowhere.pem"},
	} {
		s.rewrite(c.edit)
		_, errs, code := s.run("reload")
		if code != 3 || !strings.Contains(errs, c.want) || !regexp.MustCompile(`penstock\.yaml:\d+:\d+: `).MatchString(errs) {
			t.Errorf("reload of a bad edit: exit code %d, %q; want 3, a place and %q", code, errs, c.want)
		}
		if _, errs, again := s.run("reload"); again != 3 || !strings.Contains(errs, c.want) {
			t.Errorf("the same once more: exit code %d, %q; want 3 and the same errors", again, errs)
		}
		out, errs, code := runProgram(t, s.dir, "validate", s.file)
		if code != 3 || !strings.Contains(errs, c.want) || !strings.Contains(errs, "    1 | ") && !strings.Contains(errs, "^") {
			t.Errorf("validate: exit code %d, %q%q; want 3, the line and %q", code, out, errs, c.want)
		}
		if a := s.post("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`); a.status != 200 || a.header.Get("x-penstock-generation") != "1" {
			t.Errorf("after a bad edit: %d by generation %s, want 200 by 1", a.status, a.header.Get("x-penstock-generation"))
		}
	}
	s.rewrite(numbered(up.URL, 2))
	if n, why := s.reload(); n != 2 {
		t.Errorf("generation %d after the mending, want 2 %s", n, why)
	}
	if n, why := s.reload(); n != 2 {
		t.Errorf("generation %d after a reload of the same, want 2 %s", n, why)
	}
	out, _, code := s.run("generations", "list", "-o", "json")
	if code != 0 || !strings.Contains(out, `"status":"active"`) || !strings.Contains(out, `"status":"failed"`) || !strings.Contains(out, `"status":"superseded"`) {
		t.Errorf("generations list: %d %s", code, out)
	}
}

func TestEditIsTakenByItself(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, tellsNumber)
	s := serveText(t, numbered(up.URL, 1))
	s.rewrite(numbered(up.URL, 2))
	s.await("the edit to be in force", func() bool {
		a := s.post("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		return a.header.Get("x-penstock-generation") == "2" && strings.Contains(a.body, "path g2")
	})
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := s.run("reload"); code != 3 || !strings.Contains(errs, "does not exist") {
		t.Errorf("reload without a file: %d %q", code, errs)
	}
	s.rewrite(numbered(up.URL, 3))
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.await("the signal to be obeyed", func() bool {
		a := s.post("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		return strings.Contains(a.body, "path g3")
	})
}

// TestKilledPluginEndsItsStreamsOnly: a stream that is being translated ends in the dialect's error when its plugin is
// killed, and the next request is served.
func TestKilledPluginEndsItsStreamsOnly(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	end := make(chan struct{})
	defer close(end)
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"+
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"+
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"begun\"}}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-sent:
		case <-end:
			return
		}
		io.WriteString(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"more\"}}\n\n")
		w.(http.Flusher).Flush()
		<-end
	})
	s := serveText(t, numbered(up.URL, 1))
	req, err := http.NewRequest("POST", s.API+"/v1/chat/completions", strings.NewReader(`{"model":"x","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), "begun") {
		n, err := resp.Body.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
	}
	for _, pid := range children(s.PID) {
		if name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); strings.Contains(string(name), "anthropic") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	close(sent)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), `"error"`) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream went on with %q (%v), want the dialect's error and no [DONE]", rest, err)
	}
	up.answer = tellsNumber
	if a := s.postAfterKill("/v1/chat/completions", `{"model":"x","messages":[{"role":"user","content":"hi"}]}`); a.status != 200 {
		t.Errorf("the next request: %d %s", a.status, a.body)
	}
}

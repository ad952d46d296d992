package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// timings reads a Server-Timing value into microseconds by name, in order.
type timing1 struct {
	name string
	us   int64
}

func timings(t *testing.T, header string) []timing1 {
	t.Helper()
	var list []timing1
	for _, entry := range strings.Split(header, ",") {
		parts := strings.Split(entry, ";")
		e := timing1{name: strings.TrimSpace(parts[0]), us: -1}
		for _, p := range parts[1:] {
			if v, ok := strings.CutPrefix(strings.TrimSpace(p), "dur="); ok {
				whole, frac, _ := strings.Cut(v, ".")
				n, err := strconv.ParseInt(whole+(frac + "000")[:3], 10, 64)
				if err != nil || len(frac) > 3 {
					t.Fatalf("Server-Timing %q: dur %q is not milliseconds with at most three decimals", header, v)
				}
				e.us = n
			}
		}
		if e.us < 0 {
			t.Fatalf("Server-Timing %q: %q has no dur", header, e.name)
		}
		list = append(list, e)
	}
	return list
}

// checkTiming holds a finished answer's Server-Timing to its sums, to the microsecond, and counts its upstream entries.
func checkTiming(t *testing.T, header string) (upstreams int) {
	t.Helper()
	var gw, stages, sum, total int64
	var haveStages, haveTotal bool
	for _, e := range timings(t, header) {
		switch {
		case e.name == "gw":
			gw = e.us
			sum += e.us
		case strings.HasPrefix(e.name, "gw-"):
			stages, haveStages = stages+e.us, true
		case e.name == "total":
			total, haveTotal = e.us, true
		case e.name == "upstream":
			upstreams++
			sum += e.us
		case e.name == "backoff" || e.name == "post":
			sum += e.us
		case e.name != "hedge":
			t.Errorf("Server-Timing %q: unknown entry %q", header, e.name)
		}
	}
	if !haveStages || gw != stages {
		t.Errorf("Server-Timing %q: gw is %d us, its stages are %d", header, gw, stages)
	}
	if !haveTotal || sum != total {
		t.Errorf("Server-Timing %q: total is %d us, its parts are %d", header, total, sum)
	}
	return upstreams
}

func TestDemoAnswersWithoutKeyOrFile(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	if s.Key == "" || s.AdminToken == "" || s.Generation != 1 {
		t.Fatalf("ready file: %+v, want a key, an admin token and generation 1", s.readyFile)
	}
	a := s.post("/v1/chat/completions", `{"model":"demo/flaky","messages":[{"role":"user","content":"hello there"}]}`)
	if a.status != 200 || !strings.Contains(a.body, "hello there") {
		t.Fatalf("demo/flaky: %d %s, want 200 and the prompt", a.status, a.body)
	}
	if n := checkTiming(t, a.header.Get("Server-Timing")); n != 2 {
		t.Errorf("Server-Timing %q: %d upstream entries, want 2", a.header.Get("Server-Timing"), n)
	}
	if got := a.header.Get("x-penstock-attempts"); got != "2" {
		t.Errorf("x-penstock-attempts %q, want 2", got)
	}
	if !strings.Contains(s.log.String(), "curl -sD - "+s.API+"/v1/chat/completions") {
		t.Errorf("the greeting has no command to try:\n%s", s.log)
	}
}

func TestDemoCommandThatIsPrinted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	s := serveText(t, "")
	_, try, ok := strings.Cut(s.log.String(), "Try:\n")
	if !ok {
		t.Fatalf("no command in the greeting:\n%s", s.log)
	}
	command, _, _ := strings.Cut(try, "\n\n")
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "200 OK") || strings.Count(strings.ToLower(string(out)), "upstream;dur=") != 2 {
		t.Errorf("the printed command: %v\n%s", err, out)
	}
}

func TestDemoModels(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	for _, model := range []string{"demo/echo", "demo/flaky", "demo/expensive", "demo/slow"} {
		for _, stream := range []bool{false, true} {
			name := fmt.Sprintf("%s stream=%v", model, stream)
			a := s.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"a b"}]}`, model, stream))
			if a.status != 200 {
				t.Errorf("%s: %d %s", name, a.status, a.body)
				continue
			}
			header := a.header.Get("Server-Timing")
			if stream {
				if !strings.HasSuffix(strings.TrimSpace(a.body), "data: [DONE]") {
					t.Errorf("%s: the stream ends in %q, want [DONE]", name, tail(a.body))
				}
				if strings.Contains(header, "total") {
					t.Errorf("%s: the head of a stream tells a total: %q", name, header)
				}
				header = a.trailer.Get("Server-Timing")
			}
			checkTiming(t, header)
			b := s.post("/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":50,"stream":%v,"messages":[{"role":"user","content":"a b"}]}`, model, stream), "anthropic-version", "2023-06-01")
			if b.status != 200 || stream && !strings.Contains(b.body, "event: message_stop") {
				t.Errorf("%s in the Anthropic dialect: %d %s", name, b.status, tail(b.body))
			}
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }

func TestErrorsAreTheDialectsOwnAndTimed(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	type test struct {
		name, method, path, key, body string
		status                        int
		want                          string
	}
	for _, c := range []test{
		{"no key", "POST", "/v1/chat/completions", "", `{}`, 401, `"code":"invalid_api_key"`},
		{"bad key", "POST", "/v1/messages", "psk_wrong", `{}`, 401, `"type":"authentication_error"`},
		{"bad JSON", "POST", "/v1/chat/completions", s.Key, `{"model":"demo/echo",}`, 400, `"type":"invalid_request_error"`},
		{"twice the same member", "POST", "/v1/messages", s.Key, `{"model":"a","model":"b"}`, 400, `model`},
		{"unknown model", "POST", "/v1/chat/completions", s.Key, `{"model":"demo/ecko","messages":[{"role":"user","content":"x"}]}`, 404, `demo/echo`},
		{"unknown path", "POST", "/v1/nothing", s.Key, `{}`, 404, `"error"`},
		{"dots in the path", "POST", "/v1/../v1/messages", s.Key, `{}`, 404, `"error"`},
		{"wrong method", "GET", "/v1/messages", s.Key, ``, 405, `"type":"error"`},
		{"coding", "POST", "/v1/messages", s.Key, `{}`, 415, `compress`},
	} {
		req, err := http.NewRequest(c.method, s.API+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = c.path // as it stands
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		if c.name == "coding" {
			req.Header.Set("Content-Encoding", "compress")
		}
		a, err := do(req)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s: %d %s, want %d and %s", c.name, a.status, a.body, c.status, c.want)
		}
		if n := checkTiming(t, a.header.Get("Server-Timing")); n != 0 {
			t.Errorf("%s: %d upstream entries, want none", c.name, n)
		}
		if a.header.Get("x-request-id") == "" {
			t.Errorf("%s: no x-request-id", c.name)
		}
		if strings.Contains(a.body, "psk_") {
			t.Errorf("%s: the answer shows a key: %s", c.name, a.body)
		}
	}
}

// children lists the processes that a process has started.
func children(pid int) []int {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	var list []int
	for _, f := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestKilledGatewayLeavesNoPlugin(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	plugins := children(s.PID)
	if len(plugins) != 1 {
		t.Fatalf("plugin processes: %v, want one", plugins)
	}
	s.cmd.Process.Kill()
	<-s.ended
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(awaitLimit); alive(plugins[0]); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("plugin %d lives %v after the gateway was killed", plugins[0], awaitLimit)
		}
	}
}

// postAfterKill sends a request whose plugin has just been killed. A request waits for the new process a while only, which on a
// busy machine takes longer to start.
func (s *served) postAfterKill(path, body string) (a answer) {
	s.t.Helper()
	s.await("the plugin's restart", func() bool {
		a = s.post(path, body)
		return a.status != 502 || !strings.Contains(a.body, "is being restarted")
	})
	return a
}

func TestKilledPluginIsReplaced(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	for range 2 {
		plugins := children(s.PID)
		if len(plugins) != 1 {
			t.Fatalf("plugin processes: %v, want one", plugins)
		}
		if err := syscall.Kill(plugins[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		a := s.postAfterKill("/v1/messages", `{"model":"demo/echo","max_tokens":9,"messages":[{"role":"user","content":"again"}]}`)
		if a.status != 200 {
			t.Fatalf("the request after the kill: %d %s", a.status, a.body)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostileText does harm in a session of a name, which the gateway's own trial of a policy does not guess.
const hostileText = `"""hostile: does harm when it is asked to."""

def harm():
%s

def route(req, _models):
    """Harm, else one model."""
    if req.session == "harm":
        harm()
    return ["cheap", "dear"]
`

// TestHostilePolicies holds that a policy that takes all it can ends within its bounds, with an answer that says so, while
// other requests are served and the process does not grow. It has the package to itself, since it keeps the processors busy.
func TestHostilePolicies(t *testing.T) {
	harms := map[string]string{
		"loop":    "    for i in range(60000):\n        for j in range(60000):\n            pass",
		"string":  "    x = \"a\" * 1000000000\n    return x",
		"doubled": "    x = \"a\"\n    for i in range(60):\n        x += x\n    return x",
		"list":    "    x = [0] * 1000000000\n    return x",
		"nested":  "    x = [1]\n    for i in range(60000):\n        x = [x, x]\n    return str(x)",
		"comp":    "    return [[j for j in range(60000)] for i in range(60000)]",
		"sorted":  "    return [sorted(range(60000), key = lambda n: -n) for i in range(1000)]",
		"join":    "    x = \",\".join([\"abc\" * 1000 for i in range(60000)])\n    return x",
		"dict":    "    return {str(i) * 100: [i] * 100 for i in range(60000)}",
		"number":  "    x = 3\n    for i in range(60000):\n        x = x * x\n    return x",
	}
	s := serveText(t, routed)
	var routers strings.Builder
	for name, body := range harms {
		s.write(name+".star", fmt.Sprintf(hostileText, body))
		fmt.Fprintf(&routers, "  %s: {policy: %s.star}\n", name, name)
	}
	s.rewrite(routed + "routers:\n" + routers.String())
	s.await("the routers", func() bool { return s.ask("join") == "cheap" })

	stop := make(chan struct{})
	var load sync.WaitGroup
	var served atomic.Int64
	for range 2 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := s.ask("dear"); got != "dear" {
					t.Errorf("beside hostile policies: %s", got)
					return
				}
				served.Add(1)
			}
		})
	}
	before := s.peakMemory()
	for name := range harms {
		had, begun := served.Load(), time.Now()
		for range 2 {
			a := s.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"x"}]}`, name), "x-claude-code-session-id", "harm")
			if a.status != 500 || !strings.Contains(a.body, "policy_failed") {
				t.Errorf("%s: %d %s, want 500 policy_failed", name, a.status, a.body)
			}
		}
		t.Logf("%s: %s for two, %d others were served", name, time.Since(begun), served.Load()-had)
		s.wants(s.ask(name), "cheap") // a request that it means no harm
	}
	close(stop)
	load.Wait()
	if served.Load() < int64(len(harms)) {
		t.Errorf("%d other requests were served", served.Load())
	}
	const room = 64 << 10 // KiB: two bounds of 16 MiB, and what the collector has not yet taken
	if grown := s.peakMemory() - before; grown > room && !raceEnabled {
		t.Errorf("the process grew by %d KiB, want at most %d", grown, room)
	}
}

// peakMemory is the most memory that the gateway has had, in KiB.
func (s *served) peakMemory() int {
	s.t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		s.t.Skip("no /proc: memory cannot be measured")
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

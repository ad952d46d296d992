package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// TestLedgerOnPostgres has two gateways share a PostgreSQL that is paused, killed and started again under them: requests are
// served all the while, and no row is missing afterwards.
func TestLedgerOnPostgres(t *testing.T) {
	t.Parallel()
	server := storetest.Postgres(t)
	u := newUpstream(t, says("application/json", `{"id":"1","object":"chat.completion","created":1,"model":"big","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}`))
	text := ledgerConfig(u.URL) + fmt.Sprintf("store: {url: %q}\n", server.URL())
	gateways := []*served{serveText(t, text), serveText(t, text)}
	sent := 0
	use := func(when string) {
		t.Helper()
		for range 5 {
			for i, g := range gateways {
				if a := g.post("/v1/chat/completions", ledgerRequest); a.status != http.StatusOK {
					t.Errorf("%s, gateway %d: got %d %s", when, i, a.status, a.body)
				}
				sent++
			}
		}
	}
	use("at first")
	resume := server.Pause()
	use("the store is paused")
	resume()
	use("after the pause")
	server.Kill()
	use("the store is dead")
	server.Start()
	use("after the restart")

	g := gateways[0]
	g.await("rows", func() bool {
		out, _, code := g.run("ledger", "list", "-o", "jsonl", "-c", g.file)
		return code == 0 && strings.Count(out, "\n") == sent
	})
	out, _, _ := g.run("ledger", "list", "-o", "jsonl", "-c", g.file)
	seen := map[string]bool{}
	for _, r := range rowsFrom(t, out) {
		if r.Status != "settled" || r.InputTokens != 10 || seen[r.RequestID] {
			t.Errorf("got %+v", r)
		}
		seen[r.RequestID] = true
	}
	for _, g := range gateways {
		if out, errs, code := g.run("ledger", "verify", "-c", g.file); code != 0 {
			t.Errorf("verify: exit %d, %s %s", code, out, errs)
		}
	}
}

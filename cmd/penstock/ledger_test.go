package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// ledgerConfig is one model with a price at an upstream.
func ledgerConfig(url string) string {
	return fmt.Sprintf(`
listen: 127.0.0.1:0
providers:
  up: {plugin: openai, base_url: %q, credentials: [{name: main, api_key: k}]}
models:
  chat: {deployments: [{provider: up, model: big-2025-04-14, price: {input: 2, output: 8, cache_read: 0.5}}]}
keys:
  - {name: dev, secret: %s}
retry: {attempts: 1}
`, url, testKey)
}

const ledgerRequest = `{"model":"chat","messages":[{"role":"user","content":"hello"}]}`

// rowsFrom reads JSON lines.
func rowsFrom(t *testing.T, lines string) []store.Row {
	t.Helper()
	var list []store.Row
	d := json.NewDecoder(strings.NewReader(lines))
	for {
		var r store.Row
		err := d.Decode(&r)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %q", err, lines)
		}
		list = append(list, r)
	}
}

// TestLedgerCommands follows one call, and one that fails, through all commands and the admin API, beside the gateway.
func TestLedgerCommands(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusInternalServerError)
			return
		}
		says("application/json", `{"id":"1","object":"chat.completion","created":1,"model":"big","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":400}}}`)(w, r)
	})
	g := serveText(t, ledgerConfig(u.URL))
	if a := g.post("/v1/chat/completions", ledgerRequest); a.status != http.StatusOK {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	g.await("its row, which is written behind the answer", func() bool { return len(rowsOf(t, g)) == 1 })
	if a := g.post("/v1/chat/completions", ledgerRequest); a.status == http.StatusOK {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	out, errs, code := g.run("ledger", "list", "-o", "jsonl")
	if code != 0 || errs != "" {
		t.Fatalf("list: exit %d, %s", code, errs)
	}
	rows := rowsFrom(t, out)
	if len(rows) != 2 {
		t.Fatalf("list: got %q", out)
	}
	if r := rows[0]; r.Key != "dev" || r.Model != "chat" || r.UpstreamModel != "big-2025-04-14" || r.Credential != "main" || r.Status != "settled" || r.Outcome != "success" ||
		r.InputTokens != 1000 || r.CacheReadTokens != 400 || r.OutputTokens != 50 || r.CostNanoUSD != 600*2000+400*500+50*8000 {
		t.Errorf("a success: got %+v", r)
	}
	if r := rows[1]; r.Status != "refunded" || r.Outcome != "upstream_error" || r.CostNanoUSD != 0 {
		t.Errorf("a failure: got %+v", r)
	}
	adminRows(t, g, rows)
	exported(t, g, rows)
	if out, _, code := g.run("ledger", "verify"); code != 0 {
		t.Errorf("verify: exit %d, %s", code, out)
	}
	if out, _, code := g.run("ledger", "repair"); code != 0 || out != "nothing to repair\n" {
		t.Errorf("repair: exit %d, %q", code, out)
	}
	reconciled(t, g, rows[0].StartedAt)
	if _, errs, code := runProgram(t, g.dir, "ledger", "list", "--state", filepath.Join(g.dir, "nowhere")); code != exitNotFound || !strings.Contains(errs, "name the gateway's by --state") {
		t.Errorf("a store that is not there: exit %d, %q", code, errs)
	}
}

// adminRows holds that the admin API gives the rows of a request.
func adminRows(t *testing.T, g *served, rows []store.Row) {
	t.Helper()
	req, err := http.NewRequest("GET", g.Admin+"/admin/v1/ledger?request_id="+rows[0].RequestID, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.AdminToken)
	a, err := do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsFrom(t, a.body); len(got) != 1 || got[0] != rows[0] {
		t.Errorf("admin API: got %d %s", a.status, a.body)
	}
	req.URL.RawQuery = "since=yesterday"
	if a, err := do(req); err != nil || a.status != http.StatusBadRequest || !strings.Contains(a.body, "want a time") {
		t.Errorf("admin API: got %d %s, %v", a.status, a.body, err)
	}
}

// exported holds that the CSV of an export reads back as what the JSON lines say.
func exported(t *testing.T, g *served, rows []store.Row) {
	t.Helper()
	file := filepath.Join(g.dir, "rows.csv")
	if _, errs, code := g.run("ledger", "export", "--since", "1h", "--file", file); code != 0 {
		t.Fatalf("export: exit %d, %s", code, errs)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) != len(rows)+1 {
		t.Fatalf("export: got %d lines, %v", len(lines), err)
	}
	for i, r := range rows {
		text, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		for j, name := range lines[0] {
			want := fmt.Sprint(members[name])
			if n, ok := members[name].(float64); ok {
				want = fmt.Sprintf("%.0f", n)
			}
			if lines[i+1][j] != want {
				t.Errorf("export: %s: got %q, want %q", name, lines[i+1][j], want)
			}
		}
		if len(members) != len(lines[0]) {
			t.Errorf("export: %d columns, a row has %d members", len(lines[0]), len(members))
		}
	}
}

// reconciled holds the ledger against exports that agree with it and that do not.
func reconciled(t *testing.T, g *served, day time.Time) {
	t.Helper()
	f := func(export string, want int, says string) {
		t.Helper()
		file := filepath.Join(g.dir, "usage.csv")
		if err := os.WriteFile(file, []byte(export), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := g.run("ledger", "reconcile", "--provider", "up", file)
		if code != want || !strings.Contains(out, says) {
			t.Errorf("reconcile %q: exit %d, %q, %q; want %d and %q", export, code, out, errs, want, says)
		}
	}
	date := day.Format(time.DateOnly)
	head := "start_time,end_time,start_time_iso,model,input_tokens,output_tokens,input_cached_tokens\n"
	line := fmt.Sprintf("%d,0,%sT00:00:00+00:00,big,", day.Truncate(24*time.Hour).Unix(), date)
	f(head+line+"1000,50,400\n", 0, "no difference in 4 sums")
	f(head+line+"1001,50,400\n", exitTests, "-1")
	f(head+strings.Replace(line, "big", "small", 1)+"7,0,0\n", exitTests, "small")
}

// TestLedgerFindsTheConfiguration: the store is that of the configuration which the gateway would be started with here.
func TestLedgerFindsTheConfiguration(t *testing.T) {
	t.Setenv("PENSTOCK_CONFIG", "")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("penstock.yaml", []byte(ledgerConfig("http://127.0.0.1:1/v1")+"store: {url: \"postgres://127.0.0.1:1/calls?sslmode=disable\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := storeFlags{state: t.TempDir()}
	if _, _, err := f.open(t.Context(), true); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("opened with %v, want the store of ./penstock.yaml, which nobody answers for", err)
	}
}

// TestLedgerKilled kills the gateway under load, again and again, and then holds the ledger against what the upstream
// counted. PENSTOCK_LONG=1 does so a thousand times.
func TestLedgerKilled(t *testing.T) {
	t.Parallel()
	rounds := 8
	if os.Getenv("PENSTOCK_LONG") == "1" {
		rounds = 1000
	}
	var calls atomic.Int64
	var moment killMoment
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { // each call has a number of tokens to itself
		n := calls.Add(1)
		moment.pass()
		says("application/json", fmt.Sprintf(`{"id":"1","object":"chat.completion","created":1,"model":"big","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":1}}`, n))(w, r)
	})
	u.forget = true
	dir := t.TempDir()
	config := filepath.Join(dir, "penstock.yaml")
	if err := os.WriteFile(config, []byte(ledgerConfig(u.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range rounds {
		killUnderLoad(t, dir, config, moment.after(1+mathrand.Int64N(150)))
	}
	u.Close() // and with it what is on its way
	state := filepath.Join(dir, "state")
	if out, _, code := runProgram(t, dir, "ledger", "repair", "--state", state); code != 0 {
		t.Errorf("repair: exit %d, %s", code, out)
	}
	if out, _, code := runProgram(t, dir, "ledger", "verify", "--state", state); code != 0 {
		t.Errorf("verify: exit %d, %s", code, out)
	}
	out, _, _ := runProgram(t, dir, "ledger", "list", "-o", "jsonl", "--state", state)
	judgeKilled(t, rowsFrom(t, out), calls.Load(), rounds)
}

// judgeKilled holds rows against the number of calls, of which the n-th had n tokens.
func judgeKilled(t *testing.T, rows []store.Row, calls int64, rounds int) {
	t.Helper()
	counted, crashed := map[int64]bool{}, 0
	for _, r := range rows {
		switch {
		case r.Status != "settled":
			crashed++
		case r.InputTokens < 1 || r.InputTokens > calls || counted[r.InputTokens]:
			t.Errorf("a row of no call, or the second of one: %+v", r)
		default:
			counted[r.InputTokens] = true
		}
		if r.Status == "refunded" && r.Outcome != "crashed" {
			t.Errorf("refunded without a crash: %+v", r)
		}
	}
	estimated := len(slices.DeleteFunc(rows, func(r store.Row) bool { return r.Status != "estimated" }))
	if open := calls - int64(len(counted)); open > int64(estimated) {
		t.Errorf("%d calls, %d settled rows, %d estimated: %d calls have no row", calls, len(counted), estimated, open-int64(estimated))
	}
	t.Logf("%d calls in %d rounds: %d rows by the provider's usage, %d by a crash", calls, rounds, len(counted), crashed)
	if calls < int64(10*rounds) {
		t.Errorf("%d calls in %d rounds: want more load", calls, rounds)
	}
}

// killMoment is the moment of a call by its number from now on.
type killMoment struct {
	left    atomic.Int64
	reached chan struct{}
}

// after gives what is closed when so many calls have come; one at a time.
func (m *killMoment) after(n int64) <-chan struct{} {
	m.reached = make(chan struct{})
	m.left.Store(n)
	return m.reached
}

func (m *killMoment) pass() {
	if m.left.Add(-1) == 0 {
		close(m.reached)
	}
}

// killUnderLoad starts a gateway, has eight clients use it and kills it at some moment.
func killUnderLoad(t *testing.T, dir, config string, moment <-chan struct{}) {
	t.Helper()
	g := &served{t: t, dir: dir, log: new(logBuffer), ended: make(chan struct{})}
	ready := filepath.Join(dir, "ready.json")
	os.Remove(ready)
	g.cmd = exec.Command(build(t), "serve", "-c", config, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state", filepath.Join(dir, "state"), "--ready-file", ready)
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		g.cmd.Wait()
		close(g.ended)
	}()
	g.awaitReady(ready)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				g.tryPost(ctx, "/v1/chat/completions", ledgerRequest) // fails when the gateway is killed
			}
		})
	}
	g.await("calls", func() bool {
		select {
		case <-moment:
			return true
		default:
			return false
		}
	})
	g.cmd.Process.Kill()
	<-g.ended
	cancel()
	clients.Wait()
	g.tells()
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// limited is one priced model at an upstream, and a key with limits.
func limited(up *upstream, key, settings string) string {
	return fmt.Sprintf(`
providers: {openai: {plugin: openai, base_url: %q, credentials: [{name: a, api_key: sk-up-aaaaaaaa}]}}
models:
  m: {deployments: [{provider: openai, model: m, price: {input: 1, output: 2}, tags: [zdr]}]}
  unpriced: {deployments: [{provider: openai, model: m}]}
keys: [{name: test, secret: %s, %s}]
retry: {attempts: 1}
%s
`, up.URL+"/v1", testKey, key, settings)
}

// ask1000 costs 0.002 USD at most for its answer, and some for its text.
const ask1000 = `{"model":"m","max_tokens":1000,"messages":[{"role":"user","content":"x"}]}`

// ratedKey is a second key in some configurations of these tests.
const ratedKey = "psk-for-the-tests-of-the-program-000002"

// startCounters starts a server for counters on a socket, and gives its URL and its process.
func startCounters(t *testing.T) (url string, server *os.Process) {
	t.Helper()
	for _, name := range []string{"valkey-server", "redis-server"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		dir, err := os.MkdirTemp("", "counters")
		if err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(dir, "s")
		cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
			os.RemoveAll(dir)
		})
		return "unix://" + socket, cmd.Process
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("neither valkey-server nor redis-server is installed")
	}
	t.Skip("neither valkey-server nor redis-server is installed")
	return "", nil
}

// TestBudgetRace sends 200 requests at once against money for 40: exactly 40 are let through, on one node and on two that
// share their counters.
func TestBudgetRace(t *testing.T) {
	t.Parallel()
	f := func(t *testing.T, nodes int, settings string) {
		var started atomic.Int64
		release := make(chan struct{})
		letGo := sync.OnceFunc(func() { close(release) })
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			started.Add(1)
			<-release
			answers("ok")(w, r)
		})
		t.Cleanup(letGo)
		// Each is reserved at 1,000 tokens out and 5 in: 0.002005 USD.
		text := limited(up, `budget: {usd: "0.0802"}`, settings)
		var gateways []*served
		for range nodes {
			gateways = append(gateways, servePlain(t, text))
		}
		for _, g := range gateways {
			g.await("the counters", func() bool { return g.keyAsked().status == 200 })
		}
		var refused, served atomic.Int64
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				a := gateways[i%nodes].verdict(testKey)
				switch {
				case a.status == 200:
					served.Add(1)
				case a.status == 429 && strings.Contains(a.body, `"budget_exhausted"`) && a.header.Get("retry-after") == "" && a.header.Get("x-should-retry") == "false":
					refused.Add(1)
				default:
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
			})
		}
		gateways[0].await("all verdicts", func() bool { return refused.Load()+started.Load() == 200 })
		letGo()
		group.Wait()
		spentOnce(t, "money for 40", served.Load(), 40, gateways...)
		if n := up.count(); int64(n) != served.Load() {
			t.Errorf("%d reached the upstream, %d were served", n, served.Load())
		}
		if a := gateways[0].verdict(testKey); a.status != 200 {
			t.Errorf("when they have been settled: %d %s", a.status, a.body)
		}
	}
	t.Run("one node", func(t *testing.T) { f(t, 1, "") })
	t.Run("two nodes", func(t *testing.T) {
		url, _ := startCounters(t)
		f(t, 2, "counters: {url: "+strconv.Quote(url)+"}")
	})
	t.Run("two nodes on one store", func(t *testing.T) {
		url, _ := startCounters(t)
		f(t, 2, fmt.Sprintf("counters: {url: %q}\nstore: {url: %q}", url, storetest.Postgres(t).URL()))
	})
}

// verdict asks with a key until the request is let in or refused: where the counters do not answer in time, as on a busy
// machine, a client is told to come again. These times are counted.
func (s *served) verdict(key string) (a answer) {
	s.t.Helper()
	s.await("a verdict", func() bool {
		a = s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key)
		if a.status == http.StatusServiceUnavailable {
			s.late.Add(1)
		}
		return a.status != http.StatusServiceUnavailable
	})
	return a
}

// spentOnce holds that as many requests were served as there was money for. What a call of the counters has reserved whose
// answer came too late is kept a while: for each of them one request less may be served.
func spentOnce(t *testing.T, what string, served, want int64, gateways ...*served) {
	t.Helper()
	late := int64(0)
	for _, g := range gateways {
		late += g.late.Load()
	}
	if served > want || served < want-late {
		t.Errorf("%s: %d were served, want %d; the counters were late %d times", what, served, want, late)
	}
}

// keyAsked asks GET /api/v1/key of the test key.
func (s *served) keyAsked() answer { return s.keyOf(testKey) }

// keyOf asks GET /api/v1/key of a key.
func (s *served) keyOf(secret string) answer {
	s.t.Helper()
	req, err := http.NewRequest("GET", s.API+"/api/v1/key", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	a, err := do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// keyShown is what GET /api/v1/key says of money, in nano-USD.
func (s *served) keyShown() (left, used config.Nano) {
	s.t.Helper()
	a := s.keyAsked()
	if a.status != 200 {
		s.t.Fatalf("%d %s", a.status, a.body)
	}
	return a.money(s.t)
}

// money is what an answer of GET /api/v1/key says of it, in nano-USD.
func (a answer) money(t testing.TB) (left, used config.Nano) {
	t.Helper()
	var got struct {
		Data struct {
			Left  json.Number `json:"limit_remaining"`
			Usage json.Number `json:"usage"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	for _, n := range []struct {
		text string
		into *config.Nano
	}{{got.Data.Left.String(), &left}, {got.Data.Usage.String(), &used}} {
		var err error
		if *n.into, err = config.ParseUSD(n.text); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
	}
	return left, used
}

// exits are the ways in which a request may end.
var exits = []struct {
	name    string
	answer  http.HandlerFunc
	body    string
	leave   bool // the client leaves when the upstream has been asked
	refused bool // before anything is sent
}{
	{name: "whole", answer: answers("ok"), body: ask1000},
	{name: "stream", answer: answers("ok"), body: `{"model":"m","stream":true,"max_tokens":10,"messages":[{"role":"user","content":"x"}]}`},
	{name: "upstream 400", answer: says400, body: ask1000},
	{name: "upstream 500", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, body: ask1000},
	{name: "reset before the head", answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, body: ask1000},
	{name: "broken stream", answer: breaks(roleChunk, fmt.Sprintf(chatChunk, "begun")), body: `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`},
	{name: "no content", answer: streams(lastChunk), body: `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`},
	{name: "client leaves", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, body: ask1000, leave: true},
	{name: "time-out", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, body: ask1000},
	{name: "not JSON", body: `{`, refused: true},
	{name: "unknown model", body: `{"model":"none","messages":[{"role":"user","content":"x"}]}`, refused: true},
	{name: "price unknown", body: `{"model":"unpriced","messages":[{"role":"user","content":"x"}]}`, refused: true},
	{name: "larger than the token limit", body: `{"model":"m","max_tokens":9000000,"messages":[{"role":"user","content":"x"}]}`, refused: true},
	{name: "dearer than the budget", body: `{"model":"m","max_tokens":600000,"messages":[{"role":"user","content":"x"}]}`, refused: true},
}

func says400(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(400)
	fmt.Fprint(w, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`)
}

// TestEveryExitReturnsItsReservation: with room for one request at a time, another is let in after each way to end, and the
// budget is used by what the ledger says and by nothing else.
func TestEveryExitReturnsItsReservation(t *testing.T) {
	t.Parallel()
	var answer atomic.Pointer[http.HandlerFunc]
	arrived := make(chan struct{}, 8)
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		(*answer.Load())(w, r)
	})
	s := serveText(t, limited(up, `limits: {concurrency: 1, tpm: 8000000}, budget: {usd: 1}`, "timeout: {first_content: 3s, idle: 3s}\nstream: {on_disconnect: cancel}\nbreaker: {failures: 1000}"))
	for _, e := range exits {
		if e.answer != nil {
			answer.Store(&e.answer)
		}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if !e.refused {
				<-arrived
			}
			if e.leave {
				leave()
			}
		}()
		before := up.count()
		a, err := s.tryPost(ctx, "/v1/chat/completions", e.body)
		leave()
		switch {
		case e.leave != (err != nil && strings.Contains(err.Error(), context.Canceled.Error())):
			t.Errorf("%s: %v", e.name, err)
		case e.refused && (a.status/100 != 4 || up.count() != before):
			t.Errorf("%s: %d %s, and the upstream was asked %d times", e.name, a.status, a.body, up.count()-before)
		case !e.refused && up.count() != before+1:
			t.Errorf("%s: the upstream was asked %d times", e.name, up.count()-before)
		}
		if strings.Contains(a.body, "at the same time") {
			t.Errorf("%s: its forerunner's place was not given back", e.name)
		}
		s.await(e.name+": the ledger and the counters to agree", func() bool {
			left, used := s.keyShown()
			return left+used == 1_000_000_000
		})
	}
}

// TestRetryAfterIsHonest: who waits as long as a refusal says is let in.
func TestRetryAfterIsHonest(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, limited(up, `limits: {rpm: 120}`, ""))
	refusals := 0
	for i := 0; refusals < 3; i++ {
		a := s.post("/v1/chat/completions", ask1000)
		if a.status == 200 {
			if i > 1000 {
				t.Fatal("a thousand requests were let in, want 120 a minute")
			}
			continue
		}
		refusals++
		ms, err := strconv.Atoi(a.header.Get("retry-after-ms"))
		if err != nil || ms < 1 || ms > 500 || a.status != 429 || a.header.Get("retry-after") != "1" || a.header.Get("x-ratelimit-remaining-requests") != "0" {
			t.Fatalf("%d %v", a.status, a.header)
		}
		<-time.After(time.Duration(ms) * time.Millisecond)
		if a := s.post("/v1/chat/completions", ask1000); a.status != 200 {
			t.Errorf("after %d ms: %d %s", ms, a.status, a.body)
		}
	}
}

// TestReloadKeepsWhatWasUsed: a raised limit is in force at once, and does not begin anew.
func TestReloadKeepsWhatWasUsed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, limited(up, `limits: {rpm: 3}`, ""))
	admitted := func() (n int) {
		for s.post("/v1/chat/completions", ask1000).status == 200 {
			n++
		}
		return n
	}
	if n := admitted(); n != 3 {
		t.Fatalf("%d were let in, want 3", n)
	}
	s.rewrite(limited(up, `limits: {rpm: 5}`, ""))
	if _, stderr, code := s.run("reload"); code != 0 {
		t.Fatal(stderr)
	}
	if n := admitted(); n != 2 {
		t.Errorf("%d more were let in, want 2", n)
	}
}

// TestCountersOutage: while the counters' server is stopped a key without a budget is served, as on_outage says, and one with
// a budget gets 503; nobody waits long, and what was counted before is counted after.
func TestCountersOutage(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	url, server := startCounters(t)
	text := strings.Replace(limited(up, `budget: {usd: 1}`, "counters: {url: "+strconv.Quote(url)+"}"), "keys: [", "keys: [{name: rated, secret: "+ratedKey+", limits: {rpm: 3}}, ", 1)
	s := serveText(t, text)
	try := func(key string) int {
		return s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key).status
	}
	s.await("the counters' server", func() bool { return try(testKey) == 200 })
	// What is left of the budget once nothing is reserved: counters that answer late are asked again, and give back what was
	// reserved by a call that they answered too late.
	kept := func() (left config.Nano) {
		t.Helper()
		s.await("a budget of which nothing is reserved", func() bool {
			a := s.keyAsked()
			if a.status != http.StatusOK {
				return false
			}
			var used config.Nano
			left, used = a.money(t)
			return left+used == 1_000_000_000
		})
		return left
	}
	before := try(ratedKey)
	left := kept()
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		begun := time.Now()
		rated, budgeted := try(ratedKey), try(testKey)
		if rated != 200 || budgeted != 503 {
			t.Errorf("without counters: %d for a key of 3 a minute, want 200; %d for one with a budget, want 503", rated, budgeted)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("two requests took %s", took)
		}
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.await("the counters to be back", func() bool { return try(testKey) == 200 })
	if spent := left - kept(); spent <= 0 || spent > 20_000 {
		t.Errorf("one request after the outage has used %s USD of the budget", spent)
	}
	if before != 200 || try(ratedKey) != 200 {
		t.Error("the rate was used by requests that it did not count")
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/faultpoint"
)

// pointed is the program with its fault points.
var pointed = sync.OnceValues(func() (string, error) {
	dir, err := built()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pointed", "penstock")
	out, err := exec.Command("go", "build", "-tags", "faultpoints", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return path, nil
})

// books is a gateway with fault points, an upstream that counts its calls, and a key with limits for each case.
type books struct {
	*served
	points string // the folder in which they are armed
	spare  int64  // tokens that a key has left after its first probe

	mu    sync.Mutex
	calls map[string]int // by key; guarded by mu
	cases []booked
}

// booked is a case that has been played.
type booked struct {
	name, key string
	left      int64 // tokens after the probe that followed it
	unreached bool  // a call may have been made that did not reach the upstream
}

const (
	bookKeys   = 600
	bookTokens = 6000
)

func bookSecret(key string) string { return "psk-for-the-tests-of-exits-" + key }

// openBooks runs a gateway with counters where a URL says.
func openBooks(t *testing.T, settings string) *books {
	t.Helper()
	program, err := pointed()
	if err != nil {
		t.Fatal(err)
	}
	b := &books{points: t.TempDir(), calls: map[string]int{}}
	if err := os.WriteFile(filepath.Join(b.points, "trace"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u := httptest.NewUnstartedServer(http.HandlerFunc(b.upstream))
	u.Config.Protocols = new(http.Protocols)
	u.Config.Protocols.SetHTTP1(true)
	u.Config.Protocols.SetUnencryptedHTTP2(true)
	u.Start()
	t.Cleanup(u.Close)
	b.served = serveProgram(t, program, booksConfig(t, u.URL, settings), "PENSTOCK_FAULTPOINTS="+b.points)
	key := b.key()
	b.await("the counters", func() bool { _, ok := b.probe(key); return ok })
	key = b.key()
	b.spare, _ = b.probe(key)
	b.idle()
	return b
}

// passed gives the points that requests have reached so far.
func (b *books) passed() (list []faultpoint.Point) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.points, "trace"))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		list = append(list, faultpoint.Point(strings.TrimSpace(line)))
	}
	return list
}

// idle waits until each request has taken its last step.
func (b *books) idle() {
	b.t.Helper()
	b.await("the end of all requests", func() bool { return b.underWay() == 0 })
}

// underWay is how many requests have not come to their last step.
func (b *books) underWay() (n int) {
	b.t.Helper()
	for _, p := range b.passed() {
		switch p {
		case faultpoint.Enter:
			n++
		case faultpoint.Log:
			n--
		}
	}
	return n
}

// booksConfig has a model for each thing that the upstream does.
func booksConfig(t *testing.T, url, settings string) string {
	var c strings.Builder
	fmt.Fprintf(&c, "providers:\n  up: {plugin: openai, base_url: %[1]q, credentials: [{name: a, api_key: sk-up-aaaaaaaa}]}\n"+
		"  far: {plugin: openai, http: 2, base_url: %[1]q, credentials: [{name: a, api_key: sk-up-aaaaaaaa}]}\n"+
		"  nobody: {plugin: openai, base_url: %[2]q, credentials: [{name: a, api_key: sk-up-aaaaaaaa}]}\nmodels:\n", url+"/v1", boundSocket(t).url+"/v1")
	of := func(name, provider, terms string, does ...string) {
		fmt.Fprintf(&c, "  %s:\n%s    deployments:\n", name, terms)
		for _, d := range does {
			fmt.Fprintf(&c, "      - {provider: %s, model: %s, price: {input: 1, output: 2}}\n", provider, d)
		}
	}
	for does := range doings {
		of(does, "up", "", does)
	}
	of("fallback", "up", "", "says500", "ok")
	of("hedge", "up", "    hedge: 20ms\n", "lags", "ok")
	of("far", "far", "", "ok")
	of("nobody", "nobody", "", "ok")
	c.WriteString("routers:\n")
	dir := t.TempDir()
	for name, r := range map[string][2]string{
		"many": {`"says500", "ok"`, `retries = 1`},
		"late": {`"hangs"`, `retries = 0, first_content = 0.1`},
		"idle": {`"stalls"`, `retries = 0, idle = 0.5`}, // both: not before the content has come
		"long": {`"stalls"`, `retries = 0, total = 0.8`},
	} {
		path := filepath.Join(dir, name+".star")
		text := fmt.Sprintf("\"\"\"%s: a policy.\"\"\"\n\ndef route(_req, _models):\n    \"\"\"Models.\"\"\"\n    return [%s]\n\n"+
			"def plan(_req, targets):\n    \"\"\"Terms.\"\"\"\n    for t in targets:\n        attempt(t, %s)\n", name, r[0], r[1])
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&c, "  %s: {policy: %q}\n", name, path)
	}
	c.WriteString("keys:\n")
	for i := range bookKeys {
		key := fmt.Sprintf("k%04d", i)
		fmt.Fprintf(&c, "  - {name: %s, secret: %s, limits: {concurrency: 1, rpm: 6, tpm: %d}, budget: {usd: 1}}\n", key, bookSecret(key), bookTokens)
	}
	return c.String() + "retry: {attempts: 2, backoff: {first: 1ms, max: 5ms}}\nbreaker: {failures: 1000}\nstream: {on_disconnect: cancel}\n" + settings
}

// doings are what the upstream does, by the model that it is asked for.
var doings = map[string]http.HandlerFunc{
	"ok":      answers("ok"),
	"says400": says400,
	"says500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	"resets":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"breaks":  breaks(roleChunk, fmt.Sprintf(chatChunk, "begun")),
	"empty":   streams(lastChunk),
	"hangs":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"stalls": func(w http.ResponseWriter, r *http.Request) {
		streams(roleChunk, fmt.Sprintf(chatChunk, "begun"))(w, r)
		<-r.Context().Done()
	},
	"lags": func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	},
	"large": streams(roleChunk, strings.Repeat(fmt.Sprintf(chatChunk, strings.Repeat("much", 1000)), 200), lastChunk),
}

var inBody = regexp.MustCompile(`"model":"(\w+)"|\b(k\d{4})\b`)

// upstream counts a call and does what its model says.
func (b *books) upstream(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	does := doings["ok"]
	for _, m := range inBody.FindAllStringSubmatch(string(body), -1) {
		if m[1] != "" {
			does = doings[m[1]]
		} else {
			b.mu.Lock()
			b.calls[m[2]]++
			b.mu.Unlock()
		}
	}
	does(w, r)
}

// key gives a key that no case has had.
func (b *books) key() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprintf("k%04d", len(b.calls))
	b.calls[key] = 0
	return key
}

// ask plays an exit with a key.
func (b *books) ask(ctx context.Context, e *exit, key string) (answer, error) {
	path := e.path
	if path == "" {
		path = "/v1/chat/completions"
	}
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"max_tokens":100,"messages":[{"role":"user","content":%q}]%s}`, e.model, e.stream, key, e.more)
	req, err := http.NewRequestWithContext(ctx, "POST", b.API+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+bookSecret(key))
	req.Header.Set("Content-Type", "application/json")
	req.Close = e.alone
	if !e.slowly {
		return do(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	for piece := make([]byte, 64<<10); err == nil; {
		var n int
		n, err = resp.Body.Read(piece)
		if a.body += string(piece[:n]); n > 0 {
			<-time.After(time.Millisecond) // as a client would that is slower than the upstream
		}
	}
	if err == io.EOF {
		err = nil
	}
	return a, err
}

// probe asks once more with a key of a case: it must be let in, alone as it is. It tells how many tokens are left then.
func (b *books) probe(key string) (left int64, ok bool) {
	a, err := b.ask(b.t.Context(), &exit{model: "ok"}, key)
	if err != nil || a.status != 200 {
		return 0, false
	}
	left, err = strconv.ParseInt(a.header.Get("x-ratelimit-remaining-tokens"), 10, 64)
	return left, err == nil
}

// money is what a key may still spend and has spent, in nano-USD.
func (b *books) money(key string) (left, used config.Nano, ok bool) {
	req, err := http.NewRequest("GET", b.API+"/api/v1/key", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bookSecret(key))
	a, err := do(req)
	var got struct {
		Data struct {
			Left  json.Number `json:"limit_remaining"`
			Usage json.Number `json:"usage"`
		} `json:"data"`
	}
	if err != nil || a.status != 200 || json.Unmarshal([]byte(a.body), &got) != nil {
		return 0, 0, false
	}
	left, err = config.ParseUSD(got.Data.Left.String())
	used, err2 := config.ParseUSD(got.Data.Usage.String())
	return left, used, err == nil && err2 == nil
}

// balance holds that after a case nothing of its key is reserved, and that its money is what its rows say.
func (b *books) balance(name, key string, e *exit) {
	b.t.Helper()
	b.await(name+": money to be as the rows say", func() bool {
		left, used, ok := b.money(key)
		return ok && left+used == 1_000_000_000
	})
	b.idle()
	if e.slowly { // its tokens are more than a minute's
		return
	}
	var left int64
	b.await(name+": the next request to be let in", func() (ok bool) {
		left, ok = b.probe(key)
		return ok
	})
	b.idle()
	b.cases = append(b.cases, booked{name, key, left, e.model == "far" || e.model == "nobody"})
}

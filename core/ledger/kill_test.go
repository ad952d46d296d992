package ledger

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/core/store/storetest"
	"github.com/penstock-gateway/penstock/sdk"
)

// killedArg makes the test binary the process that is killed.
const killedArg = "penstock-killed"

// killed makes calls until it is killed: to a server, in the folder and the store that its arguments name.
func killed(args []string) {
	ctx, server, dir := context.Background(), args[0], args[1]
	s, err := store.Open(ctx, store.Options{URL: args[2], Dir: dir})
	if err != nil {
		slog.Error("killed", "error", err)
		os.Exit(1)
	}
	l, _, err := Open(ctx, Options{Dir: dir, Store: s, Slots: 256})
	if err != nil {
		slog.Error("killed", "error", err)
		os.Exit(1)
	}
	run := rand.Text()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s-%d-%d", run, worker, n)
				if !attempt(l, server, id, 1) {
					attempt(l, server, id, 2)
				}
			}
		})
	}
	fmt.Println("ready")
	wg.Wait()
}

// attempt makes one call; false where it is to be made again.
func attempt(l *Ledger, server, id string, n int) bool {
	c := call(id, n)
	c.Started = time.Now()
	slot, err := l.Begin(c)
	if err != nil {
		slog.Error("begin", "error", err)
		return true
	}
	slot.Sent()
	resp, err := http.Post(server+"/"+id+"/"+strconv.Itoa(n), "", nil) // a GET would be sent again by itself
	if err != nil {
		slot.Settle(UpstreamError, sdk.Usage{}, time.Now())
		return true
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	tokens, bad := strconv.ParseInt(string(text), 10, 64)
	switch {
	case resp.StatusCode != http.StatusOK:
		slot.Settle(UpstreamError, sdk.Usage{}, time.Now())
		return false
	case err != nil || bad != nil:
		slot.Settle(UpstreamTruncated, sdk.Usage{}, time.Now())
	default:
		slot.Settle(Success, sdk.Usage{Input: tokens, Known: true}, time.Now())
	}
	return true
}

// counter is an upstream that counts its calls and what it charged for each; every fifth it refuses, for nothing.
type counter struct {
	until   atomic.Int64 // counts down to the moment at which reached is closed
	reached chan struct{}

	mu    sync.Mutex // guards what follows
	calls map[string]int64
	twice []string
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tokens := mathrand.Int64N(1000)
	if tokens%5 == 0 {
		tokens = 0
		w.WriteHeader(http.StatusInternalServerError)
	}
	c.mu.Lock()
	if _, has := c.calls[r.URL.Path]; has {
		c.twice = append(c.twice, r.URL.Path)
	}
	c.calls[r.URL.Path] = tokens
	c.mu.Unlock()
	if c.until.Add(-1) == 0 {
		close(c.reached)
	}
	io.WriteString(w, strconv.FormatInt(tokens, 10))
}

// TestKilled kills a process in the middle of its calls, again and again, and then holds the ledger against what the
// upstream counted: 15 times, 50 with CI=true, and a thousand with PENSTOCK_LONG=1.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 15
	switch {
	case os.Getenv("PENSTOCK_LONG") == "1":
		rounds = 1000
	case os.Getenv("CI") == "true":
		rounds = 50
	}
	killRounds(t, rounds, t.TempDir(), "sqlite://")
}

func TestKilledOnPostgres(t *testing.T) {
	t.Parallel()
	killRounds(t, 5, t.TempDir(), storetest.Postgres(t).URL())
}

func killRounds(t *testing.T, rounds int, dir, url string) {
	c := &counter{calls: map[string]int64{}}
	server := httptest.NewServer(c)
	defer server.Close()
	for range rounds {
		c.reached = make(chan struct{})
		c.until.Store(1 + mathrand.Int64N(150))
		killOnce(t, c, server.URL, dir, url)
	}
	server.Close()
	s, err := store.Open(t.Context(), store.Options{URL: url, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := Recover(t.Context(), dir, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Verify(t.Context(), dir, s, time.Second)
	if err != nil || len(found) > 0 {
		t.Errorf("verify: got %+v, %v", found, err)
	}
	compare(t, c, s)
	t.Logf("%d calls in %d rounds; the last left %+v", len(c.calls), rounds, done)
	if len(c.calls) < 10*rounds {
		t.Errorf("%d calls in %d rounds: want at least 10 in each", len(c.calls), rounds)
	}
}

// killOnce lets the process run until it has made so many calls.
func killOnce(t *testing.T, c *counter, server, dir, url string) {
	cmd := exec.Command(os.Args[0], killedArg, server, dir, url)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("the process that is to be killed: got %q, %v", line, err)
	}
	select {
	case <-c.reached:
	case <-time.After(30 * time.Second):
		t.Error("the process that is to be killed: makes no calls")
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// compare holds rows against calls.
func compare(t *testing.T, c *counter, s *store.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := map[string]store.Row{}
	for _, r := range allRows(t, s) {
		at := "/" + r.RequestID + "/" + strconv.Itoa(r.Attempt)
		rows[at] = r
		tokens, called := c.calls[at]
		switch {
		case !called && r.Outcome != "crashed" && r.Outcome != "upstream_error":
			t.Errorf("%s: a row %+v, and no call", at, r)
		case called && r.Status == "settled" && r.InputTokens != tokens:
			t.Errorf("%s: %d tokens in the row, %d were counted", at, r.InputTokens, tokens)
		}
	}
	for at := range c.calls {
		if _, has := rows[at]; !has {
			t.Errorf("%s: a call without a row", at)
		}
	}
	for _, at := range c.twice {
		t.Errorf("%s: called twice", at)
	}
}

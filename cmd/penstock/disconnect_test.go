package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// leaving is a configuration with two keys that say what becomes of a call whose client leaves, and one that says nothing.
func leaving(up *upstream) string {
	return fmt.Sprintf(`
providers: {up: {plugin: openai, base_url: %q, credentials: [{name: main, api_key: sk-test-main-0123456789}]}}
models:
  drains: {on_disconnect: drain, deployments: [{provider: up, model: m, price: {input: 1, output: 1}}]}
  cancels: {on_disconnect: cancel, deployments: [{provider: up, model: m, price: {input: 1, output: 1}}]}
keys:
  - {name: hasty, secret: %s, on_disconnect: cancel, limits: {concurrency: 1}}
  - {name: patient, secret: psk-of-one-who-waits-000001, on_disconnect: drain, limits: {concurrency: 1}}
  - {name: silent, secret: psk-of-one-who-says-naught-01}
`, up.URL+"/v1", testKey)
}

// TestKeyDisconnects: a key's word on clients that leave goes before the model's, the configured key's as that of one in
// the store. Each call has one row, and its place is given back.
func TestKeyDisconnects(t *testing.T) {
	t.Parallel()
	ends := make(chan string, 1)
	var pieces atomic.Int64 // of an answer, 20 ms each
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		end := "cut off"
		defer func() { ends <- end }()
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range pieces.Load() {
			fmt.Fprintf(w, chatChunk, "more")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
		io.WriteString(w, lastChunk)
		end = "read to its end"
	})
	s := serveText(t, leaving(up))
	stored, errs, code := s.run("keys", "create", "stored", "--on-disconnect", "cancel", "--concurrency", "1")
	if code != 0 {
		t.Fatalf("keys create: exit %d, %s", code, errs)
	}
	if _, errs, code := s.run("keys", "create", "odd", "--on-disconnect", "wait"); code != exitUsage || !strings.Contains(errs, `on_disconnect "wait": want drain or cancel`) {
		t.Errorf("keys create --on-disconnect wait: exit %d, %s", code, errs)
	}
	if out, _, _ := s.run("keys", "list", "-o", "json"); strings.Count(out, `"on_disconnect":"cancel"`) != 2 {
		t.Errorf("keys list: %s; want what two keys say", out)
	}
	left := 0
	for _, c := range []struct {
		name, secret, model, end string
		pieces                   int64
	}{
		{"hasty", testKey, "drains", "cut off", 1000},
		{"patient", "psk-of-one-who-waits-000001", "cancels", "read to its end", 60},
		{"stored", strings.TrimSpace(stored), "drains", "cut off", 1000},
		{"silent", "psk-of-one-who-says-naught-01", "cancels", "cut off", 1000},
	} {
		pieces.Store(c.pieces)
		for range 2 { // the second has the first one's place
			s.glance(c.secret, c.model)
			if got := <-ends; got != c.end {
				t.Errorf("%s: the answer was %s, want it %s", c.name, got, c.end)
			}
			left++
			s.await("the end of the request of "+c.name, func() bool { return strings.Count(s.log.String(), "client left") == left })
		}
	}
	s.await("a row for each call", func() bool { return len(rowsOf(t, s)) == 8 })
	for _, r := range rowsOf(t, s) {
		if r.Outcome != "client_closed" || r.OutputTokens == 0 || r.CostNanoUSD == 0 {
			t.Errorf("%+v: want what a client that left has cost", r)
		}
	}
	if out, _, code := s.run("ledger", "verify"); code != 0 {
		t.Errorf("verify: exit %d, %s", code, out)
	}
}

// glance asks for a stream and leaves after its first content.
func (s *served) glance(secret, model string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	body := strings.Replace(askStream, `"m"`, `"`+model+`"`, 1)
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", secret, len(body), body)
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%q %v, want content", line, err)
		}
		if strings.Contains(line, "more") {
			return
		}
	}
}

// rowsOf are the rows of a gateway's ledger.
func rowsOf(t *testing.T, s *served) []store.Row {
	t.Helper()
	out, errs, code := s.run("ledger", "list", "-o", "jsonl")
	if code != 0 {
		t.Fatalf("ledger list: exit %d, %s", code, errs)
	}
	return rowsFrom(t, out)
}

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// storeProxy stands between a gateway and its PostgreSQL and holds back, or delays, those reads that a test names.
type storeProxy struct {
	t      testing.TB
	server string // its socket
	door   net.Listener
	conns  sync.WaitGroup
	over   chan struct{}

	mu    sync.Mutex // guards what follows
	names []string   // parts of the statements that are held
	delay time.Duration
	held  []*heldRead
}

// heldRead is a read that waits to be sent on.
type heldRead struct {
	sql  string
	goOn chan struct{}
}

func newStoreProxy(t testing.TB) *storeProxy {
	t.Helper()
	u, err := url.Parse(storetest.Postgres(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	p := &storeProxy{t: t, server: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), over: make(chan struct{})}
	if p.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.conns.Go(func() {
		for {
			nc, err := p.door.Accept()
			if err != nil {
				return
			}
			p.conns.Go(func() { p.serve(nc) })
		}
	})
	t.Cleanup(func() {
		close(p.over)
		p.door.Close()
		p.conns.Wait()
	})
	return p
}

func (p *storeProxy) url() string {
	return "postgres://penstock@" + p.door.Addr().String() + "/postgres?sslmode=disable"
}

// serve carries a connection, and looks for what it executes.
func (p *storeProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{})
	p.conns.Go(func() {
		select {
		case <-p.over:
			client.Close()
			server.Close()
		case <-ended:
		}
	})
	defer close(ended)
	p.conns.Go(func() {
		io.Copy(client, server)
		client.Close()
	})
	r := bufio.NewReader(client)
	first, err := message(r, 0)
	if err != nil {
		return
	}
	server.Write(first)
	statements, bound := map[string]string{}, ""
	for {
		m, err := message(r, 1)
		if err != nil {
			return
		}
		text := bytes.SplitN(m[5:], []byte{0}, 3)
		switch m[0] {
		case 'P':
			statements[string(text[0])] = string(text[1])
		case 'B':
			bound = statements[string(text[1])]
		case 'E':
			p.pass(bound)
		}
		if _, err := server.Write(m); err != nil {
			return
		}
	}
}

// message reads a message of the frontend's, of which so many bytes stand before the length
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
func message(r *bufio.Reader, before int) ([]byte, error) {
	m := make([]byte, before+4)
	if _, err := io.ReadFull(r, m); err != nil {
		return nil, err
	}
	n := m[before:]
	rest := make([]byte, (int(n[0])<<24|int(n[1])<<16|int(n[2])<<8|int(n[3]))-4)
	_, err := io.ReadFull(r, rest)
	return append(m, rest...), err
}

// pass returns when a read may be sent on.
func (p *storeProxy) pass(sql string) {
	p.mu.Lock()
	named := slices.ContainsFunc(p.names, func(n string) bool { return strings.Contains(sql, n) })
	delay := p.delay
	h := &heldRead{sql, make(chan struct{})}
	if named && delay == 0 {
		p.held = append(p.held, h)
	}
	p.mu.Unlock()
	switch {
	case named && delay == 0:
		select {
		case <-h.goOn:
		case <-p.over:
		}
	case named:
		select {
		case <-time.After(delay):
		case <-p.over:
		}
	}
}

// hold has reads held whose statements have one of these parts.
func (p *storeProxy) hold(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
}

// waiting gives the statements of the reads that are held.
func (p *storeProxy) waiting() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		list = append(list, h.sql)
	}
	return list
}

// letGo lets those go that are held now, but for the first few.
func (p *storeProxy) letGo(but int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held[min(but, len(p.held)):] {
		close(h.goOn)
	}
	p.held = p.held[:min(but, len(p.held))]
}

// wave waits until these reads, and no others, are held at the same time, and lets them go.
func (p *storeProxy) wave(s *served, parts ...string) {
	p.t.Helper()
	s.await(fmt.Sprintf("reads of %q beside each other", parts), func() bool {
		held := p.waiting()
		return len(held) == len(parts) && !slices.ContainsFunc(parts, func(part string) bool {
			return !slices.ContainsFunc(held, func(sql string) bool { return strings.Contains(sql, part) })
		})
	})
	p.letGo(0)
}

// inTeam runs a gateway behind a proxy, with a key and a team that are the store's and have budgets.
func inTeam(t testing.TB) (p *storeProxy, s *served, key string) {
	t.Helper()
	p = newStoreProxy(t)
	s = servePlain(t, limited(newUpstream(t, answers("ok")), `limits: {rpm: 1000}`, fmt.Sprintf("store: {url: %q}", p.url())))
	for _, args := range [][]string{{"teams", "set", "search", "--budget", "5"}, {"keys", "create", "a", "--team", "search", "--budget", "5"}} {
		out, stderr, code := s.run(args...)
		if code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		key = strings.TrimSpace(out)
	}
	return p, s, key
}

// BenchmarkColdAdmission measures the gateway's own time of the first request after a start, whose key, team and budgets are
// read of a store that takes 250 ms for each read.
func BenchmarkColdAdmission(b *testing.B) {
	p, s, key := inTeam(b)
	p.hold("FROM keys", "FROM teams", "FROM spend")
	p.mu.Lock()
	p.delay = 250 * time.Millisecond
	p.mu.Unlock()
	gw := regexp.MustCompile(`\bgw;dur=([0-9.]+)`)
	var sum float64
	for range b.N {
		s.restart()
		a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key)
		m := gw.FindStringSubmatch(a.header.Get("Server-Timing"))
		if a.status != 200 || m == nil {
			b.Fatalf("%d %v", a.status, a.header)
		}
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += ms
	}
	b.ReportMetric(sum/float64(b.N), "gw-ms/op")
}

// TestAdmissionReadsInWaves: of a key that nothing is known of, what does not depend on each other is read at the same time:
// the key beside the teams, then what has been spent of each budget.
func TestAdmissionReadsInWaves(t *testing.T) {
	t.Parallel()
	p, s, key := inTeam(t)
	p.hold("FROM keys", "FROM teams", "FROM spend")
	answered := make(chan answer, 1)
	go func() {
		a, _ := s.tryPost(t.Context(), "/v1/chat/completions", ask1000, "Authorization", "Bearer "+key)
		answered <- a
	}()
	p.wave(s, "FROM keys", "FROM teams")
	p.wave(s, "AND key = $2", "AND team = $2")
	if a := <-answered; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key); a.status != 200 || len(p.waiting()) > 0 {
		t.Errorf("another request: %d %s; %q are read again", a.status, a.body, p.waiting())
	}
}

// TestBadKeyStartsTheWave: a request whose key is none begins a read of the teams that never answers, and is refused at once;
// those who join that read wait for it a while, and then read for themselves.
func TestBadKeyStartsTheWave(t *testing.T) {
	t.Parallel()
	p, s, key := inTeam(t)
	ended, stderr, code := s.run("keys", "create", "ended")
	if code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := s.run("keys", "revoke", "ended"); code != 0 {
		t.Fatal(stderr)
	}
	p.hold("FROM teams")
	if a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+strings.TrimSpace(ended)); a.status != 401 {
		t.Errorf("a key that has ended: %d %s", a.status, a.body)
	}
	s.await("the read that it began", func() bool { return len(p.waiting()) == 1 })
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.API+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	var joined sync.WaitGroup
	joined.Go(func() {
		if a, err := s.tryPost(t.Context(), "/v1/chat/completions", ask1000, "Authorization", "Bearer "+key); err != nil || a.status != 200 {
			t.Errorf("a request: %d %s, %v", a.status, a.body, err)
		}
	})
	joined.Go(func() {
		if a, err := do(req); err != nil || a.status != 200 {
			t.Errorf("the list of models: %d %s, %v", a.status, a.body, err)
		}
	})
	over := make(chan struct{})
	go func() {
		joined.Wait()
		close(over)
	}()
	s.await("those who joined it", func() bool {
		p.letGo(1) // the first never answers
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	p.letGo(0) // or the gateway waits for it at its end
}

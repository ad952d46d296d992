package reach

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

// site is a service that counts.
type site struct {
	*httptest.Server
	conns, gets atomic.Int64
	status      atomic.Int64
	mu          sync.Mutex
	got         string
}

func newSite(t *testing.T) *site {
	s := new(site)
	s.status.Store(200)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.gets.Add(1)
		s.mu.Lock()
		s.got = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Version")
		s.mu.Unlock()
		w.WriteHeader(int(s.status.Load()))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func newNetwork() *Network { return &Network{Log: slog.New(slog.DiscardHandler)} }

// TestPoolsAreShared: alike addresses share connections, as long as somebody keeps them.
func TestPoolsAreShared(t *testing.T) {
	n := newNetwork()
	u := parse(t, "http://h:1/a", "http://h:1/b", "https://h:1/a")
	first, free, _ := n.Pool(u[0], Options{})
	f := func(what string, i int, o Options, want bool) {
		t.Helper()
		p, free, err := n.Pool(u[i], o)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		if (p == first) != want {
			t.Errorf("%s: shared %t, want %t", what, p == first, want)
		}
	}
	f("the same", 0, Options{}, true)
	f("another path", 1, Options{}, true)
	f("another scheme", 2, Options{}, false)
	f("other bounds", 0, Options{MaxIdle: 7}, false)
	free()
	f("a new one", 0, Options{}, false)
	if _, _, err := n.Pool(u[2], Options{CA: "/nowhere"}); err == nil || len(n.pools.all) != 0 {
		t.Errorf("error %v and %d pools, want a file that is missing and none", err, len(n.pools.all))
	}
	if _, _, err := n.Service("p", []*url.URL{u[0], u[2]}, Options{CA: "/nowhere"}); err == nil || len(n.pools.all) != 0 {
		t.Errorf("error %v and %d pools, want a file that is missing and none", err, len(n.pools.all))
	}
}

// TestUpkeepOutlivesReloads: what is the same goes on, what differs begins anew, and what is no longer wanted ends.
func TestUpkeepOutlivesReloads(t *testing.T) {
	n, up := newNetwork(), newSite(t)
	base := parse(t, up.URL)[0]
	pool, free, err := n.Pool(base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	place := func(string) Place { return Place{Pool: pool, Base: base} }
	n.Attend([]Upkeep{{Provider: "p", Place: place, Ready: 1}, {Provider: "quiet", Place: place}})
	await(t, "a connection", func() bool { _, idle := pool.Stats(); return idle == 1 })
	was := n.attendants["p"]
	n.Attend([]Upkeep{{Provider: "p", Place: place, Ready: 1}})
	if n.attendants["p"] != was || len(n.attendants) != 1 {
		t.Error("the same upkeep began anew")
	}
	n.Attend([]Upkeep{{Provider: "p", Place: place, Ready: 3}})
	await(t, "three connections", func() bool { _, idle := pool.Stats(); return idle == 3 })
	n.Attend(nil)
	if len(n.attendants) != 0 || up.conns.Load() != 3 {
		t.Errorf("%d attendants, %d connections, want none and 3", len(n.attendants), up.conns.Load())
	}
}

// TestConnectionsAreReadyWhereRequestsGo: when the service moves to another address, so do they.
func TestConnectionsAreReadyWhereRequestsGo(t *testing.T) {
	n, a, b := newNetwork(), newSite(t), newSite(t)
	s, free, err := n.Service("p", parse(t, a.URL+"/v1", b.URL+"/v1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	n.Attend([]Upkeep{{Provider: "p", Place: s.Place, Service: s, Ready: 2}})
	defer n.Attend(nil)
	idle := func(i int) int { _, n := s.addresses[i].pool.Stats(); return n }
	await(t, "ready at the first", func() bool { return idle(0) >= 2 && idle(1) == 1 })
	a.Close()
	if !s.Unreached(s.Place("/v1"), errUnauthorized) {
		t.Fatal("there is another address")
	}
	await(t, "ready at the second", func() bool { return idle(1) >= 2 })
	list := n.Addresses()
	if len(list) != 2 || list[0].Chosen || !list[1].Chosen || list[1].Distance.Connect <= 0 {
		t.Errorf("addresses %+v", list)
	}
}

// probed makes probes of one backend after another.
type probed struct {
	t        *testing.T
	up       *site
	base     *url.URL
	pool     *h1.Pool
	network  *Network
	registry *health.Registry
	care     *health.Settings
}

// becomes probes a new backend, whose requests have all failed in some way before, or have not.
func (p *probed) becomes(name, get string, status int, before *health.Outcome, probes int, want health.Phase) {
	p.t.Helper()
	p.up.status.Store(int64(status))
	b := p.registry.Backend(name)
	if before != nil {
		for range p.care.Failures {
			pass, _ := b.Admit(time.Now(), p.care)
			o := *before
			o.Ended = time.Now().Add(-time.Hour)
			pass.Done(o)
		}
	}
	a := &attendant{network: p.network}
	a.upkeep.Store(&Upkeep{Provider: "p", Place: func(target string) Place { return Place{p.pool, p.base, target} },
		Probe: Probe{Every: time.Second, Get: get, Backends: []*health.Backend{b}, Care: p.care, Fields: []byte("X-Version: 1\r\n"), Authorize: p.authorize}})
	for range probes {
		a.probe(p.t.Context())
	}
	if got := b.Look(time.Now()); got.Phase != want {
		p.t.Errorf("%s: %+v, want %s", name, got, want)
	}
	if s := b.Stats(time.Now()); s.InFlight != 0 || s.P50 != 0 {
		p.t.Errorf("%s: measured as a request: %+v", name, s)
	}
}

func (p *probed) authorize(at Place, fields []byte) ([]byte, error) {
	if at.Base != p.base || !strings.Contains(string(fields), "X-Version: 1\r\n") {
		p.t.Errorf("authorized %v with %q", at.Base, fields)
	}
	return []byte("Authorization: Bearer k\r\n"), nil
}

// TestProbe says what each answer does to a backend that is well, and to one that is set aside.
func TestProbe(t *testing.T) {
	p := &probed{t: t, up: newSite(t), network: newNetwork(), care: health.Defaults()}
	p.base = parse(t, p.up.URL+"/v1")[0]
	pool, free, err := p.network.Pool(p.base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	p.pool, p.registry, p.care.Failures = pool, health.NewRegistry(p.network.Log), 2
	away := &health.Outcome{Kind: sdk.UpstreamError, Unsent: true}
	failing := &health.Outcome{Kind: sdk.UpstreamError, Status: 500}
	const models = "/v1/models"
	p.becomes("well, connects", "", 200, nil, 3, health.Closed)
	p.becomes("well, 200", models, 200, nil, 3, health.Closed)
	p.becomes("well, 500", models, 500, nil, 2, health.Open)
	p.becomes("well, 404", models, 404, nil, 5, health.Closed)
	p.becomes("away, connects", "", 200, away, 1, health.Closed)
	p.becomes("away, 200", models, 200, away, 1, health.Closed)
	p.becomes("away, 404", models, 404, away, 1, health.HalfOpen)
	p.becomes("away, 503", models, 503, away, 1, health.Open)
	p.becomes("failing, connects", "", 200, failing, 1, health.HalfOpen)
	p.becomes("failing, 200", models, 200, failing, 1, health.Closed)
	if want := "GET /v1/models Bearer k 1"; p.up.got != want {
		t.Errorf("asked %q, want %q", p.up.got, want)
	}
	p.up.Close()
	p.becomes("gone, connects", "", 0, nil, 2, health.Open)
	p.becomes("gone, get", models, 0, nil, 2, health.Open)
}

// TestProbeComesFirst: the probe is made before a request could be let through, however seldom probes are.
func TestProbeComesFirst(t *testing.T) {
	now := time.Now()
	care := health.Defaults()
	b := health.NewRegistry(slog.New(slog.DiscardHandler)).Backend("b")
	p := &Probe{Every: time.Hour, Backends: []*health.Backend{b}, Care: care}
	if p.backDue(now) {
		t.Error("a backend that is well is to come back")
	}
	for range care.Failures {
		pass, _ := b.Admit(now, care)
		pass.Done(health.Outcome{Kind: sdk.Timeout, Unsent: true, Ended: now})
	}
	if p.backDue(now.Add(care.OpenFor/2)) || !p.backDue(now.Add(care.OpenFor-time.Millisecond)) {
		t.Errorf("want a probe somewhat before %v", care.OpenFor)
	}
	early := now.Add(care.OpenFor - time.Millisecond)
	if _, ok := b.Admit(early, care); ok {
		t.Error("a request is let through")
	}
	pass, ok := b.Probe(early, care)
	if !ok || !pass.Probing() {
		t.Fatal("the probe is not let through")
	}
	if _, ok := b.Admit(now.Add(care.OpenFor), care); ok {
		t.Error("a request is let through beside the probe")
	}
	pass.Done(health.Outcome{OK: true, Ended: early})
	if _, ok := b.Admit(early, care); !ok {
		t.Error("the backend is not back")
	}
	b.Hold(health.Outcome{Kind: sdk.UpstreamRate, Hold: time.Minute, Ended: early}, care)
	if _, ok := b.Probe(early, care); ok {
		t.Error("a backend that asked to be left alone is probed")
	}
}

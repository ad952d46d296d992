package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/health"
)

// site is an upstream that numbers its connections, and can go and come back at its address.
type site struct {
	*httptest.Server
	answer http.HandlerFunc
	conns  atomic.Int64
	gets   atomic.Int64
	posts  atomic.Int64
	mu     sync.Mutex
	path   string // of the last POST
	number int64  // of its connection
	bearer string // of the last GET
}

type connNumber struct{}

func newSite(t *testing.T, answer http.HandlerFunc) *site {
	t.Helper()
	h := &site{answer: answer}
	h.Server = h.at(t, strings.TrimPrefix(boundSocket(t).url, "http://")) // which nobody gets while it is away
	t.Cleanup(func() { h.Server.Close() })
	return h
}

// at makes a server for an address, not started.
func (h *site) at(t *testing.T, addr string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connNumber{}, h.conns.Add(1))
	}
	return s
}

func (h *site) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == "GET" {
		h.mu.Lock()
		h.bearer = r.URL.Path + " " + r.Header.Get("Authorization")
		h.mu.Unlock()
		h.gets.Add(1)
		w.Write([]byte(`{"data":[]}`))
		return
	}
	h.posts.Add(1)
	h.mu.Lock()
	h.path, h.number = r.URL.Path, r.Context().Value(connNumber{}).(int64)
	h.mu.Unlock()
	h.answer(w, r)
}

// leave takes the upstream away.
func (h *site) leave() { h.Server.Close() }

// back brings it back where it was.
func (h *site) back(t *testing.T) {
	t.Helper()
	h.Server = h.at(t, h.Listener.Addr().String())
	h.Start()
}

// address gives how one of a provider's addresses is.
func (s *served) address(base string) admin.Backend {
	s.t.Helper()
	out, errs, code := s.run("health", "-o", "json")
	var list []admin.Backend
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		s.t.Fatalf("health: exit %d, %v\n%s%s", code, err, out, errs)
	}
	for _, b := range list {
		if b.Address != nil && strings.HasSuffix(b.Name, " address "+base) {
			return b
		}
	}
	s.t.Fatalf("health: no address %s in %s", base, out)
	return admin.Backend{}
}

// TestFirstRequestIsExpected holds that the first request to a provider over TLS finds a connection that is open already, and
// that another is made while it is in use.
func TestFirstRequestIsExpected(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	up := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answering("up")(w, r)
	})
	up.StartTLS()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveText(t, fmt.Sprintf(`
providers:
  up: {plugin: openai, base_url: "%s/v1", credentials: [{api_key: sk-test-0123456789}], tls: {ca: %q}}
models: {m: {deployments: [{provider: up, model: x}]}}
keys: [{name: dev, secret: %s}]
`, up.URL, ca, testKey))
	s.await("a connection before any request", func() bool { return up.conns.Load() == 1 })
	<-time.After(3 * time.Second) // what the gateway awaits behind the handshake, for a second at most, is seen by nobody else
	t.Cleanup(letGo)
	served := make(chan string, 1)
	go func() {
		who, _ := s.chat("m")
		served <- who
	}()
	s.await("another in its place", func() bool { return up.conns.Load() == 2 })
	letGo()
	if who := <-served; who != "up" || up.number != 1 {
		t.Errorf("got %s on connection %d, want up on the first", who, up.number)
	}
}

// TestNearestAddress holds that a request goes on to the next address where one cannot be reached, within its attempt, and
// that the first is taken up again when it is back and the other is not.
func TestNearestAddress(t *testing.T) {
	t.Parallel()
	a, b := newSite(t, answering("a")), newSite(t, answering("b"))
	a.Start()
	b.Start()
	text := fmt.Sprintf(`
providers:
  far: {plugin: openai, base_urls: ["%s/v1", "%s/us/v1/"], credentials: [{api_key: sk-test-0123456789}]}
models: {m: {deployments: [{provider: far, model: x}]}}
retry: {attempts: 1}
keys: [{name: dev, secret: %s}]
`, a.URL, b.URL, testKey)
	s := serveText(t, text)
	near := place{"a", a, a.URL + "/v1", "/v1/chat/completions"}
	other := place{"b", b, b.URL + "/us/v1/", "/us/v1/chat/completions"}
	s.await("measurements", func() bool {
		return s.address(near.address).Address.Connect > 0 && s.address(other.address).Address.Connect > 0
	})
	if s.address(other.address).Address.Chosen { // both are on this machine: either may be nearer
		near, other = other, near
	}
	s.asks(near)
	near.leave()
	s.asks(other)
	if at, behind := s.address(near.address), s.address(other.address); at.OK || at.Phase != health.Open || at.Reason == "" || !behind.Address.Chosen {
		t.Errorf("the nearest address is %+v, the other %+v; want it out of use", at, behind)
	}
	near.back(t)
	s.await("the nearest address", func() bool { return s.address(near.address).OK })
	other.leave()
	s.asks(near)
	s.rewrite(text + "# the same again\n")
	near.leave()
	if who, _ := s.chat("m"); who != "502" {
		t.Errorf("got %s, want 502 where no address can be reached", who)
	}
}

// place is a site as a gateway finds it.
type place struct {
	who string
	*site
	address string // configured
	path    string // that is asked there
}

// asks holds that a request is served at a place, by one attempt.
func (s *served) asks(at place) {
	s.t.Helper()
	if who, attempts := s.chat("m"); who != at.who || attempts != 1 || at.site.path != at.path {
		s.t.Errorf("got %s at %s in %d attempts, want %s at %s in one", who, at.site.path, attempts, at.who, at.path)
	}
}

// TestSignatureIsForThePlace holds that a request that goes on to another address is signed for that one.
func TestSignatureIsForThePlace(t *testing.T) {
	t.Parallel()
	c := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	first, second := newSite(t, answering("first")), newUpstream(t, nil)
	second.answer = bedrockAnswers(second, c)
	first.Start()
	s := serveText(t, fmt.Sprintf(`
providers:
  aws:
    plugin: bedrock
    base_urls: [%q, "%s/behind"]
    config: {region: eu-central-1}
    credentials: [{access_key_id: %s, secret_access_key: %q}]
models: {nova: {deployments: [{provider: aws, model: amazon.nova-lite-v1:0}]}}
retry: {attempts: 1}
keys: [{name: dev, secret: %s}]
`, first.URL, second.URL, c.AccessKeyID, c.SecretAccessKey, testKey))
	s.await("measurements", func() bool { return s.address(first.URL).Address.Connect > 0 })
	first.leave()
	a := s.post("/v1/chat/completions", `{"model":"nova","messages":[{"role":"user","content":"hi"}]}`)
	if want := "/behind/model/amazon.nova-lite-v1%3A0/converse"; a.status != 200 || second.last().path != want {
		t.Errorf("%d %s, asked %s, want %s with a signature that holds there", a.status, a.body, second.last().path, want)
	}
}

// TestProbeBringsBack holds that a primary that was away serves again without a request that had to find out: by a
// connection, or by a GET with its credential, which is in no ledger.
func TestProbeBringsBack(t *testing.T) {
	t.Parallel()
	f := func(probe string, gets bool) {
		primary, second := newSite(t, answering("first")), newUpstream(t, answering("second"))
		primary.Start()
		at := primary.URL
		primary.leave()
		s := serveText(t, strings.Replace(carefully(at, second.URL, "breaker: {failures: 3, open_for: 400ms}\n"),
			"0123456789}]}", "0123456789}], probe: "+probe+"}", 1))
		s.await("the breaker, by probes alone", func() bool { return s.backend("first").Phase != health.Closed })
		primary.back(t)
		s.await("the primary", func() bool { return s.backend("first").Phase == health.Closed })
		if n := primary.posts.Load(); n != 0 {
			t.Errorf("%s: %d requests before it was back", probe, n)
		}
		if who, attempts := s.chat("both"); who != "first" || attempts != 1 {
			t.Errorf("%s: got %s in %d attempts", probe, who, attempts)
		}
		if got := primary.gets.Load() > 0; got != gets {
			t.Errorf("%s: %d GETs", probe, primary.gets.Load())
		}
		primary.mu.Lock()
		asked := primary.bearer
		primary.mu.Unlock()
		if want := "/v1/health Bearer sk-test-first-0123456789"; gets && asked != want {
			t.Errorf("%s: asked %q, want %q", probe, asked, want)
		}
		out, _, _ := s.run("ledger", "list", "-o", "jsonl")
		if n := strings.Count(out, "\n"); n > 1 {
			t.Errorf("%s: %d rows of the ledger for one request:\n%s", probe, n, out)
		}
	}
	f("{every: 1s}", false)
	f("{every: 1s, kind: get, path: /health}", true)
}

// TestSilentPrimary holds that a burst against a primary that answers no SYN is served by the second after one limit. It has
// the package to itself, since it takes the time of that.
func TestSilentPrimary(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	silent := fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
	for full := false; !full; { // its queue
		c, err := net.DialTimeout("tcp", silent, 500*time.Millisecond)
		if full = err != nil; !full {
			defer c.Close()
		}
	}
	second := newUpstream(t, answering("second"))
	const limit, requests = time.Second, 200
	s := servePlain(t, carefully("http://"+silent, second.URL, "timeout: {connect: "+limit.String()+"}\nbreaker: {open_for: 10m}\n")) // no probe before the test has ended
	began := time.Now()
	var all sync.WaitGroup
	var tried atomic.Int64
	for range requests {
		all.Go(func() {
			who, attempts := s.chat("both")
			if who != "second" {
				t.Errorf("got %s", who)
			}
			tried.Add(int64(attempts) - 1)
		})
	}
	all.Wait()
	if took := time.Since(began); took > 15*limit { // one after the other they would take 200
		t.Errorf("%d requests took %v, want one limit of %v", requests, took, limit)
	}
	if b := s.backend("first"); b.Phase == health.Closed {
		t.Errorf("the primary is %+v, want it left alone", b)
	}
	before := tried.Load()
	if who, attempts := s.chat("both"); who != "second" || attempts != 1 || before > requests {
		t.Errorf("got %s in %d attempts; %d attempts at the primary before", who, attempts, before)
	}
}

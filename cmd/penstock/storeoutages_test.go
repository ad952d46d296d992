package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// counterServer is a server for counters that a test can stop, kill and start again with what it has saved.
type counterServer struct {
	t   *testing.T
	bin string
	dir string
	cmd *exec.Cmd
}

func newCounterServer(t *testing.T) *counterServer {
	t.Helper()
	for _, name := range []string{"valkey-server", "redis-server"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		dir, err := os.MkdirTemp("", "counters") // short: the path of a socket is
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		c := &counterServer{t: t, bin: bin, dir: dir}
		c.start()
		t.Cleanup(c.kill)
		return c
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("neither valkey-server nor redis-server is installed")
	}
	t.Skip("neither valkey-server nor redis-server is installed")
	return nil
}

func (c *counterServer) socket() string { return filepath.Join(c.dir, "s") }

func (c *counterServer) start() {
	c.t.Helper()
	c.cmd = exec.Command(c.bin, "--port", "0", "--unixsocket", c.socket(), "--dir", c.dir, "--save", "")
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *counterServer) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
	os.Remove(c.socket())
}

func (c *counterServer) signal(s syscall.Signal) { c.cmd.Process.Signal(s) }

// save has the server write what it knows to its disk.
func (c *counterServer) save() {
	c.t.Helper()
	nc, err := net.Dial("unix", c.socket())
	if err != nil {
		c.t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprint(nc, "SAVE\r\n")
	if line, err := bufio.NewReader(nc).ReadString('\n'); err != nil || line != "+OK\r\n" {
		c.t.Fatalf("SAVE: %q %v", line, err)
	}
}

// budgetKept holds that nothing of the test key's budget is reserved, and that it is used by what the ledger says. A store that
// is not back yet is waited for: a known key was let in without it.
func (s *served) budgetKept(usd int64) {
	s.t.Helper()
	s.await("the ledger and the counters to agree", func() bool {
		a := s.keyAsked()
		if a.status == http.StatusServiceUnavailable {
			return false
		}
		left, used := a.money(s.t)
		return int64(left+used) == usd*1_000_000_000
	})
}

// TestCountersRestoredOlder: counters that come back as they were some time ago are noticed, by each gateway, and a budget is
// used again by what the ledger says.
func TestCountersRestoredOlder(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	counters := newCounterServer(t)
	text := limited(up, `budget: {usd: 1}`, fmt.Sprintf("counters: {url: %q}\nstore: {url: %q}", "unix://"+counters.socket(), storetest.Postgres(t).URL()))
	gateways := []*served{servePlain(t, text), servePlain(t, text)}
	ask := func(n int) {
		t.Helper()
		for range n {
			for _, g := range gateways {
				g.await("an answer", func() bool { return g.post("/v1/chat/completions", ask1000).status == 200 })
			}
		}
	}
	ask(2)
	counters.save()
	ask(5)
	gateways[0].budgetKept(1)
	counters.kill()
	counters.start()
	ask(1)
	for _, g := range gateways {
		g.budgetKept(1)
	}
}

// users are clients that use a gateway until they are told to end.
type users struct {
	served, refused atomic.Int64
	clients         sync.WaitGroup
	end             chan struct{}
}

// longest is how long no request may last: the store is waited for 2 s, a read that others had begun 1.5 s before that, and
// the machine may be busy.
const longest = 15 * time.Second

// use starts clients, each with one of the keys.
func (s *served) use(keys ...string) *users {
	l := &users{end: make(chan struct{})}
	for i := range 6 {
		l.clients.Go(func() {
			for tick := time.NewTicker(5 * time.Millisecond); ; {
				select {
				case <-l.end:
					tick.Stop()
					return
				case <-tick.C:
				}
				begun := time.Now()
				a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+keys[i%len(keys)])
				switch {
				case a.status == 200:
					l.served.Add(1)
				case a.status == 503 && a.header.Get("retry-after") != "":
					l.refused.Add(1)
				default:
					s.t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
				if took := time.Since(begun); took > longest {
					s.t.Errorf("a request took %s", took)
				}
			}
		})
	}
	return l
}

// more waits for n answers of one kind.
func (l *users) more(s *served, what string, of *atomic.Int64, n int64) {
	s.t.Helper()
	until := of.Load() + n
	s.await(what, func() bool { return of.Load() >= until })
}

// TestStoreOutagesUnderLoad stops, kills and starts the store and the counters' server again while they are used: a key with a
// budget is refused while its money cannot be counted, and where on_outage says so the other one too; nobody waits for long,
// and afterwards each call has its row and the budget is used by them and by nothing else.
func TestStoreOutagesUnderLoad(t *testing.T) {
	t.Parallel()
	f := func(t *testing.T, settings string, open bool) {
		t.Parallel()
		var calls atomic.Int64
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			answers("ok")(w, r)
		})
		counters, postgres := newCounterServer(t), storetest.Postgres(t)
		text := limited(up, `budget: {usd: 100}`, fmt.Sprintf("counters: {url: %q}\nstore: {url: %q%s}", "unix://"+counters.socket(), postgres.URL(), settings))
		s := servePlain(t, strings.Replace(text, "keys: [", "keys: [{name: rated, secret: "+ratedKey+", limits: {rpm: 1000000}}, ", 1))
		s.await("the counters", func() bool { return s.post("/v1/chat/completions", ask1000).status == 200 })
		l := s.use(testKey, ratedKey)
		outage := func(what string) {
			t.Helper()
			l.more(s, what+": refusals", &l.refused, 5)
			if open {
				l.more(s, what+": answers for the key without a budget", &l.served, 20)
			}
		}
		l.more(s, "answers", &l.served, 20)
		counters.signal(syscall.SIGSTOP)
		outage("the counters stand")
		counters.signal(syscall.SIGCONT)
		l.more(s, "answers", &l.served, 20)
		resume := postgres.Pause()
		l.more(s, "the store stands", &l.served, 20)
		resume()
		counters.kill()
		outage("the counters are gone")
		counters.start()
		l.more(s, "answers", &l.served, 20)
		postgres.Kill()
		if open {
			l.more(s, "the store is gone", &l.served, 20)
		} else {
			l.more(s, "the store is gone", &l.refused, 20)
		}
		postgres.Start()
		l.more(s, "answers", &l.served, 20)
		close(l.end)
		l.clients.Wait()
		s.budgetKept(100)
		s.await("a row for each call", func() bool {
			out, _, code := s.run("ledger", "list", "-o", "jsonl", "-c", s.file, "--limit", "1000000")
			return code == 0 && int64(strings.Count(out, "\n")) == calls.Load()
		})
		if out, errs, code := s.run("ledger", "verify", "-c", s.file); code != 0 {
			t.Errorf("verify: exit %d, %s %s", code, out, errs)
		}
	}
	t.Run("open", func(t *testing.T) { f(t, "", true) })
	t.Run("closed", func(t *testing.T) { f(t, ", on_outage: fail_closed", false) })
}

package limits

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// server is a Redis or Valkey server of a test's own, on a socket in its folder.
type server struct {
	socket string
	dir    string
	bin    string
	cmd    *exec.Cmd
}

// startServer skips the test where there is no server's program; it fails where CI says that there must be one.
func startServer(t testing.TB) *server {
	t.Helper()
	for _, name := range []string{"valkey-server", "redis-server"} {
		if bin, err := exec.LookPath(name); err == nil {
			dir, err := os.MkdirTemp("", "counters")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			s := &server{socket: filepath.Join(dir, "s"), dir: dir, bin: bin}
			s.start(t)
			t.Cleanup(s.kill)
			return s
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("neither valkey-server nor redis-server is installed")
	}
	t.Skip("neither valkey-server nor redis-server is installed")
	return nil
}

func (s *server) url() string { return "unix://" + s.socket }

func (s *server) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.bin, "--port", "0", "--unixsocket", s.socket, "--dir", s.dir, "--save", "", "--appendonly", "no")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server's socket", func() bool {
		_, err := os.Stat(s.socket)
		return err == nil
	})
}

// signal stops or continues the server's process.
func (s *server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// save has the server write its snapshot, which it reads when it starts.
func (s *server) save(t testing.TB, by *Shared) {
	t.Helper()
	c := *by.link.client.Load()
	if err := c.Do(t.Context(), c.B().Save().Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	os.Remove(s.socket)
}

// shared gives counters on the server, connected. They wait long for it: the machine may be busy.
func (s *server) shared(t testing.TB) *Shared { return s.waiting(t, 10*time.Second) }

// waiting gives counters that wait for the server for so long.
func (s *server) waiting(t testing.TB, wait time.Duration) *Shared {
	t.Helper()
	c, err := openShared(s.url(), wait, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	waitFor(t, "a connection", func() bool { return c.link.client.Load() != nil })
	return c
}

// waitFor waits for what another process or goroutine does; the limit is only there for a test that fails.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("%s: not after 20 s", what)
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

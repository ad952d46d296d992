// Package storetest starts a PostgreSQL of a test's own, for those who test what stands on core/store.
package storetest

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL in a folder of its own, on a socket.
type Server struct {
	t      testing.TB
	bin    string // folder of its programs; "": found by PATH
	dir    string
	attr   *syscall.SysProcAttr
	cmd    *exec.Cmd
	stderr *os.File
}

// Postgres starts a server that ends with the test. Where PostgreSQL is not installed the test is skipped, and fails where
// CI=true is set.
func Postgres(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t}
	if !s.find() {
		if os.Getenv("CI") == "true" {
			t.Fatal("postgres, initdb: not found, and CI is to have them")
		}
		t.Skip("postgres, initdb: not found")
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // short: the path of a socket is
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	if s.stderr, err = os.Create(filepath.Join(s.dir, "stderr")); err != nil { // a file needs no goroutine that reads it
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stderr.Close() })
	s.unprivileged()
	if out, err := s.command("initdb", "-D", s.data(), "-U", "penstock", "-A", "trust", "-N", "--no-locale", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// URL is the server's address for store.Options.
func (s *Server) URL() string { return s.url("postgres") }

func (s *Server) url(database string) string {
	return "postgres://penstock@/" + database + "?host=" + s.dir
}

// Empty makes another database, with nothing in it, and gives its address.
func (s *Server) Empty() string {
	s.t.Helper()
	var name string
	s.ask(func(ctx context.Context, c *pgx.Conn) error {
		name = "penstock_" + strings.ToLower(rand.Text())
		create := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize() // it takes no parameters
		_, err := c.Exec(ctx, create)
		return err
	})
	return s.url(name)
}

// Start runs the server again after Kill, until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	s.cmd.Stderr = s.stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			c.Close(ctx)
			return
		}
		select {
		case <-ctx.Done():
			s.Kill()
			said, _ := os.ReadFile(s.stderr.Name())
			s.t.Fatalf("postgres: %v\n%s", err, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server as a crash would; it recovers at the next Start.
func (s *Server) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGQUIT) // immediate: with its children, and without a checkpoint
		s.cmd.Wait()
		s.cmd = nil
	}
}

// Pause stops all of the server's processes where they are; the function that is returned lets them go on.
func (s *Server) Pause() (resume func()) {
	s.t.Helper()
	pids := append(s.children(), s.cmd.Process.Pid)
	signal := func(to syscall.Signal) {
		for _, pid := range pids {
			syscall.Kill(pid, to)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// children are the processes of the server's connections; each is the leader of a group of its own.
func (s *Server) children() (pids []int) {
	s.t.Helper()
	s.ask(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`)
		if err != nil {
			return err
		}
		pids, err = pgx.CollectRows(rows, pgx.RowTo[int])
		return err
	})
	return pids
}

// ask asks the server something, on a connection of its own.
func (s *Server) ask(something func(context.Context, *pgx.Conn) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL())
	if err == nil {
		err = something(ctx, c)
		c.Close(ctx)
	}
	if err != nil {
		s.t.Fatalf("postgres: %v", err)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.SysProcAttr, c.Dir = s.attr, s.dir
	return c
}

// find looks for the server on the PATH and where Debian puts it.
func (s *Server) find() bool {
	if at, err := exec.LookPath("initdb"); err == nil {
		s.bin = filepath.Dir(at)
		return true
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		s.bin = filepath.Dir(found[len(found)-1])
	}
	return len(found) > 0
}

// unprivileged has the server run as another user where the test is root, which PostgreSQL refuses.
func (s *Server) unprivileged() {
	s.attr = &syscall.SysProcAttr{}
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	s.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(s.dir, int(uid), int(gid)); err != nil {
		s.t.Fatal(err)
	}
}

package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// smallDisk is a disk of 32 MiB that a test can fill: the gateway's state, with its journal of 24 MiB, has room on it.
func smallDisk(t *testing.T) string {
	t.Helper()
	if _, err := plain(); err != nil { // on the large one
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fill fills a disk, and gives what makes room again.
func fill(t *testing.T, disk string) (empty func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 10, 1} { // to the last byte
		for piece := make([]byte, size); err == nil; {
			_, err = f.Write(piece)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	return func() { os.Remove(f.Name()) }
}

// TestDiskFull: while the disk is full requests are served or refused as on_outage says, the log says once why, and each call
// has its row when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	f := func(t *testing.T, settings string, open bool) {
		t.Parallel()
		disk := smallDisk(t)
		var calls atomic.Int64
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			answers("ok")(w, r)
		})
		program, err := plain()
		if err != nil {
			t.Fatal(err)
		}
		s := serveIn(t, disk, program, limited(up, `limits: {rpm: 1000000}`, settings), "TMPDIR="+disk)
		ask := func() int { return s.post("/v1/chat/completions", ask1000).status }
		if got := ask(); got != 200 {
			t.Fatal(got)
		}
		empty := fill(t, disk)
		const told = "the store does not take rows"
		s.await("the outage", func() bool {
			ask()
			return strings.Contains(s.log.String(), told)
		})
		refused := 0
		for range 200 {
			switch got := ask(); {
			case got == 503 && !open:
				refused++
			case got != 200:
				t.Errorf("got %d", got)
			}
		}
		if !open && refused == 0 {
			t.Error("fail_closed: all were served")
		}
		if n := strings.Count(s.log.String(), "error:"); n > 5 {
			t.Errorf("%d lines of errors, want few", n)
		}
		empty()
		s.await("a row for each call", func() bool {
			out, _, code := s.run("ledger", "list", "-o", "jsonl", "--limit", "1000000")
			return code == 0 && int64(strings.Count(out, "\n")) == calls.Load()
		})
		s.await("an answer", func() bool { return ask() == 200 })
		if out, errs, code := s.run("ledger", "verify"); code != 0 {
			t.Errorf("verify: exit %d, %s %s", code, out, errs)
		}
	}
	t.Run("open", func(t *testing.T) { f(t, "", true) })
	t.Run("closed", func(t *testing.T) { f(t, "store: {on_outage: fail_closed}", false) })
}

// TestStartOnFullDisk: a gateway whose journal finds no room says so, and does not start.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	program, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, disk)
	cmd := exec.Command(program, "serve", "--demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state", filepath.Join(disk, "state"))
	cmd.Env = environment(t.TempDir())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	err = cmd.Run()
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(said.String(), "no space left on device") && !strings.Contains(said.String(), "disk is full") {
		t.Errorf("%v: %s", err, said.String())
	}
}

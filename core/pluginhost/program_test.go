package pluginhost

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// script writes an executable penstock-provider-NAME that behaves as a test plugin.
func script(t *testing.T, dir, name, behaviour string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, programPrefix+name)
	text := "#!/bin/sh\nGORACE=atexit_sleep_ms=0 exec '" + exe + "' plugin " + behaviour + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder is a plugin folder that nobody else can write to.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFind(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	f := func(prepare func(dir string) error, want string) {
		t.Helper()
		dir := folder(t)
		path := script(t, dir, "acme", "good")
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		p, err := h.Find([]string{filepath.Join(dir, "absent"), dir}, "acme")
		switch {
		case want == "" && (err != nil || p.Path != path || len(p.Hash) != 64):
			t.Errorf("got %+v, %v", p, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v: want %q", err, want)
		}
	}
	at := func(dir string) string { return filepath.Join(dir, programPrefix+"acme") }
	f(func(string) error { return nil }, "")
	f(func(dir string) error { return os.Remove(at(dir)) }, "not found as ")
	f(func(dir string) error { return os.Chmod(at(dir), 0o600) }, "is not executable")
	f(func(dir string) error { return os.Chmod(at(dir), 0o722) }, "lets others write")
	f(func(dir string) error { return os.Chmod(dir, 0o777) }, "lets others write")
	f(func(dir string) error {
		if err := os.Rename(at(dir), filepath.Join(dir, "elsewhere")); err != nil {
			return err
		}
		return os.Symlink("elsewhere", at(dir))
	}, "is a symbolic link")
	f(func(dir string) error {
		if err := os.Remove(at(dir)); err != nil {
			return err
		}
		return os.Mkdir(at(dir), 0o700)
	}, "is not a regular file")
	if os.Geteuid() == 0 {
		f(func(dir string) error { return os.Chown(at(dir), 65534, 65534) }, "belongs to user 65534")
	}
}

func TestFindNames(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	f := func(name, want string) {
		t.Helper()
		if _, err := h.Find(nil, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("name %q: error %v: want %q", name, err, want)
		}
	}
	f("acme", "no plugin folder is configured")
	f("", "want 1 to 64 characters")
	f(strings.Repeat("a", 65), "want 1 to 64 characters")
	f("../acme", "want lower-case letters")
	f("Acme", "want lower-case letters")
	f("-acme", "want lower-case letters")
}

// TestFound starts an executable of a folder, pinned and not.
func TestFound(t *testing.T) {
	h := newHost(t, Options{})
	h.opt.Bundled = nil
	dir := folder(t)
	path := script(t, dir, "good", "good")
	prog, err := h.Find([]string{dir}, "good")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Acquire(t.Context(), prog, AcquireOptions{SHA256: strings.Repeat("0", 64)})
	if err == nil || !strings.Contains(err.Error(), "as the configuration says") {
		t.Errorf("another hash: %v", err)
	}
	p, err := h.Acquire(t.Context(), prog, AcquireOptions{SHA256: "sha256:" + strings.ToUpper(prog.Hash)})
	if err != nil {
		t.Fatal(err)
	}
	encode(t, p, "m", "x")
	p.Release()
	if err := os.WriteFile(path, []byte("#!/bin/sh\ntouch "+dir+"/taken\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Acquire(t.Context(), prog, AcquireOptions{}); err == nil || !strings.Contains(err.Error(), "as when it was found") {
		t.Errorf("another content: %v", err)
	}
}

// TestSwapped puts another file in the program's place again and again while it is started: only what was found may run.
func TestSwapped(t *testing.T) {
	h := newHost(t, Options{})
	h.opt.Bundled = nil
	dir := folder(t)
	path := script(t, dir, "good", "good")
	prog, err := h.Find([]string{dir}, "good")
	if err != nil {
		t.Fatal(err)
	}
	good, bad, next := path+".good", path+".bad", path+".next"
	if err := os.Rename(path, good); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("#!/bin/sh\ntouch '"+dir+"/taken'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			for _, from := range []string{good, bad} {
				if os.Link(from, next) != nil || os.Rename(next, path) != nil {
					t.Errorf("%s could not be put in place", from)
					return
				}
				// Renaming one link of a file to another leaves both: the name must be free for the next turn.
				_ = os.Remove(next)
			}
		}
	})
	started := 0
	for range 12 {
		p, err := h.Acquire(t.Context(), prog, AcquireOptions{})
		if err == nil {
			started++
			encode(t, p, "m", "x")
			p.Release()
		}
	}
	stop.Store(true)
	swapping.Wait()
	if _, err := os.Stat(filepath.Join(dir, "taken")); err == nil {
		t.Error("what was put in the program's place has run")
	}
	t.Logf("%d of 12 starts found the right file", started)
}

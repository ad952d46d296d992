package pluginhost

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// TestStartFails has programs that are no plugins, or bad ones.
func TestStartFails(t *testing.T) {
	f := func(name string, start time.Duration, want ...string) {
		t.Helper()
		h := newHost(t, Options{Start: start})
		prog, err := h.Find(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Acquire(t.Context(), prog, AcquireOptions{})
		if err == nil {
			p.Release()
			t.Fatalf("plugin %s: started", name)
		}
		for _, w := range append(want, strconv.Quote(name)) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("plugin %s: error %q: want %q in it", name, err, w)
			}
		}
		if l := h.List(); len(l) != 0 {
			t.Errorf("plugin %s: listed as %+v", name, l)
		}
	}
	f("early", limit, "no licence found")
	f("nothing", limit) // leaves at once, and says nothing
	f("silent", 300*time.Millisecond, "not ready within 300ms")
	f("garbage", limit, "Hello, I am a program.")
	f("flood", limit, "xxx")
	f("version", limit, "99", "1")
	f("misnamed", limit, `name "other": want "misnamed"`)
}

// TestCrash kills the process under its callers: those in flight get through on the next process.
func TestCrash(t *testing.T) {
	for _, name := range []string{"good", "streamed"} {
		p := acquire(t, newHost(t, Options{}), name, AcquireOptions{})
		crash(t, p)
		p.Release()
	}
}

func crash(t *testing.T, p *Process) {
	t.Helper()
	if _, err := p.Configure(t.Context(), "acme", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	first := pid(t, p)
	var stop atomic.Bool
	var served atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for !stop.Load() {
				encode(t, p, "m", "x")
				served.Add(1)
			}
		})
	}
	until(t, "the first calls", func() bool { return served.Load() > 100 })
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "another process", func() bool { s := p.status(); return s.PID != first && s.PID != 0 })
	n := served.Load()
	until(t, "calls after the crash", func() bool { return served.Load() > n+100 })
	stop.Store(true)
	wg.Wait()
	if s := p.status(); s.Restarts != 1 || s.State != StateRunning || !strings.Contains(s.Error, "signal: killed") {
		t.Errorf("status %+v", s)
	}
}

// TestCrashStreams kills the process under streams: they end with an error, and new ones are served.
func TestCrashStreams(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	one := []FrameIn{{Data: []byte(`{"t":"x"}`)}}
	var open []*Decoder
	for range 16 {
		d, err := p.NewDecoder(sdk.AnswerInfo{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if _, err := d.Decode(one, nil); err != nil {
			t.Fatal(err)
		}
		open = append(open, d)
	}
	_, err := open[0].Decode([]FrameIn{{Data: []byte("exit")}}, nil)
	wantFailure(t, err, sdk.PluginFailed, "ended during the call")
	for _, d := range open {
		_, err := d.Decode(one, nil)
		wantFailure(t, err, sdk.PluginFailed, "ended during the call")
	}
	until(t, "the next process", func() bool { return p.status().State == StateRunning })
	d, err := p.NewDecoder(sdk.AnswerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Decode(one, nil); err != nil {
		t.Error(err)
	}
}

// TestPoison has a request that kills each process that sees it: it is tried twice and no more.
func TestPoison(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	var e Encoded
	wantFailure(t, p.Encode(request("exit", ""), &e), sdk.PluginFailed, "ended during the call")
	until(t, "two ends", func() bool { return p.status().Restarts == 2 })
	encode(t, p, "m", "x")
}

// TestCrashLoop counts deaths by the clock that it is given.
func TestCrashLoop(t *testing.T) {
	start := time.Now()
	var d deaths
	f := func(at, wait time.Duration, loop bool) {
		t.Helper()
		w, why := d.add(start.Add(at))
		if w != wait || (why != "") != loop {
			t.Errorf("death at %v: wait %v, %q: want %v, %v", at, w, why, wait, loop)
		}
	}
	f(0, 0, false)
	f(2*time.Minute, 0, false)
	f(2*time.Minute+1*time.Second, 100*time.Millisecond, false)
	f(2*time.Minute+2*time.Second, time.Second, false)
	f(2*time.Minute+4*time.Second, 10*time.Second, false)
	f(2*time.Minute+15*time.Second, quarantine, true)
	f(2*time.Minute+15*time.Second+quarantine+time.Second, quarantine, true) // the trial ended as well
	f(10*time.Minute, 0, false)
}

// TestMortal has an instance that ends its process soon after it is configured: the configuration is repeated with each
// start, and so is the end.
func TestMortal(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	if _, err := p.Configure(t.Context(), "mortal", nil); err != nil {
		t.Fatal(err)
	}
	until(t, "restarts", func() bool { return p.status().Restarts >= 2 })
	if s := p.status(); !strings.Contains(s.Error, "exit status 3") {
		t.Errorf("status %+v", s)
	}
}

// TestQuarantined has calls find a process that is not to be started for now.
func TestQuarantined(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	p.lost(p.now)
	p.set(StateQuarantined, "crash loop")
	var e Encoded
	wantFailure(t, p.Encode(request("m", "x"), &e), sdk.PluginFailed, "is quarantined")
	if _, err := p.NewDecoder(sdk.AnswerInfo{}); err == nil {
		t.Error("a quarantined process decodes")
	}
	if _, err := p.Configure(t.Context(), "acme", nil); err == nil || !strings.Contains(err.Error(), "crash loop") {
		t.Errorf("configure: %v", err)
	}
}

// TestHang stops the process: calls miss their limit, and it is replaced.
func TestHang(t *testing.T) {
	f := func(name string, o Options) {
		t.Helper()
		p := acquire(t, newHost(t, o), name, AcquireOptions{})
		defer p.Release()
		first := pid(t, p)
		stop(t, first)
		if o.Call > 0 {
			for range missesAllowed {
				var e Encoded
				wantFailure(t, p.Encode(request("m", "x"), &e), sdk.PluginFailed, "did not answer in time")
			}
			for p.status().PID == first { // where this test is late itself, more are missed
				var e Encoded
				p.Encode(request("m", "x"), &e)
			}
		}
		until(t, "another process", func() bool { s := p.status(); return s.PID != first && s.State == StateRunning })
		if s := p.status(); !strings.Contains(s.Error, "hung: ") {
			t.Errorf("status %+v", s)
		}
		until(t, "the end of the first", func() bool { return !running(first) })
	}
	f("good", Options{Ping: 200 * time.Millisecond})
	f("streamed", Options{Ping: 200 * time.Millisecond})
	f("good", Options{Call: 200 * time.Millisecond, Ping: limit})
}

// TestCloseHung closes the host over a stopped process and a call that never returns.
func TestCloseHung(t *testing.T) {
	h := newHost(t, Options{})
	p := acquire(t, h, "blocks", AcquireOptions{})
	failed := make(chan error, 1)
	go func() {
		var e Encoded
		failed <- p.Encode(request("hang", ""), &e)
	}()
	n := pid(t, p)
	stop(t, n)
	h.Close()
	wantFailure(t, <-failed, sdk.PluginFailed, "ended")
	if running(n) {
		t.Error("the process outlives its host")
	}
	p.Release()
	if _, err := h.Acquire(t.Context(), Program{Name: "good"}, AcquireOptions{}); err == nil {
		t.Error("a closed host starts processes")
	}
}

// TestCloseStarting closes the host while a process is started that somebody waits for.
func TestCloseStarting(t *testing.T) {
	h := newHost(t, Options{Start: limit})
	prog, err := h.Find(nil, "silent")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := h.Acquire(t.Context(), prog, AcquireOptions{})
		failed <- err
	}()
	until(t, "the start", func() bool { return len(h.List()) == 1 })
	h.Close()
	if err := <-failed; err == nil {
		t.Error("a plugin of a closed host has started")
	}
}

// TestBadPlane has a plugin write on the data plane what is no frame.
func TestBadPlane(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	first := pid(t, p)
	var e Encoded
	wantFailure(t, p.Encode(request("garbage", ""), &e), sdk.PluginFailed, "ended during the call")
	until(t, "another process", func() bool { s := p.status(); return s.PID != first && s.State == StateRunning })
	if s := p.status(); !strings.Contains(s.Error, "frame of 4294967295 bytes") {
		t.Errorf("status %+v", s)
	}
}

// TestNoise has a plugin write ten megabytes on its standard error, with one line of a megabyte.
func TestNoise(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	h := newHost(t, Options{Log: slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))})
	p := acquire(t, h, "noise", AcquireOptions{})
	defer p.Release()
	encode(t, p, "m", "x")
	until(t, "the last line", func() bool {
		l := p.status().Stderr
		return len(l) > 0 && l[len(l)-1] == "last words"
	})
	size := 0
	for _, l := range p.status().Stderr {
		size += len(l)
	}
	mu.Lock()
	defer mu.Unlock()
	if size > linesKept*(lineBytes+4) || log.Len() > 256<<10 {
		t.Errorf("kept %d bytes, logged %d", size, log.Len())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestGrandchild has a process that leaves a child behind, outside its group and with its pipes: the host must come to
// its end all the same.
func TestGrandchild(t *testing.T) {
	h := newHost(t, Options{})
	p := acquire(t, h, "parent", AcquireOptions{})
	encode(t, p, "m", "x")
	until(t, "the child's id", func() bool { return len(p.status().Stderr) > 0 })
	child, err := strconv.Atoi(strings.TrimPrefix(p.status().Stderr[0], "child "))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
	p.Release()
	h.Close()
}

// TestOrphans kills the host: its plugins must not outlive it, even one that is stopped.
func TestOrphans(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := func(stopped bool) {
		t.Helper()
		host := exec.Command(exe, "host", "good", exe)
		host.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it leaves its socket behind
		out, err := host.StdoutPipe()
		if err == nil {
			err = host.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("the host said %q", line)
		}
		if stopped {
			stop(t, n)
		}
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait() // it was killed
		until(t, "the end of the plugin", func() bool { return dead(n) })
	}
	f(false)
	f(true)
}

// stop stops a process, and returns when all its threads have noticed.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the stop", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("threads of process %d: %v, %v", pid, threads, err)
		}
		return !slices.ContainsFunc(threads, func(file string) bool { return state(file) != 'T' })
	})
}

// state reads the state of a process or thread as proc_pid_stat(5) has it; 0 where it is gone.
func state(file string) byte {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	if _, rest, ok := strings.Cut(string(b), ") "); ok {
		return rest[0]
	}
	return 0
}

// dead says whether a process that is not our child has ended; it may wait for its new parent to reap it.
func dead(pid int) bool {
	s := state(fmt.Sprintf("/proc/%d/stat", pid))
	return s == 0 || s == 'Z'
}

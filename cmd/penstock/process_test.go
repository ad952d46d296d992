package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built once for all tests of the package; plain is it without the race detector, for
// tests whose load the detector makes many times as heavy.
var (
	binary = sync.OnceValues(func() (string, error) { return compile(raceEnabled) })
	plain  = sync.OnceValues(func() (string, error) { return compile(false) })
	built  = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "penstock-test-") })
)

func compile(race bool) (string, error) {
	dir, err := built()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("race-%t", race), "penstock")
	args := []string{"build", "-o", path}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, ".")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return path, nil
}

func TestMain(m *testing.M) {
	beYardstick()
	manyAtOnce()
	code := m.Run()
	if dir, err := built(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// manyAtOnce has more tests run beside each other than there are processors, where nobody has said how many: for most of their time
// they wait for other processes and for time-outs.
func manyAtOnce() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
}

// build gives the path of the program under test.
func build(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// served is a running gateway.
type served struct {
	t     testing.TB
	cmd   *exec.Cmd
	dir   string
	file  string // its configuration; "" for the demo
	log   *logBuffer
	ended chan struct{}
	late  atomic.Int64 // requests whose limits were not counted in time; see verdict
	readyFile
}

// logBuffer keeps what a process wrote.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tail is its end, for who reads of a failure. Of requests, which may be thousands, it tells less, and of goroutines nothing.
func (l *logBuffer) tail() string {
	text, _, _ := strings.Cut(l.String(), quitMark)
	var list []string
	others, requests := 40, 10
	for line := range backwards(text) {
		left := &others
		if requestLine.MatchString(line) {
			left = &requests
		}
		if *left--; *left >= 0 {
			list = append(list, line)
		}
		if others <= 0 {
			break
		}
	}
	slices.Reverse(list)
	return strings.Join(list, "\n")
}

// quitMark is what stands before the goroutines that a program tells of when it gets SIGQUIT.
const quitMark = "SIGQUIT: quit"

// requestLine is how the log tells of a request.
var requestLine = regexp.MustCompile(`^\d\d:\d\d:\d\d \d\d\d `)

// backwards gives the lines of a text from its last one on.
func backwards(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := strings.TrimSuffix(text, "\n"); rest != ""; {
			i := strings.LastIndexByte(rest, '\n')
			if !yield(rest[i+1:]) {
				return
			}
			rest = rest[:max(i, 0)]
		}
	}
}

// tells is what a failed test says of a gateway, and fails one in whose gateway the race detector found something.
func (s *served) tells() {
	if _, race, found := strings.Cut(s.log.String(), "WARNING: DATA RACE"); found {
		s.t.Errorf("the gateway has a data race:%.4000s", race)
	}
	if s.t.Failed() {
		s.t.Logf("the gateway's log ends:\n%s", s.log.tail())
	}
}

// environment is what a program under test sees of ours. With the race detector it would sleep for a second at its end.
func environment(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}, more...)
}

// serveText runs a gateway with a configuration text, "" is the built-in demo, and more of an environment.
func serveText(t testing.TB, text string, env ...string) *served {
	t.Helper()
	return serveProgram(t, build(t), text, env...)
}

// servePlain is serveText without the race detector.
func servePlain(t testing.TB, text string) *served {
	t.Helper()
	path, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return serveProgram(t, path, text)
}

func serveProgram(t testing.TB, program, text string, env ...string) *served {
	t.Helper()
	return serveIn(t, t.TempDir(), program, text, env...)
}

// serveIn is serveProgram with all that the gateway writes in a folder.
func serveIn(t testing.TB, dir, program, text string, env ...string) *served {
	t.Helper()
	s := &served{t: t, dir: dir, log: new(logBuffer), ended: make(chan struct{})}
	ready := filepath.Join(s.dir, "ready.json")
	args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--state", filepath.Join(s.dir, "state"), "--ready-file", ready, "--log-format", "text"}
	if text != "" {
		s.file = filepath.Join(s.dir, "penstock.yaml")
		s.rewrite(text)
		args = append(args, "-c", s.file)
	}
	s.cmd = exec.Command(program, args...)
	s.cmd.Dir = s.dir
	s.cmd.Env = environment(s.dir, env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(s.tells)
	t.Cleanup(s.stop)
	s.awaitReady(ready)
	return s
}

// awaitReady waits until a gateway that has been started serves.
func (s *served) awaitReady(file string) {
	s.t.Helper()
	s.awaitFor(2*time.Minute, "ready file", func() bool {
		b, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(b, &s.readyFile) == nil
	})
}

// rewrite replaces the configuration file as an editor does.
func (s *served) rewrite(text string) {
	s.t.Helper()
	tmp := s.file + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(tmp, s.file); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the gateway in good order and checks that it can.
func (s *served) stop() {
	select {
	case <-s.ended:
		return
	default:
	}
	client.CloseIdleConnections() // or the gateway waits for what may be on its way on them
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(awaitLimit):
		s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.ended
		_, goroutines, _ := strings.Cut(s.log.String(), quitMark)
		s.t.Errorf("the gateway did not end within %v of SIGTERM:%.20000s", awaitLimit, goroutines)
	}
}

// awaitLimit is how long a test waits before it fails: by far longer than it takes, on a busy machine too.
const awaitLimit = 40 * time.Second

// await polls until a condition holds.
func (s *served) await(what string, holds func() bool) {
	s.t.Helper()
	s.awaitFor(awaitLimit, what, holds)
}

func (s *served) awaitFor(limit time.Duration, what string, holds func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-s.ended:
			if holds() {
				return
			}
			s.t.Fatalf("%s: the gateway ended", what)
		case <-deadline.C:
			s.t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// answer is an answer read whole.
type answer struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
}

// client is for tests alone: no redirects, connections kept.
var client = &http.Client{Timeout: awaitLimit, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}

// post sends a body with the gateway's key.
func (s *served) post(path, body string, headers ...string) answer {
	s.t.Helper()
	a, err := s.tryPost(context.Background(), path, body, headers...)
	if err != nil {
		s.t.Fatalf("POST %s: %v", path, err)
	}
	return a
}

func (s *served) tryPost(ctx context.Context, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.API+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.clientKey())
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(req)
}

func do(req *http.Request) (answer, error) {
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, resp.Trailer, string(b)}, err
}

// testKey is the key in the configurations of these tests.
const testKey = "psk-for-the-tests-of-the-program-000001"

func (s *served) clientKey() string {
	if s.Key != "" {
		return s.Key
	}
	return testKey
}

// run carries out another command of the program and gives its output and exit code.
func (s *served) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	return runProgram(s.t, s.dir, append(args, "--state", filepath.Join(s.dir, "state"))...)
}

func runProgram(t testing.TB, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(build(t), args...)
	cmd.Dir = dir
	cmd.Env = environment(dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

package pluginhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/sdk"
)

// limit is what a call may take in tests that are not about time: the machine may be busy.
const limit = 20 * time.Second

// newHost makes a host whose bundled plugins are behaviours of the test binary. At the end of the test nothing of it may
// be left.
func newHost(t testing.TB, o Options) *Host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// By way of env, because a plugin does not inherit ours: under the race detector it would sleep for a second at its end.
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	o.Bundled = func(name string) (string, []string, bool) {
		return env, []string{"GORACE=atexit_sleep_ms=0", exe, "plugin", name}, true
	}
	if o.Call == 0 {
		o.Call = limit
	}
	if o.Ping == 0 {
		o.Ping = limit
	}
	if o.Start == 0 {
		o.Start = limit
	}
	if o.Restart == 0 {
		o.Restart = limit
	}
	before := goleak.IgnoreCurrent()
	h := New(o)
	t.Cleanup(func() {
		h.Close()
		goleak.VerifyNone(t, before)
	})
	return h
}

func acquire(t testing.TB, h *Host, name string, o AcquireOptions) *Process {
	t.Helper()
	prog, err := h.Find(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Acquire(t.Context(), prog, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(model, text string) *sdk.Request {
	return &sdk.Request{Model: model, Provider: "acme", Messages: []sdk.Message{{Role: sdk.User,
		Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(text)}}}}}
}

func encode(t testing.TB, p *Process, model, text string) string {
	t.Helper()
	var e Encoded
	if err := p.Encode(request(model, text), &e); err != nil {
		t.Fatal(err)
	}
	body := bytes.Join(e.Segments, nil)
	if int64(len(body)) != e.Length {
		t.Errorf("length %d of a body of %d bytes", e.Length, len(body))
	}
	return string(body)
}

// pid asks the plugin for its process id: it proves that calls are served, and by which process.
func pid(t testing.TB, p *Process) int {
	t.Helper()
	n, err := strconv.Atoi(encode(t, p, "pid", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantFailure(t testing.TB, err error, kind sdk.Kind, has string) {
	t.Helper()
	var f *sdk.Failure
	if !errors.As(err, &f) || f.Kind != kind || !strings.Contains(f.Message, has) {
		t.Errorf("error %v: want a failure of kind %v with %q", err, kind, has)
	}
}

// until waits for a condition that other processes bring about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestEncode(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	if m := p.Manifest(); m.Name != "good" || m.Version != "1.2.3" {
		t.Errorf("manifest %+v", m)
	}
	f := func(text string) {
		t.Helper()
		quoted := string(sdk.T(text).Raw())
		if got, want := encode(t, p, "m", text), `{"model":"m","text":"`+quoted+`"}`; got != want {
			t.Errorf("body of %d bytes: got %.200q, want %.200q", len(want), got, want)
		}
	}
	f("hello")
	f("")
	f("quotes \" and\nlines")
	f(strings.Repeat("x", 256))
	f(strings.Repeat("é\"\n", 300))
	f(strings.Repeat("one megabyte ", 1<<20/13))
	var e Encoded
	if err := p.Encode(request("m", "x"), &e); err != nil || e.Path != "/acme" || len(e.Dropped) != 1 || e.Dropped[0].Path != "seed" {
		t.Errorf("encoded %+v, %v", e, err)
	}
}

func TestEncodeErrors(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	var e Encoded
	var lacks *sdk.Inexpressible
	if err := p.Encode(request("inexpressible", ""), &e); !errors.As(err, &lacks) || lacks.What != "audio" || lacks.Path != "messages[0]" {
		t.Errorf("inexpressible: %v", err)
	}
	var bad *sdk.Invalid
	if err := p.Encode(request("invalid", ""), &e); !errors.As(err, &bad) || bad.Path != "tools[0]" || bad.Message != "no name" {
		t.Errorf("invalid: %v", err)
	}
	f := func(model string, kind sdk.Kind, has string) {
		t.Helper()
		err := p.Encode(request(model, ""), &e)
		wantFailure(t, err, kind, has)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the plugin's own text is public: %v", err)
		}
	}
	f("error", sdk.PluginFailed, "could not translate")
	f("panic", sdk.PluginFailed, "could not translate")
	f("broken", sdk.PluginFailed, "broke its contract")
	q := request("m", "x")
	short := sdk.T(strings.Repeat("x", 250)) // crosses as it is
	for range 20000 {
		q.Messages[0].Parts = append(q.Messages[0].Parts, sdk.Part{Kind: sdk.PartText, Text: short})
	}
	wantFailure(t, p.Encode(q, &e), sdk.CannotTranslate, "too large to translate")
	if got := encode(t, p, "m", "still here"); !strings.Contains(got, "still here") {
		t.Errorf("after errors: %q", got)
	}
}

// TestBurst has more calls at once than may be in flight: they wait for each other.
func TestBurst(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	var wg sync.WaitGroup
	for range 2000 {
		wg.Go(func() { encode(t, p, "m", "x") })
	}
	wg.Wait()
}

func TestEncodeBesideOthers(t *testing.T) {
	for _, name := range []string{"good", "blocks", "streamed"} {
		p := acquire(t, newHost(t, Options{}), name, AcquireOptions{})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for j := range 8 {
					text := strings.Repeat(fmt.Sprintf("%d/%d ", i, j), 1+i*200)
					if got := encode(t, p, "m", text); got != `{"model":"m","text":"`+text+`"}` {
						t.Errorf("call %d of caller %d: got %.100q", j, i, got)
					}
				}
			})
		}
		wg.Wait()
		p.Release()
	}
}

func TestDecode(t *testing.T) {
	for _, name := range []string{"good", "blocks", "streamed"} {
		p := acquire(t, newHost(t, Options{}), name, AcquireOptions{})
		decodeStreams(t, p)
		p.Release()
	}
}

// decodeStreams decodes streams beside each other.
func decodeStreams(t *testing.T, p *Process) {
	t.Helper()
	long := strings.Repeat("long ", 2000)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			d, err := p.NewDecoder(sdk.AnswerInfo{Model: fmt.Sprint("m", i), Stream: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			var got []string
			take := func(events []sdk.Event, err error) {
				if err != nil {
					t.Error(err)
				}
				for _, e := range events {
					got = append(got, fmt.Sprint(e.Kind, e.Choice, string(e.Name.Raw()), string(e.Text.Raw())))
				}
			}
			var want []string
			want = append(want, fmt.Sprint(sdk.Begin, 0, "m", i, ""))
			for j := range 20 {
				text := fmt.Sprint("t", i, ".", j)
				take(d.Decode([]FrameIn{{Data: []byte(`{"t":"` + text + `"}`)}, {Event: "x", Data: []byte(`{"t":"` + long + `"}`)}}, nil))
				want = append(want, fmt.Sprint(sdk.TextDelta, 2*j+1, "", text), fmt.Sprint(sdk.TextDelta, 2*j+2, "", long))
			}
			take(d.End(nil))
			want = append(want, fmt.Sprint(sdk.Finish, 40, "", ""))
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); strings.ReplaceAll(g, " ", "") != strings.ReplaceAll(w, " ", "") {
				t.Errorf("stream %d: got\n%.300s\nwant\n%.300s", i, g, w)
			}
		})
	}
	wg.Wait()
}

func TestDecodeErrors(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	f := func(kind sdk.Kind, has string, data ...string) {
		t.Helper()
		d, err := p.NewDecoder(sdk.AnswerInfo{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var frames []FrameIn
		for _, s := range data {
			frames = append(frames, FrameIn{Data: []byte(s)})
		}
		_, err = d.Decode(frames, nil)
		wantFailure(t, err, kind, has)
	}
	f(sdk.PluginFailed, "could not translate", "unknown")
	f(sdk.PluginFailed, "broke its contract", `{"t":"a"}`, "twice")
	f(sdk.PluginFailed, "broke its contract", "[DONE]", `{"t":"a"}`)
	f(sdk.UpstreamError, "too large to translate", strings.Repeat("no JSON ", 1<<20))
}

// TestDecodeLarge sends more in one batch than a message can hold.
func TestDecodeLarge(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	d, err := p.NewDecoder(sdk.AnswerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text := strings.Repeat("x", 1<<20)
	var frames []FrameIn
	for range 9 {
		frames = append(frames, FrameIn{Data: []byte(`{"t":"` + text + `"}`)})
	}
	events, err := d.Decode(frames, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if e.Kind == sdk.TextDelta {
			n++
			if string(e.Text.Raw()) != text {
				t.Errorf("delta %d: %d bytes: want %d", n, len(e.Text.Raw()), len(text))
			}
		}
	}
	if n != len(frames) {
		t.Errorf("%d deltas: want %d", n, len(frames))
	}
}

func TestControl(t *testing.T) {
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	if c, err := p.Configure(t.Context(), "acme", []byte("{}")); err != nil || c.BaseURL != "http://acme.test" {
		t.Errorf("configure: %+v, %v", c, err)
	}
	if c := p.Configured("acme"); c.BaseURL != "http://acme.test" {
		t.Errorf("configured: %+v", c)
	}
	if _, err := p.Configure(t.Context(), "bad", []byte("{}")); err == nil || !strings.Contains(err.Error(), `provider "bad": region: want one`) {
		t.Errorf("configure: %v", err)
	}
	a, err := p.Authorize(t.Context(), sdk.AuthRequest{Credential: map[string]string{"key": "k"}, Method: "POST"})
	if err != nil || a.Lifetime != time.Minute || len(a.Headers) != 1 || a.Headers[0] != (sdk.Header{Name: "x-signed", Value: "kPOST"}) {
		t.Errorf("authorize: %+v, %v", a, err)
	}
	f, ok := p.ReadError(429, []byte(`{"m":"slow down"}`))
	if !ok || f.Kind != sdk.UpstreamRate || f.Status != 429 || f.Message != "slow down" || f.RetryAfter != time.Second {
		t.Errorf("read error: %+v, %v", f, ok)
	}
}

func TestShared(t *testing.T) {
	h := newHost(t, Options{})
	a := acquire(t, h, "good", AcquireOptions{})
	b := acquire(t, h, "good", AcquireOptions{})
	own := acquire(t, h, "good", AcquireOptions{Isolate: "acme"})
	if a != b || a == own || pid(t, a) == pid(t, own) {
		t.Error("want one process for two references, and one of its own")
	}
	if l := h.List(); len(l) != 2 || l[0].State != StateRunning || l[0].PID != pid(t, a) || l[1].Isolate != "acme" || l[0].Version != "1.2.3" {
		t.Errorf("list %+v", l)
	}
	n := pid(t, a)
	a.Release()
	if pid(t, b) != n {
		t.Error("the process has ended with a reference left")
	}
	b.Release()
	until(t, "the end after the last release", func() bool { return !running(n) })
	own.Release()
}

// TestReleaseWaits holds the end back with an answer that is being decoded.
func TestReleaseWaits(t *testing.T) {
	h := newHost(t, Options{})
	p := acquire(t, h, "good", AcquireOptions{})
	n := pid(t, p)
	d, err := p.NewDecoder(sdk.AnswerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if q := acquire(t, h, "good", AcquireOptions{}); q == p || pid(t, q) == n {
		t.Error("a process that is ending was given again")
	} else {
		q.Release()
	}
	for range 20 {
		if _, err := d.Decode([]FrameIn{{Data: []byte(`{"t":"x"}`)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	until(t, "the end after the last answer", func() bool { return !running(n) })
}

func TestManyRounds(t *testing.T) {
	h := newHost(t, Options{})
	for range 5 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				p := acquire(t, h, "good", AcquireOptions{})
				defer p.Release()
				encode(t, p, "m", "x")
			})
		}
		wg.Wait()
	}
	if l := h.List(); len(l) != 0 {
		t.Errorf("left: %+v", l)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-5f1c")
	p := acquire(t, newHost(t, Options{}), "good", AcquireOptions{})
	defer p.Release()
	env := encode(t, p, "environment", "")
	if strings.Contains(env, "canary-5f1c") || !strings.Contains(env, "PATH=") {
		t.Errorf("the plugin's environment: %s", env)
	}
}

func TestMTLS(t *testing.T) {
	p := acquire(t, newHost(t, Options{StateDir: t.TempDir()}), "good", AcquireOptions{MTLS: true})
	defer p.Release()
	encode(t, p, "m", "x")
}

func TestAcquireCanceled(t *testing.T) {
	h := newHost(t, Options{Start: limit})
	prog, err := h.Find(nil, "silent")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.Acquire(ctx, prog, AcquireOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v: want the context's", err)
	}
}

func TestRemember(t *testing.T) {
	p := Process{instances: make(map[string]configuration)}
	for i := range 2 * instancesKept {
		p.remember(fmt.Sprint(i), nil, sdk.Configured{})
	}
	p.remember(fmt.Sprint(instancesKept), []byte("again"), sdk.Configured{BaseURL: "http://again"})
	ids := inOrder(p.instances)
	if n := len(ids); n != instancesKept || ids[0] != fmt.Sprint(instancesKept+1) || ids[n-1] != fmt.Sprint(instancesKept) {
		t.Errorf("%d instances, from %s to %s", n, ids[0], ids[n-1])
	}
	if got := p.Configured(fmt.Sprint(instancesKept)).BaseURL; got != "http://again" {
		t.Errorf("configured: %q", got)
	}
}

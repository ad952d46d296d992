package demo

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// played is what came over the wire of an answer that goes wrong.
type played struct {
	status int
	header http.Header
	body   string
	err    error // of the reading
}

// playOn asks an upstream for a fault on a connection of its own. Where the answer stalls it leaves after what came.
func playOn(t *testing.T, u *upstream, path, fault string, stream bool) played {
	t.Helper()
	at, err := url.Parse(u.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"model":"` + FaultModel + fault + `","say":"one two three four","messages":[{"content":"one two three four"}],"stream":false}`
	if stream {
		body = strings.Replace(body, `"stream":false`, `"stream":true`, 1)
	}
	req, err := http.NewRequest("POST", u.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	patience := 20 * time.Second
	if strings.HasPrefix(fault, "stall") { // it has said by then what it says
		patience = time.Second
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return played{err: err}
	}
	// The body is not closed: that would read it to its end. The connection is.
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return played{resp.StatusCode, resp.Header, string(text), err}
}

// rightAnswer is what playOn asks to be said.
const rightAnswer = "one two three four"

// said is the text of an answer, as far as it came.
func (p played) said() string {
	var all strings.Builder
	for _, m := range words.FindAllStringSubmatch(p.body, -1) {
		all.WriteString(m[1])
	}
	return all.String()
}

var words = regexp.MustCompile(`"(?:text|content)":"([^"]+)"`)

// checkFault plays a fault in both forms and looks at what comes.
func checkFault(t *testing.T, u *upstream, fault string, stream bool, check func(p played) bool) {
	t.Helper()
	for _, path := range []string{"/say", "/chat/completions"} {
		if p := playOn(t, u, path, fault, stream); !check(p) {
			t.Errorf("%s %s, stream %v: %d %v %q %v", fault, path, stream, p.status, p.header, p.body[:min(len(p.body), 300)], p.err)
		}
	}
}

// TestAnswersThatBreak: what is cut off, stalls or is malformed, and how far it comes.
func TestAnswersThatBreak(t *testing.T) {
	u, _ := upstreamFor(t)
	f := func(fault string, stream bool, check func(p played) bool) {
		t.Helper()
		checkFault(t, u, fault, stream, check)
	}
	f("reset-before-head", true, func(p played) bool { return errors.Is(p.err, syscall.ECONNRESET) })
	f("reset-midstream", true, func(p played) bool {
		return errors.Is(p.err, syscall.ECONNRESET) && strings.HasPrefix(rightAnswer, p.said())
	})
	f("closed-midstream", true, func(p played) bool { return errors.Is(p.err, io.ErrUnexpectedEOF) && p.said() == "one two " })
	f("stall-midstream", true, func(p played) bool {
		var late net.Error
		return errors.As(p.err, &late) && late.Timeout() && p.said() == "one two "
	})
	f("trickle", true, func(p played) bool { return p.err == nil && p.said() == rightAnswer })
	f("trickle", false, func(p played) bool { return p.err == nil && p.said() == rightAnswer })
	f("error-midstream", true, func(p played) bool {
		return p.err == nil && p.said() == "one two " && strings.Contains(p.body, "server_error")
	})
	f("no-terminator", true, func(p played) bool {
		return p.err == nil && p.said() == rightAnswer && !strings.Contains(p.body, "stop")
	})
	f("truncated-json", false, func(p played) bool {
		return p.err == nil && strings.HasPrefix(p.body, "{") && !strings.Contains(p.body, "}\n")
	})
	f("empty-answer", true, func(p played) bool { return p.err == nil && p.said() == "" && strings.Contains(p.body, "stop") })
	f("endless-line", true, func(p played) bool { return len(p.body) == 1<<20 && !strings.Contains(p.body, "\n") })
}

// TestAnswersThatMislead: statuses, headers and codings.
func TestAnswersThatMislead(t *testing.T) {
	u, _ := upstreamFor(t)
	f := func(fault string, stream bool, check func(p played) bool) {
		t.Helper()
		checkFault(t, u, fault, stream, check)
	}
	status := func(n int, has string) func(played) bool {
		return func(p played) bool { return p.status == n && p.err == nil && strings.Contains(p.body, has) }
	}
	f("500", false, status(500, "server_error"))
	f("502", true, status(502, "<html>"))
	f("429-money", false, status(429, "insufficient_quota"))
	f("context-too-long", true, status(400, "context_length_exceeded"))
	f("429-ms", false, func(p played) bool { return p.status == 429 && p.header.Get("Retry-After-Ms") == "7000" })
	f("429-date", false, func(p played) bool { _, err := http.ParseTime(p.header.Get("Retry-After")); return err == nil })
	f("redirect", false, func(p played) bool {
		return p.status == 302 && strings.HasPrefix(p.header.Get("Location"), "http://127.0.0.1:")
	})
	f("empty-body", true, status(200, ""))
	f("content-type", true, func(p played) bool { return p.said() == rightAnswer && p.header.Get("Content-Type") == "text/plain" })
	f("early-hints", true, func(p played) bool { return p.status == 103 })
	f("gzip", false, func(p played) bool {
		return p.header.Get("Content-Encoding") == "gzip" && strings.HasPrefix(p.body, "\x1f\x8b")
	})
	f("zstd", true, func(p played) bool { return strings.HasPrefix(p.body, "\x28\xb5\x2f\xfd") })
	f("refused", false, status(404, "config: {fault: refused}"))
}

// TestConnectionsThatFail opens each door and knocks.
func TestConnectionsThatFail(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	p := New().(*provider)
	defer goleak.VerifyNone(t, leaks)
	defer p.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	knock := func(fault string) error {
		c, err := p.Configure("x", []byte(`{"fault":"`+fault+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Configure("y", []byte(`{"fault":"`+fault+`"}`))
		if err != nil || again.BaseURL != c.BaseURL {
			t.Errorf("%s: a second provider is sent to %s (%v), the first to %s", fault, again.BaseURL, err, c.BaseURL)
		}
		client.Timeout = 20 * time.Second
		if fault == "unanswered" {
			client.Timeout = 300 * time.Millisecond
		}
		resp, err := client.Get(c.BaseURL)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for fault, want := range map[string]string{"tls": "server gave HTTP response to HTTPS client", "tls-untrusted": "certificate", "refused": "refused", "unanswered": "imeout"} {
		if err := knock(fault); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", fault, err, want)
		}
	}
	if _, err := p.Configure("x", []byte(`{"fault":"500"}`)); err == nil {
		t.Error("a fault of answers was taken for one of connections")
	}
}

// TestFaultNames: each has a name of its own and says what it does.
func TestFaultNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if seen[f.Name] || f.Name == "" || f.Says == "" || f.Connect == (f.play != nil) {
			t.Errorf("fault %+v: a name that repeats, or nothing said or done", f)
		}
		seen[f.Name] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d faults, want the issue's list", len(seen))
	}
}

// ask sends one chat completion with a header, and gives its status and text.
func (u *upstream) ask(t *testing.T, model, fault string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest("POST", u.url+"/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if fault != "" {
		req.Header.Set(FaultHeader, fault)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestFaultHeader: a request may ask any model for a fault, but for one that harms more than itself; faults are counted.
func TestFaultHeader(t *testing.T) {
	u, _ := upstreamFor(t)
	f := func(model, fault string, status int, says string) {
		t.Helper()
		if got, text := u.ask(t, model, fault); got != status || !strings.Contains(text, says) {
			t.Errorf("%s with %q: %d %s; want %d and %q", model, fault, got, text, status, says)
		}
	}
	f(Echo, "", 200, `"content":"hi"`)
	f(Echo, "529", 529, "overloaded")
	f(FaultModel+"500", "529", 529, "overloaded")
	f(FaultModel+"500", "", 500, "server_error")
	f(Echo, "plugin-killed", 400, "no fault that a request may ask for")
	f(Echo, "nothing-is-called-so", 400, "no fault that a request may ask for")
	f(Echo, "refused", 404, "one of the connection")
	if got := u.tally.counts(); len(got) != 2 || got["529"] != 2 || got["500"] != 1 {
		t.Errorf("counted %v, want 529 twice and 500 once", got)
	}
}

// TestStorm: a storm is over after a while, and another begins when nobody has asked for long.
func TestStorm(t *testing.T) {
	var met tally
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0}, {StormTime / 2, StormTime / 2}, {9 * StormTime, 9*StormTime + StormTime/2}, {11 * StormTime, 0}, {StormTime, StormTime},
	} {
		at = at.Add(step.after)
		if got := met.add("503-storm", at); got != step.want {
			t.Errorf("after %v more: %v since the first, want %v", step.after, got, step.want)
		}
	}
	p := &prompt{say: "hi", stream: true}
	for since, want := range map[time.Duration]string{StormTime - 1: "HTTP/1.1 503 ", StormTime: "HTTP/1.1 200 "} {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			s := newScene(chatForm(), p)
			s.conn, s.since = far, since
			faultNamed(t, "503-storm").play(s)
		}()
		if text, err := io.ReadAll(near); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%v after its beginning: %.60q %v, want %q", since, text, err, want)
		}
	}
}

// TestReadme: the list for people has every fault, and no other.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			rows = append(rows, row)
		}
	}
	all := Faults()
	for i, f := range all {
		if want := f.Name + "` | " + f.Says + " |\n"; i >= len(rows) || rows[i] != want {
			t.Errorf("line %d of the table: want %q", i+1, "| `"+want)
		}
	}
	if len(rows) != len(all) {
		t.Errorf("the table has %d lines, want %d", len(rows), len(all))
	}
}

func faultNamed(t *testing.T, name string) *Fault {
	t.Helper()
	for _, f := range Faults() {
		if f.Name == name {
			return &f
		}
	}
	t.Fatalf("no fault %q", name)
	return nil
}

package pluginhosttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/sdk"
)

// The test binary is the plugin, what describes it and what holds it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch how := os.Args[2]; os.Args[1] {
		case "plugin", "describe":
			os.Exit(behave(os.Args[1], how))
		case "hold":
			err := Hold(context.Background(), optionsOf(how), func(pid int) { fmt.Println(pid) })
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// optionsOf are the options for a plugin of some behaviour.
func optionsOf(how string) Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// By way of env: under the race detector each process would sleep for a second at its end.
	env, err := exec.LookPath("env")
	if err != nil {
		panic(err)
	}
	args := func(what string) []string { return []string{"GORACE=atexit_sleep_ms=0", self, what, how} }
	return Options{Name: "sample", Serve: append([]string{env}, args("plugin")...), Describe: append([]string{env}, args("describe")...), Hold: append([]string{env}, args("hold")...),
		Bundled: func(string) (string, []string, bool) { return env, args("plugin"), true }}
}

// behave is the main of a plugin.
func behave(what, how string) int {
	p := provider{how}
	switch {
	case what == "describe" && how == "other-words":
		fmt.Println(`{"name":"sample"}`)
	case what == "describe" && how == "mute":
	case what == "describe":
		m := p.Manifest()
		fmt.Printf(`{"name":"sample","version":%q,"protocol":1,"description":%q,"dialects":[{"name":"sample","path":"/say","framing":"ndjson","terminated":true}],`+
			`"auth":{},"errors":[{"has":"slow down","kind":%q},{"has":"slow","kind":"overloaded"}]}`, m.Version, m.Description, m.Errors[0].Kind)
	case how == "polite" && os.Getenv("PENSTOCK_PLUGIN") == "":
		return 0
	default:
		if how == "floods" {
			for i := range 5000 {
				fmt.Fprintln(os.Stderr, "line", i)
			}
		}
		if err := sdk.ServePlugin(p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// provider is a sound plugin but for what its behaviour says.
type provider struct{ how string }

func (p provider) Manifest() sdk.Manifest {
	m := sdk.Manifest{Name: "sample", Version: "1", Protocol: sdk.Protocol, Description: "for tests",
		Dialects: []sdk.Dialect{{Name: "sample", Path: "/say", Framing: "ndjson", Terminated: true}},
		Errors:   []sdk.KnownError{{Has: "slow down", Kind: "upstream_rate"}, {Has: "slow", Kind: "overloaded"}}}
	switch p.how {
	case "bad-manifest":
		m.Dialects[0].Name = "Own Words"
	case "shadowed":
		slices.Reverse(m.Errors)
	}
	return m
}

func (p provider) Configure(string, []byte) (sdk.Configured, error) {
	if p.how == "talks" {
		_, _ = syscall.Write(1, []byte("configured\n")) // not os.Stdout, which is the gateway's by now
	}
	return sdk.Configured{}, nil
}

func (p provider) ReadError(int, *sdk.Doc) sdk.Failure {
	if p.how == "panics" {
		panic("what is that")
	}
	return sdk.Failure{Kind: sdk.UpstreamError}
}

func (p provider) Encode(q *sdk.Request, plan *sdk.Plan) error {
	w := &plan.Body
	w.Object()
	if p.how != "anonymous" {
		w.Name("model").String(q.Model)
	}
	w.Name("say").Array()
	for _, t := range q.Tools {
		w.Text(t.Name)
		w.Text(t.Description)
		w.Value(t.Parameters)
	}
	w.Text(q.Format.Name)
	w.Value(q.Format.Schema)
	for _, m := range q.Messages {
		for i := range m.Parts {
			if err := p.part(&m.Parts[i], w); err != nil {
				return err
			}
		}
	}
	w.EndArray()
	w.EndObject()
	return nil
}

func (p provider) part(part *sdk.Part, w *sdk.Writer) error {
	switch {
	case part.Media != nil && p.how == "vague":
		return &sdk.Inexpressible{}
	case part.Media != nil:
		return &sdk.Inexpressible{What: "media"}
	case part.Call != nil:
		w.Text(part.Call.Name)
		w.Value(part.Call.Arguments)
	case part.Result != nil && p.how == "forgetful":
	case part.Result != nil:
		for i := range part.Result.Parts {
			w.Text(part.Result.Parts[i].Text)
		}
	default:
		w.Text(part.Text)
	}
	return nil
}

func (p provider) NewDecoder(sdk.AnswerInfo) sdk.Decoder { return &decoder{how: p.how} }

type decoder struct {
	how    string
	frames int
}

// Decode reads lines such as {"say":"text"}, {"tool":"name","input":{}} and {"end":"stop"}.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	d.frames++
	if f.Doc == nil {
		return nil
	}
	line := f.Doc.Root()
	out.Text(0, line.Get("say").Text())
	if t := line.Get("tool"); t.Exists() {
		e := out.Add(sdk.ToolBegin)
		e.ID, e.Name = line.Get("id").Text(), t.Text()
		out.Add(sdk.ToolInput).Text = line.Get("input").Value().Text()
		if d.how != "unfinished" {
			out.Add(sdk.ToolEnd)
		}
	}
	if n := line.Get("tokens"); n.Exists() {
		out.Add(sdk.UsageSeen).Usage = sdk.UsageWithin(sdk.Counts{Input: n.Int(), CacheRead: line.Get("cached").Int()})
	}
	if line.Get("end").Exists() {
		out.Add(sdk.Finish).Reason = sdk.ReasonStop
		out.Add(sdk.Done)
	}
	return nil
}

func (d *decoder) End(out *sdk.Events) error {
	if d.how == "eager" && d.frames < 3 {
		out.Add(sdk.Done)
	}
	return nil
}

// TestKit runs the kit on a sound plugin and on ones that are each wrong in one way: it must find that and nothing else.
func TestKit(t *testing.T) {
	fixtures := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(fixtures, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tool.frames", `{"say":"hello"}`+"\n"+`{"tool":"mark7","id":"c1","input":{"a":1}}`+"\n"+`{"tokens":9,"cached":4}`+"\n"+`{"end":"stop"}`+"\n")
	write("tool.events", "text text=\"hello\"\ntool id=\"c1\" name=\"mark7\"\ninput text=\"{\\\"a\\\":1}\"\ntool-end\nusage input=5 cache_read=4\nfinish reason=stop\ndone\n")
	for _, c := range []struct{ how, failing, reason string }{
		{"sound", "", ""},
		{"mute", "describe", `want JSON and nothing else, got ""`},
		{"other-words", "stdout", "describe prints another one than the gateway is told"},
		{"polite", "by-hand", "want another exit code than 0"},
		{"talks", "stdout", `after the greeting: "configured`},
		{"bad-manifest", "stdout handshake", "dialects.0.name: does not match pattern"},
		{"floods", "stderr", "more lines to standard error"},
		{"shadowed", "stdout errors/table", "errors[1]: status 500"},
		{"panics", "errors/body", "panic: what is that"},
		{"anonymous", "request/*", "the model is neither in the body nor in the path"},
		{"forgetful", "request/anthropic/tool-result request/openai-chat/empty-arguments request/openai-chat/parallel-calls request/openai-chat/tool-result fixture/tool", "mark4 is not in the body"},
		{"vague", "request/anthropic/document request/anthropic/image request/openai-chat/audio request/openai-chat/image request/openai-chat/image-url", "does not say what"},
		{"eager", "answer/*", "without its end mark is said to be complete"},
		{"unfinished", "fixture/tool", "event 4: got usage"},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			o := optionsOf(c.how)
			o.Fixtures = fixtures
			results, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var failing, reasons []string
			for _, r := range results {
				if !r.Pass {
					failing = append(failing, r.Name)
					reasons = append(reasons, r.Name+": "+r.Reason)
				}
			}
			want := strings.Fields(c.failing)
			slices.Sort(want)
			slices.Sort(failing)
			all := strings.TrimSuffix(c.failing, "*")
			if all != c.failing {
				failing = slices.DeleteFunc(failing, func(s string) bool { return strings.HasPrefix(s, all) || s == "fixture/tool" })
				want = nil
			}
			if !slices.Equal(failing, want) || !strings.Contains(strings.Join(reasons, "\n"), c.reason) {
				t.Errorf("failing are %v, want %v; the reasons, of which one is to say %q:\n%s", failing, want, c.reason, strings.Join(reasons, "\n"))
			}
			if len(results) < 30 && c.how != "bad-manifest" {
				t.Errorf("%d checks, want all", len(results))
			}
		})
	}
}

// TestUpdate has the kit write what an answer means.
func TestUpdate(t *testing.T) {
	o := optionsOf("sound")
	o.Fixtures, o.Update = t.TempDir(), true
	if err := os.WriteFile(filepath.Join(o.Fixtures, "short.frames"), []byte(`{"say":"a \"b\""}`+"\n"+`{"end":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(o.Fixtures, "short.events"))
	if want := "text text=\"a \\\"b\\\"\"\nfinish reason=stop\ndone\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	o.Fixtures = t.TempDir()
	if _, err := Run(t.Context(), o); err == nil {
		t.Error("a folder without fixtures was taken")
	}
}

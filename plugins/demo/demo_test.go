package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/sdk"
)

// clock takes the place of waiting, and remembers for how long.
type clock struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (c *clock) wait(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, d)
	return ctx.Err()
}

// upstreamFor starts an upstream that does not wait.
func upstreamFor(t *testing.T) (*upstream, *clock) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	c := new(clock)
	u, err := startUpstream(c.wait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := u.close(); err != nil {
			t.Errorf("close: %v", err)
		}
		goleak.VerifyNone(t, leaks)
	})
	return u, c
}

// post sends a body and gives the status and the answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// reading is what a client ends with.
type reading struct {
	Text   string
	Calls  []string // name and input
	Reason string
	Input  int64
	Output int64
	Done   bool
}

// ask sends a request through Encode, the upstream's own form and the decoder.
func ask(t *testing.T, u *upstream, r *sdk.Request) reading {
	t.Helper()
	p := New()
	plan := new(sdk.Plan)
	if err := p.Encode(r, plan); err != nil {
		t.Fatal(err)
	}
	status, body := post(t, u.url+"/say", string(plan.Body.Bytes()))
	if status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	var got reading
	d := p.NewDecoder(sdk.AnswerInfo{Stream: r.Stream})
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		var doc sdk.Doc
		if err := doc.Parse(lines.Bytes()); err != nil {
			t.Fatalf("line %s: %v", lines.Text(), err)
		}
		var out sdk.Events
		if err := d.Decode(&sdk.Frame{Doc: &doc}, &out); err != nil {
			t.Fatal(err)
		}
		got.add(&out)
	}
	return got
}

func (g *reading) add(out *sdk.Events) {
	for i := range out.List {
		e := &out.List[i]
		text, _ := e.Text.Decoded()
		switch e.Kind {
		case sdk.TextDelta:
			g.Text += text
		case sdk.ToolBegin:
			name, _ := e.Name.Decoded()
			g.Calls = append(g.Calls, name)
		case sdk.ToolInput:
			g.Calls[e.Call] += " " + text
		case sdk.UsageSeen:
			g.Input, g.Output = e.Usage.TotalInput(), e.Usage.TotalOutput()
		case sdk.Finish:
			g.Reason, _ = e.Native.Decoded()
			if e.Reason == sdk.ReasonTool {
				g.Reason = "tool"
			}
		case sdk.Done:
			g.Done = true
		}
	}
}

func says(model, text string, stream bool) *sdk.Request {
	return &sdk.Request{Model: model, Stream: stream, Messages: []sdk.Message{
		{Role: sdk.System, Path: "system", Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T("be brief")}}},
		{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(text)}}},
	}, Tools: []sdk.Tool{{Name: sdk.T("lookup")}}}
}

func TestSay(t *testing.T) {
	u, _ := upstreamFor(t)
	tests := []struct {
		name  string
		model string
		text  string
		want  reading
	}{
		{"words", Echo, "hello \"wide\" world\n<é>", reading{Text: "hello \"wide\" world\n<é>", Reason: "stop", Input: 9, Output: 6, Done: true}},
		{"nothing", Echo, "", reading{Text: "(you said nothing)", Reason: "stop", Input: 2, Output: 5, Done: true}},
		{"call", Echo, `call lookup {"town":"Oslo","id":9007199254740993}`, reading{Calls: []string{`lookup {"town":"Oslo","id":9007199254740993}`}, Reason: "tool", Input: 16, Output: 11, Done: true}},
		{"two calls and text", Echo, "wait\ncall lookup\ncall lookup {}", reading{Text: "wait\n", Calls: []string{"lookup {}", "lookup {}"}, Reason: "tool", Input: 11, Output: 6, Done: true}},
		{"call of no tool", Echo, "call nobody {}", reading{Text: "call nobody {}", Reason: "stop", Input: 6, Output: 4, Done: true}},
		{"call with broken input", Echo, "call lookup {", reading{Text: "call lookup {", Reason: "stop", Input: 6, Output: 4, Done: true}},
		{"expensive", Expensive, "hi", reading{Text: "hi", Reason: "stop", Input: 3, Output: ExpensiveTokens - 3, Done: true}},
	}
	for _, test := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				if diff := cmp.Diff(test.want, ask(t, u, says(test.model, test.text, stream))); diff != "" {
					t.Errorf("stream %v (-want +got):\n%s", stream, diff)
				}
			})
		}
	}
}

func TestExpensiveCostsOneDollar(t *testing.T) {
	if got := float64(ExpensiveTokens) * ExpensivePrice / 1e6; got != 1 {
		t.Errorf("a call costs %v USD, want 1", got)
	}
}

func TestSlowPaces(t *testing.T) {
	u, c := upstreamFor(t)
	ask(t, u, says(Slow, "one two three", true))
	want := []time.Duration{1500 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}
	if diff := cmp.Diff(want, c.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	u, _ := upstreamFor(t)
	tests := []struct {
		name, path, body string
		status           int
		has              string
	}{
		{"busy", "/chat/completions", `{"model":"busy","messages":[{"content":"hi"}]}`, 429, "rate_limit_error"},
		{"no such model", "/say", `{"model":"loud","say":"hi"}`, 404, "loud"},
		{"broken body", "/say", `{"model":`, 400, "invalid_request_error"},
		{"another path", "/models", `{}`, 404, ""},
	}
	for _, test := range tests {
		status, body := post(t, u.url+test.path, test.body)
		if status != test.status || !strings.Contains(body, test.has) {
			t.Errorf("%s: status %d, body %s; want %d with %q", test.name, status, body, test.status, test.has)
		}
	}
	// Who does not know the random name finds nothing.
	root := u.url[:strings.LastIndexByte(u.url, '/')]
	if status, _ := post(t, root+"/chat/completions", `{"model":"echo","messages":[]}`); status != 404 {
		t.Errorf("without the name: status %d, want 404", status)
	}
}

func TestChatStream(t *testing.T) {
	u, _ := upstreamFor(t)
	const request = `{"model":"echo","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"lookup"}}],
		"messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"say it\ncall lookup {\"a\":1}"}]}]}`
	_, body := post(t, u.url+"/chat/completions", request)
	var got []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("event %q: want data", event)
		}
		if data == "[DONE]" {
			got = append(got, data)
			continue
		}
		var chunk chatAnswer
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		chunk.ID, chunk.Created = "", 0
		for _, c := range chunk.Choices {
			for i := range c.Delta.Calls {
				c.Delta.Calls[i].ID = "call"
			}
		}
		short, _ := json.Marshal([]any{chunk.Choices, chunk.Usage})
		got = append(got, string(short))
	}
	want := []string{
		`[[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],null]`,
		`[[{"index":0,"delta":{"content":"say "},"finish_reason":null}],null]`,
		`[[{"index":0,"delta":{"content":"it\n"},"finish_reason":null}],null]`,
		`[[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call","type":"function","function":{"name":"lookup","arguments":"{\"a\":1}"}}]},"finish_reason":null}],null]`,
		`[[{"index":0,"delta":{},"finish_reason":"tool_calls"}],null]`,
		`[[],{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}]`,
		"[DONE]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func TestChatWhole(t *testing.T) {
	u, _ := upstreamFor(t)
	_, body := post(t, u.url+"/chat/completions", `{"model":"echo","messages":[{"role":"user","content":"hello there"}]}`)
	var got chatAnswer
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Object != "chat.completion" || len(got.Choices) != 1 || *got.Choices[0].Message.Content != "hello there" ||
		*got.Choices[0].Finish != "stop" || got.Usage.Total != 6 || got.ID == "" {
		t.Errorf("answer %s", body)
	}
}

func TestConfigureStartsOneUpstream(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	p := New().(*provider)
	first, err := p.Configure("demo", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Configure("other", []byte("{}"))
	if err != nil || first.BaseURL != second.BaseURL {
		t.Errorf("second: %v, %v; want %v", second, err, first)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	goleak.VerifyNone(t, leaks)
}

func TestClientGone(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	u, err := startUpstream(sleep)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", u.url+"/say", strings.NewReader(`{"model":"slow","say":"hi","stream":true}`))
	answered := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(q)
		answered <- err
	}()
	cancel()
	if err := <-answered; err == nil {
		t.Error("the request was answered, want its end")
	}
	http.DefaultClient.CloseIdleConnections()
	if err := u.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	goleak.VerifyNone(t, leaks)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"say-1","model":"echo","text":"hi","calls":[{"id":"c","name":"n","input":{}}],"usage":{"input":1,"output":2},"end":"stop"}`))
	f.Add([]byte(`{"call":{"input":[1]},"end":null}`))
	f.Add([]byte(`{"error":"no"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var doc sdk.Doc
		if doc.Parse(text) != nil {
			return
		}
		var out sdk.Events
		if err := New().NewDecoder(sdk.AnswerInfo{}).Decode(&sdk.Frame{Doc: &doc}, &out); err != nil {
			t.Fatal(err)
		}
	})
}

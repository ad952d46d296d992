package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func newEncoder(stream bool) dialect.Encoder {
	return Dialect{}.NewEncoder(dialect.EncoderOptions{Stream: stream, RequestID: "req_01jabc", Model: "m"})
}

// encode writes events, as a stream or whole.
func encode(events []sdk.Event, stream bool) []byte {
	enc := newEncoder(stream)
	var out []byte
	for i := range events {
		out = enc.Event(out, &events[i])
	}
	return enc.End(enc.End(out)) // the second End has nothing to say
}

// TestAnswers writes events in both forms. A strict reader of streams and one of whole answers must find the same.
func TestAnswers(t *testing.T) {
	dialecttest.Golden(t, "testdata/answers", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		events := dialecttest.Events(t, in("events"))
		stream, whole := encode(events, true), encode(events, false)
		failed := slices.ContainsFunc(events, func(e sdk.Event) bool { return e.Kind == sdk.Failed })
		fromStream, fromWhole := readStream(t, stream, failed), readWhole(t, whole)
		if failed {
			fromStream = fromWhole
		}
		same(t, fromWhole, fromStream)
		return []dialecttest.Section{{Name: "stream", Data: stream}, {Name: "whole", Data: whole}}
	})
}

// same compares a whole message with what a stream came to. Blocks may stand in another order: a stream cannot put a
// thought before a call that it has begun.
func same(t interface {
	Helper()
	Errorf(string, ...any)
}, whole, stream message) {
	t.Helper()
	byText := func(a, b content) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return bytes.Compare(x, y)
	}
	whole.Content, stream.Content = merged(whole.Content), merged(stream.Content)
	slices.SortFunc(whole.Content, byText)
	slices.SortFunc(stream.Content, byText)
	if d := cmp.Diff(whole, stream); d != "" {
		t.Errorf("the stream says something else than the whole answer (-whole +stream):\n%s", d)
	}
}

// merged joins the texts, and the thoughts that nobody signed: where they are cut depends on what stood between them.
func merged(blocks []content) (out []content) {
	sum := map[string]*content{}
	for _, b := range blocks {
		if b.Type != "text" && (b.Type != "thinking" || b.Signature != "") {
			out = append(out, b)
		} else if s := sum[b.Type]; s == nil {
			sum[b.Type] = &b
		} else {
			s.Text, s.Thinking, s.Citations = s.Text+b.Text, s.Thinking+b.Thinking, append(s.Citations, b.Citations...)
		}
	}
	for _, b := range sum {
		out = append(out, *b)
	}
	return out
}

// message is a whole message, and what the events of a stream come to.
type message struct {
	ID, Type, Role, Model string
	Content               []content
	StopReason            *string `json:"stop_reason"`
	StopSequence          *string `json:"stop_sequence"`
	Usage                 map[string]any
}

type content struct {
	Type      string            `json:"type"`
	Text      string            `json:"text"`
	Thinking  string            `json:"thinking"`
	Signature string            `json:"signature"`
	Data      string            `json:"data"`
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
	Citations []json.RawMessage `json:"citations"`
}

// readWhole reads a message and checks the members that Anthropic's reference demands.
func readWhole(t testing.TB, body []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if m.Type != "message" || m.Role != "assistant" || m.ID == "" || m.Content == nil || m.StopReason == nil || m.Usage["output_tokens"] == nil {
		t.Errorf("not a message: %s", body)
	}
	for _, b := range m.Content {
		if b.Type == "tool_use" && (b.ID == "" || !bytes.HasPrefix(b.Input, []byte("{"))) {
			t.Errorf("a call without id or input: %s", body)
		}
	}
	return m
}

// reader reads a stream as strictly as any client does: message_start first, one block at a time with rising indexes,
// deltas of its type only, message_delta and message_stop at the end, and nothing behind them or an error.
type reader struct {
	t       testing.TB
	m       message
	open    bool
	input   strings.Builder
	stopped bool
	done    bool
	erred   bool
}

type event struct {
	Type         string
	Index        int
	Message      *message
	ContentBlock *content `json:"content_block"`
	Delta        struct {
		content
		PartialJSON  string `json:"partial_json"`
		Citation     json.RawMessage
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
	Usage map[string]any
}

func readStream(t testing.TB, stream []byte, failed bool) message {
	t.Helper()
	r := reader{t: t}
	for f := range bytes.SplitSeq(bytes.TrimSuffix(stream, []byte("\n\n")), []byte("\n\n")) {
		name, data, ok := bytes.Cut(f, []byte("\ndata: "))
		var e event
		if !ok || json.Unmarshal(data, &e) != nil || string(name) != "event: "+e.Type {
			t.Fatalf("frame %q is not an event named by its type", f)
		}
		if r.done || r.erred {
			t.Fatalf("%s after the end", data)
		}
		r.event(&e, data)
	}
	if r.done == failed || r.erred != failed {
		t.Errorf("done %t, error %t, want an error: %t in %s", r.done, r.erred, failed, stream)
	}
	return r.m
}

func (r *reader) event(e *event, data []byte) {
	r.t.Helper()
	bad := func(why string) { r.t.Helper(); r.t.Fatalf("%s: %s", why, data) }
	if (e.Type == "message_start") != (r.m.ID == "") && e.Type != "ping" && e.Type != "error" {
		bad("not first, or not once")
	}
	n := len(r.m.Content)
	switch e.Type {
	case "message_start":
		m := e.Message
		if m == nil || m.ID == "" || m.Type != "message" || m.Role != "assistant" || m.Content == nil || len(m.Content) > 0 || m.StopReason != nil || m.Usage["output_tokens"] == nil {
			bad("not an empty message")
		}
		r.m = *m
	case "content_block_start":
		if r.open || r.stopped || e.Index != n || e.ContentBlock == nil || e.ContentBlock.Text+e.ContentBlock.Thinking != "" {
			bad("a block out of place")
		}
		r.open = true
		r.input.Reset()
		r.m.Content = append(r.m.Content, *e.ContentBlock)
	case "content_block_delta":
		if !r.open || e.Index != n-1 {
			bad("a delta out of place")
		}
		r.delta(e, &r.m.Content[n-1], bad)
	case "content_block_stop":
		if !r.open || e.Index != n-1 {
			bad("a stop out of place")
		}
		r.open = false
		if r.input.Len() > 0 {
			r.m.Content[n-1].Input = json.RawMessage(r.input.String())
			r.m.Content[n-1].wrap()
		}
	case "message_delta":
		if r.open || r.stopped || e.Delta.StopReason == nil || e.Usage["output_tokens"] == nil {
			bad("an end out of place")
		}
		r.stopped, r.m.StopReason, r.m.StopSequence, r.m.Usage = true, e.Delta.StopReason, e.Delta.StopSequence, e.Usage
	case "message_stop":
		if r.done = true; !r.stopped {
			bad("a stop before the reason")
		}
	case "error":
		r.erred = true
	case "ping":
	default:
		bad("an unknown event")
	}
}

func (r *reader) delta(e *event, b *content, bad func(string)) {
	want := map[string]string{"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use"}
	if b.Type != want[e.Delta.Type] || e.Delta.Type == "thinking_delta" && b.Signature != "" {
		bad("a delta of another type")
	}
	b.Text += e.Delta.Text
	b.Thinking += e.Delta.Thinking
	b.Signature += e.Delta.Signature
	r.input.WriteString(e.Delta.PartialJSON)
	if e.Delta.Citation != nil {
		b.Citations = append(b.Citations, e.Delta.Citation)
	}
}

// wrap puts input that is no object into one, as the whole form does, and drops the white space around one that is.
func (c *content) wrap() {
	c.Input = bytes.TrimSpace(c.Input)
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	if c.Input[0] != '{' || jsonspan.Valid(c.Input, jsonspan.Limits{AllowDuplicates: true}) != nil {
		c.Input, _ = json.Marshal(map[string]string{"INVALID_JSON": string(c.Input)})
	}
}

// TestAnyEvents holds both forms to the strict readers, and to each other, for events in any order.
func TestAnyEvents(t *testing.T) {
	kinds := []sdk.EventKind{sdk.TextDelta, sdk.ThinkingDelta, sdk.Redacted, sdk.RefusalDelta, sdk.ToolInput, sdk.ToolInput,
		sdk.ToolInput, sdk.ToolEnd, sdk.Foreign, sdk.UsageSeen, sdk.Ping}
	rapid.Check(t, func(rt *rapid.T) {
		events := []sdk.Event{{Kind: sdk.Begin, ID: sdk.T("c")}}
		begun := 0
		for range rapid.IntRange(0, 40).Draw(rt, "events") {
			e := sdk.Event{
				Kind:  rapid.SampledFrom(kinds).Draw(rt, "kind"),
				Call:  rapid.IntRange(0, 3).Draw(rt, "call"),
				Text:  sdk.T(rapid.SampledFrom([]string{"", "a", "{", "}", "\"k\":1", "é\"\\"}).Draw(rt, "text")),
				Usage: sdk.Usage{Input: 1, Output: 2, Known: true},
				Type:  "server_tool_use",
				Value: sdk.RawValue([]byte(`{"type":"server_tool_use"}`)),
			}
			if (e.Kind == sdk.ToolInput || e.Kind == sdk.ToolEnd) && e.Call >= begun {
				e.Kind, e.Call, e.Name, e.Custom = sdk.ToolBegin, begun, sdk.T("f"), rapid.Bool().Draw(rt, "custom")
				begun++
			}
			events = append(events, e)
		}
		events = append(events, sdk.Event{Kind: sdk.Finish, Reason: sdk.Reason(rapid.IntRange(0, 9).Draw(rt, "reason"))})
		same(rt, readWhole(t, encode(events, false)), readStream(t, encode(events, true), false))
	})
}

// TestTooMuchHeld fails an answer whose pieces would have to be held without bound, and says so to the client.
func TestTooMuchHeld(t *testing.T) {
	tests := []struct {
		name string
		next func(i int) sdk.Event
	}{
		{"bytes", func(int) sdk.Event {
			return sdk.Event{Kind: sdk.ToolInput, Call: 1, Text: sdk.RawText(bytes.Repeat([]byte("x"), 1<<20))}
		}},
		{"events", func(i int) sdk.Event { return sdk.Event{Kind: sdk.ToolBegin, Call: i + 2} }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enc := newEncoder(true)
			out := enc.Event(nil, &sdk.Event{Kind: sdk.ToolBegin, Call: 0})
			out = enc.Event(out, &sdk.Event{Kind: sdk.ToolBegin, Call: 1})
			n := 0
			for ; enc.(dialect.Bounded).Failure() == nil && n < 1<<20; n++ {
				e := test.next(n)
				out = enc.Event(out, &e)
			}
			if f := enc.(dialect.Bounded).Failure(); f == nil || f.Kind != sdk.UpstreamError {
				t.Fatalf("failure %v after %d events", f, n)
			}
			out = enc.Event(out, &sdk.Event{Kind: sdk.TextDelta, Text: sdk.T("late")})
			readStream(t, enc.End(out), true)
		})
	}
}

func BenchmarkEncoder(b *testing.B) {
	enc := newEncoder(true)
	e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(" word")}
	out := enc.Event(make([]byte, 0, 4096), &e)
	b.ReportAllocs()
	for b.Loop() {
		out = enc.Event(out[:0], &e)
	}
}

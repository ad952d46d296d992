package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/sdk"
)

// encode writes events, as a stream or whole.
func encode(events []sdk.Event, stream bool) []byte {
	enc := Dialect{}.NewEncoder(dialect.EncoderOptions{Stream: stream, WantUsage: true, RequestID: "req_01jabc", Model: "m",
		Created: time.Unix(1760000000, 0)})
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
		if d := cmp.Diff(fromWhole, fromStream); d != "" && !failed {
			t.Errorf("the stream says something else than the whole answer (-whole +stream):\n%s", d)
		}
		return []dialecttest.Section{{Name: "stream", Data: stream}, {Name: "whole", Data: whole}}
	})
}

// message is a whole answer's message, and what the deltas of a stream come to.
type message struct {
	Role             string
	Content, Refusal *string
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Annotations      []json.RawMessage
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    int `json:"index"`
	ID, Type string
	Function struct{ Name, Arguments string }
	Custom   struct{ Name, Input string }
	Extra    json.RawMessage `json:"extra_content"`
}

type completion struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index        int
		Message      *message
		Delta        *message
		Logprobs     *struct{ Content []json.RawMessage }
		FinishReason *string `json:"finish_reason"`
		Native       string  `json:"native_finish_reason"`
	}
	Usage json.RawMessage
	Error json.RawMessage
}

// read is what a client has at the end.
type read struct {
	ID, Model string
	Choices   map[int]*readChoice
	Usage     string
}

type readChoice struct {
	Message  message
	Logprobs []json.RawMessage
	Finish   string
	Native   string
}

// readWhole reads a chat.completion and checks the members that OpenAI's reference demands.
func readWhole(t testing.TB, body []byte) read {
	t.Helper()
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if c.Object != "chat.completion" || c.ID == "" || c.Created == 0 || len(c.Choices) == 0 {
		t.Errorf("not a chat.completion: %s", body)
	}
	r := read{ID: c.ID, Model: c.Model, Choices: map[int]*readChoice{}, Usage: string(c.Usage)}
	for _, ch := range c.Choices {
		if ch.FinishReason == nil || ch.Message == nil || ch.Message.Role != "assistant" || r.Choices[ch.Index] != nil {
			t.Errorf("choice %d is not whole: %s", ch.Index, body)
			continue
		}
		rc := &readChoice{Message: *ch.Message, Finish: *ch.FinishReason, Native: ch.Native}
		if ch.Logprobs != nil {
			rc.Logprobs = ch.Logprobs.Content
		}
		for i := range rc.Message.ToolCalls {
			rc.Message.ToolCalls[i].Index = i
		}
		r.Choices[ch.Index] = rc.tidy()
	}
	return r
}

// tidy makes "" and null one: a stream cannot take back an empty text that it began with.
func (c *readChoice) tidy() *readChoice {
	for _, s := range []**string{&c.Message.Content, &c.Message.Refusal} {
		if *s != nil && **s == "" {
			*s = nil
		}
	}
	return c
}

// readStream reads chunks as strictly as any client does: one id, a role first, no choice after its end, usage in a last
// chunk of its own, [DONE] at the end and nothing behind it.
func readStream(t testing.TB, stream []byte, failed bool) read {
	t.Helper()
	r := read{Choices: map[int]*readChoice{}}
	done, erred := false, false
	for f := range bytes.SplitSeq(bytes.TrimSuffix(stream, []byte("\n\n")), []byte("\n\n")) {
		if bytes.HasPrefix(f, []byte(":")) {
			continue
		}
		data, ok := bytes.CutPrefix(f, []byte("data: "))
		if !ok || bytes.ContainsAny(data, "\r\n") || done || erred {
			t.Fatalf("frame %q out of place in %s", f, stream)
		}
		if done = string(data) == "[DONE]"; done {
			continue
		}
		var c completion
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if erred = c.Error != nil; erred {
			continue
		}
		r.chunk(t, &c, data)
	}
	if done == failed || erred != failed {
		t.Errorf("done %t, error %t, want an error: %t in %s", done, erred, failed, stream)
	}
	for i, c := range r.Choices {
		if c.Finish == "" && !failed {
			t.Errorf("choice %d has no finish_reason in %s", i, stream)
		}
		c.tidy()
	}
	return r
}

func (r *read) chunk(t testing.TB, c *completion, data []byte) {
	t.Helper()
	if c.Object != "chat.completion.chunk" || c.ID == "" || r.ID != "" && r.ID != c.ID || r.Usage != "" {
		t.Errorf("chunk out of place: %s", data)
	}
	r.ID, r.Model = c.ID, c.Model
	if len(c.Choices) == 0 {
		if r.Usage = string(c.Usage); r.Usage == "null" || r.Usage == "" {
			t.Errorf("a chunk with neither choice nor usage: %s", data)
		}
	}
	for _, ch := range c.Choices {
		rc := r.Choices[ch.Index]
		if rc == nil {
			rc = new(readChoice)
			r.Choices[ch.Index] = rc
			if ch.Delta == nil || ch.Delta.Role != "assistant" {
				t.Errorf("a choice that does not begin with its role: %s", data)
			}
		}
		if ch.Delta == nil || rc.Finish != "" {
			t.Fatalf("choice after its end, or without delta: %s", data)
		}
		rc.Message.grow(t, ch.Delta, data)
		if ch.Logprobs != nil {
			rc.Logprobs = append(rc.Logprobs, ch.Logprobs.Content...)
		}
		if ch.FinishReason != nil {
			rc.Finish, rc.Native = *ch.FinishReason, ch.Native
		}
	}
}

// grow adds a delta.
func (m *message) grow(t testing.TB, d *message, data []byte) {
	t.Helper()
	add := func(to **string, s *string) {
		if s != nil {
			if *to == nil {
				*to = new(string)
			}
			**to += *s
		}
	}
	if d.Role != "" {
		m.Role = d.Role
	}
	add(&m.Content, d.Content)
	add(&m.Refusal, d.Refusal)
	m.ReasoningContent += d.ReasoningContent
	m.ReasoningDetails = append(m.ReasoningDetails, d.ReasoningDetails...)
	m.Annotations = append(m.Annotations, d.Annotations...)
	for _, c := range d.ToolCalls {
		if c.ID != "" {
			if c.Index != len(m.ToolCalls) || c.Type == "" || c.Function.Name+c.Custom.Name == "" {
				t.Errorf("a call that does not begin well: %s", data)
			}
			m.ToolCalls = append(m.ToolCalls, toolCall{Index: c.Index, ID: c.ID, Type: c.Type})
		}
		if c.Index >= len(m.ToolCalls) {
			t.Fatalf("a piece of a call that has not begun: %s", data)
		}
		to := &m.ToolCalls[c.Index]
		to.Function.Name += c.Function.Name
		to.Function.Arguments += c.Function.Arguments
		to.Custom.Name += c.Custom.Name
		to.Custom.Input += c.Custom.Input
		if c.Extra != nil {
			to.Extra = c.Extra
		}
	}
}

// TestAnyEvents holds both forms to the strict readers, and to each other, for events in any order.
func TestAnyEvents(t *testing.T) {
	kinds := []sdk.EventKind{sdk.TextDelta, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted, sdk.RefusalDelta, sdk.ToolBegin,
		sdk.ToolInput, sdk.ToolInput, sdk.ToolEnd, sdk.Foreign, sdk.UsageSeen, sdk.Ping, sdk.Finish}
	event := rapid.Custom(func(t *rapid.T) sdk.Event {
		return sdk.Event{
			Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
			Choice: rapid.IntRange(0, 1).Draw(t, "choice"),
			Call:   rapid.IntRange(0, 2).Draw(t, "call"),
			Text:   sdk.T(rapid.StringN(0, 4, -1).Draw(t, "text")),
			Name:   sdk.T("f"),
			ID:     sdk.T(rapid.SampledFrom([]string{"", "c"}).Draw(t, "id")),
			Custom: rapid.Bool().Draw(t, "custom"),
			Reason: sdk.Reason(rapid.IntRange(0, 9).Draw(t, "reason")),
			Usage:  sdk.Usage{Input: 1, Known: true},
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		events := append([]sdk.Event{{Kind: sdk.Begin, ID: sdk.T("1")}}, rapid.SliceOfN(event, 0, 30).Draw(rt, "events")...)
		fromStream, fromWhole := readStream(t, encode(events, true), false), readWhole(t, encode(events, false))
		if d := cmp.Diff(fromWhole, fromStream); d != "" {
			rt.Fatalf("-whole +stream:\n%s", d)
		}
	})
}

// TestEcho sends an answer back as a client does, and expects the thoughts that it had, with their signatures.
func TestEcho(t *testing.T) {
	events := dialecttest.Events(t, []byte("think \"look \"\nthink \"it\\nup\"\nsign \"c2ln\"\nredacted \"ZW5j\"\ntool call=0 id=c1 name=get\ninput call=0 \"{}\"\nfinish reason=tool"))
	for _, stream := range []bool{false, true} {
		var answer read
		if body := encode(events, stream); stream {
			answer = readStream(t, body, false)
		} else {
			answer = readWhole(t, body)
		}
		m := answer.Choices[0].Message
		echo, err := json.Marshal(map[string]any{"role": "assistant", "content": m.Content, "reasoning_content": m.ReasoningContent, "reasoning_details": m.ReasoningDetails})
		if err != nil {
			t.Fatal(err)
		}
		var r sdk.Request
		doc := dialecttest.Parse(t, slices.Concat([]byte(`{"model":"m","messages":[`), echo, []byte(`]}`)))
		if err := (Dialect{}).Decode(doc, &r); err != nil {
			t.Fatal(err)
		}
		p := r.Messages[0].Parts
		if len(p) != 2 || !p[0].Text.Is("look it\nup") || !p[0].Signature.Is("c2ln") || p[1].Kind != sdk.PartRedacted || !p[1].Text.Is("ZW5j") {
			t.Errorf("stream %t: echoed as %s", stream, dialecttest.Dump(&r))
		}
	}
}

func BenchmarkEncoder(b *testing.B) {
	enc := Dialect{}.NewEncoder(dialect.EncoderOptions{Stream: true, RequestID: "req_01jabc", Model: "m", Created: time.Unix(1760000000, 0)})
	e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(" word")}
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out = enc.Event(out[:0], &e)
	}
}

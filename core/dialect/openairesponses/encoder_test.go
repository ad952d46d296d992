package openairesponses

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/sdk"
)

func newEncoder(stream bool) dialect.Encoder {
	return Dialect{}.NewEncoder(dialect.EncoderOptions{Stream: stream, RequestID: "req_01jabc", Model: "m", Created: time.Unix(1760000000, 0)})
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

// TestAnswers writes events in both forms. A strict reader of the stream must come to the whole answer.
func TestAnswers(t *testing.T) {
	dialecttest.Golden(t, "testdata/answers", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		events := dialecttest.Events(t, in("events"))
		stream, whole := encode(events, true), encode(events, false)
		agree(t, stream, whole)
		return []dialecttest.Section{{Name: "stream", Data: stream}, {Name: "whole", Data: whole}}
	})
}

// agree reads both forms of one answer.
func agree(t failer, stream, whole []byte) {
	t.Helper()
	if whole == nil { // it failed, and the relay says so
		readStream(t, stream)
		return
	}
	var want response
	if err := json.Unmarshal(whole, &want); err != nil {
		t.Fatalf("%v in %s", err, whole)
	}
	want.check(t)
	if d := cmp.Diff(want, readStream(t, stream)); d != "" {
		t.Fatalf("the stream says something else than the whole answer (-whole +stream):\n%s\n%s", d, stream)
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// response is what a client reads of a response.
type response struct {
	ID, Object, Status, Model string
	Created                   int64 `json:"created_at"`
	Error                     *struct{ Code, Message string }
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Output                    []outputItem
	Usage                     json.RawMessage
}

type outputItem struct {
	ID, Type, Status, Role string
	Content, Summary       []contentPart
	Sealed                 string `json:"encrypted_content"`
	CallID                 string `json:"call_id"`
	Name, Arguments, Input string
}

type contentPart struct {
	Type, Text, Refusal   string
	Annotations, Logprobs []json.RawMessage
}

// check wants the members that the reference demands of a response that has ended.
func (r *response) check(t failer) {
	t.Helper()
	ended := map[string]bool{"completed": r.Error == nil && r.Incomplete == nil, "incomplete": r.Incomplete != nil, "failed": r.Error != nil}
	if r.ID == "" || r.Object != "response" || r.Created == 0 || !ended[r.Status] || r.Output == nil {
		t.Fatalf("not a whole response: %+v", r)
	}
	for _, i := range r.Output {
		if i.ID == "" || i.Type == "" || i.Status == "in_progress" {
			t.Fatalf("not a whole item: %+v", i)
		}
	}
}

// event is any event of a stream.
type event struct {
	Type                   string
	Number                 int `json:"sequence_number"`
	Response               *response
	Output                 *int   `json:"output_index"`
	Content                *int   `json:"content_index"`
	Summary                *int   `json:"summary_index"`
	ItemID                 string `json:"item_id"`
	Item                   *outputItem
	Part                   *contentPart
	Delta, Text, Refusal   *string
	Name, Arguments, Input string
	Annotation             json.RawMessage
	AnnotationIndex        int `json:"annotation_index"`
	Logprobs               []json.RawMessage
}

// reader follows a stream as strictly as any client does.
type reader struct {
	t        failer
	id       string
	items    []outputItem // as their deltas make them
	done     []bool       // the items that have ended
	partDone bool         // the last part of the item that has parts
	end      *response
}

// readStream reads a stream to its end and gives the response that the last event has.
func readStream(t failer, stream []byte) response {
	t.Helper()
	r := reader{t: t}
	n := 0
	for f := range bytes.SplitSeq(bytes.TrimSuffix(stream, []byte("\n\n")), []byte("\n\n")) {
		if bytes.HasPrefix(f, []byte(":")) {
			continue
		}
		name, data, ok := strings.Cut(string(f), "\ndata: ")
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || strings.Contains(data, "\n") {
			t.Fatalf("%v: bad frame %q", err, f)
		}
		if name != "event: "+e.Type || e.Number != n || r.end != nil {
			t.Fatalf("event %d out of place: %s", n, f)
		}
		r.read(n, &e, data)
		n++
	}
	if r.end == nil {
		t.Fatalf("no end in %s", stream)
	}
	r.end.check(t)
	if d := cmp.Diff(r.items, r.end.Output); d != "" && len(r.items)+len(r.end.Output) > 0 {
		t.Fatalf("the items are not those of the end (-items +end):\n%s", d)
	}
	return *r.end
}

func (r *reader) read(n int, e *event, data string) {
	r.t.Helper()
	if (n == 0) != (e.Type == "response.created") || (n == 1) != (e.Type == "response.in_progress") {
		r.t.Fatalf("event %d is %s", n, e.Type)
	}
	if e.Response != nil {
		if r.id == "" {
			r.id = e.Response.ID
		}
		if e.Response.ID != r.id || n < 2 && (e.Response.Status != "in_progress" || len(e.Response.Output) > 0) {
			r.t.Fatalf("bad response in %s", data)
		}
		if n >= 2 {
			if e.Type != "response."+e.Response.Status {
				r.t.Fatalf("%s with status %s", e.Type, e.Response.Status)
			}
			for i, done := range r.done {
				if !done {
					r.t.Fatalf("item %d is open at the end", i)
				}
			}
			r.end = e.Response
		}
		return
	}
	if e.Output == nil {
		r.t.Fatalf("no output_index in %s", data)
	}
	if e.Type == "response.output_item.added" {
		if *e.Output != len(r.items) {
			r.t.Fatalf("item out of place: %s", data)
		}
		r.items, r.done = append(r.items, *e.Item), append(r.done, false)
		return
	}
	if *e.Output >= len(r.items) || r.done[*e.Output] {
		r.t.Fatalf("event about no open item: %s", data)
	}
	it := &r.items[*e.Output]
	if e.Type == "response.output_item.done" {
		r.itemDone(it, e)
		r.done[*e.Output] = true
		return
	}
	if e.ItemID != it.ID {
		r.t.Fatalf("item_id %s, want %s", e.ItemID, it.ID)
	}
	r.piece(it, e, data)
}

// itemDone compares an item with what its events made of it. What comes only with the whole is taken from there.
func (r *reader) itemDone(it *outputItem, e *event) {
	r.t.Helper()
	it.Status, it.Sealed = e.Item.Status, e.Item.Sealed
	if d := cmp.Diff(*it, *e.Item); d != "" || len(it.Content)+len(it.Summary) > 0 && !r.partDone {
		r.t.Fatalf("item is not the sum of its events, or its part is open (-sum +item):\n%s", d)
	}
}

// piece reads an event that adds to an item.
func (r *reader) piece(it *outputItem, e *event, data string) {
	r.t.Helper()
	switch e.Type {
	case "response.function_call_arguments.delta":
		it.Arguments += *e.Delta
		return
	case "response.custom_tool_call_input.delta":
		it.Input += *e.Delta
		return
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		if e.Arguments != it.Arguments || e.Input != it.Input || it.Type == "function_call" && e.Name != it.Name {
			r.t.Fatalf("not the whole call: %s", data)
		}
		return
	}
	parts, index := &it.Content, e.Content
	if it.Type == "reasoning" {
		parts, index = &it.Summary, e.Summary
	}
	if index == nil {
		r.t.Fatalf("no index of the part: %s", data)
	}
	if strings.HasSuffix(e.Type, "part.added") {
		if *index != len(*parts) || *index > 0 && !r.partDone {
			r.t.Fatalf("part out of place: %s", data)
		}
		*parts, r.partDone = append(*parts, *e.Part), false
		return
	}
	if *index != len(*parts)-1 || r.partDone {
		r.t.Fatalf("event about no open part: %s", data)
	}
	r.grow(&(*parts)[*index], e, data)
}

func (r *reader) grow(p *contentPart, e *event, data string) {
	r.t.Helper()
	switch e.Type {
	case "response.output_text.delta", "response.reasoning_summary_text.delta":
		p.Text += *e.Delta
	case "response.refusal.delta":
		p.Refusal += *e.Delta
	case "response.output_text.annotation.added":
		if e.AnnotationIndex != len(p.Annotations) {
			r.t.Fatalf("annotation out of place: %s", data)
		}
		p.Annotations = append(p.Annotations, e.Annotation)
	case "response.output_text.done", "response.reasoning_summary_text.done":
		if p.Logprobs = e.Logprobs; *e.Text != p.Text {
			r.t.Fatalf("not the whole text: %s", data)
		}
	case "response.refusal.done":
		if *e.Refusal != p.Refusal {
			r.t.Fatalf("not the whole refusal: %s", data)
		}
	case "response.content_part.done", "response.reasoning_summary_part.done":
		if d := cmp.Diff(*p, *e.Part); d != "" {
			r.t.Fatalf("part is not the sum of its events (-sum +part):\n%s", d)
		}
		r.partDone = true
	default:
		r.t.Fatalf("unknown event: %s", data)
	}
}

// TestAnyEvents holds both forms to the strict reader, and to each other, for events in any order.
func TestAnyEvents(t *testing.T) {
	kinds := []sdk.EventKind{sdk.TextDelta, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted, sdk.RefusalDelta, sdk.ToolBegin,
		sdk.ToolInput, sdk.ToolInput, sdk.ToolEnd, sdk.Foreign, sdk.Image, sdk.Citation, sdk.Logprobs, sdk.UsageSeen, sdk.Ping, sdk.Finish}
	values := []string{`{"url":"https://a"}`, `{"content":[{"token":"a"}]}`, `[1]`}
	one := rapid.Custom(func(t *rapid.T) sdk.Event {
		return sdk.Event{
			Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
			Choice: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "choice"),
			Call:   rapid.IntRange(0, 2).Draw(t, "call"),
			Text:   sdk.T(rapid.StringN(0, 4, -1).Draw(t, "text")),
			Value:  sdk.RawValue([]byte(rapid.SampledFrom(values).Draw(t, "value"))),
			Name:   sdk.T("f"),
			ID:     sdk.T(rapid.SampledFrom([]string{"", "c"}).Draw(t, "id")),
			Custom: rapid.Bool().Draw(t, "custom"),
			Reason: sdk.Reason(rapid.IntRange(0, 9).Draw(t, "reason")),
			Usage:  sdk.Usage{Input: 1, Known: true},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		events := append([]sdk.Event{{Kind: sdk.Begin, ID: sdk.T("1")}}, rapid.SliceOfN(one, 0, 30).Draw(t, "events")...)
		agree(t, encode(events, true), encode(events, false))
	})
}

// TestEcho sends an answer back as a client does, and expects its thoughts with their signatures.
func TestEcho(t *testing.T) {
	events := dialecttest.Events(t, []byte("think \"look \"\nthink \"it\\nup\"\nsign \"c2ln\"\nredacted \"ZW5j\"\ntext \"so\"\ntool call=0 id=c1 name=get\nsign \"Z3M=\"\ninput call=0 \"{}\"\nfinish reason=tool"))
	var answer struct{ Output json.RawMessage }
	if err := json.Unmarshal(encode(events, false), &answer); err != nil {
		t.Fatal(err)
	}
	var r sdk.Request
	if err := (Dialect{}).Decode(dialecttest.Parse(t, []byte(`{"model":"m","input":`+string(answer.Output)+`}`)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) != 1 || len(r.Messages[0].Parts) != 4 {
		t.Fatalf("echoed as %s", dialecttest.Dump(&r))
	}
	p := r.Messages[0].Parts
	if !p[0].Text.Is("look it\nup") || !p[0].Signature.Is("c2ln") || p[1].Kind != sdk.PartRedacted || !p[1].Text.Is("ZW5j") ||
		!p[2].Text.Is("so") || p[3].Call == nil || !p[3].Call.ID.Is("c1") || !p[3].Signature.Is("Z3M=") {
		t.Errorf("echoed as %s", dialecttest.Dump(&r))
	}
}

// TestBound wants a stream that is too long to be repeated at its end to fail, and a whole answer not to.
func TestBound(t *testing.T) {
	for _, stream := range []bool{true, false} {
		enc := newEncoder(stream)
		if limited(enc) != stream {
			t.Fatalf("stream %t: limited %t", stream, !stream)
		}
		e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.RawText(bytes.Repeat([]byte("a"), 300))}
		var out []byte
		for range 6 {
			out = enc.Event(out[:0], &e)
		}
		failed := enc.(dialect.Bounded).Failure() != nil
		if out = enc.End(out[:0]); failed != stream || bytes.Contains(out, []byte("response.failed")) != stream {
			t.Errorf("stream %t: failed %t", stream, failed)
		}
	}
}

// limited makes the limit of an encoder that has one small, and says whether it has one.
func limited(enc dialect.Encoder) bool {
	s, ok := enc.(*stream)
	if !ok || s.limit != maxKept {
		return false
	}
	s.limit = 1000
	return true
}

func BenchmarkEncoder(b *testing.B) {
	enc := newEncoder(true).(*stream)
	enc.limit = 0
	e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(" word")}
	out := make([]byte, 0, 4096)
	out = enc.Event(out, &e)
	b.ReportAllocs()
	for b.Loop() {
		out = enc.Event(out[:0], &e)
		p := enc.part()
		p.text = p.text[:0]
	}
}

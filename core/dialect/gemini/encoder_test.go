package gemini

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

// forms are the forms of an answer: a stream of events, one array, whole.
var forms = []dialect.EncoderOptions{{Stream: true}, {Stream: true, Framing: "array"}, {}}

func newEncoder(o dialect.EncoderOptions) dialect.Encoder {
	o.RequestID, o.Model, o.Created = "req_01jabc", "m", time.Unix(1760000000, 0)
	return Dialect{}.NewEncoder(o)
}

// encode writes events in each form.
func encode(events []sdk.Event) (sse, array, whole []byte) {
	var out [3][]byte
	for i, o := range forms {
		enc := newEncoder(o)
		for j := range events {
			out[i] = enc.Event(out[i], &events[j])
		}
		out[i] = enc.End(enc.End(out[i])) // the second End has nothing to say
	}
	return out[0], out[1], out[2]
}

// TestAnswers writes events in all forms, which must say the same to a strict reader.
func TestAnswers(t *testing.T) {
	dialecttest.Golden(t, "testdata/answers", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		events := dialecttest.Events(t, in("events"))
		sse, array, whole := encode(events)
		failed := slices.ContainsFunc(events, func(e sdk.Event) bool { return e.Kind == sdk.Failed })
		agree(t, sse, array, whole, failed)
		shown := bytes.ReplaceAll(sse, []byte("\r"), nil)
		return []dialecttest.Section{{Name: "stream", Data: shown}, {Name: "whole", Data: whole}}
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree reads all forms of one answer.
func agree(t failer, sse, array, whole []byte, failed bool) {
	t.Helper()
	one, two := readSSE(t, sse), readArray(t, array)
	if d := cmp.Diff(one, two); d != "" {
		t.Fatalf("the array says something else than the events (-events +array):\n%s", d)
	}
	got := joined(t, one, failed)
	if failed {
		return
	}
	var r response
	if err := json.Unmarshal(whole, &r); err != nil {
		t.Fatalf("%v in %s", err, whole)
	}
	if d := cmp.Diff(joined(t, []response{r}, false), got); d != "" {
		t.Fatalf("the stream says something else than the whole answer (-whole +stream):\n%s\n%s", d, sse)
	}
}

// response is a chunk or a whole answer.
type response struct {
	Candidates []struct {
		Index   int
		Content *struct {
			Role  string
			Parts []readPart
		}
		FinishReason string
		Grounding    json.RawMessage `json:"groundingMetadata"`
		Logprobs     struct {
			Chosen []json.RawMessage `json:"chosenCandidates"`
			Top    []json.RawMessage `json:"topCandidates"`
		} `json:"logprobsResult"`
	}
	Usage json.RawMessage `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	ID    string          `json:"responseId"`
	Error *struct {
		Code            int
		Message, Status string
	}
}

type readPart struct {
	Text      *string
	Thought   bool
	Signature string          `json:"thoughtSignature"`
	Call      json.RawMessage `json:"functionCall"`
	Code      json.RawMessage `json:"executableCode"`
}

// readSSE splits a stream of events as Google frames it.
func readSSE(t failer, stream []byte) (chunks []response) {
	t.Helper()
	for len(stream) > 0 {
		if rest, ok := bytes.CutPrefix(stream, []byte("\r\n")); ok { // a keep-alive
			stream = rest
			continue
		}
		data, rest, ok := bytes.Cut(stream, []byte("\r\n\r\n"))
		data, named := bytes.CutPrefix(data, []byte("data: "))
		var r response
		if err := json.Unmarshal(data, &r); err != nil || !ok || !named || bytes.ContainsAny(data, "\r\n") {
			t.Fatalf("%v: bad event %q", err, stream)
		}
		chunks, stream = append(chunks, r), rest
	}
	return chunks
}

func readArray(t failer, stream []byte) (chunks []response) {
	t.Helper()
	if err := json.Unmarshal(stream, &chunks); err != nil {
		t.Fatalf("%v in %s", err, stream)
	}
	return chunks
}

// answer is what a client has at the end.
type answer struct {
	ID, Model, Usage string
	Candidates       map[int]*readCandidate
}

type readCandidate struct {
	Parts             []readPart
	Finish, Grounding string
	Chosen, Top       []string
}

// joined joins chunks as a client does, and checks the members that clients rely on.
func joined(t failer, chunks []response, failed bool) answer {
	t.Helper()
	a := answer{Candidates: map[int]*readCandidate{}}
	for i, r := range chunks {
		if r.Error != nil {
			if !failed || i != len(chunks)-1 || r.Error.Code == 0 || r.Error.Status == "" {
				t.Fatalf("error out of place: %+v", r.Error)
			}
			return a
		}
		if r.ID == "" || r.Model == "" || len(r.Candidates) == 0 || a.ID != "" && r.ID != a.ID {
			t.Fatalf("chunk %d is not whole: %+v", i, r)
		}
		a.ID, a.Model, a.Usage = r.ID, r.Model, string(r.Usage)
		for _, c := range r.Candidates {
			rc := a.Candidates[c.Index]
			if rc == nil {
				rc = new(readCandidate)
				a.Candidates[c.Index] = rc
			}
			if rc.Finish != "" || c.Content == nil || c.Content.Role != "model" || len(c.Content.Parts) == 0 {
				t.Fatalf("candidate after its end, or without content: %+v", c)
			}
			rc.Finish, rc.Grounding = c.FinishReason, string(c.Grounding)
			for _, raw := range c.Logprobs.Chosen {
				rc.Chosen = append(rc.Chosen, string(raw))
			}
			for _, raw := range c.Logprobs.Top {
				rc.Top = append(rc.Top, string(raw))
			}
			for _, p := range c.Content.Parts {
				rc.add(p)
			}
		}
	}
	for i, c := range a.Candidates {
		if c.Finish == "" || failed {
			t.Fatalf("candidate %d has no end, or an error is missing", i)
		}
	}
	return a
}

// add joins the pieces of a text.
func (c *readCandidate) add(p readPart) {
	if p.Text == nil {
		c.Parts = append(c.Parts, p)
		return
	}
	if *p.Text == "" && p.Signature == "" {
		return
	}
	if n := len(c.Parts) - 1; n >= 0 && c.Parts[n].Text != nil && c.Parts[n].Thought == p.Thought && c.Parts[n].Signature == "" {
		joined := *c.Parts[n].Text + *p.Text
		c.Parts[n].Text, c.Parts[n].Signature = &joined, p.Signature
		return
	}
	c.Parts = append(c.Parts, p)
}

// TestAnyEvents holds all forms to the strict reader, and to each other, for events in any order.
func TestAnyEvents(t *testing.T) {
	kinds := []sdk.EventKind{sdk.TextDelta, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted, sdk.RefusalDelta, sdk.ToolBegin,
		sdk.ToolInput, sdk.ToolInput, sdk.ToolEnd, sdk.Foreign, sdk.Image, sdk.Citation, sdk.Logprobs, sdk.UsageSeen, sdk.Ping, sdk.Finish}
	values := []string{`{"url":"https://a"}`, `{"content":[{"token":"a","logprob":-1}]}`, `[1]`}
	one := rapid.Custom(func(t *rapid.T) sdk.Event {
		return sdk.Event{
			Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
			Choice: rapid.IntRange(0, 1).Draw(t, "choice"),
			Call:   rapid.IntRange(0, 2).Draw(t, "call"),
			Text:   sdk.T(rapid.SampledFrom([]string{"", "{}", "a", `{"b":`, "é\n"}).Draw(t, "text")),
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
		sse, array, whole := encode(events)
		agree(t, sse, array, whole, false)
	})
}

// TestEcho sends an answer back as a client does, piece by piece and whole, and expects its thoughts with their signatures.
func TestEcho(t *testing.T) {
	events := dialecttest.Events(t, []byte("think \"look \"\nthink \"it\\nup\"\nsign \"c2ln\"\nredacted \"ZW5j\"\ntext \"so\"\ntool call=0 id=c1 name=get\nsign \"Z3M=\"\ninput call=0 \"{}\"\nfinish reason=tool"))
	_, array, whole := encode(events)
	for _, body := range [][]byte{array, slices.Concat([]byte("["), whole, []byte("]"))} {
		var chunks []struct {
			Candidates []struct {
				Content struct{ Parts []json.RawMessage }
			}
		}
		if err := json.Unmarshal(body, &chunks); err != nil {
			t.Fatal(err)
		}
		var parts [][]byte
		for _, c := range chunks {
			for _, p := range c.Candidates[0].Content.Parts {
				parts = append(parts, p)
			}
		}
		var r sdk.Request
		doc := dialecttest.Parse(t, slices.Concat([]byte(`{"contents":[{"role":"model","parts":[`), bytes.Join(parts, []byte(",")), []byte("]}]}")))
		if err := (Dialect{}).Decode(doc, &r); err != nil {
			t.Fatal(err)
		}
		p := r.Messages[0].Parts
		if len(p) != 4 || !p[0].Text.Is("look it\nup") || !p[0].Signature.Is("c2ln") || p[1].Kind != sdk.PartRedacted || !p[1].Text.Is("ZW5j") ||
			!p[2].Text.Is("so") || p[3].Call == nil || !p[3].Call.ID.Is("c1") || !p[3].Signature.Is("Z3M=") {
			t.Errorf("%s: echoed as %s", body, dialecttest.Dump(&r))
		}
	}
}

// TestBound wants a stream to fail whose calls hold back too much, in the stream's framing.
func TestBound(t *testing.T) {
	for i, o := range forms {
		enc := newEncoder(o)
		out := enc.Event(nil, &sdk.Event{Kind: sdk.ToolBegin, Name: sdk.T("f")})
		for range 5 {
			out = enc.Event(out, &sdk.Event{Kind: sdk.ToolInput, Text: sdk.RawText(bytes.Repeat([]byte(" "), maxKept/4))})
		}
		failed := enc.(dialect.Bounded).Failure() != nil
		if out = enc.End(out); failed != o.Stream || bytes.Contains(out, []byte(`"error":{`)) != o.Stream {
			t.Errorf("form %d: failed %t, %d bytes", i, failed, len(out))
		}
	}
}

func BenchmarkEncoder(b *testing.B) {
	enc := newEncoder(forms[0])
	e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(" word")}
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out = enc.Event(out[:0], &e)
	}
}

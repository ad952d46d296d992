package sdk

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// planOf gives the message of a plan whose body has these literals and segments.
func planOf(lit string, segs ...Segment) []byte {
	p := Plan{Body: Writer{lit: []byte(lit), segs: segs, mark: len(lit)}}
	var c coder
	c.plan(&p)
	return c.b
}

// heldThings are a text and a value, as a request would have them.
func heldThings() *Held {
	return &Held{spans: []heldSpan{
		{raw: []byte(`grüß \"dich\" \\ A€ ` + "€")},
		{raw: []byte(`{"a":[1,2]}`), value: true},
		{raw: []byte(`{\"b\":\"c\"}`)},
		{raw: []byte(`[1,`)},
		{raw: []byte(`\\\\\\n`)},
	}}
}

func TestReadPlanBody(t *testing.T) {
	const text, value, packed, broken, slashes = 1, 2, 3, 4, 5
	whole := func(handle uint32, form uint8) Segment {
		return Segment{Handle: handle, To: len(heldThings().spans[handle-1].raw), Form: form}
	}
	lit := func(from, to int) Segment { return Segment{From: from, To: to} }
	for _, tt := range []struct {
		name string
		lit  string
		segs []Segment
		want string // the body, or with ! in front what the error says
	}{
		{"literal", `{"a":1}`, []Segment{lit(0, 7)}, `{"a":1}`},
		{"text in a string", `{"a":""}`, []Segment{lit(0, 6), whole(text, 0), lit(6, 8)}, `{"a":"grüß \"dich\" \\ A€ €"}`},
		{"value", `{"a":}`, []Segment{lit(0, 5), whole(value, 0), lit(5, 6)}, `{"a":{"a":[1,2]}}`},
		{"value alone", ``, []Segment{whole(value, 0)}, `{"a":[1,2]}`},
		{"escaped value", `""`, []Segment{lit(0, 1), whole(value, 2), lit(1, 2)}, `"{\"a\":[1,2]}"`},
		{"unescaped text", `[]`, []Segment{lit(0, 1), whole(packed, 1), lit(1, 2)}, `[{"b":"c"}]`},
		{"part of a text", `""`, []Segment{lit(0, 1), {Handle: text, From: 7, To: 9}, lit(1, 2)}, `"\""`},
		{"empty part", `""`, []Segment{lit(0, 1), {Handle: text, From: 2, To: 2}, lit(1, 2)}, `""`},
		{"two texts", `""`, []Segment{lit(0, 1), {Handle: text, To: 2}, {Handle: text, To: 2}, lit(1, 2)}, `"grgr"`},
		{"literals twice", `[1],`, []Segment{lit(0, 2), lit(3, 4), lit(1, 3)}, `[1,1]`},

		{"unescaped is no JSON", `[]`, []Segment{lit(0, 1), whole(broken, 1), lit(1, 2)}, "!not a JSON text"},
		{"text as a value", `[]`, []Segment{lit(0, 1), whole(packed, 0), lit(1, 2)}, "!not a JSON text"},
		{"text beside digits", `[12]`, []Segment{lit(0, 2), whole(text, 0), lit(2, 4)}, "!not a JSON text"},
		{"text in an escape", `"\u00"`, []Segment{lit(0, 5), whole(text, 0), lit(5, 6)}, "!not a JSON text"},
		{"text behind a backslash", `"\"`, []Segment{lit(0, 2), whole(text, 0), lit(2, 3)}, "!not a JSON text"},
		{"value in a string", `""`, []Segment{lit(0, 1), whole(value, 0), lit(1, 2)}, "!not a JSON text"},
		{"value between strings", `["a""b"]`, []Segment{lit(0, 4), whole(value, 0), lit(4, 8)}, "!not a JSON text"},
		{"value as a name", `{:1}`, []Segment{lit(0, 1), whole(value, 0), lit(1, 4)}, "!not a JSON text"},
		{"escaped value as a value", `[]`, []Segment{lit(0, 1), whole(value, 2), lit(1, 2)}, "!not a JSON text"},
		{"two values", `[]`, []Segment{lit(0, 1), whole(value, 0), whole(value, 0), lit(1, 2)}, "!not a JSON text"},
		{"broken literals", `{"a":}`, []Segment{lit(0, 6)}, "!not a JSON text"},
		{"one name twice", `{"a":1,"a":2}`, []Segment{lit(0, 13)}, "!not a JSON text"},
		{"part of a value", `[]`, []Segment{lit(0, 1), {Handle: value, From: 5, To: 10}, lit(1, 2)}, "!part of a value"},
		{"cuts a character", `""`, []Segment{lit(0, 1), {Handle: text, From: 0, To: 3}, lit(1, 2)}, "!cuts"},
		{"cuts an escape", `""`, []Segment{lit(0, 1), {Handle: text, From: 8, To: 9}, lit(1, 2)}, "!cuts"},
		{"cuts a run of backslashes", `""`, []Segment{lit(0, 1), {Handle: slashes, From: 3, To: 4}, lit(1, 2)}, "!cuts"},
		{"keeps a run of backslashes", `""`, []Segment{lit(0, 1), {Handle: slashes, From: 2, To: 4}, lit(1, 2)}, `"\\"`},
		{"no such handle", `[]`, []Segment{lit(0, 1), {Handle: 6}, lit(1, 2)}, "!handle 6: want 1 to 5"},
		{"beyond the handle", `""`, []Segment{lit(0, 1), {Handle: value, To: 12}, lit(1, 2)}, "!range 0 to 12 of 11"},
		{"backward", `""`, []Segment{lit(0, 1), {Handle: text, From: 2, To: 1}, lit(1, 2)}, "!range 2 to 1"},
		{"negative", `""`, []Segment{lit(0, 1), {Handle: text, From: -1, To: 1}, lit(1, 2)}, "!range -1 to 1"},
		{"beyond the literals", `1`, []Segment{lit(0, 2)}, "!literal 0 to 2 of 1"},
		{"form of a literal", `1`, []Segment{{To: 1, Form: 1}}, "!form 1"},
		{"escaped text as a value", `[]`, []Segment{lit(0, 1), whole(text, 2), lit(1, 2)}, "!not a JSON text"},
		{"form of a value", ``, []Segment{whole(value, 1)}, "!form 1 of a value"},
		{"unknown form", ``, []Segment{whole(value, 3)}, "!form 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r ResolvedPlan
			err := heldThings().ReadPlan(planOf(tt.lit, tt.segs...), &r)
			got := string(bytes.Join(r.Segments, nil))
			if want, bad := strings.CutPrefix(tt.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %s, %v; want an error with %q", got, err, want)
				}
				return
			}
			if err != nil || got != tt.want || r.Length != int64(len(got)) {
				t.Errorf("got %s, %d, %v; want %s", got, r.Length, err, tt.want)
			}
		})
	}
}

func TestReadPlanHead(t *testing.T) {
	for _, tt := range []struct {
		name string
		plan Plan
		want string // "": accepted
	}{
		{"all", Plan{Method: "PUT", Path: "/v1/{model}:x?alt=sse", Headers: []Header{{"X-Beta", "a\tb"}}}, ""},
		{"method", Plan{Method: "TRACE"}, `method "TRACE"`},
		{"method with a line", Plan{Method: "GET / HTTP/1.1\r\n"}, "method"},
		{"relative path", Plan{Path: "v1"}, "begins with /"},
		{"space", Plan{Path: "/v1 HTTP/1.1"}, "printable ASCII"},
		{"fragment", Plan{Path: "/v1#a"}, "printable ASCII"},
		{"line in a value", Plan{Headers: []Header{{"a", "b\r\nc: d"}}}, "control character"},
		{"name", Plan{Headers: []Header{{"a b", "c"}}}, "want a field name"},
		{"no name", Plan{Headers: []Header{{"", "c"}}}, "want a field name"},
		{"host", Plan{Headers: []Header{{"Host", "evil"}}}, "is the gateway's"},
		{"length", Plan{Headers: []Header{{"content-length", "0"}}}, "is the gateway's"},
		{"key", Plan{Headers: []Header{{"Authorization", "x"}}}, "is the gateway's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c coder
			c.plan(&tt.plan)
			var r ResolvedPlan
			err := new(Held).ReadPlan(c.b, &r)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestPlanIsJSON spoils a sound plan at random, as a faulty plugin might: whatever is accepted is a JSON text.
func TestPlanIsJSON(t *testing.T) {
	const text, value, packed = 1, 2, 3
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		held := heldThings()
		whole := func(handle, form int) any {
			return Segment{To: len(held.spans[handle-1].raw), Handle: uint32(handle), Form: uint8(form)}
		}
		pieces := []any{`{"a":"`, whole(text, 0), `","b":`, whole(value, 0), `,"c":"`, whole(value, 2), `","d":[`, whole(packed, 1), `]}`}
		for range rapid.IntRange(0, 3).Draw(t, "faults") {
			i := rapid.IntRange(0, len(pieces)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "fault") {
			case 0:
				pieces[i] = rapid.SampledFrom([]string{``, `{`, `}`, `[`, `,`, `:`, `"`, `"e"`, `1`, `\`, `\u00`, ` `, "ü", "\xc3"}).Draw(t, "literal")
			case 1:
				handle := rapid.IntRange(1, len(held.spans)).Draw(t, "handle")
				n := len(held.spans[handle-1].raw)
				from := rapid.IntRange(0, n).Draw(t, "from")
				pieces[i] = Segment{From: from, To: rapid.IntRange(from, n).Draw(t, "to"), Handle: uint32(handle)}
			case 2:
				pieces[i] = whole(rapid.IntRange(1, len(held.spans)).Draw(t, "handle"), rapid.IntRange(0, 2).Draw(t, "form"))
			case 3:
				k := rapid.IntRange(0, len(pieces)-1).Draw(t, "with")
				pieces[i], pieces[k] = pieces[k], pieces[i]
			}
		}
		var p Plan
		w := &p.Body
		for _, piece := range pieces {
			if s, ok := piece.(Segment); ok {
				w.cut()
				w.segs = append(w.segs, s)
			} else {
				w.lit = append(w.lit, piece.(string)...)
			}
		}
		var c coder
		c.plan(&p)
		var r ResolvedPlan
		if held.ReadPlan(c.b, &r) != nil {
			refused++
			return
		}
		accepted++
		if body := bytes.Join(r.Segments, nil); jsonspan.Valid(body, jsonspan.Limits{}) != nil {
			t.Fatalf("accepted: %q", body)
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d plans accepted, %d refused: the test says nothing", accepted, refused)
	}
}

// walker emits everything in a document in every way that a decoder has of naming it.
type walker struct{}

func (walker) End(*Events) error { return nil }
func (walker) Decode(f *Frame, out *Events) error {
	walk(f.Doc.Root(), out)
	return nil
}

func walk(n Node, out *Events) {
	out.Add(Foreign).Value = n.Value()
	out.Add(TextDelta).Text = n.Value().Text()
	if t := n.Text(); t.Present() {
		out.Add(TextDelta).Text = t
		out.Add(TextDelta).Text = t.Slice(0, t.Len()).Slice(0, 0)
	}
	for item := range n.Items() {
		walk(item, out)
	}
	for name, item := range n.Members() {
		out.Add(TextDelta).Text = T(name)
		walk(item, out)
	}
}

// TestSkeletons wants the same events of a document whether it crosses whole or as a skeleton.
func TestSkeletons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v any = drawJSON(t, 3)
		text, err := json.Marshal(map[string]any{"v": v, "long": strings.Repeat("é\n", 3000)})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaces") {
			var b bytes.Buffer
			if err := json.Indent(&b, text, "", " "); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		var want Events
		var doc Doc
		if err := doc.Parse(text); err != nil {
			t.Fatal(err)
		}
		walk(doc.Root(), &want)

		var a Answer
		message := a.AppendFrames(nil, []RawFrame{{Data: []byte("{}")}, {Event: "e", Data: text}})
		if len(message) >= len(text) {
			t.Fatalf("%d bytes crossed of %d", len(message), len(text))
		}
		s := &stream{dec: walker{}}
		if err := s.frames(message); err != nil {
			t.Fatal(err)
		}
		var w coder
		list(&w, &s.out.List, (*coder).event)
		got, err := a.ReadEvents(w.b, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = got[2:] // of the first frame
		for i := range want.List {
			g, w := got[i], want.List[i]
			if g.Kind != w.Kind || string(g.Text.Raw()) != string(w.Text.Raw()) || string(g.Value.Raw()) != string(w.Value.Raw()) {
				t.Fatalf("event %d: got %+v, want %+v", i, g, w)
			}
		}
		if len(got) != len(want.List) {
			t.Fatalf("%d events, want %d", len(got), len(want.List))
		}
	})
}

func drawJSON(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return rapid.Int32().Draw(t, "number")
	case 1:
		return rapid.StringN(0, 6, 12).Draw(t, "short")
	case 2:
		return strings.Repeat(rapid.StringN(1, 3, 8).Draw(t, "piece"), rapid.IntRange(100, 400).Draw(t, "times"))
	case 3:
		return nil
	case 4:
		var list []any
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		m[rapid.StringN(0, 300, 600).Draw(t, "name")] = drawJSON(t, depth-1)
	}
	return m
}

func TestReadEventsRefuses(t *testing.T) {
	frame := []byte(`{"a":"` + strings.Repeat(`x\n`, 2000) + `","b":[1,2]}`)
	held := func(from, to int, f form) span { return span{handle: 1, from: uint32(from), to: uint32(to), form: f} }
	b := len(frame) - len(`[1,2]}`)
	for _, tt := range []struct {
		name string
		e    Event
		want string // "": accepted
	}{
		{"text", Event{Kind: TextDelta, Text: Text{held(6, 6+300, asIs)}}, ""},
		{"value", Event{Kind: Foreign, Value: Value{held(b, b+5, asIs)}}, ""},
		{"string as a value", Event{Kind: Foreign, Value: Value{held(5, b-5, asIs)}}, ""},
		{"value as a text", Event{Kind: TextDelta, Text: Text{held(b, b+5, escape)}}, ""},
		{"text cuts an escape", Event{Kind: TextDelta, Text: Text{held(6, 8, asIs)}}, "cuts"},
		{"part of a value", Event{Kind: Foreign, Value: Value{held(b, b+3, asIs)}}, "neither a value nor within a string"},
		{"two members", Event{Kind: Foreign, Value: Value{held(5, b+5, asIs)}}, "neither a value nor within a string"},
		{"value where a text is wanted", Event{Kind: TextDelta, Text: Text{held(b, b+5, asIs)}}, "held value where a text is wanted"},
		{"text where a value is wanted", Event{Kind: Foreign, Value: Value{held(6, 9, asIs)}}, "held text where a value is wanted"},
		{"text that is no JSON", Event{Kind: Foreign, Value: Value{held(6, 9, unescape)}}, "not a JSON text"},
		{"beyond", Event{Kind: TextDelta, Text: Text{held(6, len(frame)+1, asIs)}}, "range"},
		{"frame that is not held", Event{Kind: TextDelta, Text: Text{span{handle: 2, to: 1}}}, "range"},
		{"no such frame", Event{Kind: TextDelta, Text: Text{span{handle: 3, to: 1}}}, "handle 3"},
		{"quote", Event{Kind: TextDelta, Text: RawText([]byte(`a","b":"`))}, "not the content"},
		{"lone backslash", Event{Kind: TextDelta, Text: RawText([]byte(`a\`))}, "not the content"},
		{"line", Event{Kind: TextDelta, Text: RawText([]byte("a\n"))}, "not the content"},
		{"half a character", Event{Kind: TextDelta, Text: RawText([]byte("a\xc3"))}, "not the content"},
		{"character", Event{Kind: TextDelta, Text: RawText([]byte(`aü\n`))}, ""},
		{"broken value", Event{Kind: Foreign, Value: RawValue([]byte(`{`))}, "not a JSON text"},
		{"kind", Event{Kind: Image + 1}, "kind 20"},
		{"no kind", Event{}, "kind 0"},
		{"reason", Event{Kind: Finish, Reason: ReasonFault + 1}, "reason"},
		{"choice", Event{Kind: TextDelta, Choice: -1}, "choice"},
		{"call", Event{Kind: ToolBegin, Call: maxPlace + 1}, "call"},
		{"failure of no kind", Event{Kind: Failed, Failure: Failure{Message: "x"}}, "failure of kind 0"},
		{"failure of unknown kind", Event{Kind: Failed, Failure: Failure{Kind: Internal + 1}}, "failure of kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a Answer
			a.AppendFrames(nil, []RawFrame{{Data: frame}, {Data: []byte(`{"short":1}`)}})
			var c coder
			list(&c, &[]Event{tt.e}, (*coder).event)
			got, err := a.ReadEvents(c.b, nil)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestReadEventsBounds(t *testing.T) {
	var c coder
	events := make([]Event, maxEvents+1)
	for i := range events {
		events[i].Kind = Ping
	}
	list(&c, &events, (*coder).event)
	if _, err := new(Answer).ReadEvents(c.b, nil); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
}

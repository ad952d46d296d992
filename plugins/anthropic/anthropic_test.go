package anthropic

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestVersionOf(t *testing.T) {
	tests := []struct {
		model string
		want  version
	}{
		{"claude-3-haiku-20240307", version{3, 0}},
		{"claude-3-5-sonnet-latest", version{3, 5}},
		{"claude-3-7-sonnet-20250219", version{3, 7}},
		{"claude-sonnet-4-20250514", version{4, 0}},
		{"claude-sonnet-4-0", version{4, 0}},
		{"claude-opus-4-1-20250805", version{4, 1}},
		{"claude-haiku-4-5-20251001", version{4, 5}},
		{"anthropic/claude-opus-4.6", version{4, 6}},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", version{4, 5}},
		{"claude-opus-4-5@20251101", version{4, 5}},
		{"claude-fable-5", version{5, 0}},
		{"claude-sonnet-12-10", version{12, 10}},
		{"claude-mythos-preview", newest},
		{"kimi-k2", version{}},
		{"", version{}},
	}
	for _, test := range tests {
		if got := versionOf(test.model); got != test.want {
			t.Errorf("versionOf(%q) = %v, want %v", test.model, got, test.want)
		}
	}
}

func TestManifest(t *testing.T) {
	m := New().Manifest()
	for _, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok || e.At == "" || (e.Equals == "") == (e.Has == "") || e.Has != strings.ToLower(e.Has) {
			t.Errorf("known error %+v: want a kind, a place, and one of equals and a lower-case part", e)
		}
	}
	tests := []struct {
		model           string
		context, output int
	}{
		{"claude-3-5-haiku-20241022", 200_000, 8_192},
		{"claude-opus-4-20250514", 200_000, 32_000},
		{"claude-opus-4-1-20250805", 200_000, 32_000},
		{"claude-sonnet-4-20250514", 200_000, 64_000},
		{"claude-sonnet-4-5-20250929", 200_000, 64_000},
		{"claude-opus-4-5", 200_000, 64_000},
		{"claude-opus-4-7", 1_000_000, 128_000},
		{"claude-sonnet-5", 1_000_000, 128_000},
		{"someone-elses", 0, 0},
	}
	for _, test := range tests {
		got := sdk.Capabilities{}
		for _, c := range m.Capabilities {
			if ok, err := path.Match(c.Match, test.model); err != nil {
				t.Errorf("pattern %q: %v", c.Match, err)
			} else if ok {
				got = c
				break
			}
		}
		if got.Context != test.context || got.MaxOutput != test.output {
			t.Errorf("%s: context %d, output %d; want %d, %d", test.model, got.Context, got.MaxOutput, test.context, test.output)
		}
	}
}

func TestCallID(t *testing.T) {
	long := strings.Repeat("x", 300)
	seen := map[string]string{}
	for _, id := range []string{"fn.a:0", "fn_a_0", "fn-a-0", "fn a 0", "fn/a/0", long, long + "y", "ü"} {
		got := callID(sdk.T(id))
		if !legal(got) || got == "" || len(got) > maxID {
			t.Errorf("callID(%.20q) = %q, which the API refuses", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("callID(%.20q) and callID(%.20q) are both %q", id, other, got)
		}
		seen[got] = id
		if again := callID(sdk.T(id)); again != got {
			t.Errorf("callID(%.20q) = %q, then %q", id, got, again)
		}
	}
	if got := callID(sdk.T("fn_a_0")); got != "fn_a_0" {
		t.Errorf("a legal id became %q", got)
	}
}

// decodeAll feeds events to a decoder and ends it.
func decodeAll(t *testing.T, stream bool, frames ...string) []sdk.Event {
	t.Helper()
	d := New().NewDecoder(sdk.AnswerInfo{Stream: stream})
	var out sdk.Events
	for _, text := range frames {
		doc := new(sdk.Doc)
		if err := doc.Parse([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := d.Decode(&sdk.Frame{Doc: doc}, &out); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End(&out); err != nil {
		t.Fatal(err)
	}
	return out.List
}

func TestReasons(t *testing.T) {
	tests := []struct {
		native string
		want   sdk.Reason
		stop   string
	}{
		{"end_turn", sdk.ReasonStop, ""},
		{"stop_sequence", sdk.ReasonStopText, "END"},
		{"max_tokens", sdk.ReasonLength, ""},
		{"model_context_window_exceeded", sdk.ReasonContext, ""},
		{"tool_use", sdk.ReasonTool, ""},
		{"refusal", sdk.ReasonRefusal, ""},
		{"pause_turn", sdk.ReasonPause, ""},
		{"solar_flare", sdk.ReasonStop, ""},
	}
	for _, test := range tests {
		events := decodeAll(t, true, `{"type":"message_delta","delta":{"stop_reason":"`+test.native+`","stop_sequence":"END"},"usage":{}}`, `{"type":"message_stop"}`)
		if len(events) != 2 || events[1].Kind != sdk.Done {
			t.Errorf("%s: events %v, want a finish and the end", test.native, events)
			continue
		}
		if e := events[0]; e.Reason != test.want || string(e.Native.Raw()) != test.native || string(e.Stop.Raw()) != test.stop {
			t.Errorf("%s: reason %d, native %q, stop %q; want %d, stop %q", test.native, e.Reason, e.Native.Raw(), e.Stop.Raw(), test.want, test.stop)
		}
	}
}

func TestFailureKinds(t *testing.T) {
	tests := []struct {
		typ, message, details string
		want                  sdk.Kind
	}{
		{"overloaded_error", "Overloaded", "null", sdk.Overloaded},
		{"rate_limit_error", "slow down", "null", sdk.UpstreamRate},
		{"rate_limit_error", "limit", `{"error_code":"enforced_spend_limit_reached"}`, sdk.UpstreamMoney},
		{"billing_error", "pay", "null", sdk.UpstreamMoney},
		{"invalid_request_error", "Your credit balance is too low to access the API", "null", sdk.UpstreamMoney},
		{"invalid_request_error", "prompt is too long: 3333404 tokens > 200000 maximum", "null", sdk.ContextTooLong},
		{"invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2", "null", sdk.ContextTooLong},
		{"invalid_request_error", "messages: want", "null", sdk.BadRequest},
		{"not_found_error", "model: x", "null", sdk.UpstreamModel},
		{"authentication_error", "invalid x-api-key", "null", sdk.UpstreamAuth},
		{"api_error", "oops", "null", sdk.UpstreamError},
		{"new_error", "oops", "null", sdk.UpstreamError},
	}
	for _, test := range tests {
		events := decodeAll(t, true, `{"type":"error","error":{"type":"`+test.typ+`","message":"`+test.message+`","details":`+test.details+`}}`)
		if len(events) != 1 || events[0].Failure.Kind != test.want || events[0].Failure.Message != test.message || events[0].Failure.Type != test.typ {
			t.Errorf("%s %s: %+v, want %v", test.typ, test.message, events, test.want)
		}
	}
	if events := decodeAll(t, false, `{"type":"message","id":"x"}`); len(events) != 1 || events[0].Failure.Kind != sdk.UpstreamEmpty {
		t.Errorf("a message without content: %+v, want an empty answer", events)
	}
}

func TestForeignBlocks(t *testing.T) {
	start := func(index int, block string) string {
		return `{"type":"content_block_start","index":` + string(rune('0'+index)) + `,"content_block":` + block + `}`
	}
	events := decodeAll(t, true,
		start(0, `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`),
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"no\\u006e"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"e\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		start(1, `{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"title":"t"}]}`),
		`{"type":"content_block_stop","index":1}`,
		start(2, `{"type":"compaction","content":null}`),
		`{"type":"content_block_delta","index":2,"delta":{"type":"compaction_delta","content":"so far"}}`,
		`{"type":"content_block_stop","index":2}`,
		start(3, `{"type":"server_tool_use","id":"s2","name":"n","input":{}}`),
		`{"type":"content_block_stop","index":3}`,
		start(4, `{"type":"server_tool_use","id":"s3","name":"n","input":{}}`),
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{broken"}}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"content_block_stop","index":9}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
	)
	var got []string
	for _, e := range events {
		if e.Kind != sdk.Foreign || !json.Valid(e.Value.Raw()) {
			t.Errorf("event %+v, want a foreign block", e)
		}
		got = append(got, e.Type+" "+string(e.Value.Raw()))
	}
	want := []string{
		`server_tool_use {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query": "no\u006ee"}}`,
		`web_search_tool_result {"type":"web_search_tool_result","tool_use_id":"s1","content":[{"title":"t"}]}`,
		`compaction {"type":"compaction","content":"so far"}`,
		`server_tool_use {"type":"server_tool_use","id":"s2","name":"n","input":{}}`,
		`server_tool_use {"type":"server_tool_use","id":"s3","name":"n","input":{}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name   string
		frames []string
		want   sdk.Usage
	}{
		{"whole", []string{`{"type":"message","id":"x","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":8,"output_tokens_details":{"thinking_tokens":5}}}`},
			sdk.Usage{Input: 10, CacheRead: 3, CacheWrite: 2, Output: 3, Reasoning: 5, Known: true}},
		{"a cache's writes in parts alone", []string{
			`{"type":"message_delta","delta":{},"usage":{"input_tokens":5,"output_tokens":6,"cache_creation":{"ephemeral_5m_input_tokens":7,"ephemeral_1h_input_tokens":2}}}`,
			`{"type":"message_delta","delta":{},"usage":{"output_tokens":8,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":null}}}`},
			sdk.Usage{Input: 5, CacheWrite: 7, CacheWriteHour: 2, Output: 8, Known: true}},
		{"null keeps what was known", []string{
			`{"type":"message_start","message":{"id":"x","usage":{"input_tokens":10,"cache_read_input_tokens":3,"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{},"usage":{"input_tokens":null,"output_tokens":8}}`},
			sdk.Usage{Input: 10, CacheRead: 3, Output: 8, Known: true}},
		{"passes are charged together, an advisor's apart", []string{
			`{"type":"message_delta","delta":{},"usage":{"input_tokens":181,"output_tokens":8,"iterations":[
				{"type":"compaction","input_tokens":100,"output_tokens":83,"cache_read_input_tokens":55096},
				{"type":"advisor_message","input_tokens":1000,"output_tokens":1000},
				{"type":"message","input_tokens":181,"output_tokens":8}]}}`},
			sdk.Usage{Input: 281, CacheRead: 55096, Output: 91, Known: true}},
		{"one pass says nothing new", []string{
			`{"type":"message_delta","delta":{},"usage":{"input_tokens":5,"output_tokens":6,"iterations":[{"type":"message","input_tokens":1,"output_tokens":1}]}}`},
			sdk.Usage{Input: 5, Output: 6, Known: true}},
		{"figures of the start alone are no last word", []string{
			`{"type":"message_start","message":{"id":"x","usage":{"input_tokens":10,"output_tokens":3}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`},
			sdk.Usage{Input: 10, Output: 3}},
		{"zeros of a program's call are meant", []string{
			`{"type":"message_start","message":{"id":"x","content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"s"}}],"stop_reason":"tool_use","usage":{"input_tokens":0,"output_tokens":0}}}`},
			sdk.Usage{Known: true, Free: true}},
		{"those of the model's own are not", []string{
			`{"type":"message","id":"x","content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"direct"}}],"usage":{"input_tokens":0,"output_tokens":0}}`},
			sdk.Usage{Known: true}},
	}
	for _, test := range tests {
		var got sdk.Usage
		for _, e := range decodeAll(t, true, test.frames...) {
			if e.Kind == sdk.UsageSeen {
				got = e.Usage
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message_start","message":{"id":"x","content":[{"type":"tool_use","input":{"a":1}}],"stop_reason":"x","usage":{"iterations":[1,{"type":"message"}]}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","input":{},"a\"b":1}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"\\u00"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"x"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message","content":[{"type":"text","citations":[1]},{"type":"thinking"},{},1]}`,
		`{"type":"error"}`, `[]`, `1`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := New().NewDecoder(sdk.AnswerInfo{Stream: true})
		var out sdk.Events
		before := &sdk.Doc{}
		if err := before.Parse([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"mcp_tool_use","input":{}}}`)); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&sdk.Frame{Doc: before}, &out); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			frame := &sdk.Frame{Text: text}
			var doc sdk.Doc
			if doc.Parse(text) == nil {
				frame = &sdk.Frame{Doc: &doc}
			}
			if d.Decode(frame, &out) != nil {
				return
			}
		}
		for _, e := range out.List {
			if e.Kind == sdk.Foreign && e.Value.Present() && !json.Valid(e.Value.Raw()) {
				t.Fatalf("block %s is no JSON", e.Value.Raw())
			}
		}
	})
}

func BenchmarkDecodeDelta(b *testing.B) {
	text := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}      }`)
	d := New().NewDecoder(sdk.AnswerInfo{Stream: true})
	var doc sdk.Doc
	var out sdk.Events
	b.ReportAllocs()
	for b.Loop() {
		out.List = out.List[:0]
		if err := doc.Parse(text); err != nil {
			b.Fatal(err)
		}
		if err := d.Decode(&sdk.Frame{Doc: &doc}, &out); err != nil {
			b.Fatal(err)
		}
	}
}

package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
)

// calls gives the calls of an answer, each as name, id and input.
func calls(events []sdk.Event) []string {
	var got []string
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sdk.ToolBegin:
			got = append(got, string(e.Name.Raw())+" "+string(e.ID.Raw())+" ")
		case sdk.ToolInput:
			got[e.Call] += string(e.Text.Raw())
		}
	}
	return got
}

func TestCallsOfStream(t *testing.T) {
	delta := func(calls string) string {
		return `{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}`
	}
	tests := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"no index, ids", []string{`{"id":"a","function":{"name":"f","arguments":"1"}}`, `{"id":"b","function":{"name":"f","arguments":"2"}}`}, []string{"f a 1", "f b 2"}},
		{"no index, no ids", []string{`{"function":{"name":"f","arguments":"1"}}`, `{"function":{"arguments":"2"}}`, `{"function":{"name":"f","arguments":"3"}}`}, []string{"f  12", "f  3"}},
		{"two in one delta", []string{`{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}`, `{"index":1,"function":{"arguments":"2"}},{"index":0,"function":{"arguments":"1"}}`}, []string{"f a 1", "g b 2"}},
		{"name after id", []string{`{"index":0,"id":"a"}`, `{"index":0,"function":{"name":"f"}}`, `{"index":0,"function":{"arguments":"1"}}`}, []string{"f a 1"}},
		{"id after name without input", []string{`{"index":0,"function":{"name":"f"}}`, `{"index":0,"id":"a","function":{"arguments":"1"}}`}, []string{"f a 1"}},
		{"id after input", []string{`{"index":0,"function":{"name":"f","arguments":"1"}}`, `{"index":0,"id":"a","function":{"arguments":"2"}}`}, []string{"f  12"}},
		{"name in pieces", []string{`{"index":0,"id":"a","function":{"name":"get_","arguments":""}}`, `{"index":0,"function":{"name":"it","arguments":""}}`,
			`{"index":0,"function":{"name":"get_it","arguments":"1"}}`, `{"index":0,"function":{"name":"get_it","arguments":"2"}}`}, []string{"get_it a 12"}},
		{"name in pieces, no input", []string{`{"index":0,"id":"a","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"it"}}`,
			`{"index":1,"id":"b","function":{"name":"f"}}`, `{"index":1,"function":{"arguments":"1"}}`}, []string{"get_it a ", "f b 1"}},
		{"name in every piece", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}`,
			`{"index":0,"id":"a","function":{"name":"f","arguments":"2"}}`}, []string{"f a 12"}},
		{"name without an end", []string{`{"index":0,"id":"a","function":{"name":"f"}}`, `{"index":0,"function":{"name":"` + strings.Repeat("x", longestName) + `"}}`},
			[]string{"f a "}},
		{"one id for all, indexes", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}`, `{"index":1,"id":"a","function":{"name":"f","arguments":"2"}}`}, []string{"f a 1", "f a 2"}},
		{"input as an object", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`}, []string{`f a {\"x\":1}`}},
		{"one index, no ids, another tool", []string{`{"index":0,"function":{"name":"f","arguments":"{\"a\":\"}\"}"}}`, `{"index":0,"function":{"name":"g","arguments":""}}`},
			[]string{`f  {\"a\":\"}\"}`, "g  "}},
		{"one index, no ids, the same tool", []string{`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":"}}`, `{"index":0,"function":{"name":"f","arguments":"{}}"}}`,
			`{"index":0,"function":{"name":"f","arguments":"{}"}}`, `{"index":0,"function":{"name":"f","arguments":""}}`}, []string{`f  {\"a\":{}}`, "f  {}"}},
		{"nothing but the shell", []string{`{}`, `{"function":{}}`}, nil},
		{"large index", []string{`{"index":9223372036854775807,"id":"a","function":{"name":"f","arguments":"1"}}`, `{"index":9223372036854775807,"function":{"arguments":"2"}}`}, []string{"f a 12"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var frames []string
			for _, p := range test.pieces {
				frames = append(frames, delta(p))
			}
			events := decodeAll(t, sdk.AnswerInfo{Stream: true}, append(frames, "[DONE]")...)
			if diff := cmp.Diff(test.want, calls(events)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if events[len(events)-1].Kind != sdk.Done {
				t.Errorf("last event %+v, want the end", events[len(events)-1])
			}
		})
	}
}

func TestCallsOfWholeAnswer(t *testing.T) {
	events := decodeAll(t, sdk.AnswerInfo{}, `{"id":"x","choices":[{"message":{"tool_calls":[
		{"id":"a","function":{"name":"f","arguments":"1"}},{"id":"a","function":{"name":"f","arguments":"2"}},
		{"id":"","function":{"name":"f","arguments":"3"}},{"function":{"name":"f","arguments":""}}]}}]}`)
	if diff := cmp.Diff([]string{"f a 1", "f a 2", "f  3", "f  "}, calls(events)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestMessagesInStreams: what a message only repeats of deltas is not said twice, and a stream of messages needs the reason
// of its end or the end mark as any other does.
func TestMessagesInStreams(t *testing.T) {
	f := func(want string, whole bool, choices ...string) {
		t.Helper()
		var frames []string
		for _, c := range choices {
			frames = append(frames, `{"id":"x","choices":[{"index":0,`+c+`}]}`)
		}
		events := decodeAll(t, sdk.AnswerInfo{Stream: true}, frames...)
		var text strings.Builder
		for i := range events {
			if e := &events[i]; e.Kind == sdk.TextDelta {
				text.Write(e.Text.Raw())
			}
		}
		if got := text.String() + strings.Join(calls(events), ","); got != want || whole != (events[len(events)-1].Kind == sdk.Done) {
			t.Errorf("%s: got %s, last event %v, want %s", choices, got, events[len(events)-1].Kind, want)
		}
	}
	f("ab", true, `"message":{"role":"assistant","content":""}`, `"message":{"content":"a"}`, `"message":{"content":"b"},"finish_reason":"stop"`)
	f("ab", false, `"message":{"content":"a"}`, `"message":{"content":"b"}`)
	f("a", true, `"delta":{"role":"assistant"}`, `"message":{"content":"a"},"finish_reason":"stop"`)
	f("a", true, `"delta":null,"message":{"content":"a"},"finish_reason":"stop"`)
	f("abc", true, `"delta":{"content":"a"},"message":{"content":"a"}`, `"message":{"content":"ab"},"delta":{"content":"b"}`, // Perplexity
		`"delta":{"content":"c"},"message":{"content":"abc"}`, `"delta":{"content":""},"message":{"content":"abc"},"finish_reason":"stop"`)
	f("ab", true, `"delta":{"content":"a"}`, `"delta":{"content":"b"}`, `"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"`) // MiniMax
	f("f a 1,f b 2", true, `"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"1"}},{"id":"b","function":{"name":"f","arguments":"2"}}]},"finish_reason":"tool_calls"`)
	f("f a ", true, `"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`,
		`"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},"finish_reason":"tool_calls"`)
	f("f a 1", true, `"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}]}`,
		`"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"1"}}]},"finish_reason":"tool_calls"`)
}

func TestReasons(t *testing.T) {
	tests := []struct {
		choice string
		reason sdk.Reason
		native string
		stop   string
	}{
		{`"message":{"content":"x"},"finish_reason":"stop"`, sdk.ReasonStop, "stop", ""},
		{`"message":{"content":"x"},"finish_reason":""`, sdk.ReasonStop, "", ""},
		{`"message":{"content":"x"}`, sdk.ReasonStop, "", ""},
		{`"message":{"content":"x"},"finish_reason":"solar_flare"`, sdk.ReasonStop, "solar_flare", ""},
		{`"message":{"content":"x"},"finish_reason":"length"`, sdk.ReasonLength, "length", ""},
		{`"message":{"content":"x"},"finish_reason":"model_length"`, sdk.ReasonContext, "model_length", ""},
		{`"message":{"content":"x"},"finish_reason":"content_filter"`, sdk.ReasonFilter, "content_filter", ""},
		{`"message":{"content":"x"},"finish_reason":"error"`, sdk.ReasonFault, "error", ""},
		{`"message":{"content":null,"refusal":"no"},"finish_reason":"stop"`, sdk.ReasonRefusal, "stop", ""},
		{`"message":{"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"`, sdk.ReasonTool, "function_call", ""},
		{`"message":{"content":"x"},"finish_reason":"stop","stop_reason":"END"`, sdk.ReasonStopText, "stop", "END"},
		{`"message":{"content":"x"},"finish_reason":"stop","stop_reason":128009`, sdk.ReasonStop, "stop", ""},
	}
	for _, test := range tests {
		events := decodeAll(t, sdk.AnswerInfo{}, `{"id":"x","choices":[{"index":0,`+test.choice+`}]}`)
		for i := range events {
			if e := &events[i]; e.Kind == sdk.Finish {
				if e.Reason != test.reason || string(e.Native.Raw()) != test.native || string(e.Stop.Raw()) != test.stop {
					t.Errorf("%s: reason %d native %q stop %q; want %d %q %q", test.choice, e.Reason, e.Native.Raw(), e.Stop.Raw(), test.reason, test.native, test.stop)
				}
			}
		}
		if events[len(events)-1].Kind != sdk.Done {
			t.Errorf("%s: not ended", test.choice)
		}
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		usage string
		want  sdk.Usage
	}{
		{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}`,
			sdk.Usage{Input: 4, CacheRead: 4, CacheWrite: 2, Output: 2, Reasoning: 3, Known: true}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":3}`, sdk.Usage{Input: 3, CacheRead: 7, Output: 5, Known: true}},
		{`{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":7}`, sdk.Usage{Input: 3, CacheRead: 7, Output: 5, Known: true}},
		// xAI: reasoning beside the completion, and in the total.
		{`{"prompt_tokens":436,"completion_tokens":68,"total_tokens":652,"completion_tokens_details":{"reasoning_tokens":148}}`, sdk.Usage{Input: 436, Output: 68, Reasoning: 148, Known: true}},
		// Google: thoughts in the total alone.
		{`{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}`, sdk.Usage{Input: 35, Output: 12, Reasoning: 62, Known: true}},
		{`{"prompt_tokens":18,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8831}}`, sdk.Usage{CacheRead: 18, Output: 5, Known: true, Disputed: true}},
		{`{"prompt_tokens":7}`, sdk.Usage{Input: 7}},
		{`{"total_tokens":7}`, sdk.Usage{}},
		{`{"prompt_tokens":-10,"completion_tokens":5,"total_tokens":5}`, sdk.Usage{Output: 5, Known: true, Disputed: true}},
		{`{"prompt_tokens":-1,"completion_tokens":5}`, sdk.Usage{Output: 5, Known: true, Disputed: true}},
	}
	for _, test := range tests {
		for _, frame := range []string{
			`{"id":"x","choices":[],"usage":` + test.usage + `}`,
			`{"id":"x","choices":[],"x_groq":{"usage":` + test.usage + `}}`,
			`{"id":"x","choices":[{"index":0,"delta":{},"usage":` + test.usage + `}]}`,
		} {
			events := decodeAll(t, sdk.AnswerInfo{Stream: true}, frame)
			got := events[len(events)-1]
			if diff := cmp.Diff(test.want, got.Usage); got.Kind != sdk.UsageSeen || diff != "" {
				t.Errorf("%s (-want +got):\n%s", frame, diff)
			}
		}
	}
}

// TestUsageOfPrograms: zeros are meant where a program has made the calls, and no model the response.
func TestUsageOfPrograms(t *testing.T) {
	f := func(output string, want bool) {
		t.Helper()
		events := decodeAll(t, sdk.AnswerInfo{Native: responsesDialect}, `{"id":"r","status":"completed","output":[`+output+`],"usage":{"input_tokens":0,"output_tokens":0}}`)
		for _, e := range events {
			if e.Kind == sdk.UsageSeen && e.Usage == (sdk.Usage{Known: true, Free: want}) {
				return
			}
		}
		t.Errorf("%s: no usage of zeros that is free %v", output, want)
	}
	const call = `{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}"`
	f(call+`,"caller":{"type":"program","caller_id":"p"}}`, true)
	f(call+`,"caller":{"type":"program"}},`+call+`}`, false)
	f(call+`,"caller":{"type":"direct"}}`, false)
	f(call+`}`, false)
	f("", false)
}

// TestInputTooLong reads what services say of an input that is longer than the model takes, and of what is too long otherwise.
func TestInputTooLong(t *testing.T) {
	f := func(body string, want sdk.Kind) {
		t.Helper()
		events := decodeAll(t, sdk.AnswerInfo{}, body)
		if got := events[len(events)-1]; got.Kind != sdk.Failed || got.Failure.Kind != want {
			t.Errorf("%s: %v, want %v", body, got.Failure.Kind, want)
		}
	}
	for _, message := range []string{
		"This model's maximum context length is 8192 tokens.", "Your input exceeds the context window of this model.",
		"Please reduce the length of the messages or completion.", "Invalid request: Your request exceeded model token limit: 8192",
		"The input (5000 tokens) is longer than the model's context length (4096 tokens).", "Prompt exceeds max length",
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
	} {
		f(`{"error":{"message":"`+message+`","type":"invalid_request_error","code":null}}`, sdk.ContextTooLong)
	}
	f(`{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`, sdk.ContextTooLong)
	f(`{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","code":400}`, sdk.ContextTooLong)
	f(`{"error":{"code":400,"message":"the request exceeds the size","type":"exceed_context_size_error"}}`, sdk.ContextTooLong)
	f(`{"error":{"message":"Request body too large for gpt-4o model.","code":"tokens_limit_reached"}}`, sdk.ContextTooLong)
	f(`{"error":{"message":"string too long","type":"invalid_request_error","code":"string_above_max_length"}}`, sdk.UpstreamError)
}

func TestBrokenFrames(t *testing.T) {
	for _, text := range []string{"<html>", "[DONE", "{"} {
		d := New().NewDecoder(sdk.AnswerInfo{Stream: true})
		out := new(sdk.Events)
		if err := d.Decode(&sdk.Frame{Text: []byte(text)}, out); err != nil || len(out.List) != 1 || out.List[0].Kind != sdk.Failed {
			t.Errorf("%q: error %v, %d events, want a failure of the provider", text, err, len(out.List))
		}
	}
	many := strings.Repeat(`{"index":0,"delta":{"content":"x"}},`, 2)
	events := decodeAll(t, sdk.AnswerInfo{Stream: true}, `{"id":"x","choices":[`+strings.TrimSuffix(many, ",")+`]}`)
	if len(events) != 3 {
		t.Errorf("%d events, want begin and two texts", len(events))
	}
	d := New().NewDecoder(sdk.AnswerInfo{Stream: true})
	var doc sdk.Doc
	if err := doc.Parse([]byte(`{"choices":[{"index":-1,"delta":{"content":"x"}}]}`)); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&sdk.Frame{Doc: &doc}, new(sdk.Events)); err == nil {
		t.Error("a choice below 0: no error")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"a","reasoning":"b","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"text":"x"}]},{"type":"image"}],"function_call":{"name":"f"},"annotations":[1],"audio":{},"reasoning_details":[{"data":"x"}]},"logprobs":{}}]}`,
		`{"type":"response.created","response":{"id":"r","model":"m"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f"}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"i","delta":"{}"}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"a"}`,
		`{"type":"response.output_text.delta","output_index":-1,"delta":"a","logprobs":[{}]}`,
		`{"type":"response.completed","response":{"status":"incomplete","output":[{"type":"custom_tool_call","name":"g","input":"x"},{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"y"},{"type":"message","content":[{"text":"x","annotations":[1]}]},{"type":"x"},1],"usage":{"input_tokens":1}}}`,
		`{"type":"error","choices":[]}`, `{"error":{"message":"x","code":1e999}}`, `[[]]`, `"x"`, `[DONE]`, ``,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, stream bool) {
		for _, native := range []string{chatDialect, responsesDialect} {
			fuzzDecode(t, sdk.AnswerInfo{Native: native, Stream: stream}, text)
		}
	})
}

// fuzzDecode reads a text twice, and holds the events against the order that sdk.Event promises.
func fuzzDecode(t *testing.T, info sdk.AnswerInfo, text []byte) {
	d := New().NewDecoder(info)
	var out sdk.Events
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
	if err := d.End(&out); err != nil {
		t.Fatal(err)
	}
	type call struct{ choice, call int }
	open, over := map[call]bool{}, false
	for i := range out.List {
		e := &out.List[i]
		at := call{e.Choice, e.Call}
		switch {
		case over:
			t.Fatalf("%s: event %d after the end", info.Native, i)
		case e.Kind == sdk.ToolBegin:
			open[at] = true
		case e.Kind == sdk.ToolInput && !open[at]:
			t.Fatalf("%s: event %d is input outside its call", info.Native, i)
		case e.Kind == sdk.ToolEnd:
			delete(open, at)
		case e.Kind == sdk.Done && len(open) > 0:
			t.Fatalf("%s: done with %d calls open", info.Native, len(open))
		}
		over = e.Kind == sdk.Done || e.Kind == sdk.Failed
	}
}

func TestEventsWithoutPlaceOrID(t *testing.T) {
	events := decodeAll(t, sdk.AnswerInfo{Native: responsesDialect, Stream: true},
		`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.output_text.delta","delta":"b"}`,
		`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"ab"}]}}`,
		`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","delta":"{}"}`,
		`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}]}}`)
	var text string
	for i := range events {
		if events[i].Kind == sdk.TextDelta {
			text += string(events[i].Text.Raw())
		}
	}
	if diff := cmp.Diff([]string{"f c {}"}, calls(events)); text != "ab" || diff != "" {
		t.Errorf("text %q, want \"ab\"; calls (-want +got):\n%s", text, diff)
	}
}

func TestItemsAreBounded(t *testing.T) {
	d := New().NewDecoder(sdk.AnswerInfo{Native: responsesDialect, Stream: true})
	var doc sdk.Doc
	var out sdk.Events
	for i := range maxItems + 1 {
		out.List = out.List[:0]
		if err := doc.Parse([]byte(`{"type":"response.output_text.delta","output_index":` + itoa(i) + `,"delta":"x"}`)); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&sdk.Frame{Doc: &doc}, &out); (err != nil) != (i == maxItems) {
			t.Fatalf("item %d: error %v, want one at item %d", i, err, maxItems)
		}
	}
}

func BenchmarkDecodeChunk(b *testing.B) {
	benchmarkDecode(b, chatDialect, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4.1","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"abcdef"}`)
}

func BenchmarkDecodeEvent(b *testing.B) {
	benchmarkDecode(b, responsesDialect, `{"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_68a1","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"abcdef"}`)
}

func benchmarkDecode(b *testing.B, native, text string) {
	frame := []byte(text)
	d := New().NewDecoder(sdk.AnswerInfo{Native: native, Stream: true})
	var doc sdk.Doc
	var out sdk.Events
	b.ReportAllocs()
	for b.Loop() {
		out.List = out.List[:0]
		if err := doc.Parse(frame); err != nil {
			b.Fatal(err)
		}
		if err := d.Decode(&sdk.Frame{Doc: &doc}, &out); err != nil {
			b.Fatal(err)
		}
	}
}

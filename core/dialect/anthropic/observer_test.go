package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// sse makes a stream of events that are named by their type.
func sse(data ...string) []byte {
	var b []byte
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e) // what is no JSON goes out without a name
		b = frame.AppendSSE(b, e.Type, []byte(d))
	}
	return b
}

// summary says what was observed in a line.
func summary(o dialecttest.Observed) string {
	var b strings.Builder
	for _, word := range []struct {
		name string
		is   bool
	}{{"content", o.Content}, {"done", o.Done}, {"disputed", o.Usage.Disputed}, {"free", o.Usage.Free}} {
		if word.is {
			b.WriteString(word.name + " ")
		}
	}
	if o.Finish != sdk.ReasonUnset {
		b.WriteString(dialecttest.ReasonName(o.Finish) + " ")
	}
	if u := o.Usage; u.Known {
		fmt.Fprintf(&b, "in %d+%d+%d out %d+%d ", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning)
	}
	if f := o.Failure; f != nil {
		fmt.Fprintf(&b, "%s %q %s/%s body %t", f.Kind, f.Message, f.Type, f.Code, f.Body != nil)
	}
	return strings.TrimSpace(b.String())
}

const (
	start     = `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"output_tokens":1}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textDelta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}`
	textStop  = `{"type":"content_block_stop","index":0 }`
	stop      = `{"type":"message_stop"}`
)

func messageDelta(reason, usage string) string {
	return `{"type":"message_delta","delta":{"stop_reason":` + reason + `},"usage":` + usage + `}`
}

func delta(d string) string { return `{"type":"content_block_delta","index":0,"delta":` + d + `}` }

func begun(b string) string {
	return `{"type":"content_block_start","index":0,"content_block":` + b + `}`
}

// programsStart is a message that a program's run begins and ends with, or not a program's, by who called.
func programsStart(caller string) string {
	return `{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":` + caller +
		`,"tool_id":"s"}}],"stop_reason":"tool_use","usage":{"input_tokens":0,"output_tokens":0}}}`
}

func TestStream(t *testing.T) {
	tests := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"life cycle is no content", sse(start, `{"type":"ping"}`, textStart), "in 10+0+0 out 1+0"},
		{"text", sse(start, textStart, textDelta), "content in 10+0+0 out 1+0"},
		{"empty text", sse(delta(`{"type":"text_delta","text":""}`)), ""},
		{"thinking", sse(delta(`{"type":"thinking_delta","thinking":"hm"}`)), "content"},
		{"signature", sse(delta(`{"type":"signature_delta","signature":"c2ln"}`)), ""},
		{"thinking start", sse(begun(`{"type":"thinking","thinking":"","signature":""}`)), ""},
		{"redacted", sse(begun(`{"type":"redacted_thinking","data":"ZW5j"}`)), "content"},
		{"tool", sse(begun(`{"type":"tool_use","id":"t","name":"f","input":{}}`)), "content"},
		{"empty input", sse(delta(`{"type":"input_json_delta","partial_json":""}`)), ""},
		{"server tool", sse(begun(`{"type":"server_tool_use","id":"t","name":"f","input":{}}`)), "content"},
		{"complete", sse(start, textStart, textDelta, textStop, messageDelta(`"end_turn"`, `{"output_tokens":2}`), stop), "content done stop in 10+0+0 out 2+0"},
		{"totals, not parts", sse(`{"type":"message_start","message":{"usage":{"input_tokens":2,"cache_creation_input_tokens":45123,"cache_read_input_tokens":2000,"output_tokens":4}}}`,
			messageDelta(`"end_turn"`, `{"input_tokens":2,"cache_creation_input_tokens":45123,"cache_read_input_tokens":2000,"output_tokens":64}`)), "stop in 2+2000+45123 out 64+0"},
		{"a cache's writes in parts alone", sse(messageDelta(`"end_turn"`, `{"input_tokens":5,"output_tokens":6,"cache_creation":{"ephemeral_5m_input_tokens":7,"ephemeral_1h_input_tokens":2}}`)), "stop in 5+0+7 out 6+0"},
		{"a correction", sse(`{"type":"message_start","message":{"usage":{"input_tokens":8834,"output_tokens":0}}}`,
			messageDelta(`"end_turn"`, `{"input_tokens":18,"output_tokens":426,"cache_creation_input_tokens":0,"cache_read_input_tokens":8831}`)), "stop in 18+8831+0 out 426+0"},
		{"an input of nothing corrects nothing", sse(start, messageDelta(`"end_turn"`, `{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}`)), "stop in 10+0+0 out 5+0"},
		{"null corrects nothing", sse(start, messageDelta(`null`, `{"input_tokens":null,"output_tokens":5}`)), "in 10+0+0 out 5+0"},
		{"thinking tokens", sse(messageDelta(`"max_tokens"`, `{"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}`)), "content length in 0+0+0 out 20+30"},
		{"below zero", sse(messageDelta(`"end_turn"`, `{"output_tokens":-5}`)), "disputed stop in 0+0+0 out 0+0"},
		{"a whole message at the start", sse(`{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}}`, stop), "content done tool in 1+0+0 out 2+0"},
		{"figures of the start alone", sse(start, textStart, textDelta, textStop, messageDelta(`"end_turn"`, `null`), stop), "content done stop"},
		{"the calls of a program", sse(programsStart(`"code_execution_20250825"`), stop), "content done free tool in 0+0+0 out 0+0"},
		{"a call of the model's own", sse(programsStart(`"direct"`), stop), "content done tool in 0+0+0 out 0+0"},
		{"a call of nobody known", sse(programsStart(`null`), stop), "content done tool in 0+0+0 out 0+0"},
		{"a program's call and more", sse(strings.Replace(programsStart(`"code_execution_20250825"`), `"content":[`, `"content":[{"type":"text","text":"so"},`, 1), stop), "content done tool in 0+0+0 out 0+0"},
		{"refusal says something", sse(start, messageDelta(`"refusal"`, `{"output_tokens":1}`), stop), "content done refusal in 10+0+0 out 1+0"},
		{"unknown reason", sse(start, textDelta, messageDelta(`"solar_flare"`, `{"output_tokens":1}`), stop), "content done stop in 10+0+0 out 1+0"},
		{"no end", sse(start, textDelta), "content in 10+0+0 out 1+0"},
		{"nothing after message_stop", sse(stop, `{"type":"error","error":{"type":"api_error","message":"late"}}`), "done"},
		{"error first", sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), `overloaded "Overloaded" overloaded_error/ body true`},
		{"error after content", sse(start, textDelta, `{"type":"error","error":{"type":"api_error","message":"oops"}}`), `content in 10+0+0 out 1+0 upstream_error "oops" api_error/ body true`},
		{"error of another form", []byte("event: error\ndata: {\"message\":\"down\"}\n\n"), `upstream_error "down" / body false`},
		{"error code", sse(`{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"insufficient_credits"}}}`), `upstream_money "x" invalid_request_error/insufficient_credits body true`},
		{"no event lines", bytes.ReplaceAll(sse(start, textDelta, messageDelta(`"end_turn"`, `{"output_tokens":2}`), stop), []byte("event: "), []byte("x: ")), "content done stop in 10+0+0 out 2+0"},
		{"broken", sse(`{"type":`), `upstream_error "the provider's stream has an event that is not JSON" / body false`},
		{"comment", []byte(": wait\n\n"), ""},
		{"not an object", []byte("data: [1]\n\ndata: 7\n\n"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), test.stream)
			if s := summary(got); s != test.want {
				t.Errorf("got  %s\nwant %s", s, test.want)
			}
			if got.Failure == nil && !got.Done && !bytes.Equal(got.Out, test.stream) {
				t.Errorf("the stream changed on its way:\n%s", got.Out)
			}
		})
	}
}

// TestUsageThatIsMissing: clients read it without asking whether it is there.
func TestUsageThatIsMissing(t *testing.T) {
	f := func(stream, want []byte) {
		t.Helper()
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), stream)
		if !bytes.Equal(got.Out, want) {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", stream, got.Out, want)
		}
	}
	const bare, filled = `{"type":"message_start","message":{"id":"m"}}`, `{"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,"output_tokens":0}}}`
	f(sse(bare, textDelta), sse(filled, textDelta))
	f(sse(`{"type":"message_start","message":{"usage":null,"id":"m"}}`), sse(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0},"id":"m"}}`))
	f(sse(start, textDelta, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), sse(start, textDelta, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`))
	f([]byte("data: "+bare+"\n\n"), sse(filled))
	f(sse(`{"type":"message_start"}`, `{"type":"message_start","message":null}`), sse(`{"type":"message_start"}`, `{"type":"message_start","message":null}`))
	o := Dialect{}.NewObserver(dialect.ObserverOptions{})
	if seen := o.Whole([]byte(`{"type":"message","content":[{"type":"text","text":"a"}]}`)); string(seen.Out) != `{"type":"message","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":0,"output_tokens":0}}` || !seen.Done || !seen.Content || o.Usage().Known {
		t.Errorf("a whole message: %+v", seen)
	}
}

func TestWhole(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"text", `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}`, "content done stop in 10+0+0 out 2+0"},
		{"tool", `{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use"}`, "content done tool"},
		{"empty", `{"type":"message","content":[],"stop_reason":"end_turn"}`, "done stop"},
		{"refusal", `{"type":"message","content":[],"stop_reason":"refusal"}`, "content done refusal"},
		{"stop text", `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"stop_sequence","stop_sequence":"x"}`, "content done stop_text"},
		{"count", `{"input_tokens":12}`, "content done"},
		{"error", `{"type":"error","error":{"type":"not_found_error","message":"model: x"},"request_id":"r"}`, `upstream_model "model: x" not_found_error/ body true`},
		{"foreign error", `{"error":{"message":"x","type":"odd"}}`, `upstream_error "x" odd/ body false`},
		{"not an answer", `{"hello":1}`, ""},
		{"broken", `{"content":[`, ""},
		{"no bytes", ``, ""},
		{"a list", `[]`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Dialect{}.NewObserver(dialect.ObserverOptions{})
			seen := o.Whole([]byte(test.body))
			got := summary(dialecttest.Observed{Content: seen.Content, Done: seen.Done, Failure: seen.Failure, Usage: o.Usage(), Finish: o.Finish()})
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// recorded is what recorded events and answers say, read by encoding/json.
type recorded struct {
	Type    string
	Message struct {
		Usage      map[string]any
		StopReason string `json:"stop_reason"`
	}
	Usage map[string]any
	Delta struct {
		StopReason string `json:"stop_reason"`
	}
	StopReason string `json:"stop_reason"`
	Error      any
}

// check compares what was observed with what encoding/json reads of the same answer.
func check(t *testing.T, texts [][]byte, got dialecttest.Observed) {
	t.Helper()
	figures := map[string]float64{}
	reason, failed, done := "", false, false
	for _, text := range texts {
		var r recorded
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for _, usage := range []map[string]any{r.Message.Usage, r.Usage} {
			for name, v := range usage {
				if n, ok := v.(float64); ok {
					figures[name] = n
				}
			}
			addPasses(figures, usage)
		}
		reason += r.Message.StopReason + r.Delta.StopReason + r.StopReason
		failed = failed || r.Error != nil
		done = done || r.Type == "message_stop" || r.Type == "message"
	}
	if failed != (got.Failure != nil) || done != got.Done && !failed {
		t.Errorf("failure %v, done %t; want %t, %t", got.Failure, got.Done, failed, done)
	}
	if reason != "" && got.Finish != reasonOf(reason) {
		t.Errorf("finish %s, want that of %s", dialecttest.ReasonName(got.Finish), reason)
	}
	u := got.Usage
	for name, n := range map[string]int64{"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": u.TotalOutput()} {
		if float64(n) != figures[name] {
			t.Errorf("%s: %d, want %v", name, n, figures[name])
		}
	}
}

// addPasses replaces figures by the sum over several passes of the model and of compaction, which the totals beside them
// leave out (https://platform.claude.com/docs/en/build-with-claude/compaction).
func addPasses(figures map[string]float64, usage map[string]any) {
	var passes []map[string]any
	list, _ := usage["iterations"].([]any)
	for _, p := range list {
		if pass, _ := p.(map[string]any); pass["type"] == "message" || pass["type"] == "compaction" {
			passes = append(passes, pass)
		}
	}
	if len(passes) < 2 {
		return
	}
	for _, name := range []string{"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"} {
		sum := 0.0
		for _, p := range passes {
			n, _ := p[name].(float64)
			sum += n
		}
		figures[name] = sum
	}
}

func TestRecordedStreams(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "anthropic")
	dialecttest.Each(t, folders, ".stream.txt", func(t *testing.T, name string, body []byte) {
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), body)
		var texts [][]byte
		s := frame.NewSSE(0)
		s.Feed(body)
		for f, ok, _ := s.Next(); ok; f, ok, _ = s.Next() {
			if len(f.Data) > 0 {
				texts = append(texts, bytes.Clone(f.Data))
			}
		}
		check(t, texts, got)
		if got.Failure == nil && !got.Content {
			t.Error("no content seen")
		}
	})
}

func TestRecordedAnswers(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "anthropic")
	dialecttest.Each(t, folders, ".response.json", func(t *testing.T, name string, body []byte) {
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole(body)
		if (seen.Failure == nil) != seen.Done {
			t.Errorf("done %t with failure %v", seen.Done, seen.Failure)
		}
		if !bytes.HasPrefix(body, []byte(`{"input_tokens"`)) {
			check(t, [][]byte{body}, dialecttest.Observed{Content: seen.Content, Done: seen.Done, Failure: seen.Failure, Usage: o.Usage(), Finish: o.Finish()})
		}
	})
}

func FuzzObserver(f *testing.F) {
	f.Add(sse(start, textStart, textDelta, textStop, messageDelta(`"end_turn"`, `{"output_tokens":2}`), stop))
	f.Add([]byte("event: error\ndata: [1]\n\ndata: {\"type\":\"message_delta\",\"usage\":[],\"delta\":1}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		o := Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true})
		s := frame.NewSSE(1 << 20)
		s.Feed(stream)
		for f, ok, _ := s.Next(); ok; f, ok, _ = s.Next() {
			o.Frame(&f)
		}
		o.Whole(stream)
		if u := o.Usage(); u.TotalInput() < 0 || u.TotalOutput() < 0 {
			t.Fatalf("usage %+v below zero", u)
		}
	})
}

func BenchmarkObserver(b *testing.B) {
	one := func(b *testing.B, fresh bool) {
		s := frame.NewSSE(0)
		s.Feed(sse(delta(`{"type":"text_delta","text":" word"}`)))
		f, _, _ := s.Next()
		o := &observer{doc: new(jsonspan.Doc)}
		o.Frame(&f)
		b.ReportAllocs()
		for b.Loop() {
			o.committed = !fresh
			o.Frame(&f)
		}
	}
	b.Run("text", func(b *testing.B) { one(b, false) })
	b.Run("first", func(b *testing.B) { one(b, true) })
}

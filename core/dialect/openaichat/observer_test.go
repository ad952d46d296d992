package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// sse makes a stream of data lines.
func sse(data ...string) []byte {
	var b []byte
	for _, d := range data {
		b = append(b, "data: "+d+"\n\n"...)
	}
	return b
}

// chunk makes a chunk of one choice.
func chunk(delta, finish string) string {
	return `{"id":"c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

// summary says what was observed in a line.
func summary(o dialecttest.Observed) string {
	var b strings.Builder
	for _, word := range []struct {
		name string
		is   bool
	}{{"content", o.Content}, {"done", o.Done}, {"disputed", o.Usage.Disputed}} {
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
		fmt.Fprintf(&b, "%s %d %q %s/%s body %t", f.Kind, f.Status, f.Message, f.Type, f.Code, f.Body != nil)
	}
	return strings.TrimSpace(b.String())
}

func TestStream(t *testing.T) {
	const (
		role  = `{"role":"assistant","content":""}`
		usage = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`
	)
	tests := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"role alone is no content", sse(chunk(role, "null")), ""},
		{"null content", sse(chunk(`{"role":"assistant","content":null}`, "null")), ""},
		{"text", sse(chunk(role, "null"), chunk(`{"content":"Hel"}`, "null")), "content"},
		{"reasoning_content", sse(chunk(`{"reasoning_content":"hm"}`, "null")), "content"},
		{"reasoning", sse(chunk(`{"reasoning":"hm"}`, "null")), "content"},
		{"refusal", sse(chunk(`{"refusal":"no"}`, "null")), "content"},
		{"tool call", sse(chunk(`{"tool_calls":[{"index":0,"id":"c"}]}`, "null")), "content"},
		{"no tool calls", sse(chunk(`{"tool_calls":[]}`, "null")), ""},
		{"function call", sse(chunk(`{"function_call":{"name":"f"}}`, "null")), "content"},
		{"parts", sse(chunk(`{"content":[{"type":"text","text":"a"}]}`, "null")), "content"},
		{"thinking parts", sse(chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, "null")), "content"},
		{"empty parts", sse(chunk(`{"content":[{"type":"text","text":""}]}`, "null")), ""},
		{"comments", append([]byte(": OPENROUTER PROCESSING\n\n"), sse(chunk(role, "null"))...), ""},
		{"complete", sse(chunk(`{"content":"a"}`, "null"), chunk(`{}`, `"stop"`), usage, "[DONE]"), "content done stop in 10+0+0 out 2+0"},
		{"no [DONE]", sse(chunk(`{"content":"a"}`, `"length"`), usage), "content length in 10+0+0 out 2+0"},
		{"no end", sse(chunk(`{"content":"a"}`, "null")), "content"},
		{"nothing after [DONE]", sse(chunk(`{"content":"a"}`, `"stop"`), "[DONE]", `{"error":{"message":"late"}}`), "content done stop"},
		{"a filter says something", sse(chunk(`{}`, `"content_filter"`), "[DONE]"), "content done filter"},
		{"an empty stop does not", sse(chunk(`{}`, `"stop"`), "[DONE]"), "done stop"},
		{"an empty reason is none", sse(chunk(`{"content":"a"}`, `""`)), "content"},
		{"an unknown reason is an end", sse(chunk(`{"content":"a"}`, `"solar_flare"`)), "content stop"},
		{"two choices, one ended", sse(chunk(`{"content":"a"}`, "null"), `{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":null}]}`, chunk(`{}`, `"stop"`)), "content"},
		{"two choices, both ended", sse(chunk(`{"content":"a"}`, "null"), `{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"length"}]}`, chunk(`{}`, `"stop"`)), "content length"},
		{"running usage", sse(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":11,"completion_tokens":1}}`,
			`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":3}}`), "content stop in 11+0+0 out 3+0"},
		{"zeros at the end", sse(usage, `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`), "in 10+0+0 out 2+0"},
		{"in the choice", sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":11,"completion_tokens":1}}]}`), "content stop in 11+0+0 out 1+0"},
		{"half of it", sse(`{"choices":[],"usage":{"prompt_tokens":18}}`), ""},
		{"below zero", sse(`{"choices":[],"usage":{"prompt_tokens":-18,"completion_tokens":5,"total_tokens":5}}`), "disputed in 0+0+0 out 5+0"},
		{"impossible cache", sse(`{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8831}}}`), "disputed in 0+18+0 out 5+0"},
		{"details", sse(`{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":5,"total_tokens":23,"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}}`), "in 8+8+2 out 2+3"},
		{"DeepSeek", sse(`{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":10}}`), "in 10+8+0 out 5+0"},
		{"LiteLLM", sse(`{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0},"cache_read_input_tokens":8}}`), "in 10+8+0 out 5+0"},
		{"Moonshot", sse(`{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":5,"cached_tokens":8}}`), "in 10+8+0 out 5+0"},
		{"xAI counts reasoning beside", sse(`{"choices":[],"usage":{"prompt_tokens":436,"completion_tokens":68,"total_tokens":652,"completion_tokens_details":{"reasoning_tokens":148}}}`), "in 436+0+0 out 68+148"},
		{"Google leaves reasoning out", sse(`{"choices":[],"usage":{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}}`), "disputed in 35+0+0 out 12+62"},
		{"Groq", sse(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":4,"completion_tokens":5}}}`), "stop in 4+0+0 out 5+0"},
		{"null usage", sse(`{"choices":[],"usage":null}`), ""},
		{"error", sse(`{"error":{"message":"busy","type":"server_error","code":null}}`), `upstream_error 0 "busy" server_error/ body true`},
		{"error after content", sse(chunk(`{"content":"a"}`, "null"), `{"error":{"message":"Overloaded","type":"overloaded_error"}}`), `content overloaded 0 "Overloaded" overloaded_error/ body true`},
		{"numeric code", sse(`{"error":{"message":"slow","code":429}}`), `upstream_rate 429 "slow" /429 body false`},
		{"error text", sse(`{"error":"model busy"}`), `upstream_error 0 "model busy" / body false`},
		{"object error", sse(`{"object":"error","message":"bad","type":"BadRequestError","code":422}`), `bad_request 422 "bad" BadRequestError/422 body false`},
		{"named error (Groq)", []byte("event: error\ndata: {\"error\":{\"message\":\"no such tool\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\"}}\n\n"), `upstream_error 0 "no such tool" invalid_request_error/tool_use_failed body true`},
		{"named error without object", []byte("event: error\ndata: {\"message\":\"down\"}\n\n"), `upstream_error 0 "down" / body false`},
		{"error in a choice (OpenRouter)", sse(`{"choices":[{"index":0,"delta":{},"error":{"message":"gone","code":502},"finish_reason":"error"}]}`), `upstream_error 502 "gone" /502 body false`},
		{"null error", sse(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}`), "content"},
		{"broken chunk", sse(`{"choices":`), `upstream_error 0 "the provider's stream has a chunk that is not JSON" / body false`},
		{"Azure's first and last", sse(`{"id":"","choices":[],"prompt_filter_results":[]}`, chunk(`{"content":"a"}`, "null"), `{"choices":[{"index":0,"finish_reason":null,"content_filter_results":{}}]}`), "content"},
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

// TestSignsOfLife: what is no chunk but only says that the service is there is not for clients, before content and after.
func TestSignsOfLife(t *testing.T) {
	a, b := chunk(`{"content":"a"}`, "null"), chunk(`{"content":"b"}`, "null")
	for _, sign := range []string{"data: null\n\n", "data: {}\n\n", "event: ping\ndata: {}\n\n", "data: {\"type\":\"ping\"}\n\n", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n"} {
		stream := bytes.Join([][]byte{[]byte(sign), sse(a), []byte(sign), sse(b)}, nil)
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), stream)
		if want := sse(a, b); !bytes.Equal(got.Out, want) {
			t.Errorf("%q: %s, want %s", sign, got.Out, want)
		}
	}
	for _, kept := range []string{"event: error\ndata: {}\n\n", "data: {\"type\":\"ping\",\"choices\":[]}\n\n", "data: {\"type\":\"news\"}\n\n", "data: [1]\n\n"} {
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), []byte(kept))
		if got.Failure == nil && string(got.Out) != kept {
			t.Errorf("%q: %q, want it kept", kept, got.Out)
		}
	}
}

func TestWhole(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"text", `{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, "content done stop in 10+0+0 out 2+0"},
		{"tool call", `{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"c"}]},"finish_reason":"tool_calls"}]}`, "content done tool"},
		{"no choices", `{"id":"x","choices":[]}`, "done"},
		{"empty text", `{"choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}`, "done stop"},
		{"all of it thought", `{"choices":[{"index":0,"message":{"content":""},"finish_reason":"length"}]}`, "content done length"},
		{"error", `{"error":{"message":"bad","type":"t","code":"c"}}`, `upstream_error 0 "bad" t/c body true`},
		{"errors in a list", `[{"error":{"code":422,"message":"bad","status":"INVALID_ARGUMENT"}}]`, `bad_request 422 "bad" /422 body false`},
		{"detail", `{"detail":"Unauthorized model"}`, `upstream_error 0 "Unauthorized model" / body false`},
		{"detail object", `{"detail":{"a":1}}`, `upstream_error 0 "{\"a\":1}" / body false`},
		{"not an answer", `{"hello":1}`, ""},
		{"broken", `{"choices":[{`, ""},
		{"HTML", `<html>`, ""},
		{"empty", ``, ""},
		{"a list", `[]`, ""},
		{"a number", `7`, ""},
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

// TestHideUsage cuts what only the gateway asked for, and nothing else.
func TestHideUsage(t *testing.T) {
	tests := []struct{ name, stream, want string }{
		{"usage chunk", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", "data: [DONE]\n\n"},
		{"null member", "data: {\"id\": \"c\", \"usage\": null , \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\n", "data: {\"id\": \"c\", \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\n"},
		{"last member", "data:{\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n", "data:{\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n"},
		{"text that speaks of it", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\\"usage\\\":1\"}}]}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\\"usage\\\":1\"}}]}\n\n"},
		{"filter results stay", "data: {\"choices\":[],\"prompt_filter_results\":[],\"usage\":null}\n\n", "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n"},
		{"two data lines", "data: {\"choices\":[{\"index\":0,\"delta\":{}}],\ndata: \"usage\":null}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n"},
		{"comment", ": wait\n\n", ": wait\n\n"},
		{"after content", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}],\"usage\":null}\n\n",
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: true})
			got := dialecttest.Observe(t, o, []byte(test.stream))
			if d := cmp.Diff(test.want, string(got.Out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if strings.Contains(test.stream, "prompt_tokens") && !got.Usage.Known {
				t.Error("usage was cut and not read")
			}
		})
	}
}

// recorded is what a recorded answer says, read by encoding/json.
type recorded struct {
	Choices []struct {
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	}
	Error, Detail any
}

// check compares what was observed with what encoding/json reads of the same answer.
func check(t *testing.T, texts [][]byte, got dialecttest.Observed) {
	t.Helper()
	var last recorded
	ended, failed := false, false
	for _, text := range texts {
		var r recorded
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Usage != nil {
			last.Usage = r.Usage
		}
		for _, c := range r.Choices {
			ended = ended || c.FinishReason != nil && *c.FinishReason != ""
		}
		failed = failed || r.Error != nil || r.Detail != nil
	}
	if failed != (got.Failure != nil) {
		t.Errorf("failure %v, want one: %t", got.Failure, failed)
	}
	if !failed && ended != (got.Finish != sdk.ReasonUnset) {
		t.Errorf("finish %s, want one: %t", dialecttest.ReasonName(got.Finish), ended)
	}
	if u := last.Usage; u != nil {
		if hidden := got.Usage.Reasoning > 0 && got.Usage.Output == u.Completion; !got.Usage.Known ||
			got.Usage.TotalInput() != u.Prompt || got.Usage.TotalOutput() != u.Completion && !hidden {
			t.Errorf("usage %+v, want %+v", got.Usage, *u)
		}
	}
}

// datas lists what the frames of a stream carry.
func datas(t *testing.T, stream []byte) (list [][]byte) {
	t.Helper()
	s := frame.NewSSE(0)
	s.Feed(stream)
	for {
		f, ok, err := s.Next()
		if err == nil && !ok {
			f, ok, err = s.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list
		}
		if len(f.Data) > 0 {
			list = append(list, bytes.Clone(f.Data))
		}
	}
}

func TestRecordedStreams(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-chat")
	dialecttest.Each(t, folders, ".stream.txt", func(t *testing.T, name string, body []byte) {
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), body)
		var texts [][]byte
		marked := false
		for _, data := range datas(t, body) {
			if marked = string(data) == "[DONE]"; marked {
				break
			}
			texts = append(texts, data)
		}
		check(t, texts, got)
		if got.Done != marked {
			t.Errorf("done %t, want %t", got.Done, marked)
		}
		if got.Failure == nil && !got.Content {
			t.Error("no content seen")
		}
		hidden := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: true}), body)
		for _, data := range datas(t, hidden.Out) {
			var r map[string]json.RawMessage
			if json.Unmarshal(data, &r) == nil && r["usage"] != nil {
				t.Errorf("usage is not hidden: %s", data)
			}
		}
		if hidden.Usage != got.Usage || hidden.Finish != got.Finish || hidden.Done != got.Done {
			t.Error("what is seen depends on what is hidden")
		}
	})
}

func TestRecordedAnswers(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-chat")
	dialecttest.Each(t, folders, ".response.json", func(t *testing.T, name string, body []byte) {
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole(body)
		got := dialecttest.Observed{Content: seen.Content, Done: seen.Done, Failure: seen.Failure, Usage: o.Usage(), Finish: o.Finish()}
		if len(bytes.TrimSpace(body)) > 0 {
			check(t, [][]byte{body}, got)
		}
		if (seen.Failure == nil) != seen.Done && len(body) > 0 {
			t.Errorf("done %t with failure %v", seen.Done, seen.Failure)
		}
	})
}

func FuzzObserver(f *testing.F) {
	f.Add(sse(chunk(`{"content":"a"}`, "null"), chunk(`{}`, `"stop"`), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, "[DONE]"), true)
	f.Add(sse(`{"usage":null,"usage":1,"choices":[{"index":-1,"error":{}}]}`), true)
	f.Add([]byte("event: error\ndata: [1]\n\n"), false)
	f.Add(sse(`{"usage":null,"choices":[{"delta":null,"message":{"tool_calls":[{},{"id":"c"}]}},{"delta":{"content":"a"}}]}`, `{"choices":[{"message":{"content":"a"}}]}`), true)
	f.Fuzz(func(t *testing.T, stream []byte, hide bool) {
		o := Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: hide})
		s := frame.NewSSE(1 << 20)
		s.Feed(stream)
		for f, ok, _ := s.Next(); ok; f, ok, _ = s.Next() {
			seen := o.Frame(&f)
			if seen.Out != nil && !seen.Cut {
				t.Fatal("bytes in place of a frame that is not cut")
			}
			out := frame.NewSSE(0)
			out.Feed(seen.Out)
			if g, ok, _ := out.Next(); ok && string(g.Data) != dialect.DoneMark {
				if err := new(jsonspan.Doc).Parse(g.Data, jsonspan.Limits{AllowDuplicates: true}); err != nil {
					t.Fatalf("a frame became %q: %v", seen.Out, err)
				}
			}
		}
		o.Whole(stream)
		if u := o.Usage(); u.TotalInput() < 0 || u.TotalOutput() < 0 {
			t.Fatalf("usage %+v below zero", u)
		}
	})
}

func BenchmarkObserver(b *testing.B) {
	text := []byte(`data: {"id":"chatcmpl-CNxyz0123456789abcdefghijk","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4.1-2025-04-14","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"obfuscation":"abcdefg"}` + "\n\n")
	one := func(b *testing.B, hide, fresh bool, raw []byte) {
		s := frame.NewSSE(0)
		s.Feed(raw)
		f, _, _ := s.Next()
		o := &observer{hide: hide, doc: new(jsonspan.Doc)}
		o.Frame(&f)
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			o.committed = o.committed && !fresh
			o.Frame(&f)
		}
	}
	b.Run("text", func(b *testing.B) { one(b, false, false, text) })
	b.Run("first", func(b *testing.B) { one(b, false, true, text) })
	b.Run("cut", func(b *testing.B) {
		one(b, true, false, bytes.Replace(text, []byte(`,"obf`), []byte(`,"usage":null,"obf`), 1))
	})
}

// TestServiceTier: the tier that served is read beside the usage, of a stream and of a whole answer.
func TestServiceTier(t *testing.T) {
	const answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"service_tier":"flex","usage":{"prompt_tokens":1,"completion_tokens":1}}`
	whole := Dialect{}.NewObserver(dialect.ObserverOptions{})
	whole.Whole([]byte(answer))
	streamed := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), sse(`{"choices":[],"service_tier":"priority","usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	if whole.Usage().Tier != sdk.TierFlex || streamed.Usage.Tier != sdk.TierPriority {
		t.Errorf("tiers %d and %d", whole.Usage().Tier, streamed.Usage.Tier)
	}
}

package openairesponses

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// sse frames events, each named by its type.
func sse(events ...string) []byte {
	var out []byte
	for _, e := range events {
		var v struct{ Type string }
		if json.Unmarshal([]byte(e), &v) != nil {
			v.Type = ""
		}
		out = frame.AppendSSE(out, v.Type, []byte(e))
	}
	return out
}

// What streams begin and end with.
const (
	created = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[],"usage":null,"error":null}}`
	ended   = `{"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1}}}}`
)

func newObserver() *observer { return &observer{doc: new(jsonspan.Doc)} }

func TestObserver(t *testing.T) {
	f := func(name string, want dialecttest.Observed, events ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), sse(events...))
			got.Out = nil
			if got.Failure != nil {
				got.Failure = &sdk.Failure{Kind: got.Failure.Kind, Message: got.Failure.Message, Code: got.Failure.Code}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	used := sdk.Usage{Input: 6, CacheRead: 4, Output: 2, Reasoning: 1, Known: true}
	added := `{"type":"response.output_item.added","item":{"type":"message","content":[]}}`
	end := func(status, more string) string {
		return `{"type":"response.` + status + `","response":{"status":"` + status + `","output":[]` + more + `}}`
	}
	f("life cycle is no content", dialecttest.Observed{}, created, added,
		`{"type":"response.output_item.added","item":{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}}`,
		`{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`, `{"type":"response.output_text.delta","delta":""}`,
		`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[]}}`, `{"type":"response.web_search_call.searching"}`)
	f("text", dialecttest.Observed{Content: true}, created, `{"type":"response.output_text.delta","delta":"a"}`)
	f("thought", dialecttest.Observed{Content: true}, created, `{"type":"response.reasoning_summary_text.delta","delta":"a"}`)
	f("sealed thought", dialecttest.Observed{Content: true}, `{"type":"response.output_item.done","item":{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}}`)
	f("refusal", dialecttest.Observed{Content: true}, `{"type":"response.refusal.delta","delta":"a"}`)
	f("call", dialecttest.Observed{Content: true}, `{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}`)
	f("completed", dialecttest.Observed{Content: true, Done: true, Usage: used, Finish: sdk.ReasonStop}, created, ended)
	f("completed with a call", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonTool},
		`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","name":"f"}]}}`)
	programs := func(caller, more string) string {
		return `{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","name":"f"` + caller + `}` + more + `],"usage":{"input_tokens":0,"output_tokens":0}}}`
	}
	f("the calls of a program", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonTool, Usage: sdk.Usage{Known: true, Free: true}},
		programs(`,"caller":{"type":"program","caller_id":"c"}`, ""))
	f("zeros for the model's own call", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonTool, Usage: sdk.Usage{Known: true}},
		programs(`,"caller":{"type":"direct"}`, ""))
	f("zeros for a program's call and more", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonTool, Usage: sdk.Usage{Known: true}},
		programs(`,"caller":{"type":"program","caller_id":"c"}`, `,{"type":"message","content":[{"type":"output_text","text":"a"}]}`))
	f("nothing said", dialecttest.Observed{Done: true, Finish: sdk.ReasonStop}, created, end("completed", ""))
	f("limit", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonLength}, created, end("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`))
	f("filter", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonFilter}, created, end("incomplete", `,"incomplete_details":{"reason":"content_filter"}`))
	f("failed", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamRate, Message: "slow", Code: "rate_limit_exceeded"}}, created,
		end("failed", `,"error":{"code":"rate_limit_exceeded","message":"slow"}`))
	f("failed without a word", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "the provider's response failed"}}, end("failed", ""))
	f("an error beside the response", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "m", Code: "upstream_error"}},
		`{"type":"response.failed","response":{"status":"failed","error":null,"output":[]},"error":{"message":"m","type":"server_error","code":"upstream_error"}}`)
	f("response.error", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "m"}}, `{"type":"response.error","error":{"message":"m"}}`)
	f("response.done", dialecttest.Observed{Content: true, Done: true, Finish: sdk.ReasonStop}, `{"type":"response.output_text.delta","delta":"a"}`,
		`{"type":"response.done","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}}`)
	f("flat error", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "m", Code: "server_error"}}, `{"type":"error","code":"server_error","message":"m","param":null}`)
	f("error object", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamMoney, Message: "m", Code: "insufficient_quota"}}, `{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"m"}}`)
	f("chat-style error", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.Overloaded, Message: "m", Code: "503"}}, `{"error":{"message":"m","code":503}}`)
	f("no JSON", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "the provider's stream has an event that is not JSON"}}, `oops`)
	f("[DONE] is nothing", dialecttest.Observed{}, "[DONE]")
}

func TestObserverWhole(t *testing.T) {
	f := func(body string, content, done bool, reason sdk.Reason, kind sdk.Kind) {
		t.Helper()
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole([]byte(body))
		got := sdk.KindNone
		if seen.Failure != nil {
			got = seen.Failure.Kind
		}
		if seen.Content != content || seen.Done != done || o.Finish() != reason || got != kind {
			t.Errorf("%s: %+v, %s, failure %s", body, seen, dialecttest.ReasonName(o.Finish()), got)
		}
	}
	f(`{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, true, true, sdk.ReasonStop, 0)
	f(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":""}]}]}`, false, true, sdk.ReasonStop, 0)
	f(`{"status":"completed","output":[]}`, false, true, sdk.ReasonStop, 0)
	f(`{"status":"queued","output":[]}`, true, true, sdk.ReasonPause, 0)
	f(`{"status":"failed","output":[],"error":{"code":"invalid_prompt","message":"m"}}`, false, false, sdk.ReasonUnset, sdk.BadRequest)
	f(`{"status":"cancelled","output":[]}`, false, false, sdk.ReasonUnset, sdk.UpstreamError)
	f(`{"error":{"message":"m","type":"server_error"}}`, false, false, sdk.ReasonUnset, sdk.UpstreamError)
	f(`{"error":"m"}`, false, false, sdk.ReasonUnset, sdk.UpstreamError)
	f(`{"choices":[]}`, false, false, sdk.ReasonUnset, 0)
	f(`<html>`, false, false, sdk.ReasonUnset, 0)
}

// TestFailureNumber wants an error to have the number that follows those of the events before it, and a response that has begun to
// end as failed.
func TestFailureNumber(t *testing.T) {
	o := newObserver()
	dialecttest.Observe(t, o, sse(created, `{"type":"response.output_text.delta","sequence_number":1,"delta":"a"}`, `{"type":"response.output_text.delta","sequence_number":2,"delta":"a"}`))
	got := string(o.AppendFailure(nil, sdk.Fail(sdk.Timeout, "slow"), "req_1"))
	if !strings.HasPrefix(got, "event: response.failed\n") || !strings.Contains(got, `"sequence_number":3,"response":{"id":"resp_1",`) ||
		!strings.Contains(got, `"status":"failed","error":{"code":"timeout","message":"slow"}`) {
		t.Errorf("got %s", got)
	}
	seen := dialecttest.Observe(t, newObserver(), []byte(got))
	if seen.Failure == nil || seen.Failure.Kind != sdk.Timeout || seen.Failure.Message != "slow" {
		t.Errorf("read back as %+v", seen.Failure)
	}
	if got := string(newObserver().AppendFailure(nil, sdk.Fail(sdk.Timeout, "slow"), "req_1")); !strings.HasPrefix(got, "event: error\n") {
		t.Errorf("before the response began: %s", got)
	}
}

// recorded is what a recorded response says, read by encoding/json.
type recorded struct {
	Status string
	Error  any
	Usage  *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

// check compares what was observed with what encoding/json reads.
func (r *recorded) check(t *testing.T, got dialecttest.Observed) {
	t.Helper()
	if r.Error != nil {
		if got.Failure == nil || got.Failure.Message == "" {
			t.Errorf("no failure, want that of %v", r.Error)
		}
		return
	}
	if got.Failure != nil || !got.Done || !got.Content || got.Finish == sdk.ReasonUnset {
		t.Errorf("%+v of a response that is %s", got, r.Status)
	}
	if r.Usage != nil && (got.Usage.TotalInput() != r.Usage.Input || got.Usage.TotalOutput() != r.Usage.Output || got.Usage.Disputed) {
		t.Errorf("usage %+v, want %+v", got.Usage, *r.Usage)
	}
}

func TestRecordedStreams(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-responses")
	dialecttest.Each(t, folders, ".stream.txt", func(t *testing.T, name string, body []byte) {
		got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), body)
		var last struct {
			Type     string
			Response recorded
			Error    any
		}
		s := frame.NewSSE(0)
		s.Feed(body)
		for f, ok, _ := s.Next(); ok; f, ok, _ = s.Next() {
			if json.Unmarshal(f.Data, &last) == nil && last.Error != nil {
				break
			}
		}
		if last.Error != nil {
			last.Response.Error = last.Error
		}
		if ends := last.Response.Error != nil || strings.HasSuffix(last.Type, "ed") || strings.HasSuffix(last.Type, "incomplete"); !ends {
			if got.Done || got.Failure != nil {
				t.Errorf("%+v of a stream that breaks off", got)
			}
			return
		}
		last.Response.check(t, got)
	})
}

func TestRecordedAnswers(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-responses")
	dialecttest.Each(t, folders, ".response.json", func(t *testing.T, name string, body []byte) {
		var r recorded
		if len(bytes.TrimSpace(body)) == 0 || json.Unmarshal(body, &r) != nil {
			t.Skip("no JSON")
		}
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole(body)
		r.check(t, dialecttest.Observed{Content: seen.Content, Done: seen.Done, Failure: seen.Failure, Usage: o.Usage(), Finish: o.Finish()})
	})
}

func FuzzObserver(f *testing.F) {
	f.Add(sse(created, ended))
	f.Add(sse(`{"type":"error","error":[]}`))
	f.Add(sse(`{"type":"response.incomplete","response":null}`, `{"type":"response.output_item.done","item":{"type":1,"content":[{"text":1}]}}`))
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
	raw := []byte("event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_0123456789abcdef0123456789abcdef","output_index":1,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"abcdefg"}` + "\n\n")
	for _, fresh := range []bool{false, true} {
		b.Run(map[bool]string{false: "text", true: "first"}[fresh], func(b *testing.B) {
			s := frame.NewSSE(0)
			s.Feed(raw)
			f, _, _ := s.Next()
			o := newObserver()
			o.Frame(&f)
			b.ReportAllocs()
			for b.Loop() {
				o.committed = o.committed && !fresh
				o.Frame(&f)
			}
		})
	}
}

package gemini

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

// sse frames chunks as Google does.
func sse(chunks ...string) []byte {
	var out []byte
	for _, c := range chunks {
		out = append(append(append(out, "data: "...), c...), "\r\n\r\n"...)
	}
	return out
}

func array(chunks ...string) []byte { return []byte("[" + strings.Join(chunks, "\n,\n") + "]\n") }

// observe feeds a stream in either framing to an observer.
func observe(t *testing.T, o dialect.Observer, stream []byte) dialecttest.Observed {
	t.Helper()
	if !bytes.HasPrefix(stream, []byte("[")) {
		return dialecttest.Observe(t, o, stream)
	}
	var seen dialecttest.Observed
	s := frame.NewJSONArray(0)
	s.Feed(stream)
	for seen.Failure == nil {
		f, ok, err := s.Next()
		if err == nil && !ok {
			f, ok, err = s.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got := o.Frame(&f)
		seen.Content, seen.Done, seen.Failure = seen.Content || got.Content, seen.Done || got.Done, got.Failure
	}
	seen.Usage, seen.Finish = o.Usage(), o.Finish()
	return seen
}

// chunk is one candidate's parts and the rest of the candidate.
func chunk(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0` + more + `}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":3,"toolUsePromptTokenCount":1,"totalTokenCount":16}}`
}

func newObserver() *observer { return &observer{doc: new(jsonspan.Doc)} }

func TestObserver(t *testing.T) {
	used := sdk.Usage{Input: 7, CacheRead: 4, Output: 2, Reasoning: 3, Known: true}
	f := func(name string, want dialecttest.Observed, chunks ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			for _, stream := range [][]byte{sse(chunks...), array(chunks...)} {
				got := observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), stream)
				got.Out = nil
				if got.Failure != nil {
					got.Failure = &sdk.Failure{Kind: got.Failure.Kind, Message: got.Failure.Message}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			}
		})
	}
	f("empty text", dialecttest.Observed{Usage: used}, chunk(`{"text":""}`, ""))
	f("empty thought", dialecttest.Observed{Usage: used}, chunk(`{"text":"","thought":true,"thoughtSignature":"x"}`, ""))
	f("text", dialecttest.Observed{Content: true, Usage: used}, chunk(`{"text":"a"}`, ""))
	f("stop", dialecttest.Observed{Content: true, Usage: used, Finish: sdk.ReasonStop}, chunk(`{"text":"a"}`, ""), chunk(`{"text":""}`, `,"finishReason":"STOP"`))
	f("nothing said", dialecttest.Observed{Usage: used, Finish: sdk.ReasonStop}, chunk(`{"text":""}`, `,"finishReason":"STOP"`))
	f("call", dialecttest.Observed{Content: true, Usage: used, Finish: sdk.ReasonTool}, chunk(`{"functionCall":{"name":"f"}}`, `,"finishReason":"STOP"`))
	f("limit", dialecttest.Observed{Content: true, Usage: used, Finish: sdk.ReasonLength}, chunk("", `,"finishReason":"MAX_TOKENS"`))
	f("filter", dialecttest.Observed{Content: true, Usage: used, Finish: sdk.ReasonFilter}, chunk("", `,"finishReason":"SAFETY"`))
	f("fault", dialecttest.Observed{Usage: used, Finish: sdk.ReasonFault}, chunk("", `,"finishReason":"MALFORMED_FUNCTION_CALL"`))
	f("blocked prompt", dialecttest.Observed{Content: true, Finish: sdk.ReasonFilter}, `{"promptFeedback":{"blockReason":"SAFETY"}}`)
	f("two candidates, one open", dialecttest.Observed{Content: true}, `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"a"}]}}]}`)
	f("error", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.Overloaded, Message: "busy"}}, `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`)
	f("cancelled", dialecttest.Observed{Failure: &sdk.Failure{Kind: sdk.UpstreamError, Message: "m"}}, `{"error":{"code":499,"message":"m","status":"CANCELLED"}}`)
	got := observe(t, newObserver(), sse("oops"))
	if got.Failure == nil || got.Failure.Kind != sdk.UpstreamError {
		t.Errorf("no JSON: %+v", got)
	}
}

// TestSearches: a model of today is charged for each query that is not empty and not the same, one up to 2.5 for the answer.
func TestSearches(t *testing.T) {
	f := func(version, queries string, want int64) {
		t.Helper()
		answer := `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":` + queries + `}}],` +
			`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1},"modelVersion":"` + version + `"}`
		whole := newObserver()
		whole.Whole([]byte(answer))
		streamed := observe(t, newObserver(), sse(chunk(`{"text":"b"}`, ""), answer, answer))
		if whole.Usage().Searches != want || streamed.Usage.Searches != want {
			t.Errorf("%s, %s: %d searches, %d in a stream, want %d", version, queries, whole.Usage().Searches, streamed.Usage.Searches, want)
		}
	}
	f("gemini-3-flash-preview", `["a","","b"," ","a"]`, 2)
	f("gemini-3-flash-preview", `[]`, 0)
	f("gemini-3-flash-preview", `null`, 0)
	f("gemini-2.5-pro", `["a","b"]`, 1)
	f("gemini-2.5-pro", `[""]`, 0)
	f("gemini-2.0-flash-001", `["a"]`, 1)
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
	f(chunk(`{"text":"a"}`, `,"finishReason":"STOP"`), true, true, sdk.ReasonStop, 0)
	f(`{"candidates":[]}`, false, true, sdk.ReasonUnset, 0)
	f(`{"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, false, true, sdk.ReasonUnset, 0)
	f(`{"candidates":[{"finishReason":"CONTINUATION"}]}`, true, true, sdk.ReasonPause, 0)
	f(`{"candidates":[{"finishReason":2}]}`, true, true, sdk.ReasonLength, 0)
	f(`{"promptFeedback":{"blockReason":"OTHER"}}`, true, true, sdk.ReasonFilter, 0)
	f(`{"totalTokens":5}`, true, true, sdk.ReasonUnset, 0)
	f(`{}`, false, false, sdk.ReasonUnset, 0)
	f(`[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, false, false, sdk.ReasonUnset, sdk.UpstreamRate)
	f(`{"error":{"code":400,"message":"m","status":"FAILED_PRECONDITION"}}`, false, false, sdk.ReasonUnset, sdk.BadRequest)
	f(`{"error":"m"}`, false, false, sdk.ReasonUnset, sdk.UpstreamError)
	f(`<html>`, false, false, sdk.ReasonUnset, 0)
}

// TestFailureFraming wants an error to stand in the framing of the stream that it ends.
func TestFailureFraming(t *testing.T) {
	f := func(stream []byte) {
		t.Helper()
		o := newObserver()
		observe(t, o, stream)
		open := bytes.TrimSuffix(bytes.TrimSpace(stream), []byte("]"))
		if !bytes.HasPrefix(stream, []byte("[")) {
			open = stream
		}
		got := observe(t, newObserver(), o.AppendFailure(bytes.Clone(open), sdk.Fail(sdk.Overloaded, "busy"), "req_1"))
		if got.Failure == nil || got.Failure.Kind != sdk.Overloaded || got.Failure.Message != "busy" {
			t.Errorf("%s: read back as %+v", stream, got.Failure)
		}
	}
	f(sse(chunk(`{"text":"a"}`, "")))
	f(array(chunk(`{"text":"a"}`, "")))
	f(array(chunk(`{"text":"a"}`, ""), chunk(`{"text":"b"}`, "")))
}

// recorded is what a recorded answer says, read by encoding/json.
type recorded struct {
	Candidates []struct{ FinishReason any }
	Error      *struct{ Message string }
	Usage      *struct {
		Prompt int64 `json:"promptTokenCount"`
		Out    int64 `json:"candidatesTokenCount"`
		Total  int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	Tokens int `json:"totalTokens"`
}

// check compares what was observed with what encoding/json reads of the chunks of an answer.
func check(t *testing.T, chunks []recorded, got dialecttest.Observed) {
	t.Helper()
	var last recorded
	ended := false
	for _, c := range chunks {
		if c.Usage != nil {
			last.Usage = c.Usage
		}
		if c.Error != nil {
			last.Error = c.Error
		}
		for _, k := range c.Candidates {
			ended = ended || k.FinishReason != nil
		}
		last.Tokens = max(last.Tokens, c.Tokens)
	}
	if (last.Error != nil) != (got.Failure != nil) || last.Error != nil && got.Failure.Message != last.Error.Message {
		t.Fatalf("failure %v, want %v", got.Failure, last.Error)
	}
	if last.Error == nil && (ended != (got.Finish != sdk.ReasonUnset) || !got.Content && got.Finish != sdk.ReasonFault) {
		t.Errorf("%+v, want an end: %t", got, ended)
	}
	if u := last.Usage; u != nil && (got.Usage.TotalInput()+got.Usage.TotalOutput() != u.Total || got.Usage.Output != u.Out || got.Usage.TotalInput() < u.Prompt) {
		t.Errorf("usage %+v, want %+v", got.Usage, *u)
	}
}

func TestRecordedStreams(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "gemini")
	dialecttest.Each(t, folders, ".stream.txt", func(t *testing.T, name string, body []byte) {
		var chunks []recorded
		if bytes.HasPrefix(body, []byte("[")) {
			if err := json.Unmarshal(body, &chunks); err != nil {
				t.Fatal(err)
			}
		} else {
			for line := range bytes.Lines(body) {
				data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
				var c recorded
				if !ok {
					continue
				}
				if err := json.Unmarshal(data, &c); err != nil {
					t.Fatal(err)
				}
				chunks = append(chunks, c)
			}
		}
		check(t, chunks, observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true}), body))
	})
}

func TestRecordedAnswers(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "gemini")
	dialecttest.Each(t, folders, ".response.json", func(t *testing.T, name string, body []byte) {
		var r recorded
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole(body)
		check(t, []recorded{r}, dialecttest.Observed{Content: seen.Content, Failure: seen.Failure, Usage: o.Usage(), Finish: o.Finish()})
		if seen.Done != (seen.Failure == nil) {
			t.Errorf("done %t with failure %v", seen.Done, seen.Failure)
		}
	})
}

func FuzzObserver(f *testing.F) {
	f.Add(sse(chunk(`{"text":"a"}`, `,"finishReason":"STOP"`)))
	f.Add(sse(`{"error":[]}`, `{"candidates":{"a":1},"usageMetadata":1}`))
	f.Add([]byte(`[{"candidates":[1,{"content":{"parts":[1,{"text":1}]}}]}]`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, s := range []frame.Splitter{frame.NewSSE(1 << 20), frame.NewJSONArray(1 << 20)} {
			o := Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true})
			s.Feed(stream)
			for f, ok, _ := s.Next(); ok; f, ok, _ = s.Next() {
				o.Frame(&f)
			}
			o.Whole(stream)
			if u := o.Usage(); u.TotalInput() < 0 || u.TotalOutput() < 0 {
				t.Fatalf("usage %+v below zero", u)
			}
		}
	})
}

func BenchmarkObserver(b *testing.B) {
	raw := sse(`{"candidates": [{"content": {"parts": [{"text": " word"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 32,"candidatesTokenCount": 4,"totalTokenCount": 36,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 32}]},"modelVersion": "gemini-2.5-flash","responseId": "OYpyaqycKd2V_uMP65TsgA0"}`)
	s := frame.NewSSE(0)
	s.Feed(raw)
	f, _, _ := s.Next()
	o := newObserver()
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		o.Frame(&f)
	}
}

package openaichat

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestRequests reads requests into facts and the middle form.
func TestRequests(t *testing.T) {
	dialecttest.Golden(t, "testdata/requests", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		doc := dialecttest.Parse(t, in("request"))
		var f dialect.Facts
		facts := verdict(t, Dialect{}.Facts(doc, &f))
		if facts == "" {
			facts = dialecttest.Dump(&f)
		}
		var r sdk.Request
		model := verdict(t, Dialect{}.Decode(doc, &r))
		if model == "" {
			model = dialecttest.Dump(&r)
		}
		return []dialecttest.Section{{Name: "facts", Data: []byte(facts)}, {Name: "model", Data: []byte(model)}}
	})
}

// verdict writes what a client would be told; "" where there is no error.
func verdict(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var f *sdk.Failure
	if !errors.As(err, &f) || f.Kind != sdk.BadRequest {
		t.Fatalf("error %v: want a *sdk.Failure of kind bad_request", err)
	}
	return fmt.Sprintf("refused: %s\nparam: %s\n", f.Message, f.Param)
}

// TestRecordedRequests reads requests that clients have sent.
func TestRecordedRequests(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-chat")
	dialecttest.Each(t, folders, ".request.json", func(t *testing.T, _ string, body []byte) {
		doc := dialecttest.Parse(t, body)
		var f dialect.Facts
		if err := (Dialect{}).Facts(doc, &f); err != nil {
			t.Errorf("facts: %v", err)
		}
		var r sdk.Request
		if err := (Dialect{}).Decode(doc, &r); err != nil {
			t.Errorf("decode: %v", err)
		}
		tools := slices.DeleteFunc(r.Tools, func(t sdk.Tool) bool { return t.Path == "web_search_options" }) // which calls for no capability
		if len(r.Messages) != f.Messages || len(tools) != f.Tools || r.Stream != f.Stream || r.WantUsage != f.WantUsage {
			t.Errorf("facts %+v and model disagree: %d messages, %d tools", f, len(r.Messages), len(r.Tools))
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`))
	f.Add([]byte(`{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}],"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":[]}]}`))
	f.Add([]byte(`{"model":"m","functions":[{}],"function_call":{},"tool_choice":{"type":"allowed_tools"},"messages":[{"role":"function","content":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var doc jsonspan.Doc
		if doc.Parse(body, jsonspan.Limits{}) != nil {
			return
		}
		var facts dialect.Facts
		var r sdk.Request
		_ = Dialect{}.Facts(&doc, &facts)
		if err := (Dialect{}).Decode(&doc, &r); err == nil {
			dialecttest.Dump(&r)
		}
	})
}

// chat is a request of a few turns, as an agent sends them.
const chat = `{"model":"gpt","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":1000,"tools":[{"type":"function","function":{"name":"get","description":"Weather for a town","parameters":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}}],"messages":[{"role":"system","content":"You are a helpful assistant that answers in one sentence."},{"role":"user","content":"Oslo?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get","arguments":"{\"town\":\"Oslo\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"9 C"},{"role":"user","content":"And Rome? Compare the two."}]}`

func BenchmarkFacts(b *testing.B) {
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(chat), jsonspan.Limits{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var f dialect.Facts
		if err := (Dialect{}).Facts(&doc, &f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(chat), jsonspan.Limits{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var r sdk.Request
		if err := (Dialect{}).Decode(&doc, &r); err != nil {
			b.Fatal(err)
		}
	}
}

package openairesponses

import (
	"errors"
	"fmt"
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
	folders := dialecttest.Folders(t, "testdata/wire", "openai-responses")
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
		if len(r.Tools) != f.Tools || r.Stream != f.Stream || r.WantUsage != f.WantUsage || r.MaxOutput != f.MaxOutput || r.Reasoning.Effort != f.Effort {
			t.Errorf("facts %+v and model %s disagree", f, dialecttest.Dump(&r))
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`))
	f.Add([]byte(`{"model":"m","instructions":"a","input":[{"type":"reasoning","summary":[{"text":"a"}],"encrypted_content":"gAAAA"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[]}]}`))
	f.Add([]byte(`{"model":"m","tools":[{"type":"function","name":"f"},{}],"tool_choice":{"type":"allowed_tools","tools":[{}]},"input":[{"type":"item_reference"}]}`))
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

func BenchmarkFacts(b *testing.B) {
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(turns), jsonspan.Limits{}); err != nil {
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

// turns is a request of a few turns, as an agent sends them.
const turns = `{"model":"gpt","stream":true,"store":false,"max_output_tokens":1000,"instructions":"You are a helpful assistant that answers in one sentence.","tools":[{"type":"function","name":"get","description":"Weather for a town","parameters":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}],"input":[{"role":"user","content":"Oslo?"},{"type":"function_call","call_id":"call_1","name":"get","arguments":"{\"town\":\"Oslo\"}"},{"type":"function_call_output","call_id":"call_1","output":"9 C"},{"role":"user","content":"And Rome? Compare the two."}]}`

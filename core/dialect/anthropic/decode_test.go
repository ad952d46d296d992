package anthropic

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

// TestRecordedRequests reads requests that clients have sent. Some were sent to other clouds, which have the model in the
// path.
func TestRecordedRequests(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "anthropic")
	dialecttest.Each(t, folders, ".request.json", func(t *testing.T, _ string, body []byte) {
		doc := dialecttest.Parse(t, body)
		var f dialect.Facts
		_, hasModel := doc.Member(0, "model")
		if err := (Dialect{}).Facts(doc, &f); (err == nil) != hasModel {
			t.Errorf("facts: %v, model in the body: %t", err, hasModel)
		}
		var r sdk.Request
		if err := (Dialect{}).Decode(doc, &r); err != nil {
			t.Errorf("decode: %v", err)
		}
		paths := map[string]bool{}
		for _, m := range r.Messages {
			paths[m.Path] = true
		}
		delete(paths, "system")
		if len(paths) != f.Messages || len(r.Tools) != f.Tools || r.Stream != f.Stream || r.MaxOutput != f.MaxOutput {
			t.Errorf("facts %+v and model disagree: %d messages, %d tools", f, len(paths), len(r.Tools))
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"m","system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}]}`))
	f.Add([]byte(`{"model":"m","tools":[{"name":"f"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"content","content":[]}}]},{"type":"text","text":""}]}]}`))
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
const chat = `{"model":"claude","max_tokens":1000,"stream":true,"system":[{"type":"text","text":"You are a helpful assistant that answers in one sentence.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"get","description":"Weather for a town","input_schema":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}],"messages":[{"role":"user","content":"Oslo?"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"get","input":{"town":"Oslo"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"9 C"},{"type":"text","text":"And Rome? Compare the two."}]}]}`

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

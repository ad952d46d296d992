package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	folders := dialecttest.Folders(t, "testdata/wire", "gemini")
	dialecttest.Each(t, folders, ".request.json", func(t *testing.T, name string, body []byte) {
		if bytes.Contains(body, []byte(`"requests"`)) {
			t.Skip("of another dialect: embeddings")
		}
		doc := dialecttest.Parse(t, body)
		var f dialect.Facts
		if err := (Dialect{}).Facts(doc, &f); err != nil {
			t.Errorf("facts: %v", err)
		}
		var r sdk.Request
		if err := (Dialect{}).Decode(doc, &r); (err != nil) != strings.Contains(name, "invalid-role") {
			t.Errorf("decode: %v", err)
		}
		if len(r.Tools) != f.Tools || r.MaxOutput != f.MaxOutput || r.Reasoning.Effort != f.Effort || len(r.Messages) < f.Messages {
			t.Errorf("facts %+v and model %s disagree", f, dialecttest.Dump(&r))
		}
		for _, tool := range r.Tools {
			checkSchema(t, tool.Parameters)
		}
		checkSchema(t, r.Format.Schema)
	})
}

// checkSchema wants JSON without Google's types.
func checkSchema(t *testing.T, v sdk.Value) {
	t.Helper()
	if !v.Present() {
		return
	}
	if !json.Valid(v.Raw()) || bytes.Contains(v.Raw(), []byte(`"type":"STRING"`)) || bytes.Contains(v.Raw(), []byte(`"type":"OBJECT"`)) {
		t.Errorf("schema %s", v.Raw())
	}
}

func TestNames(t *testing.T) {
	f := func(camelCase, snakeCase string) {
		t.Helper()
		if got := snake(camelCase); got != snakeCase {
			t.Errorf("snake(%s) = %s, want %s", camelCase, got, snakeCase)
		}
		for _, name := range []string{camelCase, snakeCase} {
			if got := string(camel([]byte(name))); got != camelCase {
				t.Errorf("camel(%s) = %s, want %s", name, got, camelCase)
			}
		}
	}
	f("text", "text")
	f("inlineData", "inline_data")
	f("parametersJsonSchema", "parameters_json_schema")
	f("topP", "top_p")
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"contents":[{"parts":[{"text":"a","thought":true,"thoughtSignature":"s"},{"inlineData":{"mimeType":"image/png","data":"AA"}}]}]}`))
	f.Add([]byte(`{"contents":[{"role":"model","parts":[{"function_call":{"name":"f"}}]},{"parts":[{"function_response":{"name":"f","response":{"output":1}}}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","nullable":true,"properties":{"a":{"type":"TYPE_UNSPECIFIED","min_items":"1"}}}}]}]}`))
	f.Add([]byte(`{"generateContentRequest":{"contents":[]},"generationConfig":{"responseSchema":{"anyOf":[1]},"thinkingConfig":{"thinkingBudget":-1}},"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`))
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
			for _, tool := range r.Tools {
				if p := tool.Parameters.Raw(); p != nil && !json.Valid(p) {
					t.Fatalf("schema %s", p)
				}
			}
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
const turns = `{"systemInstruction":{"parts":[{"text":"You are a helpful assistant that answers in one sentence."}]},"generationConfig":{"maxOutputTokens":1000},"tools":[{"functionDeclarations":[{"name":"get","description":"Weather for a town","parameters":{"type":"OBJECT","properties":{"town":{"type":"STRING"}},"required":["town"]}}]}],"contents":[{"role":"user","parts":[{"text":"Oslo?"}]},{"role":"model","parts":[{"functionCall":{"name":"get","args":{"town":"Oslo"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"get","response":{"output":"9 C"}}}]},{"role":"user","parts":[{"text":"And Rome? Compare the two."}]}]}`

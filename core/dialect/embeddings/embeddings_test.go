package embeddings

import (
	"encoding/json"
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

// TestAnswers writes vectors; an observer must see in them what was written.
func TestAnswers(t *testing.T) {
	dialecttest.Golden(t, "testdata/answers", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		enc := Dialect{}.NewEncoder(dialect.EncoderOptions{Model: "m", RequestID: "req_1"})
		var out []byte
		vectors := 0
		for _, e := range dialecttest.Events(t, in("events")) {
			out = enc.Event(out, &e)
			if e.Kind == sdk.Embedding {
				vectors++
			}
		}
		out = enc.End(enc.End(out))
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		if seen := o.Whole(out); !seen.Done || seen.Content != (vectors > 0) || seen.Failure != nil || !json.Valid(out) {
			t.Errorf("%+v in %s", seen, out)
		}
		return []dialecttest.Section{{Name: "whole", Data: out}}
	})
}

func TestObserver(t *testing.T) {
	f := func(body string, want dialect.Seen, usage sdk.Usage) {
		t.Helper()
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole([]byte(body))
		if seen.Content != want.Content || seen.Done != want.Done || o.Usage() != usage || (o.Finish() == sdk.ReasonStop) != want.Done {
			t.Errorf("%s: %+v, usage %+v", body, seen, o.Usage())
		}
		if (seen.Failure == nil) != (want.Failure == nil) || seen.Failure != nil && (seen.Failure.Kind != want.Failure.Kind || seen.Failure.Message != want.Failure.Message) {
			t.Errorf("%s: failure %v, want %v", body, seen.Failure, want.Failure)
		}
	}
	answer := dialect.Seen{Content: true, Done: true}
	f(`{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, answer, sdk.Usage{Input: 7, Known: true})
	f(`{"data":[{"embedding":"AA=="}],"usage":{"total_tokens":7}}`, answer, sdk.Usage{Input: 7, Known: true})
	f(`{"data":[{"embedding":[1]}]}`, answer, sdk.Usage{})
	f(`{"data":[]}`, dialect.Seen{Done: true}, sdk.Usage{})
	f(`{"error":{"message":"m","type":"invalid_request_error","code":"model_not_found"}}`, dialect.Seen{Failure: sdk.Fail(sdk.UpstreamModel, "m")}, sdk.Usage{})
	f(`{"error":"m"}`, dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "m")}, sdk.Usage{})
	f(`{"detail":"m"}`, dialect.Seen{Failure: sdk.Fail(sdk.UpstreamError, "m")}, sdk.Usage{})
	f(`{}`, dialect.Seen{}, sdk.Usage{})
	f(`<html>`, dialect.Seen{}, sdk.Usage{})
}

// TestRecorded reads recorded requests and answers.
func TestRecorded(t *testing.T) {
	folders := dialecttest.Folders(t, "testdata/wire", "openai-embeddings")
	dialecttest.Each(t, folders, ".request.json", func(t *testing.T, _ string, body []byte) {
		doc := dialecttest.Parse(t, body)
		var f dialect.Facts
		var r sdk.Request
		if err := errors.Join(Dialect{}.Facts(doc, &f), Dialect{}.Decode(doc, &r)); err != nil {
			t.Fatal(err)
		}
		if f.Needs != dialect.Embeddings || len(r.Inputs) != f.Messages || f.Messages == 0 {
			t.Errorf("facts %+v of %d inputs", f, len(r.Inputs))
		}
	})
	dialecttest.Each(t, folders, ".response.json", func(t *testing.T, _ string, body []byte) {
		var want struct {
			Data  []any
			Usage struct {
				Prompt int64 `json:"prompt_tokens"`
			}
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole(body)
		if is := want.Data != nil; seen.Done != is || seen.Content != is || (seen.Failure == nil) != is || o.Usage().TotalInput() != want.Usage.Prompt {
			t.Errorf("%+v, usage %+v", seen, o.Usage())
		}
	})
}

func FuzzDialect(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":["a",1,[2]],"data":[1],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte(`{"error":{"code":429}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := Dialect{}.NewObserver(dialect.ObserverOptions{})
		if o.Whole(body); o.Usage().TotalInput() < 0 {
			t.Fatalf("usage %+v below zero", o.Usage())
		}
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

// TestVectorsInAnotherForm: a service that does not heed encoding_format is heard in the form that was asked for.
func TestVectorsInAnotherForm(t *testing.T) {
	f := func(encoding, vector, want string) {
		t.Helper()
		o := Dialect{}.NewObserver(dialect.ObserverOptions{Encoding: encoding})
		head, tail := `{"data":[{"index":0, "embedding": `, `,"x":1},{"index":1,"embedding":null}],"usage":{"prompt_tokens":3},"kept":true}`
		got := head + vector + tail
		if seen := o.Whole([]byte(got)); seen.Cut {
			got = string(seen.Out)
		}
		if got != head+want+tail {
			t.Errorf("%q: %s, want %s", encoding, got, head+want+tail)
		}
	}
	const list, text = `[0.25,-1]`, `"AACAPgAAgL8="`
	f("base64", list, text)
	f("base64", text, text)
	f("float", text, list)
	f("", text, list)
	f("", "[ 0.25 ]", "[ 0.25 ]")
	f("base64_int8", text, text)
	f("float", `"no vector"`, `"no vector"`)
	f("base64", `["x"]`, `["x"]`)
}

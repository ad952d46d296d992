package gemini

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestEmbedRequests reads requests for embeddings into facts and the middle form.
func TestEmbedRequests(t *testing.T) {
	dialecttest.Golden(t, "testdata/embed", func(t *testing.T, in func(string) []byte) []dialecttest.Section {
		doc := dialecttest.Parse(t, in("request"))
		var f dialect.Facts
		facts := verdict(t, Embeddings{}.Facts(doc, &f))
		if facts == "" {
			facts = dialecttest.Dump(&f)
		}
		var r sdk.Request
		model := verdict(t, Embeddings{}.Decode(doc, &r))
		if model == "" {
			model = dialecttest.Dump(&r)
		}
		return []dialecttest.Section{{Name: "facts", Data: []byte(facts)}, {Name: "model", Data: []byte(model)}}
	})
}

func TestEmbedAnswers(t *testing.T) {
	f := func(script string, batch bool, want string, content bool) {
		t.Helper()
		enc := Embeddings{Batch: batch}.NewEncoder(dialect.EncoderOptions{})
		var out []byte
		for _, e := range dialecttest.Events(t, []byte(script)) {
			out = enc.Event(out, &e)
		}
		out = enc.End(enc.End(out))
		if string(out) != want {
			t.Errorf("got %s, want %s", out, want)
		}
		o := Embeddings{}.NewObserver(dialect.ObserverOptions{})
		if seen := o.Whole(out); !seen.Done || seen.Content != content || seen.Failure != nil || o.Finish() != sdk.ReasonStop {
			t.Errorf("%s: %+v", out, seen)
		}
	}
	f("begin\nembed [0.5,1e-3]\nusage in=7\ndone", false, `{"embedding":{"values":[0.5,1e-3]},"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":0,"totalTokenCount":7}}`, true)
	f("embed choice=1 [2]\nembed [1]", true, `{"embeddings":[{"values":[1]},{"values":[2]}]}`, true)
	f("done", true, `{"embeddings":[]}`, false)
	f("done", false, `{"embedding":{"values":[]}}`, false)
}

func TestEmbedObserver(t *testing.T) {
	f := func(body string, done, content bool, usage sdk.Usage, kind sdk.Kind) {
		t.Helper()
		o := Embeddings{}.NewObserver(dialect.ObserverOptions{})
		seen := o.Whole([]byte(body))
		got := sdk.KindNone
		if seen.Failure != nil {
			got = seen.Failure.Kind
		}
		if seen.Done != done || seen.Content != content || o.Usage() != usage || got != kind {
			t.Errorf("%s: %+v, usage %+v, failure %s", body, seen, o.Usage(), got)
		}
	}
	f(`{"embedding":{"values":[1]},"usageMetadata":{"promptTokenCount":3}}`, true, true, sdk.Usage{Input: 3, Known: true}, 0)
	f(`{"embeddings":[{"values":[1]}]}`, true, true, sdk.Usage{}, 0)
	f(`{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}`, false, false, sdk.Usage{}, sdk.UpstreamModel)
	f(`{}`, false, false, sdk.Usage{}, 0)
	f(`<html>`, false, false, sdk.Usage{}, 0)
}

func FuzzEmbed(f *testing.F) {
	f.Add([]byte(`{"requests":[{"content":{"parts":[{"text":"a"},1]},"outputDimensionality":2},1],"embedding":1}`))
	f.Add([]byte(`{"content":{"parts":[{"text":1}]},"embeddings":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		Embeddings{}.NewObserver(dialect.ObserverOptions{}).Whole(body)
		var doc jsonspan.Doc
		if doc.Parse(body, jsonspan.Limits{}) != nil {
			return
		}
		var facts dialect.Facts
		var r sdk.Request
		_ = Embeddings{}.Facts(&doc, &facts)
		if err := (Embeddings{}).Decode(&doc, &r); err == nil {
			dialecttest.Dump(&r)
		}
	})
}

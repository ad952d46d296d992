package catalog

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func chat(splices ...sdk.Splice) *sdk.Manifest {
	return &sdk.Manifest{Name: "p", Dialects: []sdk.Dialect{
		{Name: "openai-chat", Path: "/chat/completions", Splice: splices},
		{Name: "own", Path: "/models/{model}:run", StreamPath: "/models/{model}:stream?alt=sse"},
	}}
}

func provider(t *testing.T, base string, m *sdk.Manifest) *Provider {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return &Provider{ID: "p", Plugin: "p", Base: u, Manifest: m}
}

func TestWays(t *testing.T) {
	d := &Deployment{Provider: provider(t, "http://h/v1/", chat()), Model: "a/b c", MaxOutput: Unlimited}
	if err := d.Prepare([]string{"openai-chat", "anthropic"}); err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string]Way{
		"openai-chat": {Pass: true, Target: "/v1/chat/completions", StreamTarget: "/v1/chat/completions"},
		"anthropic":   {Pass: false, Target: "/v1/chat/completions", StreamTarget: "/v1/chat/completions"},
	} {
		w := d.Way(client)
		if w == nil || w.Pass != want.Pass || w.Target != want.Target || w.StreamTarget != want.StreamTarget {
			t.Errorf("%s: %+v, want %+v", client, w, want)
		}
	}
	d.Native = "own"
	if err := d.Prepare([]string{"openai-chat"}); err != nil {
		t.Fatal(err)
	}
	if w := d.Way("openai-chat"); w.Pass || w.Target != "/v1/models/a/b%20c:run" || w.StreamTarget != "/v1/models/a/b%20c:stream?alt=sse" {
		t.Errorf("own dialect: %+v", w)
	}
	d.Native = "gemini"
	if err := d.Prepare([]string{"openai-chat"}); err == nil || !strings.Contains(err.Error(), `"gemini"`) {
		t.Errorf("a dialect that the plugin lacks: error %v", err)
	}
}

// headers are what the client of a test has sent.
type headers map[string]string

func (h headers) get(name string) []byte {
	if v, ok := h[name]; ok {
		return []byte(v)
	}
	return nil
}

func TestModelInPath(t *testing.T) {
	const arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x y+é"
	m := &sdk.Manifest{Name: "p", Dialects: []sdk.Dialect{{Name: "own", Path: "/model/{model_segment}/invoke"}, {Name: "slashes", Path: "/{model}/run"}}}
	f := func(native, want string) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", m), Model: arn, Native: native}
		if err := d.Prepare([]string{"openai-chat"}); err != nil {
			t.Fatal(err)
		}
		if got := d.Way("openai-chat").Target; got != want {
			t.Errorf("%s: %s, want %s", native, got, want)
		}
	}
	f("own", "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fx%20y%2B%C3%A9/invoke")
	f("slashes", "/arn:aws:bedrock:us-east-1:1:application-inference-profile/x%20y+%C3%A9/run")
}

func TestDialectOfSomeModels(t *testing.T) {
	m := &sdk.Manifest{Name: "p", Dialects: []sdk.Dialect{{Name: "own", Path: "/own"}, {Name: "anthropic", Path: "/messages", Models: []string{"*claude*"}}}}
	f := func(model, native, want string) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", m), Model: model, Native: native}
		if err := d.Prepare([]string{"anthropic"}); err != nil {
			t.Fatal(err)
		}
		if got := d.Way("anthropic").Target; got != want {
			t.Errorf("%s, dialect %q: %s, want %s", model, native, got, want)
		}
	}
	f("us.claude-9", "", "/messages")
	f("nova", "", "/own")
	f("claude", "own", "/own")
	f("arn:x", "anthropic", "/messages") // the operator knows
}

func TestSplice(t *testing.T) {
	headers := headers{"beta": " x-1, \"y,,"}
	rule := func(op, at, value, when string) sdk.Splice {
		return sdk.Splice{Op: op, At: at, Value: json.RawMessage(value), When: when}
	}
	usage := rule("set", "/stream_options/include_usage", "true", "stream")
	usage.Hides = "usage"
	model := rule("replace", "/model", `"{model}"`, "")
	f := func(body, want string, stream, hides bool, splices ...sdk.Splice) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", chat(splices...)), Model: "up", MaxOutput: Unlimited}
		if err := d.Prepare([]string{"openai-chat"}); err != nil {
			t.Fatal(err)
		}
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		edits, hide := Splice(nil, &doc, d.Way("openai-chat").Rules, SpliceOptions{Stream: stream, Header: headers.get})
		segs, _ := jsonspan.Splice(nil, doc.Body, edits)
		var got strings.Builder
		for _, s := range segs {
			got.Write(s)
		}
		if got.String() != want || hide != hides {
			t.Errorf("%s: %s hiding %v, want %s hiding %v", body, got.String(), hide, want, hides)
		}
		if err := jsonspan.Valid([]byte(got.String()), jsonspan.Limits{}); err != nil {
			t.Errorf("%s: the result is no JSON: %v", body, err)
		}
	}
	f(`{"model" : "m", "x":1}`, `{"model" : "up", "x":1}`, false, false, model)
	f(`{"model":"up"}`, `{"model":"up"}`, false, false, model)
	f(`{"a":1}`, `{"a":1}`, false, false, model)
	f(`{"model":"m"}`, `{"model":"up","stream_options":{"include_usage":true}}`, true, true, model, usage)
	f(`{"model":"m"}`, `{"model":"up"}`, false, false, model, usage)
	f(`{"stream_options":{}}`, `{"stream_options":{"include_usage":true}}`, true, true, usage)
	f(`{"stream_options":{"include_usage":false,"z":1}}`, `{"stream_options":{"include_usage":true,"z":1}}`, true, true, usage)
	f(`{"stream_options":{"include_usage":true}}`, `{"stream_options":{"include_usage":true}}`, true, false, usage)
	f(`{"stream_options":null}`, `{"stream_options":{"include_usage":true}}`, true, true, usage)
	f(`{"a":1,"seed":3,"b":2}`, `{"a":1,"b":2}`, false, false, rule("delete", "/seed", "", ""))
	f(`{"seed":3,"model":"m"}`, `{"model":"up"}`, false, false, rule("delete", "/seed", "", ""), model)
	f(`{"a":1}`, `{"a":1,"beta":["x-1","\"y"]}`, false, false, sdk.Splice{Op: "set", At: "/beta", Header: "beta"})
	f(`{"beta":["z"]}`, `{"beta":["x-1","\"y"]}`, false, false, sdk.Splice{Op: "set", At: "/beta", Header: "beta"})
	f(`{"a":1}`, `{"a":1}`, false, false, sdk.Splice{Op: "set", At: "/beta", Header: "absent"})
	each := rule("set", "/requests/*/model", `"models/{model}"`, "")
	f(`{"requests":[{"model":"models/m","x":1},{},3]}`, `{"requests":[{"model":"models/up","x":1},{"model":"models/up"},3]}`, false, false, each)
	f(`{"requests":{"model":"m"}}`, `{"requests":{"model":"m"}}`, false, false, each)
	f(`{}`, `{}`, false, false, each)
	f(`{}`, `{"max_tokens":4096}`, false, false, rule("insert", "/max_tokens", `"{max_output}"`, ""))
	f(`{"max_tokens":0}`, `{"max_tokens":0}`, false, false, rule("insert", "/max_tokens", `"{max_output}"`, ""))
}

func TestUsageMember(t *testing.T) {
	f := func(want string, splices ...sdk.Splice) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", chat(splices...)), Model: "m"}
		if err := d.Prepare([]string{"openai-chat"}); err != nil {
			t.Fatal(err)
		}
		if got := string(UsageMember(d.Way("openai-chat").Rules)); got != want {
			t.Errorf("%+v: %s, want %s", splices, got, want)
		}
	}
	f("")
	ask := sdk.Splice{Op: "set", At: "/stream_options/include_usage", Value: json.RawMessage("true"), When: "stream"}
	f("", ask)
	ask.Hides = "usage"
	f(`"stream_options":{"include_usage":true}`, sdk.Splice{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)}, ask)
}

func TestSpliceByKind(t *testing.T) {
	f := func(when, want string) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", chat(sdk.Splice{Op: "delete", At: "/a", When: when})), Model: "m"}
		if err := d.Prepare([]string{"openai-chat"}); err != nil {
			t.Fatal(err)
		}
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(`{"a":1}`), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, kind := range []struct {
			name string
			SpliceOptions
		}{{"stream", SpliceOptions{Stream: true}}, {"whole", SpliceOptions{}}, {"count", SpliceOptions{Count: true}}} {
			if edits, _ := Splice(nil, &doc, d.Way("openai-chat").Rules, kind.SpliceOptions); len(edits) > 0 {
				got += kind.name + " "
			}
		}
		if got != want {
			t.Errorf("when %q: applies to %q, want %q", when, got, want)
		}
	}
	f("", "stream whole count ")
	f("answer", "stream whole ")
	f("stream", "stream ")
	f("whole", "whole ")
	f("count", "count ")
}

func TestSpliceRulesThatAreNone(t *testing.T) {
	for _, s := range []sdk.Splice{
		{Op: "replace", At: "model", Value: json.RawMessage("1")},
		{Op: "replace", At: "/a/b/c", Value: json.RawMessage("1")},
		{Op: "change", At: "/a", Value: json.RawMessage("1")},
		{Op: "set", At: "/a", Value: json.RawMessage("{")},
		{Op: "set", At: "/a"},
		{Op: "delete", At: "/a", When: "sometimes"},
	} {
		d := &Deployment{Provider: provider(t, "http://h", chat(s))}
		if err := d.Prepare([]string{"openai-chat"}); err == nil {
			t.Errorf("rule %+v was taken", s)
		}
	}
}

func TestNearest(t *testing.T) {
	c := New([]*Model{{Name: "gpt-4.1"}, {Name: "gpt-4.1-mini"}, {Name: "claude"}})
	if got := c.Nearest("gtp-4.1", 1); len(got) != 1 || got[0] != "gpt-4.1" {
		t.Errorf("nearest to gtp-4.1: %v", got)
	}
	if got := c.Nearest("zzzzzzzz", 3); len(got) != 0 {
		t.Errorf("nearest to zzzzzzzz: %v, want none", got)
	}
}

func TestEmbeddingsHaveDialectsOfTheirOwn(t *testing.T) {
	m := &sdk.Manifest{Name: "p", Dialects: []sdk.Dialect{{Name: "gemini", Path: "/generate"},
		{Name: "gemini-embeddings", Path: "/embed", BatchPath: "/batch"}, {Name: "own-embeddings", Path: "/own"}}}
	f := func(m *sdk.Manifest, client, want, batch string) {
		t.Helper()
		d := &Deployment{Provider: provider(t, "http://h", m), Model: "m"}
		if err := d.Prepare([]string{client}); err != nil {
			t.Fatal(err)
		}
		if w := d.Way(client); w.Target != want || w.BatchTarget != batch {
			t.Errorf("%s: %s and %s, want %s and %s", client, w.Target, w.BatchTarget, want, batch)
		}
	}
	f(m, "openai-chat", "/generate", "/generate")
	f(m, "openai-embeddings", "/embed", "/batch")
	f(m, "gemini-embeddings", "/embed", "/batch")
	f(&sdk.Manifest{Name: "p", Dialects: m.Dialects[1:]}, "openai-chat", "/embed", "/batch") // there is nothing else
	f(&sdk.Manifest{Name: "p", Dialects: m.Dialects[:1]}, "openai-embeddings", "/generate", "/generate")
}

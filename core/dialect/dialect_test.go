package dialect

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestForms demands a form of every kind, so that none can be forgotten.
func TestForms(t *testing.T) {
	for k := sdk.BadRequest; k <= sdk.Internal; k++ {
		if f := forms[k]; f.Status < 400 || f.OpenAI == "" || f.Anthropic == "" || f.Gemini == "" || f.Text == "" {
			t.Errorf("%s: %+v is not whole", k, f)
		}
	}
	if len(forms) != int(sdk.Internal)+1 {
		t.Errorf("%d forms, want one for each kind", len(forms))
	}
}

func TestNeeds(t *testing.T) {
	all := Need(1<<len(needNames) - 1)
	names := all.Names()
	if len(names) != len(needNames) {
		t.Fatalf("%d names, want %d", len(names), len(needNames))
	}
	var back Need
	for _, name := range names {
		n, ok := ParseNeed(name)
		if !ok {
			t.Errorf("%s: not understood", name)
		}
		back |= n
	}
	if back != all {
		t.Errorf("%b, want %b", back, all)
	}
	if _, ok := ParseNeed("telepathy"); ok {
		t.Error("telepathy: understood")
	}
}

func TestSplitDataURL(t *testing.T) {
	f := func(url, mime, data string, ok bool) {
		t.Helper()
		m, d, o := SplitDataURL([]byte(url))
		if m != mime || string(d) != data || o != ok {
			t.Errorf("%s: got %q %q %t, want %q %q %t", url, m, d, o, mime, data, ok)
		}
	}
	f("data:image/png;base64,iVBO", "image/png", "iVBO", true)
	f("DATA:image/JPG;base64,AA", "image/jpeg", "AA", true)
	f("data:image/png;charset=utf-8;base64,AA", "image/png", "AA", true)
	f(`data:image\/png;base64,A\/A`, "image/png", `A\/A`, true)
	f("data:;base64,AA", "", "AA", true)
	f("data:application/pdf;base64,", "application/pdf", "", true)
	f("data:text/plain,hello", "", "", false)
	f("data:image/png;base64", "", "", false)
	f(`data:\u00zz;base64,AA`, "", "", false)
	f("https://x.example/data:,", "", "", false)
	f("", "", "", false)
}

func TestKindOf(t *testing.T) {
	f := func(typ, code string, status int, want sdk.Kind) {
		t.Helper()
		if got := KindOf(typ, code, status); got != want {
			t.Errorf("%q %q %d: got %s, want %s", typ, code, status, got, want)
		}
	}
	f("overloaded_error", "", 0, sdk.Overloaded)
	f("invalid_request_error", "context_length_exceeded", 400, sdk.ContextTooLong)
	f("invalid_request_error", "", 0, sdk.BadRequest)
	f("invalid_request_error", "tool_use_failed", 400, sdk.UpstreamError)
	f("", "429", 429, sdk.UpstreamRate)
	f("", "", 502, sdk.UpstreamError)
	f("Requests", "", 0, sdk.UpstreamRate)
	f("tokens", "insufficient_quota", 429, sdk.UpstreamMoney)
	f("solar_flare", "", 0, sdk.UpstreamError)
}

// TestReader reads members of one text by every form.
func TestReader(t *testing.T) {
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(`{"a":{"s":"x\ty","n":10.0,"big":1e99,"no":null,"t":true,"long":"0123456789012345678901234567890123456789x"}}`), jsonspan.Limits{}); err != nil {
		t.Fatal(err)
	}
	a, _ := doc.Member(0, "a")
	refuse := func(want string, read func(r *Reader)) {
		t.Helper()
		r := Read(&doc)
		read(&r)
		got := ""
		if err := r.Fault(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	refuse("", func(r *Reader) {
		if r.Word(r.Get(a, "s")) != "x\ty" || r.Whole(r.Get(a, "n")) != 10 || !r.Truth(r.Get(a, "t")) || r.Get(a, "no") != 0 {
			t.Error("a member that is there was not read")
		}
		if r.Content(r.Get(a, "gone")).Present() || r.Value(r.Get(a, "no")).Present() || r.Object(0) || r.Array(0) || r.Whole(0) != 0 {
			t.Error("a member that is not there was read")
		}
	})
	refuse(`a.s: want an object, got "x\ty"`, func(r *Reader) { r.Object(r.Get(a, "s")); r.Array(r.Get(a, "t")) })
	refuse(`a.big: want a whole number that is not below zero, got 1e99`, func(r *Reader) { r.Whole(r.Get(a, "big")) })
	refuse(`a.t: want a number, got true`, func(r *Reader) { r.Number(r.Get(a, "t")) })
	refuse(`a.long: want true or false, got a string`, func(r *Reader) { r.TruthValue(r.Get(a, "long")) })
	refuse(`a.gone: is required`, func(r *Reader) { r.Missing(a, "gone") })
	refuse(`gone: is required`, func(r *Reader) { r.Missing(0, "gone") })
	refuse(`a: want a string, got an object`, func(r *Reader) { r.Content(a) })
}

func TestAppendLine(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(AppendLine([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: got %q, want %q", in, got, "x"+want)
		}
	}
	f("{\n \"a\": 1\r\n}\n", `{ "a": 1}`)
	f(`"a\n"`, `"a\n"`)
	f("", "")
}

// TestOpenAIErrorBody: what a provider says of an error stays, and its type and code are such as SDKs read.
func TestOpenAIErrorBody(t *testing.T) {
	kind := sdk.ContentRefused
	f := func(body, want string) {
		t.Helper()
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		if got := OpenAIErrorBody(&doc, sdk.Fail(kind, "m")); string(got) != want {
			t.Errorf("%s\nbecame %s\nwant   %s", body, got, want)
		}
	}
	same := `{"error":{"message":"m","type":"t","param":null,"code":"c"},"more":1}`
	f(same, same)
	f(`{"error":{"message":"m","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
		`{"error":{"message":"m","type":"invalid_request_error","param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`)
	f(`{"error":{"code":400,"message":"m"}}`, `{"error":{"code":"content_filter","message":"m","type":"invalid_request_error"}}`)
	f(`{"error":{"code":1301,"message":"m","type":null}}`, `{"error":{"code":"1301","message":"m","type":"invalid_request_error"}}`)
	for _, other := range []string{`{"error":"m"}`, `{"error":{"message":""}}`, `{"error":{"message":["m"]}}`, `{"error":{"message":"m","type":7}}`,
		`{"error":{"message":"m","code":{}}}`, `{"message":"m"}`, `[]`} {
		f(other, "")
	}
	kind = sdk.BadRequest
	f(`{"error":{"code":400,"message":"m","type":"BadRequestError"}}`, `{"error":{"code":null,"message":"m","type":"BadRequestError"}}`)
	kind = sdk.ContextTooLong
	for code, want := range map[string]string{`"code":null,`: `"context_length_exceeded"`, `"code":400,`: `"context_length_exceeded"`, `"code":"own",`: `"own"`} {
		f(`{"error":{`+code+`"message":"m","type":"t"}}`, `{"error":{"code":`+want+`,"message":"m","type":"t"}}`)
	}
	f(`{"error":{"message":"m"}}`, `{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}`)
}

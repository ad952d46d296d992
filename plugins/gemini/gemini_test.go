package gemini

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestManifest(t *testing.T) {
	m := New().Manifest()
	for _, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok || e.At == "" || (e.Equals == "") == (e.Has == "") || e.Has != strings.ToLower(e.Has) {
			t.Errorf("known error %+v: want a kind, a place, and one of equals and a lower-case part", e)
		}
	}
	if !json.Valid(m.ConfigSchema) {
		t.Error("the config schema is no JSON")
	}
	tests := []struct {
		model   string
		context int
		thinks  bool
	}{
		{"gemini-2.0-flash", 1_048_576, false},
		{"gemini-2.5-flash-lite", 1_048_576, true},
		{"gemini-2.5-flash-image", 65_536, false},
		{"gemini-3.1-pro-preview", 1_048_576, true},
		{"gemini-embedding-001", 2_048, false},
		{"someone-elses", 0, false},
	}
	for _, test := range tests {
		var got sdk.Capabilities
		for _, c := range m.Capabilities {
			if ok, err := path.Match(c.Match, test.model); err != nil {
				t.Errorf("pattern %q: %v", c.Match, err)
			} else if ok {
				got = c
				break
			}
		}
		if thinks := strings.Contains(strings.Join(got.Can, " "), "thinking"); got.Context != test.context || thinks != test.thinks {
			t.Errorf("%s: context %d, thinks %v; want %d, %v", test.model, got.Context, thinks, test.context, test.thinks)
		}
	}
}

func TestGenerationOf(t *testing.T) {
	tests := []struct {
		model string
		want  generation
	}{
		{"gemini-1.5-pro", before25}, {"gemini-2.0-flash", before25}, {"gemma-3-27b-it", before25}, {"", before25},
		{"gemini-2.5-pro", is25}, {"models/gemini-2.5-flash", is25},
		{"gemini-3-pro-preview", since3}, {"gemini-3.1-flash", since3}, {"gemini-flash-latest", since3}, {"gemini-12", since3},
	}
	for _, test := range tests {
		if got := generationOf(test.model); got != test.want {
			t.Errorf("generationOf(%q) = %d, want %d", test.model, got, test.want)
		}
	}
}

func TestConfigure(t *testing.T) {
	tests := []struct{ config, want, fault string }{
		{`{}`, "", ""},
		{`{"project":"p"}`, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google", ""},
		{`{"project":"p","location":"europe-west4"}`, "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4/publishers/google", ""},
		{`{"project":"p","location":"eu"}`, "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google", ""},
		{`{"location":"europe-west4"}`, "", "want a project"},
		{`[]`, "", "config:"},
	}
	for _, test := range tests {
		got, err := New().(sdk.Configurer).Configure("id", []byte(test.config))
		if got.BaseURL != test.want || (got.Auth != nil) != (test.want != "") || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("Configure(%s) = %q, %v; want %q, %q", test.config, got.BaseURL, err, test.want, test.fault)
		}
	}
}

func TestCallIDs(t *testing.T) {
	seen := map[string]bool{}
	tests := []struct {
		native, signature string
		signed            bool
		wantNative        string
	}{
		{"", "", true, ""},
		{"", "c2lnLUE=", true, ""},
		{"q7", "ab+/cd==", true, "q7"},
		{"q_ts_7", "ab", true, ""},
		{strings.Repeat("n", 80), "ab", true, ""},
		{"q8", strings.Repeat("s", maxSigned+1), false, "q8"},
		{"q9", "no base64!", false, "q9"},
		{"", strings.Repeat("s", 4000), true, ""},
	}
	for i, test := range tests {
		id, signed := writeID(test.native, "answer", i, sdk.T(test.signature))
		if signed != test.signed {
			t.Errorf("writeID(%q, %.20q): signed %v, want %v", test.native, test.signature, signed, test.signed)
		}
		if s := string(id.Raw()); !legal(s) {
			t.Errorf("id %q: want letters that each dialect allows", s)
		}
		for _, text := range []sdk.Text{id, held(t, string(id.Raw()))} {
			if text.Held() && text.Len() <= sdk.HeadBytes {
				continue // nothing so short is held
			}
			got := readID(text)
			if got.native != test.wantNative {
				t.Errorf("readID(%.40q).native = %q, want %q", id.Raw(), got.native, test.wantNative)
			}
			if want := len(strings.TrimRight(test.signature, "=")); test.signed && got.signature.Len() != want {
				t.Errorf("readID(%.40q): a signature of %d bytes, want %d", id.Raw(), got.signature.Len(), want)
			}
			if !text.Held() && seen[got.key] {
				t.Errorf("key %q twice", got.key)
			}
			seen[got.key] = !text.Held() || seen[got.key]
		}
	}
	if got := readID(sdk.T("toolu_1")); got.key != "toolu_1" || got.native != "" || got.signature.Present() {
		t.Errorf("another provider's id became %+v", got)
	}
}

// held makes a text whose bytes the gateway holds: the plugin sees no more than its facts.
func held(t *testing.T, content string) sdk.Text {
	t.Helper()
	d := new(sdk.Doc)
	if err := d.ParseSkeleton([]byte(`[""]`), 7, []sdk.Gap{{At: 2, Facts: sdk.FactsOf([]byte(content))}}); err != nil {
		t.Fatal(err)
	}
	for n := range d.Root().Items() {
		return n.Text()
	}
	return sdk.Text{}
}

// TestHeldSignature sends a call whose id the gateway holds: the signature is cut from it without being seen.
func TestHeldSignature(t *testing.T) {
	id, _ := writeID("q7", "r", 0, sdk.T(strings.Repeat("s", 400)))
	content := string(id.Raw())
	r := &sdk.Request{Model: "gemini-3-pro", Messages: []sdk.Message{
		{Role: sdk.Assistant, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartCall, Call: &sdk.Call{ID: held(t, content), Name: sdk.T("f")}}}},
		{Role: sdk.Tooling, Path: "messages[1]", Parts: []sdk.Part{{Kind: sdk.PartResult, Result: &sdk.Result{ID: held(t, content)}}}},
	}}
	var plan sdk.Plan
	if err := New().Encode(r, &plan); err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for _, s := range plan.Body.Segments() {
		if s.Handle == 0 {
			body.Write(plan.Body.Literals()[s.From:s.To])
		} else {
			body.WriteString(content[s.From:s.To])
		}
	}
	want := `{"functionCall":{"id":"q7","name":"f","args":{}},"thoughtSignature":"` + strings.Repeat("s", 400) + `"}`
	if !strings.Contains(body.String(), want) || !strings.Contains(body.String(), `{"functionResponse":{"id":"q7","name":"f"`) {
		t.Errorf("body %s\nwant %s", body.String(), want)
	}
}

func TestReadError(t *testing.T) {
	tests := []struct {
		file  string
		kind  sdk.Kind
		after time.Duration
	}{
		{"google-vercel-429-retry-info", sdk.UpstreamRate, 34400 * time.Millisecond},
		{"google-rubyllm-chat-error-handling-with-gemini-gemini-2-5-flash-085241", sdk.UpstreamAuth, 0},
		{"google-rubyllm-chat-real-error-scenarios-gemini-gemini-2-5-flas-bb42c7", sdk.UpstreamRate, 48 * time.Second},
		{"vertex-otel-generate-content-invalid-role", sdk.BadRequest, 0},
	}
	for _, test := range tests {
		text, err := os.ReadFile("testdata/wire/" + test.file + ".response.json")
		if err != nil {
			t.Fatal(err)
		}
		var doc sdk.Doc
		if err := doc.Parse(text); err != nil {
			t.Fatal(err)
		}
		f := New().(sdk.ErrorReader).ReadError(429, &doc)
		if f.Kind != test.kind || f.RetryAfter != test.after || f.Status != 429 || f.Message == "" || f.Type == "" {
			t.Errorf("%s: %+v; want kind %v, wait %v", test.file, f, test.kind, test.after)
		}
	}
	var doc sdk.Doc
	for _, text := range []string{`{}`, `[]`, `{"error":{"message":"?"}}`} {
		if err := doc.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if f := New().(sdk.ErrorReader).ReadError(500, &doc); f.Kind != sdk.KindNone {
			t.Errorf("%s: kind %v, want none", text, f.Kind)
		}
	}
}

func TestAuthorize(t *testing.T) {
	tests := []struct {
		credential    map[string]string
		header, fault string
	}{
		{map[string]string{"access_token": "mine"}, "Bearer mine", ""},
		{map[string]string{"service_account": "secret"}, "", "provider p: service account: want the JSON of a key file"},
		{nil, "", "provider p: credential: want service_account"},
	}
	for _, test := range tests {
		got, err := New().(sdk.Authorizer).Authorize(t.Context(), sdk.AuthRequest{Provider: "p", Credential: test.credential})
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%v: %v, want %q", test.credential, err, test.fault)
			}
			continue
		}
		want := sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: test.header}}, Lifetime: 5 * time.Minute}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", test.credential, err, diff)
		}
	}
}

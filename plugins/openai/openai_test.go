package openai

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestManifest(t *testing.T) {
	m := New().Manifest()
	for _, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok || e.At == "" || (e.Equals == "") == (e.Has == "") || e.Has != strings.ToLower(e.Has) {
			t.Errorf("known error %+v: want a kind, a place, and one of equals and a lower-case part", e)
		}
	}
	closed := []string{"tools", "parallel_tools", "images", "audio", "documents", "thinking", "json_schema", "prefill", "embeddings", "logprobs", "n"}
	for _, c := range m.Capabilities {
		if _, err := path.Match(c.Match, "gpt"); err != nil {
			t.Errorf("pattern %q: %v", c.Match, err)
		}
		for _, can := range c.Can {
			if !slices.Contains(closed, can) {
				t.Errorf("pattern %q: no capability %q", c.Match, can)
			}
		}
		if c.MaxOutput > c.Context { // neither is known, or both
			t.Errorf("pattern %q: output %d over context %d", c.Match, c.MaxOutput, c.Context)
		}
	}
	names := []string{}
	for _, d := range m.Dialects {
		names = append(names, d.Name)
	}
	for name, p := range m.Presets {
		if u, err := url.Parse(p.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
			t.Errorf("preset %s: base URL %q: want https, or a program on this machine", name, p.BaseURL)
		}
		if p.Source == "" {
			t.Errorf("preset %s: has no source", name)
		}
		if _, ok := habits(name); !ok {
			t.Errorf("preset %s: has no habits", name)
		}
		for _, d := range p.Dialects {
			if !slices.Contains(names, d) {
				t.Errorf("preset %s: no dialect %q", name, d)
			}
		}
	}
	if !json.Valid(m.ConfigSchema) {
		t.Error("the schema of the configuration is no JSON")
	}
}

func TestCapabilitiesOfModels(t *testing.T) {
	tests := []struct {
		model   string
		context int
		can     string // "" where the model is not known
	}{
		{"gpt-4.1-mini", 1_047_576, "json_schema"},
		{"gpt-4o-2024-11-20", 128_000, "images"},
		{"gpt-4o-mini", 128_000, "logprobs"},
		{"gpt-4o-audio-preview", 128_000, "audio"},
		{"gpt-5", 400_000, "thinking"},
		{"gpt-5-mini", 400_000, "thinking"},
		{"gpt-5-chat-latest", 128_000, "logprobs"},
		{"gpt-5.2", 400_000, "thinking"},
		{"gpt-5.4-mini", 0, "thinking"},
		{"gpt-5.4", 1_050_000, "thinking"},
		{"gpt-5.5-2026-04-23", 1_050_000, "thinking"},
		{"o3-mini", 200_000, "thinking"},
		{"text-embedding-3-small", 8192, "embeddings"},
		{"gpt-9", 0, ""},
	}
	for _, test := range tests {
		got := sdk.Capabilities{}
		for _, c := range capabilities() {
			if ok, _ := path.Match(c.Match, test.model); ok {
				got = c
				break
			}
		}
		if got.Context != test.context || test.can != "" && !slices.Contains(got.Can, test.can) {
			t.Errorf("%s: context %d, can %v; want %d and %s", test.model, got.Context, got.Can, test.context, test.can)
		}
	}
}

func TestConfigure(t *testing.T) {
	tests := []struct {
		id, config string
		want       service
		err        string
	}{
		{"openai", `{}`, service{}, ""},
		{"work", `{}`, service{}, ""},
		{"groq", `{}`, service{compatible: true, unnamed: true}, ""},
		{"mine", `{"preset":"azure"}`, service{}, ""},
		{"mine", `{"preset":"deepseek","reasoning_echo":false}`, service{compatible: true, limit: "max_tokens", flat: true, toggle: true}, ""},
		{"mine", `{"output_limit":"max_tokens"}`, service{limit: "max_tokens"}, ""},
		{"mine", `{"preset":"nobody"}`, service{}, `provider mine: config.preset: no preset "nobody"`},
	}
	for _, test := range tests {
		p := New().(*provider)
		_, err := p.Configure(test.id, []byte(test.config))
		if err != nil {
			if err.Error() != test.err {
				t.Errorf("%s %s: %v, want %q", test.id, test.config, err, test.err)
			}
			continue
		}
		if got := p.service(test.id); got != test.want || test.err != "" {
			t.Errorf("%s %s: %+v, want %+v %s", test.id, test.config, got, test.want, test.err)
		}
	}
}

func TestFailureKinds(t *testing.T) {
	tests := []struct {
		body string
		kind sdk.Kind
		code string
	}{
		{`{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}`, sdk.UpstreamMoney, "insufficient_quota"},
		{`{"error":{"message":"x","type":"insufficient_quota","code":"project_spend_limit_exceeded"}}`, sdk.UpstreamMoney, "project_spend_limit_exceeded"},
		{`{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, sdk.UpstreamMoney, "invalid_request_error"},
		{`{"error":{"message":"x","type":"requests","code":"rate_limit_exceeded"}}`, sdk.UpstreamRate, "rate_limit_exceeded"},
		{`{"error":{"message":"This model's maximum context length is 8 tokens","code":null}}`, sdk.ContextTooLong, ""},
		{`{"error":{"message":"prompt too long; exceeded max context length by 9 tokens"}}`, sdk.ContextTooLong, ""},
		{`{"error":{"message":"x","code":"context_length_exceeded"}}`, sdk.ContextTooLong, "context_length_exceeded"},
		{`{"error":{"message":"x","code":"model_not_found"}}`, sdk.UpstreamModel, "model_not_found"},
		{`{"error":{"message":"x","code":"content_filter"}}`, sdk.ContentRefused, "content_filter"},
		{`{"error":{"message":"x","code":401}}`, sdk.UpstreamAuth, "401"},
		{`{"error":{"message":"x","code":429}}`, sdk.UpstreamRate, "429"},
		{`{"error":{"message":"x","type":"server_error","code":"server_is_overloaded"}}`, sdk.Overloaded, "server_is_overloaded"},
		{`{"error":{"message":"x","type":"server_error","code":null}}`, sdk.UpstreamError, ""},
		{`{"error":"x"}`, sdk.UpstreamError, ""},
		{`{"detail":"x"}`, sdk.UpstreamError, ""},
		{`[{"error":{"code":422,"message":"x","status":"INVALID_ARGUMENT"}}]`, sdk.UpstreamError, "422"},
		{`{"object":"error","message":"x","type":"BadRequestError","code":422}`, sdk.UpstreamError, "422"},
		{`{"code":0,"message":"x","type":"invalid_request_error"}`, sdk.UpstreamError, "0"},
		{`{"error":{"message":{"detail":["x"]},"code":{"a":1}}}`, sdk.UpstreamError, ""},
	}
	for _, test := range tests {
		events := decodeAll(t, sdk.AnswerInfo{}, test.body)
		if len(events) != 1 || events[0].Kind != sdk.Failed {
			t.Errorf("%s: events %v, want one failure", test.body, events)
			continue
		}
		f := events[0].Failure
		if f.Kind != test.kind || f.Code != test.code || f.Message == "" {
			t.Errorf("%s: %v, code %q, message %q; want %v, %q", test.body, f.Kind, f.Code, f.Message, test.kind, test.code)
		}
	}
}

// decodeAll feeds frames to a decoder and ends it.
func decodeAll(t *testing.T, info sdk.AnswerInfo, frames ...string) []sdk.Event {
	t.Helper()
	d := New().NewDecoder(info)
	var out sdk.Events
	for _, text := range frames {
		f := &sdk.Frame{Text: []byte(text)}
		doc := new(sdk.Doc)
		if doc.Parse(f.Text) == nil {
			f.Doc, f.Text = doc, nil
		}
		if err := d.Decode(f, &out); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End(&out); err != nil {
		t.Fatal(err)
	}
	return out.List
}

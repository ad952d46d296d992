package bedrock

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestManifest(t *testing.T) {
	m := New().Manifest()
	for _, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok || e.At != "/message" || e.Has == "" || e.Has != strings.ToLower(e.Has) {
			t.Errorf("known error %+v: want a kind and a lower-case part of the message", e)
		}
	}
	if !json.Valid(m.ConfigSchema) {
		t.Error("the config schema is no JSON")
	}
	tests := []struct {
		model           string
		context, output int
	}{
		{"us.anthropic.claude-3-5-haiku-20241022-v1:0", 200_000, 8_192},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", 200_000, 64_000},
		{"anthropic.claude-opus-4-20250514-v1:0", 200_000, 32_000},
		{"anthropic.claude-opus-4-1-20250805-v1:0", 200_000, 32_000},
		{"eu.anthropic.claude-sonnet-4-20250514-v1:0", 200_000, 64_000},
		{"global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 64_000},
		{"us.anthropic.claude-opus-4-6-v1", 0, 0},
		{"meta.llama3-3-70b-instruct-v1:0", 0, 0},
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
		if got.Context != test.context || got.MaxOutput != test.output {
			t.Errorf("%s: context %d, output %d; want %d, %d", test.model, got.Context, got.MaxOutput, test.context, test.output)
		}
	}
}

func TestMakerOf(t *testing.T) {
	tests := []struct {
		model string
		want  maker
	}{
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", maker{name: "anthropic", major: 4, minor: 5}},
		{"anthropic.claude-sonnet-4-20250514-v1:0", maker{name: "anthropic", major: 4}},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", maker{name: "anthropic", major: 3, minor: 7}},
		{"us.anthropic.claude-opus-4-6-v1", maker{name: "anthropic", major: 4, minor: 6}},
		{"anthropic.claude-v2:1", maker{name: "anthropic"}},
		{"us.amazon.nova-2-lite-v1:0", maker{name: "amazon", nova2: true}},
		{"amazon.nova-pro-v1:0", maker{name: "amazon"}},
		{"openai.gpt-oss-120b-1:0", maker{name: "openai"}},
		{"arn:aws:bedrock:us-east-1:1:application-inference-profile/x", maker{}},
	}
	for _, test := range tests {
		if got := makerOf(test.model); got != test.want {
			t.Errorf("makerOf(%q) = %+v, want %+v", test.model, got, test.want)
		}
	}
}

func TestConfigure(t *testing.T) {
	p := New().(*provider)
	tests := []struct{ config, want string }{
		{`{}`, "https://bedrock-runtime.us-east-1.amazonaws.com"},
		{`{"region":"eu-central-1"}`, "https://bedrock-runtime.eu-central-1.amazonaws.com"},
		{`[]`, ""},
	}
	for _, test := range tests {
		got, err := p.Configure("id", []byte(test.config))
		if got.BaseURL != test.want || (err != nil) != (test.want == "") {
			t.Errorf("Configure(%s) = %q, %v; want %q", test.config, got.BaseURL, err, test.want)
		}
	}
	if got := p.region("id"); got != "eu-central-1" {
		t.Errorf("region %q, want the last that was good", got)
	}
	if got := p.region("other"); got != defaultRegion {
		t.Errorf("region %q, want %q", got, defaultRegion)
	}
}

func TestCallIDs(t *testing.T) {
	long := strings.Repeat("x", 100)
	seen := map[string]string{}
	for _, id := range []string{"fn.a:0", "fn_a_0", "fn-a-0", "fn a 0", long, long + "y", "ü"} {
		got := callID(sdk.T(id))
		if !legal(got) || got == "" || len(got) > maxID {
			t.Errorf("callID(%.20q) = %q, which the service refuses", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("callID(%.20q) and callID(%.20q) are both %q", id, other, got)
		}
		seen[got] = id
	}
}

// TestResultsWithoutIDs pairs results by their tools' names, as clients do that know no ids.
func TestResultsWithoutIDs(t *testing.T) {
	call := func(name string) sdk.Part {
		return sdk.Part{Kind: sdk.PartCall, Call: &sdk.Call{Name: sdk.T(name)}}
	}
	result := func(name, text string) sdk.Part {
		return sdk.Part{Kind: sdk.PartResult, Result: &sdk.Result{Name: sdk.T(name), Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(text)}}}}
	}
	r := &sdk.Request{Model: "m", Messages: []sdk.Message{
		{Role: sdk.Assistant, Path: "contents[0]", Parts: []sdk.Part{call("f"), call("g"), call("f")}},
		{Role: sdk.User, Path: "contents[1]", Parts: []sdk.Part{result("g", "1"), result("f", "2"), result("f", "3")}},
	}}
	var plan sdk.Plan
	if err := New().Encode(r, &plan); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"toolUseId":"call_2","content":[{"text":"1"}]`, `"toolUseId":"call_1","content":[{"text":"2"}]`, `"toolUseId":"call_3","content":[{"text":"3"}]`,
	} {
		if !strings.Contains(string(plan.Body.Bytes()), want) {
			t.Errorf("body %s\nwant %s in it", plan.Body.Bytes(), want)
		}
	}
	r.Messages[1].Parts = append(r.Messages[1].Parts, result("f", "4"))
	if err := New().Encode(r, new(sdk.Plan)); err == nil || !strings.Contains(err.Error(), "contents[1].parts[3]: want the result of a call") {
		t.Errorf("a result too many: %v", err)
	}
}

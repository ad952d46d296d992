package bedrock

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

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

// TestSignature compares with the published test suite of Signature Version 4.
func TestSignature(t *testing.T) {
	s := signing{
		id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "service",
		time: time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC),
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	tests := []struct{ name, method, url, want string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	}
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		headers := []sdk.Header{{Name: "Host", Value: u.Host}, {Name: "X-Amz-Date", Value: "20150830T123600Z"}}
		got := s.authorization(test.method, u, headers, empty)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + test.want
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, want)
		}
	}
}

func TestCanonicalPath(t *testing.T) {
	tests := []struct{ url, want string }{
		{"https://h", "/"},
		{"https://h/model/a.b-v1:0/converse", "/model/a.b-v1%3A0/converse"},
		{"https://h/model/a.b-v1%3A0/converse", "/model/a.b-v1%253A0/converse"},
		{"https://h/model/arn%2Fx/converse", "/model/arn%252Fx/converse"},
	}
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := canonicalPath(u); got != test.want {
			t.Errorf("canonicalPath(%q) = %q, want %q", test.url, got, test.want)
		}
	}
}

func TestAuthorize(t *testing.T) {
	p := &provider{now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
	if _, err := p.Configure("b", []byte(`{"region":"eu-central-1"}`)); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"access_key_id": "AK", "secret_access_key": "SK"}
	session := map[string]string{"access_key_id": "AK", "secret_access_key": "SK", "session_token": "TOK"}
	hash := strings.Repeat("0", 64)
	const where = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse"
	tests := []struct {
		name       string
		credential map[string]string
		url, hash  string
		want       string // names of headers, and what the last holds
		holds      string
		fault      string
	}{
		{"keys", keys, where, hash, "X-Amz-Date Authorization", "Credential=AK/20260102/eu-central-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date,", ""},
		{"session", session, where, hash, "X-Amz-Date X-Amz-Security-Token Authorization", "SignedHeaders=host;x-amz-date;x-amz-security-token,", ""},
		{"api key", map[string]string{"api_key": "K"}, where, "", "Authorization", "Bearer K", ""},
		{"nothing", nil, where, hash, "", "", "want access_key_id and secret_access_key, or api_key"},
		{"no hash", keys, where, "", "", "", "payload hash of 0 characters"},
		{"no host", keys, "/model", hash, "", "", "want one with a host"},
	}
	for _, test := range tests {
		got, err := p.Authorize(context.Background(), sdk.AuthRequest{Provider: "b", Credential: test.credential, Method: "POST", URL: test.url, PayloadHash: test.hash})
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "SK") {
				t.Errorf("%s: %v, want %q", test.name, err, test.fault)
			}
			continue
		}
		var names []string
		for _, h := range got.Headers {
			names = append(names, h.Name)
		}
		if err != nil || strings.Join(names, " ") != test.want || !strings.Contains(got.Headers[len(names)-1].Value, test.holds) {
			t.Errorf("%s: %+v, %v; want %s with %s", test.name, got, err, test.want, test.holds)
		}
		if signed := test.credential["api_key"] == ""; signed != (got.Lifetime == 0) {
			t.Errorf("%s: lifetime %v: a signature is of its request alone", test.name, got.Lifetime)
		}
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

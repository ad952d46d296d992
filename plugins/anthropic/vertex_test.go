package anthropic

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestConfigure(t *testing.T) {
	const vertex = "aiplatform.googleapis.com/v1/projects/p/locations/"
	tests := []struct{ config, want, fault string }{
		{`{}`, "", ""},
		{`{"project":"p"}`, "https://" + vertex + "global/publishers/anthropic", ""},
		{`{"project":"p","preset":"vertex","location":"europe-west1"}`, "https://europe-west1-" + vertex + "europe-west1/publishers/anthropic", ""},
		{`{"project":"p","location":"us"}`, "https://aiplatform.us.rep.googleapis.com/v1/projects/p/locations/us/publishers/anthropic", ""},
		{`{"preset":"vertex"}`, "", "config.project: want"},
		{`{"location":"eu"}`, "", "config.project: want"},
		{`[]`, "", "config:"},
	}
	for _, test := range tests {
		got, err := New().(sdk.Configurer).Configure("id", []byte(test.config))
		if got.BaseURL != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("Configure(%s) = %+v, %v; want %q, %q", test.config, got, err, test.want, test.fault)
		}
		if onVertex := test.want != ""; onVertex != (got.Auth != nil) || onVertex != (got.Dialects != nil) {
			t.Errorf("Configure(%s) = %+v: want dialects and authorization of Vertex alone", test.config, got)
		}
	}
}

// TestEncodeForVertex writes the version into the body, where Vertex AI has it, and leaves the model to the path.
func TestEncodeForVertex(t *testing.T) {
	p := New()
	if _, err := p.(sdk.Configurer).Configure("v", []byte(`{"project":"p"}`)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"v": `{"anthropic_version":"vertex-2023-10-16","max_tokens":10,`, "direct": `{"model":"claude-sonnet-4-5","max_tokens":10,`} {
		r := &sdk.Request{Model: "claude-sonnet-4-5", Provider: id, MaxOutput: 10,
			Messages: []sdk.Message{{Role: sdk.User, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T("hi")}}}}}
		var plan sdk.Plan
		if err := p.Encode(r, &plan); err != nil {
			t.Fatal(err)
		}
		if got := string(plan.Body.Bytes()); !strings.HasPrefix(got, want) {
			t.Errorf("provider %s: %s, want it to begin with %s", id, got, want)
		}
	}
}

func TestAuthorize(t *testing.T) {
	f := func(credential map[string]string, want, fault string) {
		t.Helper()
		got, err := New().(sdk.Authorizer).Authorize(t.Context(), sdk.AuthRequest{Provider: "v", Credential: credential})
		if (err != nil) != (fault != "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("error %v, want %q", err, fault)
		}
		if err == nil && (len(got.Headers) != 1 || got.Headers[0] != sdk.Header{Name: "Authorization", Value: want} || got.Lifetime <= 0) {
			t.Errorf("%+v, want %q for some time", got, want)
		}
	}
	f(map[string]string{"access_token": "mine"}, "Bearer mine", "")
	f(map[string]string{"api_key": "k"}, "", "provider v: credential: want service_account")
}

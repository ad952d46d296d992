package pluginhost

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

func TestManifest(t *testing.T) {
	f := func(change func(m *sdk.Manifest), want string) {
		t.Helper()
		m := sdk.Manifest{Name: "acme", Version: "1", Protocol: sdk.Protocol,
			Dialects:     []sdk.Dialect{{Name: "openai-chat", Path: "/chat/completions", Splice: []sdk.Splice{{Op: "replace", At: "/model"}}}},
			Capabilities: []sdk.Capabilities{{Match: "*", Can: []string{"tools"}}}, Errors: []sdk.KnownError{{Kind: "upstream_rate"}}}
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readManifest(text, "acme")
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
		if err == nil && fmt.Sprint(*got) != fmt.Sprint(m) {
			t.Errorf("got %+v, want %+v", *got, m)
		}
	}
	f(func(*sdk.Manifest) {}, "")
	f(func(m *sdk.Manifest) { m.Name = "other" }, `name "other": want "acme"`)
	f(func(m *sdk.Manifest) { m.Version = "" }, "version")
	f(func(m *sdk.Manifest) { m.Protocol = 2 }, "protocol 2: the gateway speaks 1")
	f(func(m *sdk.Manifest) { m.Dialects = nil }, "want at least one")
	f(func(m *sdk.Manifest) { m.Dialects = append(m.Dialects, m.Dialects[0]) }, `dialects[1].name "openai-chat"`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Path = "chat" }, `path "chat": want one that begins with /`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Framing = "xml" }, `dialects[0].framing "xml": want one of sse, ndjson`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Splice[0].Op = "move" }, `splice[0].op "move"`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Splice[0].At = "/a/b/c" }, `splice[0].at "/a/b/c"`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Splice[0].At = "a/b" }, `splice[0].at "a/b"`)
	f(func(m *sdk.Manifest) { m.Auth.Kind = "magic" }, `auth.kind "magic": want one of header, none`)
	f(func(m *sdk.Manifest) { m.Errors[0].Kind = "odd" }, `errors[0].kind "odd"`)
	f(func(m *sdk.Manifest) { m.Capabilities[0].Can[0] = "fly" }, `capabilities[0].can "fly"`)
	f(func(m *sdk.Manifest) { m.Dialects[0].Headers = []sdk.Header{{Name: "a b", Value: "1"}} }, `manifest: dialects.0.headers.0.name: does not match pattern`)
	f(func(m *sdk.Manifest) { m.ConfigSchema = []byte(`[]`) }, `manifest: config_schema: expected object or boolean`)
	if _, err := readManifest([]byte("{"), "acme"); err == nil {
		t.Error("a manifest that is no JSON was read")
	}
}

func TestManifestWithUnknownMember(t *testing.T) {
	const text = `{"name":"acme","version":"1","protocol":1,"dialects":[{"name":"own","path":"/v1","frmaing":"sse"}]}`
	_, err := readManifest([]byte(text), "acme")
	if err == nil || !strings.Contains(err.Error(), "manifest: dialects.0: additionalProperties 'frmaing' not allowed") {
		t.Errorf("got %v", err)
	}
}

func TestConfigured(t *testing.T) {
	m := &sdk.Manifest{Name: "acme", Version: "1", Protocol: sdk.Protocol, Dialects: []sdk.Dialect{{Name: "anthropic", Path: "/messages"}}}
	tests := []struct {
		name  string
		reply *wirepb.ConfigureReply
		want  sdk.Configured
		bad   string
	}{
		{"nothing", &wirepb.ConfigureReply{}, sdk.Configured{}, ""},
		{"address", &wirepb.ConfigureReply{BaseUrl: "https://h"}, sdk.Configured{BaseURL: "https://h"}, ""},
		{"dialects", &wirepb.ConfigureReply{Dialects: []byte(`[{"name":"anthropic","path":"/x?api-version=1"}]`)},
			sdk.Configured{Dialects: []sdk.Dialect{{Name: "anthropic", Path: "/x?api-version=1"}}}, ""},
		{"auth", &wirepb.ConfigureReply{Auth: []byte(`{"kind":"token"}`)}, sdk.Configured{Auth: &sdk.Auth{Kind: "token"}}, ""},
		{"no dialects", &wirepb.ConfigureReply{Dialects: []byte(`[]`)}, sdk.Configured{}, "dialects: want at least one"},
		{"bad path", &wirepb.ConfigureReply{Dialects: []byte(`[{"name":"anthropic","path":"x"}]`)}, sdk.Configured{}, `path "x"`},
		{"bad kind", &wirepb.ConfigureReply{Auth: []byte(`{"kind":"magic"}`)}, sdk.Configured{}, `auth.kind "magic"`},
		{"no JSON", &wirepb.ConfigureReply{Auth: []byte(`{`)}, sdk.Configured{}, "configured: auth"},
	}
	for _, test := range tests {
		got, err := readConfigured(test.reply, m)
		if (err != nil) != (test.bad != "") || err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("%s: error %v, want one that says %q", test.name, err, test.bad)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

package pluginhost

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestOrder(t *testing.T) {
	f := func(want string, events ...sdk.Event) {
		t.Helper()
		var o order
		var err error
		for i := range events { // one by one: the order is of the answer, not of a message
			if err = o.check(events[i : i+1]); err != nil {
				break
			}
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v: want %q", events, err, want)
		}
	}
	e := func(k sdk.EventKind, choice, call int) sdk.Event {
		return sdk.Event{Kind: k, Choice: choice, Call: call}
	}
	f("", e(sdk.Begin, 0, 0), e(sdk.TextDelta, 0, 0), e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 0, 1), e(sdk.ToolInput, 0, 0),
		e(sdk.ToolInput, 0, 1), e(sdk.ToolEnd, 0, 0), e(sdk.Finish, 0, 0), e(sdk.UsageSeen, 0, 0), e(sdk.Done, 0, 0))
	f("", e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 1, 0))
	f("", e(sdk.TextDelta, 0, 0))
	f("a second one", e(sdk.Begin, 0, 0), e(sdk.Begin, 0, 0))
	f("the answer is over", e(sdk.Done, 0, 0), e(sdk.Done, 0, 0))
	f("the answer is over", e(sdk.Failed, 0, 0), e(sdk.TextDelta, 0, 0))
	f("has begun call 0 before", e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 0, 0))
	f("has not begun call 1", e(sdk.ToolBegin, 0, 0), e(sdk.ToolInput, 0, 1))
	f("has not begun call 0", e(sdk.ToolBegin, 0, 0), e(sdk.ToolEnd, 1, 0))
	var many []sdk.Event
	for i := range maxTools + 1 {
		many = append(many, e(sdk.ToolBegin, i, 0))
	}
	f("more than 1024", many...)
}

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
	if _, err := readManifest([]byte("{"), "acme"); err == nil {
		t.Error("a manifest that is no JSON was read")
	}
}

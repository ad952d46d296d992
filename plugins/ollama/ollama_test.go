package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestManifest(t *testing.T) {
	m := New().Manifest()
	for _, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok || e.At != "/error" || e.Has == "" || e.Has != strings.ToLower(e.Has) {
			t.Errorf("known error %+v: want a kind and a lower-case part of the error", e)
		}
	}
	if !json.Valid(m.ConfigSchema) {
		t.Error("the config schema is no JSON")
	}
}

func TestConfigure(t *testing.T) {
	p := New().(*provider)
	if _, err := p.Configure("a", []byte(`{"num_ctx":10,"keep_alive":"1h"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Configure("b", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Configure("a", []byte(`[]`)); err == nil {
		t.Error("configuration that is no object was taken")
	}
	if a, b := p.of("a"), p.of("b"); a != (settings{10, "1h"}) || b != (settings{}) {
		t.Errorf("settings %+v and %+v", a, b)
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
	want := `{"role":"tool","content":"2","tool_name":"f"},{"role":"tool","content":"1","tool_name":"g"},{"role":"tool","content":"3","tool_name":"f"}]`
	if !strings.Contains(string(plan.Body.Bytes()), want) {
		t.Errorf("body %s\nwant %s in it", plan.Body.Bytes(), want)
	}
	r.Messages[1].Parts = append(r.Messages[1].Parts, result("f", "4"))
	if err := New().Encode(r, new(sdk.Plan)); err == nil || !strings.Contains(err.Error(), "contents[1].parts[3]: want the result of a call") {
		t.Errorf("a result too many: %v", err)
	}
}

func TestMalformed(t *testing.T) {
	d := New().NewDecoder(sdk.AnswerInfo{Stream: true})
	out := new(sdk.Events)
	if err := d.Decode(&sdk.Frame{Text: []byte("  ")}, out); err != nil || len(out.List) > 0 {
		t.Errorf("a blank line: %v, %d events", err, len(out.List))
	}
}

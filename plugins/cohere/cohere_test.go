package cohere

import (
	"path"
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
	tests := []struct {
		model          string
		context        int
		thinks, images bool
	}{
		{"command-a-reasoning-08-2025", 256_000, true, false},
		{"command-a-plus-05-2026", 0, true, true},
		{"command-a-vision-07-2025", 128_000, false, true},
		{"command-a-03-2025", 256_000, false, false},
		{"command-r-plus-08-2024", 128_000, false, false},
		{"command-r7b-12-2024", 128_000, false, false},
		{"someone-elses", 0, false, false},
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
		can := strings.Join(got.Can, " ")
		if got.Context != test.context || strings.Contains(can, "thinking") != test.thinks || strings.Contains(can, "images") != test.images {
			t.Errorf("%s: %+v; want context %d, thinking %v, images %v", test.model, got, test.context, test.thinks, test.images)
		}
		if thinks(test.model) != test.thinks {
			t.Errorf("thinks(%q) = %v, want %v", test.model, !test.thinks, test.thinks)
		}
	}
}

func TestCallIDs(t *testing.T) {
	long := strings.Repeat("x", 300)
	if a, b := callID(sdk.T(long)), callID(sdk.T(long+"y")); a == b || len(a) > maxID || a != callID(sdk.T(long)) {
		t.Errorf("ids %q and %q: want two that stay the same", a, b)
	}
	if got := callID(sdk.T("any id: fine")); got != "any id: fine" {
		t.Errorf("a short id became %q", got)
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
		{Role: sdk.Assistant, Path: "contents[0]", Parts: []sdk.Part{call("f"), call("g-g")}},
		{Role: sdk.User, Path: "contents[1]", Parts: []sdk.Part{result("g-g", "1"), result("f", "2")}},
	}}
	var plan sdk.Plan
	if err := New().Encode(r, &plan); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"role":"tool","tool_call_id":"call_2","content":"1"}`, `{"role":"tool","tool_call_id":"call_1","content":"2"}`} {
		if !strings.Contains(string(plan.Body.Bytes()), want) {
			t.Errorf("body %s\nwant %s in it", plan.Body.Bytes(), want)
		}
	}
	r.Messages[1].Parts = append(r.Messages[1].Parts, result("f", "3"))
	if err := New().Encode(r, new(sdk.Plan)); err == nil || !strings.Contains(err.Error(), "contents[1].parts[2]: want the result of a call") {
		t.Errorf("a result too many: %v", err)
	}
}

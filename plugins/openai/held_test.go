package openai

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

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

func TestHeldTextsAreReferredTo(t *testing.T) {
	long := held(t, strings.Repeat("x", 300))
	r := &sdk.Request{
		Model: "gpt-4.1",
		User:  long,
		Messages: []sdk.Message{
			{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: long}}},
			{Role: sdk.Assistant, Path: "messages[1]", Parts: []sdk.Part{{Kind: sdk.PartCall, Call: &sdk.Call{ID: long, Name: sdk.T("f"), Arguments: long.JSON()}}}},
			{Role: sdk.Tooling, Path: "messages[2]", Parts: []sdk.Part{{Kind: sdk.PartResult, Result: &sdk.Result{ID: long, Parts: []sdk.Part{{Kind: sdk.PartText, Text: long}}}}}},
		},
		Tools: []sdk.Tool{{Name: sdk.T("f"), Parameters: long.JSON()}},
	}
	var plan sdk.Plan
	if err := New().Encode(r, &plan); err != nil {
		t.Fatal(err)
	}
	var got []uint8
	for _, s := range plan.Body.Segments() {
		if s.Handle == 7 {
			if s.From != 0 || s.To != 300 {
				t.Errorf("segment %+v, want all 300 bytes", s)
			}
			got = append(got, s.Form)
		}
	}
	// The prompt, the arguments as they were written, the result, and the schema unescaped.
	if want := []uint8{0, 0, 0, 1}; string(got) != string(want) {
		t.Errorf("forms %v, want %v", got, want)
	}
	literals := string(plan.Body.Literals())
	id := "call_" + fingerprint(long)
	if strings.Count(literals, id) != 2 || !strings.Contains(literals, `"user":"`+fingerprint(long)+`"`) {
		t.Errorf("literals %s: want the id %s twice and the user's fingerprint", literals, id)
	}
}

func TestShortIDs(t *testing.T) {
	e := &encoding{service: service{shortIDs: true}}
	tests := []struct {
		id   string
		kept bool
	}{{"abcdefghi", true}, {"a12345678", true}, {"abc_efghi", false}, {"call_1", false}, {"abcdefghij", false}}
	for _, test := range tests {
		got := e.callID(sdk.T(test.id))
		if len(got) != 9 || !legal(got) || strings.ContainsAny(got, "_-") || (got == test.id) != test.kept {
			t.Errorf("callID(%q) = %q, want nine letters and digits, kept %v", test.id, got, test.kept)
		}
	}
}

func TestHeldTextsOfResponses(t *testing.T) {
	long, sealed := held(t, strings.Repeat("x", 300)), held(t, "gAAAA"+strings.Repeat("x", 295))
	r := &sdk.Request{
		Native: responsesDialect,
		Messages: []sdk.Message{
			{Role: sdk.System, Path: "instructions", Parts: []sdk.Part{{Kind: sdk.PartText, Text: long}}},
			{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: long}}},
			{Role: sdk.Assistant, Path: "messages[1]", Parts: []sdk.Part{
				{Kind: sdk.PartRedacted, Text: sealed}, {Kind: sdk.PartRedacted, Text: long},
				{Kind: sdk.PartCall, Call: &sdk.Call{ID: long, Name: sdk.T("f"), Arguments: long.JSON()}}}},
			{Role: sdk.Tooling, Path: "messages[2]", Parts: []sdk.Part{{Kind: sdk.PartResult, Result: &sdk.Result{ID: long, Parts: []sdk.Part{{Kind: sdk.PartText, Text: long}}}}}},
		},
	}
	var plan sdk.Plan
	if err := New().Encode(r, &plan); err != nil {
		t.Fatal(err)
	}
	segments := 0
	for _, s := range plan.Body.Segments() {
		if s.Handle == 7 {
			segments++
			if s.From != 0 || s.To != 300 || s.Form != 0 {
				t.Errorf("segment %+v, want all 300 bytes as they are", s)
			}
		}
	}
	// The instructions, the prompt, what OpenAI sealed, the arguments and the result; not what another sealed.
	if segments != 5 || len(plan.Dropped) != 1 {
		t.Errorf("%d segments, dropped %v; want 5, and a sealed thought dropped", segments, plan.Dropped)
	}
	if id := "call_" + fingerprint(long); strings.Count(string(plan.Body.Literals()), id) != 2 {
		t.Errorf("literals %s: want the id %s twice", plan.Body.Literals(), id)
	}
}

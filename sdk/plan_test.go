package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAsFunction sees what a provider of functions is told of a tool with free-form input, and what is noted of it.
func TestAsFunction(t *testing.T) {
	const says = `{"type":"object","properties":{"input":{"type":"string","description":` +
		`"The input of the tool, as free text. It is handed to the tool as it stands.`
	const ends = `"}},"required":["input"]}`
	const grammar = ` It must follow this grammar, in the syntax lark:\nstart: \"a\"+`
	f := func(raw Value, want string, notes ...Note) {
		t.Helper()
		var p Plan
		tool := p.AsFunction(&Tool{Kind: CustomTool, Name: T("patch"), Description: T("edits"), Raw: raw, Path: "tools[1]"}, "tools[1]")
		if tool.Kind != FunctionTool || !tool.Name.Is("patch") || !tool.Description.Is("edits") || tool.Path != "tools[1]" {
			t.Errorf("%s: the function is %+v", raw.Raw(), tool)
		}
		if got := string(tool.Parameters.Raw()); got != says+want+ends {
			t.Errorf("%s: the parameters are\n%s, want\n%s", raw.Raw(), got, says+want+ends)
		}
		if diff := cmp.Diff(notes, p.Dropped); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", raw.Raw(), diff)
		}
	}
	told := Note{Path: "tools[1].format", Why: "the model is told of the grammar, and not held to it", Approximate: true}
	f(Value{}, "")
	f(RawValue([]byte(`{"type":"custom","format":{"type":"text"}}`)), "")
	f(RawValue([]byte(`{"type":"custom","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\"+"}}`)), grammar, told)
	told.Path = "tools[1].custom.format"
	f(RawValue([]byte(`{"type":"custom","custom":{"format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\"+"}}}}`)),
		grammar, told)
	f(Value{span{handle: 1, to: 1 << 20}}, "", Note{Path: "tools[1]", Why: "the tool is too large to look for a grammar in it", Strict: true})

	var p Plan
	if tool := (&Tool{Name: T("f")}); p.AsFunction(tool, "") != tool {
		t.Error("a function is not itself")
	}
}

package sdk

import (
	"strings"
	"testing"
)

// TestPaths gives parts and tools the client's paths: their own, or those that their number makes.
func TestPaths(t *testing.T) {
	parts := []Part{{}, {Path: "input[4]"}}
	tools := []Tool{{}, {Path: "tools[0].functionDeclarations[1]"}}
	for _, c := range []struct{ got, want string }{
		{PartPath("messages[2]", parts, 0), "messages[2].content[0]"},
		{PartPath("messages[2]", parts, 1), "input[4]"},
		{PartPath("contents[2]", parts, 0), "contents[2].parts[0]"},
		{PartPath("systemInstruction", parts, 0), "systemInstruction.parts[0]"},
		{ToolPath(tools, 0), "tools[0]"},
		{ToolPath(tools, 1), "tools[0].functionDeclarations[1]"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestMarks finds the first cache mark and the first signature wherever they may stand.
func TestMarks(t *testing.T) {
	mark := RawValue([]byte(`{"type":"ephemeral"}`))
	marked := []Part{{Kind: PartText}, {Kind: PartText, Cache: mark}}
	inside := []Part{{Kind: PartResult, Result: &Result{Parts: marked}}}
	for _, c := range []struct {
		q    Request
		want string
	}{
		{Request{}, ""},
		{Request{Cache: mark}, "cache_control"},
		{Request{Messages: []Message{{Path: "messages[0]", Parts: marked}}, Cache: mark}, "messages[0].content[1].cache_control"},
		{Request{Messages: []Message{{Path: "messages[1]", Parts: inside}}}, "messages[1].content[0].content[1].cache_control"},
		{Request{Messages: []Message{{Path: "messages[0]", Parts: marked}}, Tools: []Tool{{Cache: mark}}}, "tools[0].cache_control"},
	} {
		if got := c.q.CacheMark(); got != c.want {
			t.Errorf("mark at %q, want %q", got, c.want)
		}
	}
	signed := Request{Messages: []Message{{Path: "contents[0]", Parts: []Part{
		{Kind: PartThinking, Signature: T("a")}, {Kind: PartCall, Call: &Call{}, Signature: T("b")}}}}}
	if got := signed.SignedPart(); got != "contents[0].parts[1]" {
		t.Errorf("signature at %q, want that of the call", got)
	}
}

// TestNotes tells what a document loses, and what was only approximated.
func TestNotes(t *testing.T) {
	var p Plan
	p.DropAbout("m", &Media{Title: T("a"), Context: T("b"), Citations: RawValue([]byte(`{"enabled":true}`))}, false)
	p.DropAbout("n", &Media{Title: T("a"), Citations: RawValue([]byte(`{"enabled":false}`))}, true)
	p.ApproximateEffort("high", "a budget of 9 tokens")
	p.ApproximateBudget(7, "an effort of low")
	p.Lose("stop", "no stop texts")
	var got []string
	for _, n := range p.Dropped {
		word := "dropped"
		switch {
		case n.Approximate:
			word = "approximated"
		case n.Strict:
			word = "lost"
		}
		got = append(got, word+" "+n.Path+": "+n.Why)
	}
	const why = ": the provider's documents have no such member"
	want := []string{"dropped m.title" + why, "dropped m.context" + why, "dropped m.citations" + why,
		"approximated reasoning: an effort of high is sent as a budget of 9 tokens", "approximated reasoning: a budget of 7 tokens is sent as an effort of low", "lost stop: no stop texts"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

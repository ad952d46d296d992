package pipe

import (
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// TestSeam: who goes on is shown the text without the white space at its end, and the client is not sent that twice.
func TestSeam(t *testing.T) {
	f := func(so, shown, whole string, rest ...string) {
		t.Helper()
		s := new(Seam)
		s.take(&sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(so)})
		if got, _ := sdk.RawText(s.Text()).Decoded(); got != shown {
			t.Errorf("%q: shown as %q, want %q", so, got, shown)
		}
		s.Break(sdk.Usage{})
		sent := so
		for _, piece := range rest {
			e := sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(piece)}
			if s.take(&e) {
				text, _ := e.Text.Decoded()
				sent += text
			}
		}
		if sent != whole {
			t.Errorf("%q and then %q: the client has %q, want %q", so, rest, sent, whole)
		}
	}
	f("one ", "one", "one two", " two")
	f("one ", "one", "one two", "two")
	f("one", "one", "one two", " two")
	f("one\n\n", "one", "one\n\ntwo", "\n", "\n", "two")
	f("one\n\n", "one", "one\n\n\ttwo", "\n\ttwo")
	f("one\n ", "one", "one\n  two", " two") // another space than the one that it ends in
	f("one ", "one", "one  two ", "  two", " ")
	f(`one \`, `one \`, `one \n`, "n")
}

package sdk

import (
	"strings"
	"testing"
)

func TestTrimEnd(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""}, {"a", "a"}, {"a ", "a"}, {`a\n`, "a"}, {`a\\n`, `a\\n`}, {`a\\\n`, `a\\`}, {` \t\r\n\f`, ""}, {`\n`, ""}, {`n`, "n"},
	}
	for _, test := range tests {
		if got := string(RawText([]byte(test.in)).TrimEnd().Raw()); got != test.want {
			t.Errorf("%q trimmed is %q, want %q", test.in, got, test.want)
		}
	}
}

func TestTrimEndOfHeldText(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		in  string
		cut int
	}{
		{long, 0}, {long + ` \n`, 3}, {long + strings.Repeat(" ", 15), 15},
		{long + strings.Repeat(" ", 16), 0}, // nothing but white space is seen
		{long + strings.Repeat(`\n`, 8), 0},
	}
	for _, test := range tests {
		facts := FactsOf([]byte(test.in))
		held := Text{span{handle: 1, to: uint32(len(test.in)), facts: &facts}}
		if got := held.Len() - held.TrimEnd().Len(); got != test.cut {
			t.Errorf("…%q: %d bytes are cut, want %d", test.in[290:], got, test.cut)
		}
	}
}

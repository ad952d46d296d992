package pipe

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// given plays the events of one call, its arguments in pieces, and gives what the client reads of its input.
func given(t interface{ Fatalf(string, ...any) }, end sdk.EventKind, pieces ...string) string {
	var c freeCalls
	var input []byte
	ended := 0
	tools := Tools{Free: []string{"patch"}}
	emit := func(e *sdk.Event) {
		switch e.Kind {
		case sdk.ToolBegin:
			if !e.Custom {
				t.Fatalf("the call is one of a function")
			}
		case sdk.ToolInput:
			if jsonspan.Valid([]byte(`"`+string(e.Text.Raw())+`"`), jsonspan.Limits{}) != nil {
				t.Fatalf("a piece is no content of a string: %s", e.Text.Raw())
			}
			if e.Call != 3 || ended > 0 {
				t.Fatalf("input of call %d, after %d ends", e.Call, ended)
			}
			input = append(input, e.Text.Raw()...)
		default:
			ended++
		}
	}
	c.event(&tools, &sdk.Event{Kind: sdk.ToolBegin, Call: 3, Name: sdk.T("patch")}, emit)
	for _, p := range pieces {
		c.event(&tools, &sdk.Event{Kind: sdk.ToolInput, Call: 3, Text: sdk.T(p)}, emit)
	}
	c.event(&tools, &sdk.Event{Kind: end, Call: 3}, emit)
	if ended != 1 || len(c.open) != 0 {
		t.Fatalf("%d ends, %d calls left open", ended, len(c.open))
	}
	text, err := jsonspan.AppendUnescape(nil, input)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}

// TestFreeInput reads the input out of arguments as models write them.
func TestFreeInput(t *testing.T) {
	f := func(args, want string) {
		t.Helper()
		if got := given(t, sdk.ToolEnd, args); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
		if got := given(t, sdk.Finish, strings.Split(args, "")...); got != want {
			t.Errorf("%s, one character at a time: got %q, want %q", args, got, want)
		}
	}
	f(``, "")
	f(`{}`, "")
	f(`{"input":""}`, "")
	f(`{"input":"a\n\"b\" \\ é \u00e9"}`, "a\n\"b\" \\ é é")
	f(" { \"input\" :\n\"a\" , \"more\": [1,{\"input\":\"b\"}] } ", "a")
	f(`{"why":"input","note":{"input":"no"},"list":["input"],"input":"yes"}`, "yes")
	f(`{"input":"\ud83d\ude00."}`, "😀.")
	f(`{"input":"\ud83d\ud83d\ude00\ude00\ud83dx\ud83d\n\ud83d\u12"}`, "\ufffd😀\ufffd\ufffdx\ufffd\n\ufffd\\u12")
	f(`{"input":"\d\u12z\ud83d"}`, `\d\u12z`+"\ufffd")
	f("{\"input\":\"a\nb\tc\"}", "a\nb\tc")
	f(`{"input":"cut sh`, "cut sh")
	f(`{"input":"cut \`, "cut ")
	f(`{"patch":"*** Begin\n"}`, "*** Begin\n")
	f(`{"a":"x","b":"y"}`, `{"a":"x","b":"y"}`)
	f(`{"input":["x"]}`, `{"input":["x"]}`)
	f(`{"inp`, `{"inp`)
	f(`"only \"text\""`, `only "text"`)
	f("*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** End Patch")
	f(`{"a":"`+strings.Repeat("x", maxSeen)+`","input":"y"}`, `{"a":"`+strings.Repeat("x", maxSeen)+`","input":"y"}`)
}

// TestFreeInputCuts holds that the input comes whole wherever its arguments are cut.
func TestFreeInputCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringOf(rapid.RuneFrom([]rune("a\"\\\n\x01é😀{}:,"))).Draw(t, "input")
		text, err := json.Marshal(map[string]any{"a": want, "input": want})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "ascii") {
			text = []byte(strings.Trim(strconv.QuoteToASCII(string(text)), `"`))
			text = []byte(strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\U0001f600`, `\ud83d\ude00`).Replace(string(text)))
		}
		var pieces []string
		for rest := string(text); rest != ""; {
			n := 1
			for n < len(rest) && (rest[n]&0xc0 == 0x80 || rapid.Bool().Draw(t, "on")) {
				n++
			}
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := given(t, sdk.ToolEnd, pieces...); got != want {
			t.Fatalf("got %q, want %q: %q", got, want, pieces)
		}
	})
}

// TestFreeCallsLeaveOthers: calls of other tools, and those that the provider gives in free form itself, stay as they are.
func TestFreeCallsLeaveOthers(t *testing.T) {
	var c freeCalls
	tools := Tools{Free: []string{"patch"}}
	f := func(e sdk.Event) {
		t.Helper()
		n, was := 0, string(e.Text.Raw())
		c.event(&tools, &e, func(got *sdk.Event) {
			n++
			if string(got.Text.Raw()) != was {
				t.Errorf("got %s, want %s", got.Text.Raw(), was)
			}
		})
		if n != 1 {
			t.Errorf("%d events, want 1", n)
		}
	}
	f(sdk.Event{Kind: sdk.ToolBegin, Name: sdk.T("patch"), Custom: true})
	f(sdk.Event{Kind: sdk.ToolInput, Text: sdk.T(`{"input":"x"}`)})
	f(sdk.Event{Kind: sdk.ToolEnd})
	f(sdk.Event{Kind: sdk.ToolBegin, Call: 1, Name: sdk.T("patches")})
	f(sdk.Event{Kind: sdk.ToolInput, Call: 1, Text: sdk.T(`{"input":"x"}`)})
	f(sdk.Event{Kind: sdk.ToolBegin, Call: 2, Name: sdk.T("patch")})
	f(sdk.Event{Kind: sdk.ToolInput, Call: 1, Text: sdk.T(`{"input":"x"}`)})
	f(sdk.Event{Kind: sdk.TextDelta, Call: 2, Text: sdk.T(`{"input":"x"}`)})
	f(sdk.Event{Kind: sdk.Finish, Choice: 1})
	f(sdk.Event{Kind: sdk.ToolEnd, Call: 2})
}

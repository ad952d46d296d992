package jsonspan

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `""`, ` 0 `, `-0`, `1e5`, `-1.25E-3`, "\t\r\n[ ]",
		`{"a":1,"A":2}`, `[{"a":1},{"a":1}]`, `{"a":{"a":{"a":[]}}}`,
		`"\ud800"`, `"\u00e9 \" \\ \/ \b\f\n\r\t"`, `"é中😀"`, `"0123456789"`, "\"\x7f\"",
		strings.Repeat("[", 128) + strings.Repeat("]", 128),
	} {
		if err := Valid([]byte(text), Limits{}); err != nil {
			t.Errorf("Valid(%q): %v", text, err)
		}
	}
}

func TestSyntaxError(t *testing.T) {
	bad := func(t *testing.T, text, want string) {
		t.Helper()
		err := Valid([]byte(text), Limits{Nodes: 400})
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("Valid(%.80q) = %v, want a *SyntaxError", text, err)
		} else if e.Error() != want {
			t.Errorf("Valid(%.80q)\n got %s\nwant %s", text, e, want)
		}
	}
	bad(t, "", "line 1 column 1: unexpected end of text, want a value")
	bad(t, " \n ", "line 2 column 2: unexpected end of text, want a value")
	bad(t, "\ufeff{}", "line 1 column 1: byte order mark before the text")
	bad(t, "{} {}", "line 1 column 4: unexpected '{', want the end of the text")
	bad(t, `"a" "b"`, `line 1 column 5: unexpected '"', want the end of the text`)
	bad(t, "[1,]", "line 1 column 4 ([1]): unexpected ']', want a value")
	bad(t, "[1 2]", "line 1 column 4: unexpected '2', want a comma or the end of the array")
	bad(t, `{"a":1 "b":2}`, `line 1 column 8: unexpected '"', want a comma or the end of the object`)
	bad(t, `{"a":[1}`, `line 1 column 8 (a): unexpected '}', want a comma or the end of the array`)
	bad(t, `{"a":1,}`, "line 1 column 8: unexpected '}', want a member name in quotes")
	bad(t, `{a:1}`, "line 1 column 2: unexpected 'a', want a member name in quotes")
	bad(t, `{"a" 1}`, "line 1 column 6 (a): unexpected '1', want a colon")
	bad(t, `{"a"`, "line 1 column 5 (a): unexpected end of text, want a colon")
	bad(t, `{"a":`, "line 1 column 6 (a): unexpected end of text, want a value")
	bad(t, `{"a":1`, "line 1 column 7: unexpected end of text, want a comma or the end of the object")
	bad(t, `{"messages":[{"x":1},{"content":"a`+"\n"+`"}]}`, "line 1 column 35 (messages[1].content): control character 0x0a in a string, want an escape")
	bad(t, "{\n \"a b\": {\n  \"é\": -}}", `line 3 column 9 (["a b"]["é"]): malformed number`)
	bad(t, "01", "line 1 column 2: unexpected '1', want the end of the text")
	bad(t, "[1.]", "line 1 column 2 ([0]): malformed number")
	bad(t, "[1e+]", "line 1 column 2 ([0]): malformed number")
	bad(t, "nul", "line 1 column 1: unexpected 'n', want a value")
	bad(t, `"abc`, "line 1 column 1: string without closing quote")
	bad(t, `{"abc`, "line 1 column 2: string without closing quote")
	bad(t, `"abc\`, "line 1 column 5: malformed escape in a string")
	bad(t, `["\u12g4"]`, "line 1 column 3 ([0]): malformed escape in a string")
	bad(t, "\"0123456789\xff\"", "line 1 column 12: invalid UTF-8 in a string")
	bad(t, "\"\xed\xa0\x80\"", "line 1 column 2: invalid UTF-8 in a string") // a surrogate
	bad(t, "[\xff]", "line 1 column 2 ([0]): unexpected '�', want a value")
	bad(t, `{"a":1,"b":2,"a":3}`, `line 1 column 14: duplicate member "a"`)
	bad(t, `[{"model":1,"mod\u0065l":2}]`, `line 1 column 13 ([0]): duplicate member "model"`)
	bad(t, `{"x":{"\ud800":1,"�":2}}`, `line 1 column 18 (x): duplicate member "�"`)
	bad(t, strings.Repeat("[", 129), "line 1 column 129 ("+strings.Repeat("[0]", 128)+"): nested deeper than 128")
	bad(t, "["+strings.Repeat("1,", 400)+"1]", "line 1 column 800 ([399]): more than 400 values and member names")
	bad(t, `{"`+strings.Repeat("é", 40)+`":x}`, `line 1 column 85 (["`+strings.Repeat("é", 32)+`…"]): unexpected 'x', want a value`)
}

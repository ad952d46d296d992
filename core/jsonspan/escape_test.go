package jsonspan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestAppendQuote(t *testing.T) {
	quote := func(t *testing.T, in, want string) {
		t.Helper()
		if got := AppendQuote([]byte("x"), in); string(got) != "x"+want {
			t.Errorf("AppendQuote(%q) = %s, want x%s", in, got, want)
		}
	}
	quote(t, "", `""`)
	quote(t, "<&>/\u2028é😀\x7f", "\"<&>/\u2028é😀\x7f\"")
	quote(t, "a\"b\\c", `"a\"b\\c"`)
	quote(t, "\b\f\n\r\t\x00\x1f\v", `"\b\f\n\r\t\u0000\u001f\u000b"`)
	quote(t, "é\xff\xe4\xb8!", `"é�!"`)
	quote(t, strings.Repeat("0123456789", 10)+"\n", `"`+strings.Repeat("0123456789", 10)+`\n"`)
}

func TestAppendUnescape(t *testing.T) {
	text := func(t *testing.T, in, want string) {
		t.Helper()
		if got, err := AppendUnescape([]byte("x"), []byte(in)); err != nil || string(got) != "x"+want {
			t.Errorf("AppendUnescape(%s) = %q, %v, want x%q", in, got, err, want)
		}
	}
	text(t, ``, "")
	text(t, `a\"\\\/\b\f\n\r\tb`, "a\"\\/\b\f\n\r\tb")
	text(t, `\u00E9\u4e2d\ud83d\uDE00\u0000`, "é中😀\x00")
	text(t, `\ud800`, "�")
	text(t, `\ud800\ud83d\ude00\udc00x\ud83d\n`, "�😀�x�\n")
	text(t, `\ufffd`, "�")

	bad := func(t *testing.T, in, want string) {
		t.Helper()
		got, err := AppendUnescape([]byte("x"), []byte(in))
		var e *SyntaxError
		if !errors.As(err, &e) || e.Error() != want || string(got) != "x" {
			t.Errorf("AppendUnescape(%s) = %q, %v, want %s", in, got, err, want)
		}
	}
	bad(t, `a"b`, "line 1 column 2: quote in a string, want an escape")
	bad(t, "ab\n", "line 1 column 3: control character in a string, want an escape")
	bad(t, `ab\`, "line 1 column 3: malformed escape in a string")
	bad(t, `\u00g0`, "line 1 column 1: malformed escape in a string")
	bad(t, `\u00e`, "line 1 column 1: malformed escape in a string")
	bad(t, "a\xff", "line 1 column 2: invalid UTF-8 in a string")
}

// FuzzEscape holds the escapes to encoding/json: what is quoted here says the same there, and comes back the same.
func FuzzEscape(f *testing.F) {
	f.Add([]byte("a\"\\\x00\u2028\xff" + strings.Repeat("é0", 40)))
	f.Fuzz(func(t *testing.T, text []byte) {
		quoted := AppendQuote(nil, string(text))
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatalf("AppendQuote(%q) = %s: %v", text, quoted, err)
		}
		valid := strings.ToValidUTF8(string(text), "\ufffd")
		if want != valid {
			t.Fatalf("AppendQuote(%q) = %s, which is %q", text, quoted, want)
		}
		back, err := AppendUnescape(nil, quoted[1:len(quoted)-1])
		if err != nil || !bytes.Equal(back, []byte(valid)) {
			t.Fatalf("AppendUnescape(%s) = %q, %v", quoted, back, err)
		}
		if err := Valid(quoted, Limits{}); err != nil {
			t.Fatal(err)
		}
	})
}

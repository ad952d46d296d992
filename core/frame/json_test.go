package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNDJSON(t *testing.T) {
	f := func(in string, want ...seen) {
		t.Helper()
		for n := 1; n <= max(1, len(in)); n++ {
			got, err := run(NewNDJSON(0), pieces([]byte(in), n)...)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%q in chunks of %d: %v (-want +got):\n%s", in, n, err, diff)
			}
		}
	}
	f("{}\n", seen{Raw: "{}\n", Data: "{}", Lines: 1})
	f("{}\r\n [1]\t\n", seen{Raw: "{}\r\n", Data: "{}", Lines: 1}, seen{Raw: " [1]\t\n", Data: "[1]", Lines: 1})
	f("\n \r\n{}\n\n", seen{Raw: "\n \r\n{}\n", Data: "{}", Lines: 1})
	f("{}\n{\"a\":", seen{Raw: "{}\n", Data: "{}", Lines: 1}, seen{Raw: "{\"a\":", Data: "{\"a\":", Lines: 1, Partial: true})
	f("1", seen{Raw: "1", Data: "1", Lines: 1, Partial: true})
	f(" \n\t")
}

func TestJSONArray(t *testing.T) {
	f := func(in string, wantErr error, want ...string) {
		t.Helper()
		for n := 1; n <= max(1, len(in)); n++ {
			frames, err := run(NewJSONArray(0), pieces([]byte(in), n)...)
			var got []string
			for _, f := range frames {
				if f.Lines == 1 {
					got = append(got, f.Data)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
				t.Fatalf("%q in chunks of %d: error %v, want %v (-want +got):\n%s", in, n, err, wantErr, diff)
			}
			if raw := rawOf(frames); err == nil && raw != strings.TrimRight(in, space) {
				t.Fatalf("%q in chunks of %d: Raw of all frames is %q", in, n, raw)
			}
		}
	}
	f("[]", nil)
	f(" [ ] \r\n", nil)
	f("[{}]", nil, "{}")
	f("[{\"a\":1}\n,\r\n{\"b\":[2,{}]}\n]\n", nil, `{"a":1}`, `{"b":[2,{}]}`)
	f(`["]","\"]","\\",1, -2.5e3 ,true,null,[[]]]`, nil,
		`"]"`, `"\"]"`, `"\\"`, "1", "-2.5e3", "true", "null", "[[]]")
	f(`[{"}":"{[\"}"}]`, nil, `{"}":"{[\"}"}`)

	f("", ErrTruncated)
	f("[", ErrTruncated)
	f(" ", ErrTruncated)
	f("[{}", ErrTruncated, "{}")
	f("[{},", ErrTruncated, "{}")
	f("[{},{", ErrTruncated, "{}")
	f("[1", ErrTruncated)

	f("{}", ErrMalformed)
	f("[}", ErrMalformed)
	f("[,1]", ErrMalformed)
	f("[{},]", ErrMalformed, "{}")
	f("[{}{}]", ErrMalformed, "{}")
	f("[1 2]", ErrMalformed, "1")
	f("[1}", ErrMalformed, "1")
	f("[{}]x", ErrMalformed, "{}")
	f("[{}],", ErrMalformed, "{}")
	f("[{}]]", ErrMalformed, "{}")
}

// An object is given as soon as its last bracket has come.
func TestJSONArrayAtOnce(t *testing.T) {
	a := NewJSONArray(0)
	a.Feed([]byte(`[{"a":1}`))
	if f, ok, err := a.Next(); !ok || string(f.Data) != `{"a":1}` || err != nil {
		t.Errorf("Next = %+v, %v, %v; want the element", f, ok, err)
	}
}

func TestJSONArrayErrorNamesByte(t *testing.T) {
	_, err := run(NewJSONArray(0), []byte(`{"error":{}}`))
	if want := `malformed stream: '{' where want "["`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Any array that encoding/json accepts is cut into the elements that it finds,
// however the array arrives.
func FuzzJSONArray(f *testing.F) {
	for _, s := range []string{`[]`, `[{"a":"]\"\\"},1,"x",[[],{}]]`, "[{}\r\n,\n{}]\n", `[1,2`, `[tru]`, `[1"]`} {
		f.Add([]byte(s), uint64(0x1234567))
	}
	f.Fuzz(func(t *testing.T, body []byte, cuts uint64) {
		if len(body) > 1<<12 {
			return
		}
		whole, wholeErr := run(NewJSONArray(0), body)
		cut, cutErr := run(NewJSONArray(0), cutBy(body, cuts)...)
		if diff := cmp.Diff(whole, cut); diff != "" || errorText(wholeErr) != errorText(cutErr) {
			t.Errorf("cut by %x: %v, whole: %v (-whole +cut):\n%s", cuts, cutErr, wholeErr, diff)
		}
		var want []json.RawMessage
		if json.Unmarshal(body, &want) != nil || bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
			return
		}
		if wholeErr != nil || len(whole) != len(want)+1 {
			t.Fatalf("%d frames, error %v; want %d", len(whole), wholeErr, len(want)+1)
		}
		for i, w := range want {
			if whole[i].Data != string(w) {
				t.Errorf("element %d is %q, want %q", i, whole[i].Data, w)
			}
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package policy

import (
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// FuzzResult makes values of all shapes from bytes and reads them as what route returned: it never panics, and what it
// accepts is names.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{"", "[sa]", "[s][s]", "(s(i", "[[[[", "[n]", "[f]", "{s", "[sabc", "lll", "[t", "[b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := value(&data, 0)
		names, bad := branches(v)
		switch {
		case bad == nil && (len(names) == 0 || len(names) > maxBranches):
			t.Errorf("%v: got %d names", v, len(names))
		case bad != nil && (bad.kind != Result && bad.kind != Empty || names != nil):
			t.Errorf("%v: got %v, %v", v, names, bad)
		}
		for _, n := range names {
			if n == "" || len(n) > maxName {
				t.Errorf("%v: got the name %q", v, n)
			}
		}
		if n, ok := size(v, maxText); ok && len(v.String()) > n {
			t.Errorf("%v: written in %d bytes, the size is %d", v, len(v.String()), n)
		}
	})
}

// value reads one value: a letter for its type, then what it holds.
func value(data *[]byte, depth int) starlark.Value {
	if len(*data) == 0 || depth > 20 {
		return starlark.None
	}
	c := (*data)[0]
	*data = (*data)[1:]
	var list []starlark.Value
	if c == '[' || c == '(' || c == '{' {
		for len(*data) > 0 && (*data)[0] != ']' {
			list = append(list, value(data, depth+1))
		}
		*data = (*data)[min(1, len(*data)):]
	}
	switch c {
	case '[':
		return starlark.NewList(list)
	case '(':
		return starlark.Tuple(list)
	case '{':
		d := new(starlark.Dict)
		for _, k := range list {
			_ = d.SetKey(k, k) // A key that cannot be hashed is left out.
		}
		return d
	case 's':
		n := min(3, len(*data))
		s := string((*data)[:n])
		*data = (*data)[n:]
		return starlark.String(s)
	case 'i':
		return starlark.MakeUint64(math.MaxUint64)
	case 'f':
		return starlark.Float(math.NaN())
	case 't':
		return starlark.True
	case 'b':
		return starlark.Universe["len"]
	}
	return starlark.MakeInt(int(c))
}

// FuzzCompile compiles any text and runs it over made-up facts: whatever it is, it ends within its bounds, and its fault
// has a kind.
func FuzzCompile(f *testing.F) {
	for _, h := range hostile {
		f.Add("def route(req, models):\n " + h.body + "\n return ['a']\n")
	}
	for _, body := range same {
		f.Add("def route(req, models):\n " + body + "\n")
	}
	f.Add("load('a.star', 'b')\nx = {y: z for y, z in [(1, 2)]}\n")
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) {
			t.Skip("the parser takes other text for characters of its own")
		}
		_, err := Compile("p.star", []byte(src), Options{Bounds: Bounds{Steps: 20_000}})
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Kind == "" || e.Error() == "") {
			t.Errorf("got %v", err)
		}
	})
}

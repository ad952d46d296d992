package jsonspan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse compares the verdict with that of encoding/json, which leaves UTF-8 and repeated names unchecked.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"model":"x","messages":[{"role":"user","content":"hé\n\u4e2d"}],"n":-1.5e+3,"t":[true,false,null]}`,
		`{"a":1,"a":2}`, `{"mod\u0065l":1,"model":2}`, "\"0123456789012345678901234567890123456789\x00\"", `"\ud83d\ude00"`, "[\"\xe4\xb8\xad\xff\"]",
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"a":9}`,
	} {
		f.Add([]byte(s))
	}
	var d Doc
	f.Fuzz(func(t *testing.T, text []byte) {
		lax := d.Parse(text, Limits{Depth: 255, AllowDuplicates: true})
		var se *SyntaxError
		if errors.As(lax, &se) && strings.HasPrefix(se.Msg, "nested deeper") {
			return
		}
		if want := json.Valid(text) && utf8.Valid(text); (lax == nil) != want {
			t.Fatalf("Parse(%q) = %v, encoding/json says %v", text, lax, want)
		}
		if lax != nil {
			if se.Off < 0 || se.Off > len(text) {
				t.Fatalf("Parse(%q): offset %d", text, se.Off)
			}
			return
		}
		checkTape(t, &d)
		err := d.Parse(text, Limits{Depth: 255})
		if want := hasDuplicate(t, text); (err != nil) != want {
			t.Fatalf("Parse(%q) = %v, duplicates %v", text, err, want)
		}
	})
}

// hasDuplicate finds repeated names by the tokens of encoding/json.
func hasDuplicate(t *testing.T, text []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var walk func() bool
	walk = func() bool {
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		dup := false
		switch tok {
		case json.Delim('['):
			for dec.More() {
				dup = walk() || dup
			}
			dec.Token()
		case json.Delim('{'):
			seen := map[string]bool{}
			for dec.More() {
				name, _ := dec.Token()
				dup = dup || seen[name.(string)]
				seen[name.(string)] = true
				dup = walk() || dup
			}
			dec.Token()
		}
		return dup
	}
	return walk()
}

// checkTape holds the tape to its promises: nesting, order, and texts equal to those of encoding/json.
func checkTape(t *testing.T, d *Doc) {
	for i, n := range d.Nodes {
		raw := d.Raw(i)
		if !json.Valid(raw) || int(n.Next) <= i || int(n.Next) > len(d.Nodes) {
			t.Fatalf("%q: node %d is %q, next %d", d.Body, i, raw, n.Next)
		}
		switch n.Kind {
		case Object, Array:
			for child := i + 1; child < int(n.Next); child = int(d.Nodes[child].Next) {
				if c := d.Nodes[child]; c.Depth != n.Depth+1 || c.Off <= n.Off || c.End >= n.End || c.Next > n.Next {
					t.Fatalf("%q: node %d %+v is outside of %+v", d.Body, child, c, n)
				}
			}
		case String:
			var want string
			if err := json.Unmarshal(raw, &want); err != nil || d.Text(i) != want || !d.Is(i, want) || d.Is(i, want+"x") {
				t.Fatalf("text of %q is %q, want %q", raw, d.Text(i), want)
			}
			if got := n.Flags&NonASCII != 0; got != (strings.IndexFunc(string(raw), func(r rune) bool { return r > 127 }) >= 0) {
				t.Fatalf("%q: NonASCII is %v", raw, got)
			}
			if got := n.Flags&Escaped != 0; got != strings.Contains(string(raw), `\`) {
				t.Fatalf("%q: Escaped is %v", raw, got)
			}
		case Number:
			if got := n.Flags&Integer != 0; got == strings.ContainsAny(string(raw), ".eE") {
				t.Fatalf("%q: Integer is %v", raw, got)
			}
		}
	}
}

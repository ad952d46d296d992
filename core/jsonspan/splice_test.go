package jsonspan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// apply is what the edits make of body, after it has been held against Splice's promises.
func apply(t interface{ Fatalf(string, ...any) }, body []byte, edits []Edit) string {
	segs, total := Splice(nil, body, edits)
	out := bytes.Join(segs, nil)
	if total != len(out) {
		t.Fatalf("Splice(%q): total %d, want %d", body, total, len(out))
	}
	for _, s := range segs {
		if len(s) == 0 {
			t.Fatalf("Splice(%q): empty segment", body)
		}
	}
	return string(out)
}

func TestSplice(t *testing.T) {
	// edit is -name, +name=json or name=json; several are separated by spaces.
	splice := func(t *testing.T, body, edits, want string) {
		t.Helper()
		var d Doc
		if err := d.Parse([]byte(body), Limits{}); err != nil {
			t.Fatal(err)
		}
		var list []Edit
		for e := range strings.FieldsSeq(edits) {
			obj := 0
			if rest, ok := strings.CutPrefix(e, "in."); ok {
				obj, _ = d.Find(0, "in")
				e = rest
			}
			name, value, _ := strings.Cut(strings.TrimLeft(e, "+-"), "=")
			val, ok := d.Member(obj, name)
			if !ok && e[0] != '+' {
				t.Fatalf("%s: no member %s", body, name)
			}
			switch e[0] {
			case '-':
				list = append(list, d.Delete(obj, val-1))
			case '+':
				list = append(list, d.Insert(obj, name, []byte(value)))
			default:
				list = append(list, d.Replace(val, []byte(value)))
			}
		}
		if got := apply(t, d.Body, list); got != want {
			t.Errorf("%s with %s\n got %s\nwant %s", body, edits, got, want)
		}
	}
	const abc = `{"a":1, "b":2, "c":3}`
	splice(t, abc, "", abc)
	splice(t, abc, "b=[]", `{"a":1, "b":[], "c":3}`)
	splice(t, abc, "-a", `{"b":2, "c":3}`)
	splice(t, abc, "-b", `{"a":1, "c":3}`)
	splice(t, abc, "-c", `{"a":1, "b":2}`)
	splice(t, abc, "-b -a", `{"c":3}`)
	splice(t, abc, "-c -b", `{"a":1}`)
	splice(t, abc, "-a -c", `{"b":2}`)
	splice(t, abc, "-a -b -c", `{}`)
	splice(t, abc, "-a -c b=0", `{"b":0}`)
	splice(t, abc, "+d=4 +e=5", `{"a":1, "b":2, "c":3,"d":4,"e":5}`)
	splice(t, abc, "+d=4 -c", `{"a":1, "b":2,"d":4}`)
	splice(t, abc, "+d=4 -c -b -a +e=5", `{"d":4,"e":5}`)
	splice(t, `{}`, "+d=4", `{"d":4}`)
	splice(t, `{ }`, "+d=4 +e=5", `{"d":4,"e":5 }`)
	splice(t, "{\n  \"a\" : 1 ,\n  \"b\": 2\n}", "-b", "{\n  \"a\" : 1\n}")
	splice(t, "{\n  \"a\" : 1 ,\n  \"b\": 2\n}", "-a -b +x=0", "{\n  \"x\":0\n}")
	splice(t, `{"in":{"x":1}}`, "in.-x +y=2", `{"in":{},"y":2}`)
	splice(t, `{"in":{"x":1}}`, "in.-x in.+y=2 +y=3", `{"in":{"y":2},"y":3}`)
	splice(t, `{"in":{"x":1},"y":[]}`, "in.-x -y", `{"in":{}}`)
	splice(t, `{"in":{},"y":[]}`, "in.+x=1 -y", `{"in":{"x":1}}`)
	splice(t, `{"in":{}}`, "in.+x=1 +y=2", `{"in":{"x":1},"y":2}`)
	splice(t, `{"in":{"x":1},"y":2}`, "in.x={} +in2=3 y=4", `{"in":{"x":{}},"y":4,"in2":3}`)
	splice(t, `{"mod\u0065l":"a"}`, `model="b"`, `{"mod\u0065l":"b"}`)
}

func TestSplicePanics(t *testing.T) {
	d := parse(t, `{"a":{"b":1}}`)
	b, _ := d.Find(0, "a", "b")
	panics := func(name string, f func()) {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
	panics("edit in a deleted member", func() { Splice(nil, d.Body, []Edit{d.Replace(b, nil), d.Delete(0, 1)}) })
	panics("value edited twice", func() { Splice(nil, d.Body, []Edit{d.Replace(b, nil), d.Replace(b, nil)}) })
	panics("backwards", func() { Splice(nil, d.Body, []Edit{{From: 2, To: 1}}) })
	panics("beyond the end", func() { Splice(nil, d.Body, []Edit{{From: 2, To: 99}}) })
	panics("insert into a number", func() { d.Insert(b, "x", nil) })
	panics("delete of a value", func() { d.Delete(0, b) })
	panics("delete in another object", func() { d.Delete(0, b-1) })
}

// flatObject draws an object of up to six numbers, with white space wherever it may be.
func flatObject(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	text := "{" + space.Draw(t, "s")
	for i := range rapid.IntRange(0, 6).Draw(t, "members") {
		if i > 0 {
			text += space.Draw(t, "s") + "," + space.Draw(t, "s")
		}
		text += fmt.Sprintf(`"m%d"%s:%s%d`, i, space.Draw(t, "s"), space.Draw(t, "s"), i)
	}
	return text + space.Draw(t, "s") + "}"
}

// TestSpliceByList compares random edits of a flat object with the same changes of a list of members.
func TestSpliceByList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct {
			name  string
			value any
		}
		text := flatObject(t)
		var d Doc
		if err := d.Parse([]byte(text), Limits{}); err != nil {
			t.Fatal(err)
		}
		var edits []Edit
		var want []pair
		for key, val := range d.Members(0) {
			v, _ := d.Float(val)
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				edits = append(edits, d.Delete(0, key))
			case 1:
				edits = append(edits, d.Replace(val, []byte("true")))
				want = append(want, pair{d.Text(key), true})
			default:
				want = append(want, pair{d.Text(key), v})
			}
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "inserts") {
			name := fmt.Sprintf("new %d", i)
			edits = append(edits, d.Insert(0, name, []byte("null")))
			want = append(want, pair{name, nil})
		}
		inserts := len(edits)
		for inserts > 0 && edits[inserts-1].member == oneMore {
			inserts--
		}
		head := rapid.Permutation(edits[:inserts]).Draw(t, "order") // inserts keep theirs
		out := apply(t, d.Body, append(head, edits[inserts:]...))
		var got []pair
		if err := d.Parse([]byte(out), Limits{}); err != nil {
			t.Fatalf("%q becomes %q: %v", text, out, err)
		}
		for key, val := range d.Members(0) {
			var v any
			if err := json.Unmarshal(d.Raw(val), &v); err != nil {
				t.Fatal(err)
			}
			got = append(got, pair{d.Text(key), v})
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q becomes %q, want %v", text, out, want)
		}
	})
}

func TestSpliceDoesNotAllocate(t *testing.T) {
	d := parse(t, `{"model":"a","n":1,"stream":true}`)
	model, _ := d.Member(0, "model")
	n, _ := d.Member(0, "n")
	edits := []Edit{d.Delete(0, n-1), d.Replace(model, []byte(`"b"`)), d.Insert(0, "x", []byte("0"))}
	segs := make([][]byte, 0, 8)
	if got := testing.AllocsPerRun(100, func() { segs, _ = Splice(segs[:0], d.Body, edits) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if got := bytes.Join(segs, nil); string(got) != `{"model":"b","stream":true,"x":0}` {
		t.Errorf("got %s", got)
	}
}

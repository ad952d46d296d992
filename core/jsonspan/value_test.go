package jsonspan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) *Doc {
	t.Helper()
	d := new(Doc)
	if err := d.Parse([]byte(text), Limits{}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMember(t *testing.T) {
	d := parse(t, `{"Model":1,"mod\u0065l":"gpt","a":{"b":{"c":[1,2,3]}},"\ud800":0}`)
	if v, ok := d.Member(0, "model"); !ok || !d.Is(v, "gpt") {
		t.Errorf("model: %v %v", v, ok)
	}
	for _, name := range []string{"MODEL", "", "mode", "models", "c"} {
		if v, ok := d.Member(0, name); ok {
			t.Errorf("%q is %s", name, d.Raw(v))
		}
	}
	if v, ok := d.Find(0, "a", "b", "c"); !ok || d.Len(v) != 3 || string(d.Raw(v)) != "[1,2,3]" {
		t.Errorf("a.b.c: %v %v", v, ok)
	}
	for key := range d.Members(0) {
		if !d.Is(key, "Model") {
			t.Errorf("the first member is %s", d.Raw(key))
		}
		break
	}
	for range d.Items(0) {
		t.Error("an object has items")
	}
	if _, ok := d.Find(0, "a", "x", "c"); ok {
		t.Error("a.x.c is there")
	}
	if v, ok := d.Find(0, "Model", "x"); ok {
		t.Errorf("a number has member %d", v)
	}
	if v, ok := d.Member(0, "�"); !ok || d.Kind(v) != Number {
		t.Errorf("the member named by a lone surrogate: %v %v", v, ok)
	}
}

func TestAllowDuplicates(t *testing.T) {
	var d Doc
	if err := d.Parse([]byte(`{"a":1,"b":2,"a":3}`), Limits{AllowDuplicates: true}); err != nil {
		t.Fatal(err)
	}
	if v, _ := d.Member(0, "a"); string(d.Raw(v)) != "3" {
		t.Errorf("a is %s, want the last, 3", d.Raw(v))
	}
}

func TestNumbers(t *testing.T) {
	number := func(t *testing.T, text string, wantInt int64, isInt bool, wantFloat float64, isFloat bool) {
		t.Helper()
		d := parse(t, text)
		if v, ok := d.Int(0); v != wantInt && ok || ok != isInt {
			t.Errorf("%s: Int is %d, %v", text, v, ok)
		}
		if v, ok := d.Float(0); v != wantFloat && ok || ok != isFloat {
			t.Errorf("%s: Float is %g, %v", text, v, ok)
		}
	}
	number(t, "0", 0, true, 0, true)
	number(t, "-12", -12, true, -12, true)
	number(t, "10.0", 0, false, 10, true)
	number(t, "1e3", 0, false, 1000, true)
	number(t, "9223372036854775807", math.MaxInt64, true, 1<<63, true)
	number(t, "9223372036854775808", 0, false, 1<<63, true)
	number(t, "1e400", 0, false, 0, false)
	number(t, `"1"`, 0, false, 0, false)
	number(t, "true", 0, false, 0, false)
}

func TestScalars(t *testing.T) {
	d := parse(t, `[true,false,null,"a\nb",{}]`)
	var bools []string
	for i := range d.Items(0) {
		v, ok := d.Bool(i)
		bools = append(bools, fmt.Sprint(d.Kind(i), v, ok))
	}
	if want := []string{"true true true", "false false true", "null false false", "string false false", "object false false"}; !slices.Equal(bools, want) {
		t.Errorf("got %q, want %q", bools, want)
	}
	if got := d.AppendText([]byte("x"), 4); string(got) != "xa\nb" || string(d.Inner(4)) != `a\nb` || d.Text(5) != "" || d.Inner(5) != nil {
		t.Errorf("texts: %q %q %q %q", got, d.Inner(4), d.Text(5), d.Inner(5))
	}
	if got := d.AppendText(nil, 5); got != nil {
		t.Errorf("an object's text is %q", got)
	}
}

func TestPath(t *testing.T) {
	d := parse(t, `{"messages":[0,{},{"content":[],"a b":{"":1}}],"é":null}`)
	var paths []string
	for i := range d.Nodes {
		paths = append(paths, d.Path(i))
	}
	want := []string{
		"", "messages", "messages", "messages[0]", "messages[1]", "messages[2]", "messages[2].content", "messages[2].content",
		`messages[2]["a b"]`, `messages[2]["a b"]`, `messages[2]["a b"][""]`, `messages[2]["a b"][""]`, `["é"]`, `["é"]`,
	}
	if !slices.Equal(paths, want) {
		t.Errorf("got  %q\nwant %q", paths, want)
	}
	long := parse(t, strings.Repeat(`{"`+strings.Repeat("n", 60)+`":`, 100)+"1"+strings.Repeat("}", 100))
	if p := long.Path(len(long.Nodes) - 1); len(p) > 600 || !strings.HasSuffix(p, cut) {
		t.Errorf("a long path is %d bytes: %s", len(p), p)
	}
}

func TestPosition(t *testing.T) {
	d := parse(t, "[\n 1,\r\n\"é\", 2]")
	for _, c := range []struct{ off, line, column int }{{0, 1, 1}, {1, 1, 2}, {2, 2, 1}, {3, 2, 2}, {7, 3, 1}, {13, 3, 7}, {15, 3, 9}} {
		if line, column := d.Position(c.off); line != c.line || column != c.column {
			t.Errorf("Position(%d) = %d, %d, want %d, %d", c.off, line, column, c.line, c.column)
		}
	}
}

// TestRepeatedNames tries objects on both sides of the size where hashing begins, and where the table grows.
func TestRepeatedNames(t *testing.T) {
	var d Doc
	for _, n := range []int{2, fewNames, fewNames + 1, 8, 9, 128, 129, 5000} {
		var b strings.Builder
		for i := range n {
			// An inner object with the same names must not count.
			fmt.Fprintf(&b, `,"name %d":{"name 0":1,"name 1":[{"name 0":{}}]}`, i)
		}
		members := b.String()[1:]
		if err := d.Parse([]byte("{"+members+"}"), Limits{}); err != nil {
			t.Errorf("%d members: %v", n, err)
		}
		for _, again := range []int{0, n / 2, n - 1} {
			name := fmt.Sprintf(`,"n\u0061me %d":0`, again)
			if err := d.Parse([]byte("{"+members+name+"}"), Limits{}); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf(`duplicate member "name %d"`, again)) {
				t.Errorf("%d members, number %d again: %v", n, again, err)
			}
		}
		d.Reset()
	}
}

func TestReset(t *testing.T) {
	d := parse(t, "["+strings.Repeat("0,", keptNodes)+"0]")
	d.Reset()
	if d.Body != nil || d.Nodes != nil {
		t.Errorf("after Reset: body %d bytes, tape for %d nodes", len(d.Body), cap(d.Nodes))
	}
	if err := d.Parse([]byte("[0]"), Limits{}); err != nil || len(d.Nodes) != 2 {
		t.Errorf("after Reset: %d nodes, %v", len(d.Nodes), err)
	}
	d.Reset()
	if cap(d.Nodes) == 0 {
		t.Error("a small tape is not kept")
	}
}

func TestParseAgainDoesNotAllocate(t *testing.T) {
	var d Doc
	text := chatBody()
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Parse(text, Limits{}); err != nil {
			t.Fatal(err)
		}
		if v, ok := d.Find(0, "messages"); !ok || d.Len(v) == 0 || d.Is(v, "") {
			t.Fatal("no messages")
		}
		d.Reset()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

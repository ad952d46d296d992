package jsonspan

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestCanonicalVectors(t *testing.T) {
	files, _ := filepath.Glob("testdata/jcs/input/*.json")
	if len(files) != 6 {
		t.Fatalf("%d files, want 6", len(files))
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata/jcs/output", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Canonical(nil, in)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n got %s\nwant %s", file, err, got, want)
		}
		if again, err := Canonical(nil, got); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s: the canonical form becomes %s (%v)", file, again, err)
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	file, err := os.Open("testdata/jcs/es6-numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
		digits, want, _ := strings.Cut(s.Text(), ",")
		n, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendNumber(nil, math.Float64frombits(n)); string(got) != want {
			t.Errorf("%s: got %s, want %s", digits, got, want)
		}
		if got, err := Canonical(nil, []byte(want)); string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v", want, got, err)
		}
	}
	if lines < 1000 {
		t.Errorf("%d lines, want 1000 and more", lines)
	}
}

func TestCanonical(t *testing.T) {
	same := func(t *testing.T, in, want string) {
		t.Helper()
		if got, err := Canonical([]byte("x"), []byte(in)); err != nil || string(got) != "x"+want {
			t.Errorf("Canonical(%s) = %s, %v, want x%s", in, got, err, want)
		}
	}
	same(t, ` { "b" : [ 1.0 , -0 ] , "a" : { } } `, `{"a":{},"b":[1,0]}`)
	same(t, `{"b":{"y":1,"x":2},"a":{"z":3,"w":4},"c":0}`, `{"a":{"w":4,"z":3},"b":{"x":2,"y":1},"c":0}`)
	same(t, `{"\uffee":1,"\ud83d\ude00":2,"aa":3,"a":4}`, `{"a":4,"aa":3,"😀":2,"￮":1}`)
	same(t, `"\u0041\/\u000b\ufffd\u2028<"`, `"A/\u000b�`+"\u2028"+`<"`)
	same(t, `[9007199254740991,-9007199254740992,1E30,1000000000000000000000,1.5e300]`, `[9007199254740991,-9007199254740992,1e+30,1e+21,1.5e+300]`)
	same(t, `[0.10,1e-7,0e999,0.000001e10,0.0001e+25,0.01E18,100000000000000000000.0]`, `[0.1,1e-7,0,10000,1e+21,10000000000000000,100000000000000000000]`)

	bad := func(t *testing.T, in, want string) {
		t.Helper()
		if got, err := Canonical([]byte("x"), []byte(in)); err == nil || err.Error() != want || string(got) != "x" {
			t.Errorf("Canonical(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
	bad(t, `{"seed":9007199254740993}`, "line 1 column 9 (seed): number 9007199254740993 would become 9007199254740992")
	bad(t, `-9007199254740993.0`, "line 1 column 1: number -9007199254740993.0 would become -9007199254740992")
	bad(t, `[1,9007199254740992.5]`, "line 1 column 4 ([1]): number 9007199254740992.5 would become 9007199254740992")
	bad(t, `1e400`, "line 1 column 1: number 1e400 is too large for a float64")
	bad(t, `-1e-400`, "line 1 column 1: number -1e-400 would become 0")
	bad(t, `{"a":"x\ud800"}`, "line 1 column 6 (a): lone surrogate, which has no canonical form")
	bad(t, `{"\udc00":1}`, "line 1 column 2 ([\"�\"]): lone surrogate, which has no canonical form")
	bad(t, `{"a":1,"a":1}`, `line 1 column 8: duplicate member "a"`)
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1e5,0.1,12345678901234567890],"a":"\u00e9\ud83d\ude00\u000b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Canonical(nil, text)
		if err != nil {
			return
		}
		if twice, err := Canonical(nil, once); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, and that %q (%v)", text, once, twice, err)
		}
	})
}

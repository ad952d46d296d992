package jsonspan

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// plainByBytes is what plain and its kernels must agree with.
func plainByBytes(p []byte) (n int, ascii bool) {
	for n < len(p) && p[n] >= 0x20 && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n, bytes.IndexFunc(p[:n], func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func checkPlain(t *testing.T, p []byte) {
	t.Helper()
	want, ascii := plainByBytes(p)
	for _, kernel := range []struct {
		name string
		f    func([]byte) (int, uint64)
	}{{"plain", plain}, {"plainWords", plainWords}} {
		if n, union := kernel.f(p); n != want || (union&highs == 0) != ascii {
			t.Fatalf("%s(%q) = %d, %#x, want %d, ASCII %v", kernel.name, p, n, union, want, ascii)
		}
	}
	if !vectorized() {
		return
	}
	n, union := plainBlocks(p)
	_, ascii = plainByBytes(p[:n])
	if n != want&^63 || (union&highs == 0) != ascii {
		t.Fatalf("plainBlocks(%q) = %d, %#x, want %d, ASCII %v", p, n, union, want&^63, ascii)
	}
	checkStringBlocks(t, p)
}

// checkStringBlocks goes by single bytes and escapes where the kernel has gone.
func checkStringBlocks(t *testing.T, p []byte) {
	t.Helper()
	n, union, escaped := stringBlocks(p)
	i, escapes := 0, 0
	for step := stringStep(p); i < n && step > 0; step = stringStep(p[i:]) {
		i, escapes = i+step, escapes+step-1
	}
	ascii := bytes.IndexFunc(p[:n], func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	if i != n || escaped != (escapes > 0) || (union&highs == 0) != ascii {
		t.Fatalf("stringBlocks(%q) = %d, %#x, %v, want %d, ASCII %v, escapes %d", p, n, union, escaped, i, ascii, escapes)
	}
	if len(p)-n > 64 && stringStep(p[n:]) > 0 {
		t.Fatalf("stringBlocks(%q) = %d: stops early", p, n)
	}
}

// stringStep is the length of the plain byte or the escape of two bytes that p starts with, and 0 where it is neither.
func stringStep(p []byte) int {
	switch {
	case len(p) == 0:
		return 0
	case p[0] != '\\':
		n, _ := plainByBytes(p[:1])
		return n
	case escapeLen(p) == 2:
		return 2
	}
	return 0
}

// TestPlain puts every byte at every place of texts on both sides of each kernel's block.
func TestPlain(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 95, 96, 97, 160, 200} {
		p := bytes.Repeat([]byte("a"), size)
		checkPlain(t, p)
		for i := range p {
			for c := range 256 {
				p[i] = byte(c)
				checkPlain(t, p)
			}
			p[i] = "!#[]~\x7f"[i%6] // the neighbours of what is special
		}
	}
}

// TestStringBlocks puts every pair of a backslash and a byte around the end of a block, alone and behind other escapes.
func TestStringBlocks(t *testing.T) {
	for _, filled := range []string{"a", `\n`, `a\"`, "\u00e9", `\\`, "\xff"} {
		text := bytes.Repeat([]byte(filled), 200/len(filled))
		for i := 56; i < 72; i++ {
			for c := range 256 {
				p := bytes.Clone(text)
				p[i], p[i+1] = '\\', byte(c)
				checkPlain(t, p)
				checkPlain(t, p[:i+1]) // a backslash at the end
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\x80\""))
	f.Add([]byte(`a\n\t\"\\\/\b\f\r\u00e9\x` + string(bytes.Repeat([]byte("b"), 100))))
	f.Fuzz(func(t *testing.T, p []byte) {
		for from := range min(len(p), 9) { // each alignment
			checkPlain(t, p[from:])
		}
	})
}

func FuzzInvalidUTF8(f *testing.F) {
	f.Add([]byte("a\xe4\xb8\xad\xe6\x96\x87\xf0\x9f\x98\x80\xed\xa0\x80"))
	f.Fuzz(func(t *testing.T, p []byte) {
		bad := invalidUTF8(p)
		if (bad < 0) != utf8.Valid(p) {
			t.Fatalf("invalidUTF8(%q) = %d", p, bad)
		}
		if bad < 0 {
			return
		}
		if r, n := utf8.DecodeRune(p[bad:]); !utf8.Valid(p[:bad]) || r != utf8.RuneError || n != 1 {
			t.Fatalf("invalidUTF8(%q) = %d, which is not the first", p, bad)
		}
	})
}

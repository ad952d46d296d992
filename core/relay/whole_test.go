package relay

import (
	"bytes"
	"testing"
)

// TestPieces: what came in pieces is joined as it came, whatever their sizes and whatever length was told, and memory follows
// what came.
func TestPieces(t *testing.T) {
	const most = 9 << 20
	text := make([]byte, most)
	for i := range text {
		text[i] = byte(i * 7 >> 3)
	}
	f := func(expected int64, size, piece int) {
		t.Helper()
		all := pieces{expected: expected}
		for left := text[:size]; len(left) > 0; {
			n := min(piece, len(left))
			all.add(left[:n])
			left = left[n:]
		}
		held := 0
		for _, b := range all.blocks {
			held += cap(b)
		}
		if got := all.joined(); !bytes.Equal(got, text[:size]) || all.size != int64(size) {
			t.Errorf("%d bytes in pieces of %d, %d expected: %d bytes, counted as %d, which differ", size, piece, expected, len(got), all.size)
		}
		if allowed := 2*size + int(min(max(expected, leastBlock), mostBlock)); held > allowed {
			t.Errorf("%d bytes in pieces of %d, %d expected: %d are held, want %d at the most", size, piece, expected, held, allowed)
		}
	}
	for _, piece := range []int{1 << 10, 4 << 10, 4097, 16 << 10, 1 << 20} {
		for _, size := range []int{0, 1, 4 << 10, 200_000, most} {
			for _, expected := range []int64{-1, 0, 100, int64(size), 1 << 40} {
				f(expected, size, piece)
			}
		}
	}
}

// BenchmarkPieces is an answer of 200 KB that comes in pieces of 16 KB, its length told and not.
func BenchmarkPieces(b *testing.B) {
	piece := make([]byte, 16<<10)
	for name, expected := range map[string]int64{"told": 13 * 16 << 10, "untold": -1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := pieces{expected: expected}
				for range 13 {
					all.add(piece)
				}
				all.joined()
			}
		})
	}
}

package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes at a time: a byte's high bit stands for the byte.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// special marks the bytes of x that a JSON string cannot hold as they are: quote, backslash, and those below 0x20. The
// lowest mark is exact; above it a borrow may have made false ones.
//
// x^0x02 moves the quote to 0x20, so that one subtraction finds it together with the control characters.
func special(x uint64) uint64 {
	quoteOrControl := (x ^ 0x02*ones) - 0x21*ones
	backslash := (x ^ 0x5c*ones) - ones
	return (quoteOrControl | backslash) &^ x & highs
}

// plain returns how many bytes p starts with that a JSON string can hold as they are, and their union: it has a
// bit of highs where one of them is not ASCII.
//
// A vector kernel, where there is one, gets what follows 32 such bytes: on shorter runs its call costs more than it saves.
func plain(p []byte) (n int, union uint64) {
	whole := len(p)
	vector := vectorized()
	for len(p) >= 32 {
		a, b := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		c, d := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if special(a)|special(b)|special(c)|special(d) != 0 {
			break
		}
		union |= a | b | c | d
		p = p[32:]
		if vector {
			n, u := plainBlocks(p)
			p, union, vector = p[n:], union|u, false
		}
	}
	n, u := plainWords(p)
	return whole - len(p) + n, union | u
}

// plainWords is plain for the few bytes that are left.
func plainWords(p []byte) (n int, union uint64) {
	whole := len(p)
	for len(p) >= 8 {
		x := binary.LittleEndian.Uint64(p)
		if hit := special(x); hit != 0 {
			below := hit&-hit - 1 // of the byte that was hit, this leaves what is not in highs
			return whole - len(p) + bits.TrailingZeros64(hit)>>3, union | x&below
		}
		union |= x
		p = p[8:]
	}
	for i, c := range p {
		if c < 0x20 || c == '"' || c == '\\' {
			return whole - len(p) + i, union
		}
		union |= uint64(c)
	}
	return whole, union
}

// invalidUTF8 returns the index of the first byte of p that is not part of valid UTF-8, or -1.
func invalidUTF8(p []byte) int {
	if utf8.Valid(p) {
		return -1
	}
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

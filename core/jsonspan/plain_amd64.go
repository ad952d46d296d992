//go:build !purego

package jsonspan

import "golang.org/x/sys/cpu"

// vectorized reports whether plainBlocks may be called.
func vectorized() bool { return cpu.X86.HasAVX2 }

// plainBlocks is plain in whole blocks of 64 bytes, up to the one with the first byte that needs an escape or ends the
// string.
//
//go:noescape
func plainBlocks(p []byte) (n int, union uint64)

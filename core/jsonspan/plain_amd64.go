//go:build !purego

package jsonspan

import "golang.org/x/sys/cpu"

// vectorized reports whether the kernels may be called.
func vectorized() bool { return cpu.X86.HasAVX2 }

// plainBlocks is plain in whole blocks of 64 bytes, up to the one with the first byte that needs an escape or ends the
// string.
//
//go:noescape
func plainBlocks(p []byte) (n int, union uint64)

// stringBlocks goes on from within a string, past what plain does and past escapes of two bytes. It stops at another byte
// that plain stops at, or with less than 65 bytes left. The union is as plain's.
//
//go:noescape
func stringBlocks(p []byte) (n int, union uint64, escaped bool)

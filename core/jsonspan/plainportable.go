//go:build !amd64 || purego

package jsonspan

// vectorized reports that there is no vector kernel.
func vectorized() bool { return false }

// plainBlocks stands in for the kernel and finds nothing.
func plainBlocks([]byte) (n int, union uint64) { return 0, 0 }

// stringBlocks likewise.
func stringBlocks([]byte) (n int, union uint64, escaped bool) { return 0, 0, false }

package main

import "testing"

func TestLargeHeapIsCollectedEarlier(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 100}, {10 << 20, 100}, {32 << 20, 100}, {64 << 20, 55}, {512 << 20, 10}, {16 << 30, 10}} {
		if got := percentOf(c.live); got != c.want {
			t.Errorf("%d MiB in use: %d %%, want %d", c.live>>20, got, c.want)
		}
	}
}

package shed

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// enters starts an Enter and gives what will say how it ended.
func enters(g *Gate, c Class, limit int) chan bool {
	out := make(chan bool, 1)
	go func() { out <- g.Enter(c, limit) }()
	return out
}

func TestRoom(t *testing.T) {
	var g Gate
	for range 3 {
		if !g.Enter(Batch, 3) {
			t.Fatal("there is room")
		}
	}
	g.Leave(3)
	if !g.Enter(Batch, 3) || g.InFlight() != 3 {
		t.Errorf("in flight %d, want 3", g.InFlight())
	}
	for range 100 {
		if !g.Enter(Batch, 0) {
			t.Fatal("no limit: want everybody in")
		}
	}
}

// TestWaits: who waits is let in by importance and then by age, and waits no longer than MaxWait.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Enter(Default, 1)
		var got []chan bool
		for _, c := range []Class{Batch, Default, Default, Interactive} {
			got = append(got, enters(&g, c, 1))
			synctest.Wait()
		}
		for _, i := range []int{3, 1, 2, 0} {
			g.Leave(1)
			synctest.Wait()
			for j, out := range got {
				select {
				case in := <-out:
					if j != i || !in {
						t.Fatalf("request %d got %v, want %d to be let in", j, in, i)
					}
				default:
					if j == i {
						t.Fatalf("request %d waits, want it in", i)
					}
				}
			}
		}
		late, begun := enters(&g, Interactive, 1), time.Now()
		if in := <-late; in || time.Since(begun) != MaxWait {
			t.Errorf("let in %v after %v, want a refusal after %v", in, time.Since(begun), MaxWait)
		}
		if g.InFlight() != 1 || g.Waiting() != 0 {
			t.Errorf("in flight %d, waiting %d, want 1 and 0", g.InFlight(), g.Waiting())
		}
	})
}

// TestFullQueue: a full queue turns the least important away at once.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Enter(Default, 1)
		first := enters(&g, Batch, 1)
		synctest.Wait()
		for range maxQueue - 1 {
			enters(&g, Default, 1)
		}
		synctest.Wait()
		begun := time.Now()
		if g.Enter(Batch, 1) || time.Since(begun) != 0 {
			t.Error("batch into a full queue: want a refusal at once")
		}
		enters(&g, Interactive, 1)
		synctest.Wait()
		if in := <-first; in || time.Since(begun) != 0 {
			t.Error("the batch request that waited: want it turned away for one that is more important")
		}
		if g.Waiting() != maxQueue {
			t.Errorf("%d wait, want %d", g.Waiting(), maxQueue)
		}
		time.Sleep(MaxWait)
		synctest.Wait()
	})
}

func TestMemoryIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Tighten(true)
		begun := time.Now()
		if g.Enter(Batch, 10) || time.Since(begun) != 0 {
			t.Error("batch: want a refusal at once")
		}
		if !g.Enter(Interactive, 10) {
			t.Error("interactive: want it in")
		}
		waits := enters(&g, Default, 10)
		synctest.Wait()
		g.Tighten(false)
		g.Leave(10)
		if in := <-waits; !in {
			t.Error("default: want it in when memory is there again")
		}
	})
}

// TestNeverMore: however many come and go, no more are in than the limit, and none is forgotten.
func TestNeverMore(t *testing.T) {
	const limit, all = 4, 200
	var g Gate
	var in, most, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			if !g.Enter(Class(i%3), limit) {
				refused.Add(1)
				return
			}
			n := in.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			in.Add(-1)
			g.Leave(limit)
		})
	}
	wait.Wait()
	if most.Load() > limit || refused.Load() > 0 || g.InFlight() != 0 || g.Waiting() != 0 {
		t.Errorf("at most %d at once, %d refused, %d in flight, %d waiting", most.Load(), refused.Load(), g.InFlight(), g.Waiting())
	}
}

func BenchmarkEnter(b *testing.B) {
	var g Gate
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			g.Enter(Default, 20000)
			g.Leave(20000)
		}
	})
}

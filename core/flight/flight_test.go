package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after is a load that answers after d, and ends early with its context.
func after(d time.Duration, v string, err error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return v, err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// outcome is what one caller got, and after how long.
type outcome struct {
	v    string
	err  error
	took time.Duration
}

// crowd has n callers ask for one key at the same time.
func crowd(g *Group[string, string], n int, load func(context.Context) (string, error)) []outcome {
	out := make([]outcome, n)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			begun := time.Now()
			v, err := g.Do(context.Background(), "k", load)
			out[i] = outcome{v, err, time.Since(begun)}
		})
	}
	wg.Wait()
	return out
}

func wantStats(t *testing.T, g *Group[string, string], want Stats) {
	t.Helper()
	if got := g.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestOneLoadForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		defer g.Close()
		for i, o := range crowd(&g, 1000, after(time.Second, "v", nil)) {
			if o != (outcome{"v", nil, time.Second}) {
				t.Fatalf("caller %d: %+v", i, o)
			}
		}
		wantStats(t, &g, Stats{Loads: 1, Joins: 999})
		if v, err := g.Do(t.Context(), "k", after(0, "w", nil)); v != "w" || err != nil {
			t.Errorf("a load after the flight: %q, %v; want its own result", v, err)
		}
	})
}

func TestKeysAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		defer g.Close()
		var wg sync.WaitGroup
		for i := range 10 {
			key := fmt.Sprint(i)
			wg.Go(func() {
				if v, err := g.Do(context.Background(), key, after(time.Second, key, nil)); v != key || err != nil {
					t.Errorf("key %s: %q, %v", key, v, err)
				}
			})
		}
		wg.Wait()
		wantStats(t, &g, Stats{Loads: 10})
	})
}

func TestErrorIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		defer g.Close()
		down := errors.New("down")
		for i, o := range crowd(&g, 10, after(time.Second, "", down)) {
			if o.err != down {
				t.Errorf("caller %d: %+v, want the load's error", i, o)
			}
		}
		wantStats(t, &g, Stats{Loads: 1, Joins: 9})
	})
}

// The starter leaves at any point of the load: it is told at once, and none of those who joined notices.
func TestStarterLeaves(t *testing.T) {
	const joiners, answer = 100, time.Second
	for point := range 20 {
		leaves := time.Duration(point+1) * answer / 21
		synctest.Test(t, func(t *testing.T) {
			var g Group[string, string]
			defer g.Close()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(leaves, cancel)
			var wg sync.WaitGroup
			wg.Go(func() {
				begun := time.Now()
				_, err := g.Do(ctx, "k", after(answer, "v", nil))
				if err != context.Canceled || time.Since(begun) != leaves {
					t.Errorf("starter, leaving after %v: %v after %v", leaves, err, time.Since(begun))
				}
			})
			synctest.Wait()
			for i, o := range crowd(&g, joiners, after(0, "not to be run", nil)) {
				if o.v != "v" || o.err != nil {
					t.Errorf("starter left after %v: joiner %d: %+v", leaves, i, o)
				}
			}
			wg.Wait()
			wantStats(t, &g, Stats{Loads: 1, Joins: joiners})
		})
	}
}

func TestJoinerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		defer g.Close()
		go g.Do(context.Background(), "k", after(time.Second, "v", nil))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := g.Do(ctx, "k", after(0, "w", nil)); err != context.DeadlineExceeded {
			t.Errorf("joiner whose time is up: %v", err)
		}
		if v, err := g.Do(t.Context(), "k", after(0, "w", nil)); v != "v" || err != nil {
			t.Errorf("next joiner: %q, %v; want the load under way", v, err)
		}
		if _, err := g.Do(ctx, "k", after(0, "w", nil)); err != context.DeadlineExceeded || g.Stats().Loads != 1 {
			t.Errorf("caller that had left before: %v, %+v; want no load", err, g.Stats())
		}
	})
}

// A load that never answers costs each joiner Join and no more, and those who come later nothing.
func TestLoadNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group[string, string]{Join: time.Second, Limit: 5 * time.Second}
		release := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			begun := time.Now()
			_, err := g.Do(context.Background(), "k", func(context.Context) (string, error) {
				<-release // deaf to its context
				return "late", nil
			})
			if err != ErrStalled || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 5*time.Second {
				t.Errorf("starter: %v after %v, want ErrStalled at the limit", err, time.Since(begun))
			}
		})
		synctest.Wait()
		for i, o := range crowd(&g, 100, after(100*time.Millisecond, "own", nil)) {
			if o != (outcome{"own", nil, 1100 * time.Millisecond}) {
				t.Errorf("joiner %d: %+v, want its own load after Join", i, o)
			}
		}
		wantStats(t, &g, Stats{Loads: 101, Joins: 100, Expired: 100})
		for i, o := range crowd(&g, 10, after(time.Millisecond, "new", nil)) {
			if o != (outcome{"new", nil, time.Millisecond}) {
				t.Errorf("later caller %d: %+v, want no wait for the load that hangs", i, o)
			}
		}
		wg.Wait()
		close(release)
		g.Close()
	})
}

// The first joiner that gives up puts its load where those who come later find it.
func TestReplacementIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		go g.Do(context.Background(), "k", after(time.Hour, "never", nil))
		synctest.Wait()
		go g.Do(context.Background(), "k", after(time.Second, "second", nil))
		time.Sleep(DefaultJoin + time.Millisecond)
		if v, err := g.Do(t.Context(), "k", after(0, "third", nil)); v != "second" || err != nil {
			t.Errorf("got %q, %v; want the load that took the place of the first", v, err)
		}
		wantStats(t, &g, Stats{Loads: 2, Joins: 2, Expired: 1})
		g.Close()
	})
}

// A load that meets its limit says nothing about the key: who joined it late loads for itself.
func TestJoinedJustBeforeTheLimit(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := Group[string, string]{Limit: 10 * time.Second}
			release := make(chan struct{})
			go g.Do(context.Background(), "k", func(ctx context.Context) (string, error) {
				if !deaf {
					return after(time.Hour, "", nil)(ctx)
				}
				<-release
				return "", nil
			})
			time.Sleep(9 * time.Second)
			begun := time.Now()
			v, err := g.Do(t.Context(), "k", after(time.Millisecond, "own", nil))
			if v != "own" || err != nil || time.Since(begun) != time.Second+time.Millisecond {
				t.Errorf("deaf %v: %q, %v after %v", deaf, v, err, time.Since(begun))
			}
			wantStats(t, &g, Stats{Loads: 2, Joins: 1, Expired: 1})
			close(release)
			g.Close()
		})
	}
}

// A load past its limit that nobody waits for is not joined.
func TestStalledLoadIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group[string, string]{Limit: time.Second}
		release := make(chan struct{})
		_, err := g.Do(t.Context(), "k", func(context.Context) (string, error) { <-release; return "", nil })
		if err != ErrStalled {
			t.Fatal(err)
		}
		if v, err := g.Do(t.Context(), "k", after(0, "own", nil)); v != "own" || err != nil || g.Stats().Joins != 0 {
			t.Errorf("%q, %v, %+v; want a load of its own at once", v, err, g.Stats())
		}
		close(release)
		g.Close()
	})
}

func TestJoinWithoutBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group[string, string]{Join: -1, Limit: time.Hour}
		defer g.Close()
		for i, o := range crowd(&g, 10, after(time.Minute, "v", nil)) {
			if o != (outcome{"v", nil, time.Minute}) {
				t.Errorf("caller %d: %+v, want the one load that was paid for", i, o)
			}
		}
		wantStats(t, &g, Stats{Loads: 1, Joins: 9})
	})
}

func TestPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		defer g.Close()
		f := func(what string, want any, load func(context.Context) (string, error)) {
			t.Helper()
			for i, o := range crowd(&g, 10, load) {
				var p *PanicError
				if !errors.As(o.err, &p) || p.Value != want || o.took != time.Second {
					t.Errorf("%s: caller %d: %+v, want a panic with %v", what, i, o, want)
				} else if want != nil && !strings.Contains(string(p.Stack), "flight_test.go") {
					t.Errorf("%s: stack does not lead to the load:\n%s", what, p.Stack)
				}
			}
		}
		if got := (&PanicError{Value: "boom"}).Error(); got != "load panicked: boom" {
			t.Errorf("error text %q", got)
		}
		f("panic", "boom", func(context.Context) (string, error) { time.Sleep(time.Second); panic("boom") })
		f("Goexit", nil, func(context.Context) (string, error) { time.Sleep(time.Second); runtime.Goexit(); return "", nil })
		if v, err := g.Do(t.Context(), "k", after(0, "v", nil)); v != "v" || err != nil {
			t.Errorf("after the panics: %q, %v", v, err)
		}
	})
}

// The load sees its starter's values and neither its end nor its deadline.
func TestLoadContext(t *testing.T) {
	type name struct{}
	synctest.Test(t, func(t *testing.T) {
		g := Group[string, string]{Limit: time.Minute}
		defer g.Close()
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), name{}, "trace"), time.Hour)
		defer cancel()
		checked := make(chan struct{}) // the close below would end the load's context
		v, err := g.Do(ctx, "k", func(ctx context.Context) (string, error) {
			defer close(checked)
			if d, _ := ctx.Deadline(); time.Until(d) != time.Minute {
				t.Errorf("the load's deadline is in %v, want the group's limit", time.Until(d))
			}
			cancel()
			synctest.Wait()
			if err := ctx.Err(); err != nil {
				t.Errorf("the load's context: %v after its starter left", err)
			}
			return ctx.Value(name{}).(string), nil
		})
		if err != context.Canceled {
			t.Errorf("starter: %q, %v", v, err)
		}
		<-checked
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		var ended atomic.Bool
		result := make(chan error, 1)
		go func() {
			_, err := g.Do(context.Background(), "k", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // what a load does to clean up
				ended.Store(true)
				return "", ctx.Err()
			})
			result <- err
		}()
		synctest.Wait()
		g.Close()
		if !ended.Load() {
			t.Error("Close returned before the load")
		}
		if err := <-result; err != ErrClosed {
			t.Errorf("caller at the close: %v", err)
		}
		if _, err := g.Do(t.Context(), "k", after(0, "v", nil)); err != ErrClosed {
			t.Errorf("caller after the close: %v", err)
		}
		g.Close()
	})
}

// A joiner that gives up after the close starts nothing.
func TestCloseBeforeReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, string]
		var c *call[string]
		release := make(chan struct{})
		deaf := func(context.Context) (string, error) { <-release; return "", nil }
		go g.Do(context.Background(), "k", deaf)
		synctest.Wait()
		g.mu.Lock()
		c = g.shared["k"]
		g.mu.Unlock()
		go g.Close()
		synctest.Wait()
		if _, err := g.replace(t.Context(), "k", c, deaf); err != ErrClosed {
			t.Errorf("replace after the close: %v", err)
		}
		close(release)
		g.Close()
	})
}

func BenchmarkAlone(b *testing.B) {
	var g Group[string, int]
	defer g.Close()
	b.ReportAllocs()
	for b.Loop() {
		g.Do(b.Context(), "k", func(context.Context) (int, error) { return 1, nil })
	}
}

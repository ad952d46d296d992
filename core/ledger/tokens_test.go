package ledger

import (
	"math"
	"strconv"
	"sync"
	"testing"
)

func TestFamily(t *testing.T) {
	f := func(model, want string) {
		t.Helper()
		if got := family(model); got != want {
			t.Errorf("%q: got %q, want %q", model, got, want)
		}
	}
	f("gpt-4.1-mini", "gpt")
	f("claude-sonnet-4-5", "claude")
	f("meta-llama/llama-3.3-70b", "llama")
	f("o3", "o")
	f("gemini@latest", "gemini")
	f("4o", "4o")
	f("", "")
}

// TestEstimator holds that a family is learned by itself, within bounds, and that nothing is learned from what tells little.
func TestEstimator(t *testing.T) {
	var e Estimator
	f := func(when, model string, bytes, low, high int64) {
		t.Helper()
		if got := e.Tokens(model, bytes); got < low || got > high {
			t.Errorf("%s: %d bytes for %s: got %d, want %d to %d", when, bytes, model, got, low, high)
		}
	}
	f("at first", "a-1", 4000, 1000, 1000)
	f("at first", "a-1", 1, 1, 1)
	f("at first", "a-1", 0, 0, 0)
	e.Learn("a-1", 3000, 1000)
	f("learned once", "a-1", 4000, 1001, 1100)
	for range 1000 {
		e.Learn("a-1", 3000, 1000)
	}
	f("learned", "a-2", 3000, 995, 1005)
	f("another family", "b-1", 4000, 1000, 1000)
	for range 1000 {
		e.Learn("a-1", leastBytes-1, 1)
		e.Learn("a-1", 3000, 0)
		e.Learn("a-1", 3000, -5)
	}
	f("nothing learned", "a-1", 3000, 995, 1005)
	for range 1000 {
		e.Learn("c", 1000, math.MaxInt64)
		e.Learn("d", 1<<40, 1)
	}
	f("at most a token a byte", "c", 1000, 950, 1000)
	f("at least a token for 8 bytes", "d", 8000, 1000, 1050)
	f("more than there can be", "d", math.MaxInt64, 1, 1<<40)
}

// TestEstimatorBound holds that no more families are kept than so many, whoever learns.
func TestEstimatorBound(t *testing.T) {
	var e Estimator
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := range 2 * maxFamilies {
				name := string(rune('a'+worker)) + "/" + string(rune('a'+n%26)) + string(rune('a'+n/26%26))
				e.Learn(name, 1000, 100)
				e.Tokens("m"+strconv.Itoa(n), 1000)
			}
		})
	}
	wg.Wait()
	if len(e.families) != maxFamilies {
		t.Errorf("got %d families, want %d", len(e.families), maxFamilies)
	}
}

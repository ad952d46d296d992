package ledger

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
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

// TestEstimatorInput holds what is reckoned for what stands beside text.
func TestEstimatorInput(t *testing.T) {
	f := func(what string, facts dialect.Facts, want int64) {
		t.Helper()
		if got := new(Estimator).Input("m", &facts); got != want {
			t.Errorf("%s: %d tokens, want %d", what, got, want)
		}
	}
	f("nothing", dialect.Facts{}, 0)
	f("text", dialect.Facts{TextBytes: 400, Messages: 2}, 108)
	f("images", dialect.Facts{Media: dialect.Media{Images: 2}}, 3200)
	f("a document of a page", dialect.Facts{Media: dialect.Media{Documents: 1, DocumentBytes: 10}}, 3000)
	f("a document of some pages", dialect.Facts{Media: dialect.Media{Documents: 1, DocumentBytes: 120_000}}, 9000)
	f("documents elsewhere", dialect.Facts{Media: dialect.Media{Documents: 2}}, 6000)
	f("ten seconds of sound", dialect.Facts{Media: dialect.Media{Sounds: 1, SoundBytes: 20_000}}, 320)
	f("sound elsewhere: a minute", dialect.Facts{Media: dialect.Media{Sounds: 1}}, 1920)
	f("a second of video", dialect.Facts{Media: dialect.Media{Videos: 1, VideoBytes: 50_000}}, 295)
	if got := Output(&dialect.Facts{}, 100); got != 100 {
		t.Errorf("not said, and a model that gives little: %d tokens, want 100", got)
	}
	if got := Output(&dialect.Facts{}, math.MaxInt); got != usualOutput {
		t.Errorf("not said: %d tokens, want %d", got, usualOutput)
	}
	if got := Output(&dialect.Facts{MaxOutput: 9000}, 100); got != 9000 {
		t.Errorf("said: %d tokens, want 9000", got)
	}
}

// TestEstimatorLearnsFromTextAlone holds that a picture in a request teaches nothing of text.
func TestEstimatorLearnsFromTextAlone(t *testing.T) {
	var e Estimator
	for range 1000 {
		e.LearnFrom("a", &dialect.Facts{TextBytes: 1000, Needs: dialect.Images}, 1000)
		e.LearnFrom("b", &dialect.Facts{TextBytes: 1000, Messages: 25}, 1100)
	}
	if a, b := e.Tokens("a", 1000), e.Tokens("b", 1000); a != 250 || b < 950 || b > 1000 {
		t.Errorf("got %d and %d tokens, want 250 and about 1000", a, b)
	}
}

// TestEstimatorKept holds that what was learned outlives the process, and that a file that is damaged is none.
func TestEstimatorKept(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLedger(t, Options{Dir: dir, Store: s})
	for range 1000 {
		l.Tokens.Learn("gpt-5", 1000, 500)
	}
	want := l.Tokens.Tokens("gpt-5", 100_000)
	if err := l.Close(t.Context()); err != nil || want < 45_000 {
		t.Fatalf("%v; learned %d tokens, want about 50000", err, want)
	}
	if got := openLedger(t, Options{Dir: dir, Store: s}).Tokens.Tokens("gpt-9", 100_000); got != want {
		t.Errorf("after a restart %d tokens, want %d", got, want)
	}
	for _, text := range []string{"", "[", `{"gpt":0,"b":-1,"c":99999999}`} {
		path := filepath.Join(dir, "other.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var e Estimator
		if e.load(path); e.Tokens("gpt", 400) != 100 || len(e.families) != 0 {
			t.Errorf("%q: got %d families", text, len(e.families))
		}
	}
}

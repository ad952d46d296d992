package ledger

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/dialect"
)

// Estimator reckons how many tokens a text has from its bytes, by the family of the model, and learns from what providers
// counted. The zero Estimator is ready; it is for use by many at once.
type Estimator struct {
	mu       sync.RWMutex
	families map[string]*atomic.Int64 // guarded by mu; the values are bytes for a token, in parts of ratioOne
}

const (
	ratioOne    = 1 << 16
	firstRatio  = 4 * ratioOne // English text: https://help.openai.com/en/articles/4936856
	leastRatio  = 1 * ratioOne // what is learned stays within these: no text has more tokens than bytes,
	mostRatio   = 8 * ratioOne // and none that people write has so few
	learning    = 32           // a new figure counts one part in so many
	leastBytes  = 256          // of a text from which is learned: what a provider adds to it counts for little
	maxFamilies = 256          // others are reckoned as at first
)

// Tokens reckons the tokens of a text for a model, by its name as the provider has it; at least 1 where there is any text.
func (e *Estimator) Tokens(model string, bytes int64) int64 {
	if bytes <= 0 {
		return 0
	}
	ratio := int64(firstRatio)
	if r := e.ratio(family(model)); r != nil {
		ratio = r.Load()
	}
	bytes = min(bytes, 1<<40) // keeps the product from overflowing
	return max(1, (bytes*ratioOne+ratio-1)/ratio)
}

// What stands beside text is reckoned by the published rules of the provider that counts most.
const (
	turnTokens  = 4    // around each message
	imageTokens = 1600 // Anthropic's most (https://docs.claude.com/en/docs/build-with-claude/vision); OpenAI's 85 and 170 a tile come to 1,445, Gemini's 258 a tile to less
	pageTokens  = 3000 // of a document, at the most (https://docs.claude.com/en/docs/build-with-claude/pdf-support)
	pageBytes   = 50_000
	soundTokens = 32                // a second (https://ai.google.dev/gemini-api/docs/tokens); OpenAI counts 10
	soundBytes  = 2000              // a second of what is spoken, at the least: 16 kbit/s
	videoTokens = 263 + soundTokens // a second (the same page)
	videoBytes  = 50_000            // a second: 400 kbit/s
	awaySeconds = 60                // of a recording that is not in the request
	usualOutput = 4096              // where a request does not say how long its answer may be; as is sent where a provider demands a limit
	mostTokens  = 1 << 40
)

// Input reckons the tokens of a request for a model, by its name as the provider has it.
func (e *Estimator) Input(model string, f *dialect.Facts) int64 {
	m := &f.Media
	return e.Tokens(model, int64(f.TextBytes)) + int64(f.Messages)*turnTokens + int64(m.Images)*imageTokens +
		int64(max(m.Documents, parts(m.DocumentBytes, pageBytes)))*pageTokens +
		int64(seconds(m.Sounds, m.SoundBytes, soundBytes))*soundTokens + int64(seconds(m.Videos, m.VideoBytes, videoBytes))*videoTokens
}

// seconds reckons how long recordings are. How long one is that is not in the request nobody knows.
func seconds(n, bytes, rate int) int {
	if n > 0 && bytes == 0 {
		return n * awaySeconds
	}
	return max(n, parts(bytes, rate))
}

func parts(bytes, size int) int { return (bytes + size - 1) / size }

// Output is how many tokens an answer may have: as many as the request says, else as answers usually need and the model can
// give.
func Output(f *dialect.Facts, most int) int64 {
	if f.MaxOutput > 0 {
		return int64(min(f.MaxOutput, mostTokens))
	}
	return int64(min(most, usualOutput))
}

// LearnFrom takes note of what a provider counted for a request. Nothing is learned from one that has more than text.
func (e *Estimator) LearnFrom(model string, f *dialect.Facts, input int64) {
	const beside = dialect.Tools | dialect.Images | dialect.Audio | dialect.Documents
	if f.Needs&beside == 0 {
		e.Learn(model, int64(f.TextBytes), input-int64(f.Messages)*turnTokens)
	}
}

// Learn takes note of what a provider counted for a text.
func (e *Estimator) Learn(model string, bytes, tokens int64) {
	if bytes < leastBytes || bytes > 1<<40 || tokens <= 0 {
		return
	}
	name := family(model)
	r := e.ratio(name)
	if r == nil {
		if r = e.add(name); r == nil {
			return
		}
	}
	seen := min(max(bytes*ratioOne/tokens, leastRatio), mostRatio)
	old := r.Load()
	r.CompareAndSwap(old, old+(seen-old)/learning) // one of two that learn at once is enough
}

// load takes over what an earlier process has learned and saved. What cannot be read or cannot be is left out: it is learned
// again.
func (e *Estimator) load(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var saved map[string]int64
	if json.Unmarshal(b, &saved) != nil {
		return
	}
	for name, ratio := range saved {
		if ratio < leastRatio || ratio > mostRatio {
			continue
		}
		if r := e.add(name); r != nil {
			r.Store(ratio)
		}
	}
}

// save keeps what was learned: bytes for a token by family, in parts of ratioOne. Of processes that save to one path the
// last counts.
func (e *Estimator) save(path string) error {
	e.mu.RLock()
	learned := make(map[string]int64, len(e.families))
	for name, r := range e.families {
		learned[name] = r.Load()
	}
	e.mu.RUnlock()
	if len(learned) == 0 {
		return nil
	}
	b, err := json.Marshal(learned)
	if err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, b, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func (e *Estimator) ratio(family string) *atomic.Int64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.families[family]
}

// add begins with a family; nil where there are too many.
func (e *Estimator) add(family string) *atomic.Int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.families[family]; r != nil || len(e.families) >= maxFamilies {
		return r
	}
	if e.families == nil {
		e.families = map[string]*atomic.Int64{}
	}
	r := new(atomic.Int64)
	r.Store(firstRatio)
	e.families[strings.Clone(family)] = r
	return r
}

// family is the part of a model's name that its relatives share: its last path segment up to a digit or a mark.
func family(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	if i := strings.IndexAny(model, "0123456789-_.:@"); i > 0 {
		model = model[:i]
	}
	return model
}

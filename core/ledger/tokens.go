package ledger

import (
	"strings"
	"sync"
	"sync/atomic"
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

package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// behaviour is how a model of the upstream answers.
type behaviour struct {
	status  int           // an error status in place of an answer
	message string        // of the error
	first   time.Duration // before the first word
	between time.Duration // before each further one
	tokens  int           // reported in all; 0: estimated from the text
}

// behaviours are the models by name.
func behaviours() map[string]behaviour {
	return map[string]behaviour{
		Echo:      {between: 15 * time.Millisecond},
		Slow:      {first: 1500 * time.Millisecond, between: 50 * time.Millisecond},
		Busy:      {status: 429, message: "too many requests, try again later"},
		Expensive: {between: 15 * time.Millisecond, tokens: ExpensiveTokens},
	}
}

// sleep waits, or ends early with the request.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prompt is what a model is asked, in either form.
type prompt struct {
	model  string
	say    string // the last message
	bytes  int    // of text in all
	tools  []string
	stream bool
	usage  bool // a stream is to end in usage
}

// answer is what a model says.
type answer struct {
	behaviour
	id     string
	words  []string
	calls  []toolCall
	input  int // tokens
	output int
}

type toolCall struct{ id, name, input string }

// compose makes the answer to a prompt. A line "call NAME {…}" that names a tool of the request is a call of it;
// everything else is said back.
func compose(p *prompt, b behaviour) *answer {
	a := &answer{behaviour: b, id: "demo-" + random(12)}
	size := 0
	var said strings.Builder
	for line := range strings.Lines(p.say) {
		if c, ok := callIn(line, p.tools); ok {
			a.calls = append(a.calls, c)
			size += len(c.name) + len(c.input)
			continue
		}
		said.WriteString(line)
	}
	for word := range strings.SplitAfterSeq(said.String(), " ") {
		if word != "" {
			a.words = append(a.words, word)
			size += len(word)
		}
	}
	if len(a.words) == 0 && len(a.calls) == 0 {
		a.words, size = []string{"(you said nothing)"}, 18
	}
	a.input, a.output = estimate(p.bytes), estimate(size)
	if b.tokens > 0 {
		a.input = min(a.input, b.tokens-1)
		a.output = b.tokens - a.input
	}
	return a
}

// estimate counts a token for every four bytes, and one for what is left.
func estimate(bytes int) int { return max(1, (bytes+3)/4) }

func callIn(line string, tools []string) (toolCall, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "call ")
	if !ok {
		return toolCall{}, false
	}
	name, input, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if input = strings.TrimSpace(input); input == "" {
		input = "{}"
	}
	if !slices.Contains(tools, name) || input[0] != '{' || !json.Valid([]byte(input)) {
		return toolCall{}, false
	}
	return toolCall{id: "call_" + random(12), name: name, input: input}, true
}

// random gives n random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: https://pkg.go.dev/crypto/rand#Read
	return hex.EncodeToString(b)
}

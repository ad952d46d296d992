package admit

import (
	"math"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/sdk"
)

// What is reserved where a request does not say how much it may need.
const (
	bytesPerToken  = 4    // of text: most tokenizers need as many for English, and more tokens for little else
	tokensPerTurn  = 4    // around each message
	unsaidOutput   = 4096 // as is sent where a provider demands a limit and the client gave none
	mostChoices    = 1024 // answers to one request; providers take at most 128
	mostTokensSaid = 1 << 40
)

// Size is what is known of a request before it is sent.
type Size struct {
	TextBytes int
	Messages  int
	MaxOutput int // tokens; 0: not said
	Choices   int // answers asked for; 0 is 1
	NoOutput  bool
}

// Needs estimates what a request may need of an account, at the dearest of its candidates. Where the request does not say
// how long its answer may be, as much is reserved as answers usually need, and never more than the limits let one request
// have: it is corrected when the answer has come.
func Needs(s *Size, a *limits.Account, candidates []*catalog.Deployment) limits.Need {
	n := limits.Need{Requests: 1}
	n.Input = int64(s.TextBytes+bytesPerToken-1)/bytesPerToken + int64(s.Messages)*tokensPerTurn
	if !s.NoOutput {
		n.Output = output(s, candidates) * int64(min(max(s.Choices, 1), mostChoices))
		if s.MaxOutput <= 0 {
			n.Output = min(n.Output, room(a, n.Input))
		}
	}
	for _, d := range candidates {
		n.Nano = max(n.Nano, dearest(d.Price, n.Input, n.Output))
	}
	return n
}

// output is how many tokens one answer may have.
func output(s *Size, candidates []*catalog.Deployment) int64 {
	if s.MaxOutput > 0 {
		return min(int64(s.MaxOutput), mostTokensSaid)
	}
	var most int64
	for _, d := range candidates {
		most = max(most, int64(d.MaxOutput))
	}
	return min(most, unsaidOutput)
}

// room is how much output the limits let a request of some input have at most.
func room(a *limits.Account, input int64) int64 {
	most := int64(math.MaxInt64)
	if n := a.TokenLimit(limits.Output); n > 0 {
		most = n
	}
	if n := a.TokenLimit(limits.Tokens); n > 0 {
		most = min(most, max(n-input, 1))
	}
	return most
}

// dearest is the most that a request costs, all of its input at the dearest kind; nil costs nothing.
func dearest(p *catalog.Price, input, output int64) int64 {
	if p == nil {
		return 0
	}
	most := ledger.Price{Input: max(p.Input, p.CacheRead, p.CacheWrite), Output: p.Output, Known: true}
	return most.Cost(sdk.Usage{Input: input, Output: output})
}

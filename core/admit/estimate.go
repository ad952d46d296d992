package admit

import (
	"math"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/sdk"
)

// mostChoices is more answers than one request may ask for; providers take at most 128.
const mostChoices = 1024

// Asked is what is known of a request before it is sent.
type Asked struct {
	Facts   *dialect.Facts
	Choices int       // answers asked for; 0 is 1
	Start   time.Time // decides on the price
	Tier    sdk.Tier  // of service, that is asked for
}

// Estimator reckons the tokens of a request's input for a model; it is a *ledger.Estimator.
type Estimator interface {
	Input(model string, f *dialect.Facts) int64
}

// Needs estimates what a request may need of an account, at the dearest of its candidates and by the tokenizer that makes
// the most of its text. Where the request does not say how long its answer may be, as much is reserved as answers usually
// need, and never more than the limits let one request have: it is corrected when the answer has come.
//
// No call of a candidate whose tokens stay within the Need costs more than it, but for what the provider's own tools search.
func Needs(q *Asked, a *limits.Account, candidates []*catalog.Deployment, tokens Estimator) limits.Need {
	n, f := limits.Need{Requests: 1}, q.Facts
	var most int
	for _, d := range candidates {
		n.Input = max(n.Input, tokens.Input(d.Model, f))
		most = max(most, d.MaxOutput)
	}
	if f.Needs&dialect.Embeddings == 0 {
		n.Output = ledger.Output(f, most) * int64(min(max(q.Choices, 1), mostChoices))
		if f.MaxOutput <= 0 {
			n.Output = min(n.Output, room(a, n.Input))
		}
	}
	ask := price.Ask{Input: n.Input, Output: n.Output, Images: int64(f.Media.Images), Audio: f.Needs&dialect.Audio != 0,
		Pictures: f.Needs&(dialect.Images|dialect.Documents) != 0, Tier: q.Tier}
	for _, d := range candidates {
		n.Nano = max(n.Nano, d.Price.At(q.Start).Dearest(ask))
	}
	return n
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

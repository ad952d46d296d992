package ledger

import (
	"math/bits"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// Price is what tokens cost, in nano-USD for a million of them.
type Price struct {
	Input, Output, CacheRead, CacheWrite int64
	Reasoning                            int64 // 0: as Output
	Known                                bool  // false: the call costs nothing, and its row is marked as estimated
}

// Cost is what tokens cost, in nano-USD, rounded once, half up. The parts of a usage do not overlap, so each is charged
// once. It is at most store.MaxCost.
func (p Price) Cost(u sdk.Usage) int64 {
	if !p.Known {
		return 0
	}
	reasoning := p.Reasoning
	if reasoning == 0 {
		reasoning = p.Output
	}
	var sum wide
	sum.add(p.Input, u.Input)
	sum.add(p.CacheRead, u.CacheRead)
	sum.add(p.CacheWrite, u.CacheWrite)
	sum.add(p.Output, u.Output)
	sum.add(reasoning, u.Reasoning)
	return sum.millionth()
}

// wide is a sum of 128 bits: a price times a count does not fit into 64.
type wide struct{ high, low uint64 }

// add adds a product. A price or a count below zero is a fault elsewhere and counts as zero: nothing is ever paid back.
func (w *wide) add(price, tokens int64) {
	if price <= 0 || tokens <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(price), uint64(tokens))
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high, _ = bits.Add64(w.high, high, carry) // five products of 126 bits cannot overflow it
}

// millionth divides by a million, half up.
func (w wide) millionth() int64 {
	const million = 1_000_000
	low, carry := bits.Add64(w.low, million/2, 0)
	high := w.high + carry
	if high >= million {
		return store.MaxCost
	}
	q, _ := bits.Div64(high, low, million)
	return int64(min(q, store.MaxCost))
}

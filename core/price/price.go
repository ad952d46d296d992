// Package price reckons what calls cost: in integer nano-USD, each part of a usage at its own rate, rounded once.
//
// A price may change with the length of the input and with time. What a price is comes from core/config, what was used from
// the provider by way of sdk.Usage; writing the cost down is core/ledger's.
package price

import (
	"math/bits"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Rates are what the parts of a usage cost: in nano-USD for a million tokens, and at the end for one of a thing. Zero is free
// of charge: whoever makes rates fills in what a provider does not price apart.
type Rates struct {
	Input          int64
	Output         int64
	CacheRead      int64
	CacheWrite     int64
	CacheWriteHour int64 `json:",omitempty"`
	Reasoning      int64 `json:",omitempty"`
	AudioInput     int64 `json:",omitempty"`
	ImageInput     int64 `json:",omitempty"`
	AudioOutput    int64 `json:",omitempty"`
	ImageOutput    int64 `json:",omitempty"`

	Request int64 `json:",omitempty"` // each call
	Image   int64 `json:",omitempty"` // each image of the request
	Search  int64 `json:",omitempty"` // each search of the web by the provider
}

// Tier is the rates of requests whose input, cached parts included, has more than so many tokens. They are those of all of
// the request, its output too, and not only of what is above:
// https://ai.google.dev/gemini-api/docs/pricing (prompts > 200k tokens) and
// https://docs.claude.com/en/docs/about-claude/pricing (long context pricing).
type Tier struct {
	Above int64
	Rates
}

// Period is a price from some time on.
type Period struct {
	From time.Time // the zero Time: from ever on
	Rates
	Tiers []Tier // by Above, the lowest first
	// Service is what the rates of tokens are multiplied by where the provider served by another tier of service than the
	// usual one, in millionths; 0: by nothing.
	Service [sdk.Tiers]int64
}

// List is what a deployment costs over time, the earliest first. The empty List is a price that nobody knows.
type List []Period

// At gives the price of calls that start at a time; nil where none is known.
func (l List) At(start time.Time) *Period {
	for i := len(l) - 1; i >= 0; i-- {
		if p := &l[i]; p.From.IsZero() || !start.Before(p.From) {
			return p
		}
	}
	return nil
}

// Turns says whether the price is another at the second time.
func (l List) Turns(from, to time.Time) bool { return len(l) > 0 && l.At(from) != l.At(to) }

// Dated says whether the price depends on the time.
func (l List) Dated() bool { return len(l) > 1 || len(l) == 1 && !l[0].From.IsZero() }

// Flat is a price that is the same at all times and lengths.
func Flat(r Rates) List { return List{{Rates: r}} }

// Usual are the rates of a provider that prices input and output and nothing else.
func Usual(input, output int64) Rates {
	return Rates{Input: input, CacheRead: input, CacheWrite: input, CacheWriteHour: input, AudioInput: input, ImageInput: input,
		Output: output, Reasoning: output, AudioOutput: output, ImageOutput: output}
}

// For gives the rates of a request whose input has so many tokens.
func (p *Period) For(input int64) *Rates {
	for i := len(p.Tiers) - 1; i >= 0; i-- {
		if input > p.Tiers[i].Above {
			return &p.Tiers[i].Rates
		}
	}
	return &p.Rates
}

// Cost is what a call costs that used so much and had so many images in its request, in nano-USD, rounded half up. It is at
// most Most. A price that is not known costs nothing.
func (p *Period) Cost(u sdk.Usage, images int64) int64 {
	if p == nil {
		return 0
	}
	r := p.For(u.TotalInput())
	factor := p.factor(u.Tier)
	var sum wide
	for _, part := range [...]struct{ rate, count int64 }{{r.Input, u.Input}, {r.CacheRead, u.CacheRead}, {r.CacheWrite, u.CacheWrite},
		{r.CacheWriteHour, u.CacheWriteHour}, {r.AudioInput, u.AudioInput}, {r.ImageInput, u.ImageInput},
		{r.Output, u.Output}, {r.Reasoning, u.Reasoning}, {r.AudioOutput, u.AudioOutput}, {r.ImageOutput, u.ImageOutput}} {
		sum.add(times(part.rate, factor), part.count)
	}
	sum.add(r.Request, million)
	sum.add(r.Image, min(images, mostThings)*million)
	sum.add(r.Search, min(u.Searches, mostThings)*million)
	return sum.millionth()
}

// factor is what the rates of a tier of service are multiplied by, in millionths.
func (p *Period) factor(t sdk.Tier) int64 {
	if t < sdk.Tiers && p.Service[t] > 0 {
		return p.Service[t]
	}
	return million
}

// times multiplies a rate by so many millionths, half up.
func times(rate, factor int64) int64 {
	if factor == million || rate <= 0 {
		return rate
	}
	var w wide
	w.add(rate, factor)
	return w.millionth()
}

// Ask is what a request may use, before it is known.
type Ask struct {
	Input, Output int64 // tokens
	Images        int64
	Audio         bool // there may be sound, sent or answered
	Pictures      bool // there may be images or video
	Tier          sdk.Tier
}

// Dearest is the most that a request can cost, whatever kinds of tokens they turn out to be and wherever below its estimate
// the input ends up. Searches are not foreseen. A price that is not known costs nothing.
func (p *Period) Dearest(a Ask) int64 {
	if p == nil {
		return 0
	}
	most := p.dearest(&p.Rates, a)
	for i := range p.Tiers {
		if t := &p.Tiers[i]; a.Input > t.Above {
			most = max(most, p.dearest(&t.Rates, a))
		}
	}
	return most
}

func (p *Period) dearest(r *Rates, a Ask) int64 {
	in, out := max(r.Input, r.CacheRead, r.CacheWrite, r.CacheWriteHour), max(r.Output, r.Reasoning, r.ImageOutput)
	if a.Audio {
		in, out = max(in, r.AudioInput), max(out, r.AudioOutput)
	}
	if a.Pictures {
		in = max(in, r.ImageInput)
	}
	flat := Period{Rates: Rates{Input: in, Output: out, Request: r.Request, Image: r.Image}, Service: p.Service}
	return flat.Cost(sdk.Usage{Input: a.Input, Output: a.Output, Tier: a.Tier}, a.Images)
}

// MostOutput is the rate of the dearest kind of output.
func (r *Rates) MostOutput() int64 { return max(r.Output, r.Reasoning, r.AudioOutput, r.ImageOutput) }

// MostOutput is the rate of the dearest output at any time and length.
func (l List) MostOutput() (most int64) {
	for i := range l {
		most = max(most, l[i].MostOutput())
		for j := range l[i].Tiers {
			most = max(most, l[i].Tiers[j].MostOutput())
		}
	}
	return most
}

const (
	// Most is more than one call can cost: a million USD. Costs beyond it are kept as it, so that no sum of them overflows.
	Most       = 1_000_000 * 1_000_000_000
	million    = 1_000_000
	mostThings = 1 << 40 // images, searches: keeps their millionfold from overflowing
)

// wide is a sum of 128 bits: a rate times a count does not fit into 64.
type wide struct{ high, low uint64 }

// add adds a product. A rate or a count below zero is a fault elsewhere and counts as zero: nothing is ever paid back.
func (w *wide) add(rate, count int64) {
	if rate <= 0 || count <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(rate), uint64(count))
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high += high + carry
	if w.high >= 1<<62 { // thirteen products of 126 bits could overflow it
		w.high = 1 << 62
	}
}

// millionth divides by a million, half up.
func (w wide) millionth() int64 {
	low, carry := bits.Add64(w.low, million/2, 0)
	high := w.high + carry
	if high >= million {
		return Most
	}
	q, _ := bits.Div64(high, low, million)
	return int64(min(q, Most))
}

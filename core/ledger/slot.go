package ledger

import (
	"time"

	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// Call is an upstream call that is about to be made. Attempt counts the calls of a request from 1; 0 is an answer out of
// the cache. Request and attempt name the row: two calls never share both.
type Call struct {
	RequestID    string
	Attempt      int
	Generation   int64
	Key          string
	Team         string
	Organisation string
	Model        string
	Provider     string
	Deployment   string
	Upstream     string // the model as the provider calls it
	Credential   string
	Started      time.Time
	Price        *price.Period // nil: not known; the call costs nothing, and its row is marked as estimated
	Images       int64         // in the request, where the price has one for them
	Estimate     Estimate
}

// Estimate is what a call may use, in tokens: what is charged where nothing better is known at its end.
type Estimate struct {
	Input, Output int64
	Tier          sdk.Tier // of service, that is asked for
}

// Slot is the place of one call in the journal. It is a value; the zero Slot does nothing.
type Slot struct {
	l   *Ledger
	i   uint32
	seq uint64
}

// Sent says that bytes of the request may have reached the upstream from now on. It must be called before the first is
// written: a call that was not sent is refunded.
func (s Slot) Sent() {
	if s.l != nil {
		s.l.journal.cells[s.i].sent(s.seq)
	}
}

// Settle ends the call and gives its cost in nano-USD. It does so once: further calls do nothing and give 0.
//
// A usage that the provider gave (Known) is charged as it is. Where there is none, the outcome decides: what
// was not sent, what the upstream answered with an error, what timed out and what lost against a hedge is refunded; the rest
// is charged by estimate. The estimate is what u counts, not Known: tokens that the caller estimated from what it has seen;
// for input or output of which u counts none it is that of the Call.
func (s Slot) Settle(o Outcome, u sdk.Usage, ended time.Time) (cost int64) {
	if s.l == nil {
		return 0
	}
	e := &s.l.entries[s.i]
	if !e.open.CompareAndSwap(s.seq, 0) {
		return 0
	}
	c := &s.l.journal.cells[s.i]
	e.end = settle(&e.call, o, u, c.wasSent(s.seq))
	e.end.ended = e.call.Started.Add(max(0, ended.Sub(e.call.Started))).UnixMicro() // by the monotonic clock: a step of the other does not end a call before its start
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if !s.l.closed {
		c.settle(s.seq, &e.end)
		s.l.settled = append(s.l.settled, s.i)
	}
	return e.end.cost
}

// Cost gives what Settle will give for the same outcome and usage, and ends nothing. Of a call that has ended it is 0.
func (s Slot) Cost(o Outcome, u sdk.Usage) int64 {
	if s.l == nil {
		return 0
	}
	e := &s.l.entries[s.i]
	if e.open.Load() != s.seq {
		return 0
	}
	end := settle(&e.call, o, u, s.l.journal.cells[s.i].wasSent(s.seq))
	return end.cost
}

// Believed gives a usage as it is, and none where its figures are such that no provider can mean them: they would empty a
// budget, and use up a limit for weeks.
func Believed(u sdk.Usage) sdk.Usage {
	if u.TotalInput() >= mostTokens || u.TotalOutput() >= mostTokens {
		return sdk.Usage{}
	}
	return u
}

// settle decides how a call is charged.
func settle(c *Call, o Outcome, u sdk.Usage, sent bool) ending {
	end := ending{outcome: uint64(o)}
	u = Believed(u)
	switch {
	case o == Cached:
		end.status = uint64(settled)
		end.count(u)
	case u.Known:
		end.status = uint64(settled)
		end.count(u)
		end.cost = c.Price.Cost(u, c.Images)
		end.set(isEstimated, u.Disputed || c.Price == nil)
	case !sent || o.refunded():
		end.status = uint64(refunded)
		end.set(mayCost, sent && o.unanswered())
	default:
		u = c.Estimate.within(u)
		end.status = uint64(estimated)
		end.count(u)
		end.cost = c.Price.Cost(u, c.Images)
		end.set(isEstimated, true)
	}
	return end
}

// within fills what a caller did not estimate itself.
func (e Estimate) within(u sdk.Usage) sdk.Usage {
	if u.TotalInput() == 0 {
		u.Input = max(e.Input, 0)
	}
	if u.TotalOutput() == 0 {
		u.Output = max(e.Output, 0)
	}
	if u.Tier == sdk.TierUsual {
		u.Tier = e.Tier
	}
	return u
}

// ending is how a call ended, as it stands in the journal; all of its fields are as wide as a word, so that a checksum over
// them meets no gap.
type ending struct {
	seq                                         uint64
	outcome, status, flags                      uint64
	ended                                       int64 // microseconds since 1970
	input, audioInput, imageInput               int64 // tokens in parts, as in sdk.Usage
	cacheRead, cacheWrite, cacheWriteHour       int64
	output, reasoning, audioOutput, imageOutput int64
	searches                                    int64
	cost                                        int64
}

// The flags of an ending.
const (
	isEstimated = 1 << iota
	mayCost
)

func (e *ending) set(flag uint64, on bool) {
	if on {
		e.flags |= flag
	}
}

func (e *ending) count(u sdk.Usage) {
	e.input, e.audioInput, e.imageInput = u.Input, u.AudioInput, u.ImageInput
	e.cacheRead, e.cacheWrite, e.cacheWriteHour = u.CacheRead, u.CacheWrite, u.CacheWriteHour
	e.output, e.reasoning, e.audioOutput, e.imageOutput = u.Output, u.Reasoning, u.AudioOutput, u.ImageOutput
	e.searches = u.Searches
}

// used is what was counted.
func (e *ending) used() sdk.Usage {
	return sdk.Usage{Input: e.input, AudioInput: e.audioInput, ImageInput: e.imageInput, CacheRead: e.cacheRead, CacheWrite: e.cacheWrite, CacheWriteHour: e.cacheWriteHour,
		Output: e.output, Reasoning: e.reasoning, AudioOutput: e.audioOutput, ImageOutput: e.imageOutput, Searches: e.searches}
}

// row is the call as the store keeps it.
func (c *Call) row(e *ending) store.Row {
	u := e.used()
	return store.Row{RequestID: c.RequestID, Attempt: c.Attempt, Generation: c.Generation, Key: c.Key, Team: c.Team, Organisation: c.Organisation, Model: c.Model,
		Provider: c.Provider, Deployment: c.Deployment, UpstreamModel: c.Upstream, Credential: c.Credential,
		StartedAt: c.Started, EndedAt: time.UnixMicro(e.ended), Status: status(e.status).String(), Outcome: Outcome(e.outcome).String(),
		InputTokens: u.TotalInput(), CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrites(),
		OutputTokens: u.TotalOutput(), ReasoningTokens: u.Reasoning, CostNanoUSD: e.cost,
		CacheWriteHourTokens: u.CacheWriteHour, AudioInputTokens: u.AudioInput, ImageInputTokens: u.ImageInput,
		AudioOutputTokens: u.AudioOutput, ImageOutputTokens: u.ImageOutput, WebSearches: u.Searches,
		Estimated: e.flags&isEstimated != 0, PossibleCost: e.flags&mayCost != 0}
}

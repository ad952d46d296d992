// Package health remembers how upstreams have behaved, so that one that is down costs requests next to nothing: a circuit
// breaker with one probe at a time, holds for as long as an upstream asks to be left alone, quarantine for one that keeps
// failing, a budget of retries, and what was measured of latency, speed and errors.
//
// A Backend is one thing that can fail by itself: a deployment (a provider's model at an address), or a credential. It
// outlives generations and, by its Record, the process. Which backends a request may use is core/route's question;
// core/relay asks for admission before each attempt and says what became of it, core/reach for its probes. Nothing here
// calls anybody.
package health

import (
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Settings say when a backend is left alone. They are a generation's, and are kept by those who were admitted under them.
type Settings struct {
	Failures        int           // in a row that open the breaker
	OpenFor         time.Duration // before the first probe; doubled by each probe that fails, see maxGrowth
	QuarantineAfter int           // openings within an hour
	QuarantineFor   time.Duration // also the longest that a Retry-After is heeded
	RetryPercent    int           // of the requests to a backend that may be retries
	RetryLeast      int           // retries in retryWindow that are allowed however few requests there are
}

// Defaults are the settings of a configuration that says nothing.
func Defaults() *Settings {
	return &Settings{Failures: 5, OpenFor: 10 * time.Second, QuarantineAfter: 5, QuarantineFor: 10 * time.Minute, RetryPercent: 20, RetryLeast: 3}
}

// Phase is the state of a backend's breaker, or what overlies it.
type Phase string

// The phases.
const (
	Closed      Phase = "closed"      // all requests pass
	Open        Phase = "open"        // none does, until a time
	HalfOpen    Phase = "half_open"   // one does, and shows whether the others may
	Held        Phase = "held"        // the upstream asked to be left alone until a time, or refused the credential
	Quarantined Phase = "quarantined" // opened too often, or set aside by hand
)

// State is what is to be known of a backend before it is asked.
type State struct {
	OK     bool // a request would be admitted
	Phase  Phase
	Reason string    // "" where Closed
	Until  time.Time // when the next request may be admitted, if not OK; a guess while a probe is under way
	Kind   sdk.Kind  // of the failure that caused the phase; KindNone where there is none
	Unsent bool      // that failure was met before anything of a request could be sent
}

// Outcome is what became of an attempt.
type Outcome struct {
	OK           bool
	Kind         sdk.Kind // of the failure
	Neutral      bool     // it says nothing of the backend: the client left
	Status       int      // 0: no head came
	Unsent       bool     // nothing of the request has reached the upstream
	Hold         time.Duration
	Started      time.Time
	FirstContent time.Time // zero: none came
	Ended        time.Time
	OutputTokens int64 // 0: not known
}

// verdict is what an outcome says of a backend.
type verdict uint8

const (
	nothing verdict = iota // neither good nor bad
	good
	bad
	limited // it is well and wants to be left alone: not counted, and held
)

// judge sorts outcomes. A request that is at fault itself says nothing; a limit is not a failure, or one busy key would
// open the breaker for all.
func judge(o *Outcome) verdict {
	switch {
	case o.OK:
		return good
	case o.Neutral:
		return nothing
	}
	switch o.Kind {
	case sdk.UpstreamRate, sdk.UpstreamMoney, sdk.UpstreamAuth:
		return limited
	case sdk.UpstreamModel, sdk.Overloaded, sdk.UpstreamError, sdk.UpstreamEmpty, sdk.Timeout, sdk.PluginFailed:
		return bad
	}
	return nothing
}

package health

import (
	"fmt"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// What the settings leave open.
const (
	ratioWindow = 20 * time.Second // in which the breaker also opens when, of at least ratioLeast attempts,
	ratioLeast  = 20               // half or more have failed
	maxGrowth   = 8                // times OpenFor that probes may be apart, and
	maxInterval = time.Minute      // the longest, where OpenFor is not longer itself
	probeLimit  = time.Minute      // after which a probe that nobody heard of again is given up
	probeLead   = time.Second      // by which an active probe is before requests, if OpenFor is twice as long
	probeSoon   = time.Second      // when a probe that is out may be over, as far as anybody can be told
	openingTime = time.Hour        // in which openings count towards quarantine
	maxHold     = 24 * time.Hour   // of a credential that was refused or has no money left
	maxHistory  = 32               // events that are kept
	maxOpenings = 1000             // the most that QuarantineAfter may be
)

// Event is a change of a backend's phase.
type Event struct {
	At     time.Time `json:"at"`
	Phase  Phase     `json:"phase"`
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// breaker is the state machine of a backend. It has no lock and no clock of its own: times are told, and do not go back.
type breaker struct {
	phase  Phase // never Held
	until  time.Time
	reason string
	kind   sdk.Kind
	unsent bool // of the failure that kind is of

	streak   int // failures in a row
	attempts window
	failures window

	probe       time.Time // when the probe that is out was let go; zero: none is
	failed      int       // probes in a row that failed
	quarantined bool      // what it is half-open after
	openings    []time.Time

	held     time.Time // zero: it is not
	heldWhy  string
	heldKind sdk.Kind

	epoch   uint32 // counts changes: an outcome of an earlier epoch says nothing any more
	history []Event
}

// note enters a change into the history.
func (k *breaker) note(now time.Time, p Phase, reason string, until time.Time) Event {
	if len(k.history) == maxHistory {
		k.history = append(k.history[:0], k.history[1:]...)
	}
	e := Event{now, p, reason, until}
	k.history = append(k.history, e)
	return e
}

// refuses gives the time before which no request is admitted; zero where one would be now.
func (k *breaker) refuses(now time.Time) time.Time {
	var until time.Time
	switch {
	case k.phase == Open || k.phase == Quarantined:
		until = k.until
	case k.phase == HalfOpen && !k.probe.IsZero():
		until = k.probe.Add(probeLimit)
	}
	if k.held.After(until) {
		until = k.held
	}
	if until.After(now) {
		return until
	}
	return time.Time{}
}

// admit lets a request through, or not. What comes after the end of an open time is a probe.
func (k *breaker) admit(now time.Time) (probe, ok bool) {
	if !k.refuses(now).IsZero() {
		return false, false
	}
	k.held = time.Time{}
	if k.phase == Closed {
		return false, true
	}
	k.phase, k.probe = HalfOpen, now
	k.epoch++
	return true, true
}

// probeDue is when a probe that is no request may be let through: at once where all requests are, and otherwise somewhat
// before one of them would have to find out; false: nobody knows, since the backend asked to be left alone or its probe is
// out.
func (k *breaker) probeDue(now time.Time, s *Settings) (time.Time, bool) {
	switch {
	case k.held.After(now) || k.phase == HalfOpen && !k.refuses(now).IsZero():
		return time.Time{}, false
	case k.phase == Open || k.phase == Quarantined:
		return k.until.Add(-min(probeLead, s.OpenFor/2)), true
	}
	return now, true
}

// count takes note of an outcome that was admitted in the breaker's present epoch. The event is zero where nothing changed.
func (k *breaker) count(v verdict, o *Outcome, s *Settings, probe bool) (e Event) {
	now := o.Ended
	switch {
	case probe && v == bad:
		return k.reopen(now, o, s)
	case probe && v == good:
		return k.close(now, "a probe was answered")
	case probe:
		k.probe = time.Time{} // the next request is the probe
		return e
	case k.phase != Closed || v == nothing || v == limited:
		return e
	}
	k.attempts.add(now, ratioWindow)
	if v == good {
		k.streak = 0
		return e
	}
	k.streak++
	k.failures.add(now, ratioWindow)
	all, bads := k.attempts.sum(now, ratioWindow), k.failures.sum(now, ratioWindow)
	switch {
	case k.streak >= s.Failures:
		return k.open(now, fmt.Sprintf("%d failures in a row, the last: %s", k.streak, o.cause()), o, s)
	case all >= ratioLeast && bads*2 >= all:
		return k.open(now, fmt.Sprintf("%.0f of %.0f attempts failed, the last: %s", bads, all, o.cause()), o, s)
	}
	return e
}

// cause words the failure of an outcome.
func (o *Outcome) cause() string {
	if o.Status != 0 {
		return fmt.Sprintf("%s (status %d)", o.Kind, o.Status)
	}
	return o.Kind.String()
}

// open ends the closed phase: for a while, or in quarantine where that has been too often.
func (k *breaker) open(now time.Time, why string, o *Outcome, s *Settings) Event {
	k.epoch++
	k.kind, k.unsent, k.failed, k.probe = o.Kind, o.Unsent, 0, time.Time{}
	recent := k.openings[:0]
	for _, t := range k.openings {
		if now.Sub(t) < openingTime {
			recent = append(recent, t)
		}
	}
	if len(recent) == maxOpenings {
		recent = append(recent[:0], recent[1:]...)
	}
	k.openings = append(recent, now)
	if len(k.openings) >= s.QuarantineAfter {
		if n := len(k.openings); n > 1 {
			why = fmt.Sprintf("opened %d times in an hour; %s", n, why)
		}
		return k.set(now, Quarantined, why, now.Add(s.QuarantineFor))
	}
	return k.set(now, Open, why, now.Add(s.OpenFor))
}

// reopen follows a probe that failed. Openings are not counted: one long outage is not a backend that keeps failing.
func (k *breaker) reopen(now time.Time, o *Outcome, s *Settings) Event {
	k.epoch++
	k.kind, k.unsent, k.probe = o.Kind, o.Unsent, time.Time{}
	k.failed++
	why := fmt.Sprintf("%d probes in a row failed, the last: %s", k.failed, o.cause())
	if k.failed == 1 {
		why = "a probe failed: " + o.cause()
	}
	if k.quarantined {
		return k.set(now, Quarantined, why, now.Add(s.QuarantineFor))
	}
	return k.set(now, Open, why, now.Add(interval(s.OpenFor, k.failed)))
}

// interval is the time between probes after some that failed.
func interval(first time.Duration, failed int) time.Duration {
	most := max(first, min(maxGrowth*first, maxInterval))
	for range min(failed, maxGrowth) {
		if first *= 2; first >= most {
			return most
		}
	}
	return first
}

// close brings all requests back.
func (k *breaker) close(now time.Time, why string) Event {
	k.epoch++
	if k.quarantined {
		k.openings = k.openings[:0]
	}
	k.streak, k.failed, k.probe, k.kind, k.unsent = 0, 0, time.Time{}, sdk.KindNone, false
	k.attempts, k.failures = window{}, window{}
	return k.set(now, Closed, why, time.Time{})
}

func (k *breaker) set(now time.Time, p Phase, why string, until time.Time) Event {
	k.phase, k.until, k.reason, k.quarantined = p, until, why, p == Quarantined
	if p == Closed {
		k.reason = ""
	}
	return k.note(now, p, why, until)
}

// hold leaves the backend alone until a time, if that is later than before.
func (k *breaker) hold(o *Outcome, s *Settings) (e Event) {
	most := maxHold
	if o.Kind != sdk.UpstreamMoney && o.Kind != sdk.UpstreamAuth {
		most = min(most, s.QuarantineFor)
	}
	until := o.Ended.Add(min(o.Hold, most))
	if !until.After(k.held) {
		return e
	}
	again := k.held.After(o.Ended) && k.heldKind == o.Kind
	k.held, k.heldWhy, k.heldKind = until, o.cause(), o.Kind
	if again {
		return e // one hold that grows is one event
	}
	return k.note(o.Ended, Held, k.heldWhy, until)
}

// state gives the phase as it is seen from outside.
func (k *breaker) state(now time.Time) State {
	until := k.refuses(now)
	s := State{OK: until.IsZero(), Phase: k.phase, Reason: k.reason, Until: until, Kind: k.kind, Unsent: k.unsent}
	switch {
	case k.held.After(now) && !k.held.Before(until):
		s.Phase, s.Reason, s.Kind, s.Unsent = Held, k.heldWhy, k.heldKind, false
	case s.OK && k.phase != Closed:
		s.Phase = HalfOpen
	case k.phase == HalfOpen && until.Sub(now) > probeSoon:
		s.Until = now.Add(probeSoon)
	}
	return s
}

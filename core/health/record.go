package health

import (
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Record is what is known of a backend beside what was measured. The next process, and others in a cluster, take it up.
type Record struct {
	Backend    string      `json:"backend"`
	Credential bool        `json:"credential,omitempty"` // it is one
	Phase      Phase       `json:"phase"`
	Reason     string      `json:"reason,omitempty"`
	Kind       string      `json:"kind,omitempty"` // of the failure
	Unsent     bool        `json:"unsent,omitempty"`
	Until      time.Time   `json:"until,omitzero"`
	Failed     int         `json:"failed_probes,omitempty"`
	Openings   []time.Time `json:"openings,omitempty"` // that count towards quarantine
	Hold       *Hold       `json:"hold,omitempty"`     // that overlies the phase
	History    []Event     `json:"history,omitempty"`  // oldest first
}

// Hold is a time for which a backend asked to be left alone, or has to be.
type Hold struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	Kind   string    `json:"kind"`
}

// record writes down what is known. A backend that is half-open is one whose open time is over.
func (k *breaker) record() Record {
	r := Record{Phase: k.phase, Reason: k.reason, Until: k.until, Failed: k.failed}
	if k.phase == HalfOpen {
		r.Phase = Open
		if k.quarantined {
			r.Phase = Quarantined
		}
	}
	if k.kind != sdk.KindNone {
		r.Kind, r.Unsent = k.kind.String(), k.unsent
	}
	if !k.held.IsZero() {
		r.Hold = &Hold{k.held, k.heldWhy, k.heldKind.String()}
	}
	r.Openings = append(r.Openings, k.openings...)
	r.History = append(r.History, k.history...)
	return r
}

// adopt takes a record up in the place of what was known.
func (k *breaker) adopt(r *Record) {
	k.epoch++
	k.phase, k.reason, k.until, k.failed, k.quarantined = Closed, "", time.Time{}, 0, false
	if r.Phase == Open || r.Phase == Quarantined {
		k.phase, k.reason, k.until, k.failed, k.quarantined = r.Phase, r.Reason, r.Until, r.Failed, r.Phase == Quarantined
	}
	k.kind, _ = sdk.ParseKind(r.Kind)
	k.unsent = r.Unsent
	k.streak, k.probe, k.attempts, k.failures = 0, time.Time{}, window{}, window{}
	k.held, k.heldWhy, k.heldKind = time.Time{}, "", sdk.KindNone
	if h := r.Hold; h != nil {
		k.held, k.heldWhy = h.Until, h.Reason
		k.heldKind, _ = sdk.ParseKind(h.Kind)
	}
	k.openings = append(k.openings[:0], last(r.Openings, maxOpenings)...)
	k.history = append(k.history[:0], last(r.History, maxHistory)...)
}

// changedAt is when the newest event was; zero where there was none.
func (r *Record) changedAt() time.Time {
	if len(r.History) == 0 {
		return time.Time{}
	}
	return r.History[len(r.History)-1].At
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// Record writes down what is known of the backend.
func (b *Backend) Record() Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.breaker.record()
	r.Backend, r.Credential = b.ID, b.account
	return r
}

// merge takes from another gateway's record what both hear from the provider, or people and repeated failures decided: a
// hold, a quarantine, a release. Whether the backend can be reached is each gateway's own to find out.
func (k *breaker) merge(r *Record) bool {
	e := r.History[len(r.History)-1]
	switch {
	case r.Phase == Quarantined && k.phase != Quarantined, e.Phase == Closed && strings.HasPrefix(e.Reason, released):
		k.adopt(r)
	case r.Hold != nil && r.Hold.Until.After(k.held):
		k.held, k.heldWhy = r.Hold.Until, r.Hold.Reason
		k.heldKind, _ = sdk.ParseKind(r.Hold.Kind)
		k.note(e.At, Held, k.heldWhy, k.held)
	default:
		return false
	}
	return true
}

// take takes up a record, if it is newer than what is known here: all of it where nobody else wrote it, else what merge
// does.
func (b *Backend) take(r *Record, now time.Time, own bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.breaker.record()
	if !r.changedAt().After(was.changedAt()) {
		return false
	}
	// From here on this process's clock decides, not the wall's.
	r.Until = now.Add(r.Until.Sub(now))
	if r.Hold != nil {
		r.Hold.Until = now.Add(r.Hold.Until.Sub(now))
	}
	if own {
		b.breaker.adopt(r)
	} else if !b.breaker.merge(r) {
		return false
	}
	b.publish(now)
	return true
}

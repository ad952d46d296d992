package relay

import "time"

// maxHeld bounds what is held back before the commit point; more than that is content, whatever it says. An answer that
// is held until its end has the bound of a whole answer.
const maxHeld = 1 << 20

// due says whether what is held becomes the client's now. Where nothing more can be tried, holding beyond the first
// content would only delay.
func (a *active) due() bool {
	rule := a.terms.Commit
	if rule.Rule == OnWhole {
		return int64(len(a.held)) > a.Limits.Whole
	}
	if rule.Rule == OnFirstByte || int64(len(a.held)) > max(maxHeld, rule.Bytes) {
		return true
	}
	if !a.content {
		return false
	}
	switch {
	case a.lastResort():
		return true
	case rule.Rule == OnBytes:
		return int64(len(a.held)) >= rule.Bytes
	case rule.Rule == OnTime:
		return a.heldFor() <= 0
	}
	return true
}

// heldFor is how long a rule of time still holds the answer.
func (a *active) heldFor() time.Duration {
	return time.Until(a.rec.Started.Add(a.terms.Commit.After))
}

// lastResort says whether no further attempt can follow this one.
func (a *active) lastResort() bool {
	return a.race == nil && (len(a.waiting) == 0 || a.res.Tried >= a.most())
}

package limits

import "time"

// Limit is what refused a request.
type Limit uint8

// The limits.
const (
	NoLimit Limit = iota
	OverRequests
	OverTokens
	OverInput
	OverOutput
	OverAtOnce
	OverBudget
)

var limitNames = [...]string{NoLimit: "none", OverRequests: "requests per minute", OverTokens: "tokens per minute",
	OverInput: "input tokens per minute", OverOutput: "output tokens per minute", OverAtOnce: "requests at the same time", OverBudget: "budget"}

// String names the limit in messages.
func (l Limit) String() string { return limitNames[l] }

// Refusal says which limit was met. The zero Refusal is none.
type Refusal struct {
	Limit Limit
	Level *Level
	Most  int64         // the limit: of a budget in nano-USD
	Need  int64         // of the request
	Left  int64         // that could have been had
	Never bool          // the request alone is larger than the limit
	After time.Duration // from when on the same request would pass if nobody else came; 0: it is not known
}

// Gauge is where one rate stands after a reservation, or a refusal: of several levels, the one with the least left.
type Gauge struct {
	Limit int64 // 0: there is none
	Left  int64
	Reset time.Duration // until nothing is used any more
}

// Standing is where the rates stand.
type Standing [rates]Gauge

// Verdict is the answer to a reservation.
type Verdict struct {
	Refusal  Refusal
	Standing Standing
	Unknown  uint // levels whose spending must be told by Seed first, a bit each; nothing was reserved. 0: none
}

// OK says whether the reservation was made.
func (v *Verdict) OK() bool { return v.Refusal.Limit == NoLimit && v.Unknown == 0 }

// reading is how a level's counters stand before a reservation.
type reading struct {
	ahead  [rates]int64 // ns
	atOnce int64
	known  bool // the money
	money  Money
}

// atOnceRetry is after how long a client is asked to try again when too many of its requests run at the same time: when
// one of them ends cannot be known.
const atOnceRetry = time.Second

// judge decides on a reservation by the readings of all levels. Several refusals are told by the one that lasts longest.
func judge(a *Account, n *Need, now time.Time, read *[maxLevels]reading) (v Verdict) {
	for i := range a.Levels {
		if a.Levels[i].Budget.Set && !read[i].known {
			v.Unknown |= 1 << i
		}
	}
	if v.Unknown != 0 {
		return v
	}
	for i := range a.Levels {
		a.Levels[i].judge(n, now, &read[i], &v)
	}
	if !v.OK() {
		n = &Need{}
	}
	for i := range a.Levels {
		a.Levels[i].gauge(n, &read[i], &v.Standing)
	}
	return v
}

func (l *Level) judge(n *Need, now time.Time, read *reading, v *Verdict) {
	for r := range rates {
		limit, need := l.PerMinute[r], n.of(r)
		if limit == 0 || need == 0 {
			continue
		}
		refusal := Refusal{Limit: OverRequests + Limit(r), Level: l, Most: limit, Need: need, Left: min(share(minute-read.ahead[r], limit), limit)}
		if need > limit {
			refusal.Never = true
			v.worst(refusal)
		} else if over := read.ahead[r] + span(need, limit) - minute; over > 0 {
			refusal.After = time.Duration(over)
			v.worst(refusal)
		}
	}
	if l.AtOnce > 0 && n.Requests > 0 && read.atOnce >= l.AtOnce {
		v.worst(Refusal{Limit: OverAtOnce, Level: l, Most: l.AtOnce, Need: 1, After: atOnceRetry})
	}
	if b := l.Budget; b.Set && n.Nano > 0 && add(add(read.money.Spent, read.money.Held), n.Nano) > b.Nano {
		v.worst(Refusal{Limit: OverBudget, Level: l, Most: b.Nano, Need: n.Nano, Left: max(b.Nano-add(read.money.Spent, read.money.Held), 0),
			Never: n.Nano > b.Nano, After: b.Each.End(now).Sub(now)})
	}
}

// worst keeps the refusal that is of the most use to the client: one that no wait mends, then the longest wait.
func (v *Verdict) worst(r Refusal) {
	if old := &v.Refusal; old.Limit == NoLimit || r.Never && !old.Never || r.Never == old.Never && r.After > old.After {
		*old = r
	}
}

// gauge tells where the rates will stand when the need has been taken.
func (l *Level) gauge(n *Need, read *reading, s *Standing) {
	for r := range rates {
		limit := l.PerMinute[r]
		if limit == 0 {
			continue
		}
		used := read.ahead[r] + span(n.of(r), limit)
		g := Gauge{Limit: limit, Left: min(share(minute-used, limit), limit), Reset: time.Duration(used)}
		if s[r].Limit == 0 || g.Left < s[r].Left {
			s[r] = g
		}
	}
}

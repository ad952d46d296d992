package limits

import (
	"math"
	"math/bits"
	"time"
)

// minute is what the rates are counted over, in ns, and how much of a rate may be taken at once.
const minute = int64(time.Minute)

// furthest is how far a rate may be used ahead, in ns: 52 days. A double holds it exactly, so that a server's script
// counts as this package does.
const furthest = 1 << 52

// rate counts a limit a minute by the generic cell rate algorithm in integer nanoseconds: one number, the moment at which
// all that was taken will have been given back (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm).
type rate struct {
	full  int64 // ns
	limit int64 // that full was counted by
}

// span is how long it takes to give n of a limit a minute back, in ns. It is rounded down, so that a limit of 7 lets 7
// pass, but not to nothing.
func span(n, limit int64) int64 {
	if n <= 0 {
		return 0
	}
	return min(max(scale(n, minute, limit), 1), furthest)
}

// share is how many of a limit a minute some ns give back.
func share(ns, limit int64) int64 { return scale(max(ns, 0), limit, minute) }

// scale is n × by / over, rounded down, for numbers that are not negative; it ends at the largest.
func scale(n, by, over int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(by))
	if hi >= uint64(over) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(over))
	return int64(min(q, math.MaxInt64))
}

// ahead is how far the rate is used, in ns. A limit that has changed keeps what was used of the old one.
func (r *rate) ahead(now, limit int64) int64 {
	ahead := min(max(r.full-now, 0), furthest)
	if r.limit != limit && r.limit > 0 {
		ahead = min(scale(ahead, r.limit, limit), furthest)
	}
	return ahead
}

// take uses n of the rate, whatever is left of it.
func (r *rate) take(now, limit, n int64) {
	r.full = now + min(r.ahead(now, limit)+span(n, limit), furthest)
	r.limit = limit
}

// giveBack undoes n of what a hold took that used the rate up to a moment. What has run off since is not given back: it
// would be there twice, and a long request could lend its reservation to others a second time.
func (r *rate) giveBack(now, n, upTo, limit int64) {
	left := max(r.full-now, 0)
	if r.limit == limit {
		left = min(left, max(upTo-now, 0))
	}
	r.full -= min(span(n, r.limit), left)
}

// add and sub end at the ends of their range.
func add(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxInt64
}

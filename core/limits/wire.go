package limits

import (
	"strconv"
	"time"
)

// base is what numbers are cut in two by that a double could not hold.
const base = 1_000_000_000

// perReading is how many numbers the script answers for a level.
const perReading = int(rates) + 7

// keepLeast is how long a level that nobody uses is kept, and a budget after its period.
const (
	keepLeast  = time.Hour
	keepBudget = 24 * time.Hour
)

// keepFor is how many ms a level's state is kept from now on; 0: for ever.
func keepFor(l *Level, now time.Time) int64 {
	switch {
	case !l.Budget.Set:
		return keepLeast.Milliseconds()
	case l.Budget.Each == Total:
		return 0
	}
	return l.Budget.Each.End(now).Add(keepBudget).Sub(now).Milliseconds()
}

func appendHalves(args []string, n int64) []string {
	n = min(max(n, 0), mostMoney)
	return append(args, strconv.FormatInt(n/base, 10), strconv.FormatInt(n%base, 10))
}

// mostMoney is the largest amount that is told from larger ones, in nano-USD.
const mostMoney = 9_223_372_036 * base

// takeArgs are what take.lua reads.
func takeArgs(h *Hold, now time.Time, run string) []string {
	args := appendHalves(make([]string, 0, 8+19*len(h.account.Levels)), now.UnixNano())
	args = append(args, strconv.FormatInt(now.UnixMilli(), 10), strconv.FormatInt(h.leased.UnixMilli(), 10), strconv.FormatUint(h.id, 16))
	args = append(appendHalves(args, h.need.Nano), run)
	for i := range h.account.Levels {
		l, k := &h.account.Levels[i], &h.marks[i]
		for r := range rates {
			limit, need, over := l.PerMinute[r], h.need.of(r), "0"
			if need > limit {
				over = "1"
			}
			args = append(args, strconv.FormatInt(limit, 10), strconv.FormatInt(spanOrNone(need, limit), 10), over)
		}
		set := "0"
		if l.Budget.Set {
			set = "1"
		}
		args = append(args, strconv.FormatInt(l.AtOnce, 10), set)
		args = appendHalves(args, l.Budget.Nano)
		args = append(args, k.each.String(), strconv.FormatInt(k.window, 10), strconv.FormatInt(keepFor(l, now), 10))
	}
	return args
}

func spanOrNone(n, limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return span(n, limit)
}

// readingOf reads what take.lua answers of one level, and notes the period that it counted in.
func readingOf(n []int64, k *mark) (r reading) {
	copy(r.ahead[:], n)
	n = n[rates:]
	r.atOnce, r.known, k.window = n[0], n[1] == 1, n[2]
	r.money = Money{Spent: n[3]*base + n[4], Held: n[5]*base + n[6]}
	return r
}

// lease is how a hold is called in a level's leases.
func (h *Hold) lease(level int) string {
	l, k := &h.account.Levels[level], &h.marks[level]
	money := "0 0"
	if l.Budget.Set {
		n := min(max(h.need.Nano, 0), mostMoney)
		money = strconv.FormatInt(n/base, 10) + " " + strconv.FormatInt(n%base, 10)
	}
	return strconv.FormatUint(h.id, 16) + " " + money + " " + k.each.String() + ":" + strconv.FormatInt(k.window, 10)
}

// ending is a hold whose request has ended.
type ending struct {
	hold Hold
	used Need
	at   time.Time // when it ended
}

// args are what end.lua reads, where it is told now.
func (e *ending) args(now time.Time) []string {
	h := &e.hold
	args := appendHalves(make([]string, 0, 6+21*len(h.account.Levels)), e.at.UnixNano())
	args = append(args, flag(h.unsure), flag(!now.Before(h.leased)))
	args = appendHalves(args, e.used.Nano)
	for i := range h.account.Levels {
		k := &h.marks[i]
		args = append(args, h.lease(i))
		for r := range rates {
			limit, more, less := k.limit[r], int64(0), int64(0)
			if limit > 0 {
				took, is := h.need.of(r), e.used.of(r)
				more, less = span(is-took, limit), span(took-is, limit)
			}
			args = append(args, strconv.FormatInt(limit, 10), strconv.FormatInt(more, 10), strconv.FormatInt(less, 10))
			args = appendHalves(args, k.full[r])
		}
	}
	return args
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

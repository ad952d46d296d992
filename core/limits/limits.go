// Package limits counts what keys and teams use: requests and tokens a minute, requests at the same time, money in a
// period. What a request may need is reserved at all of its counters at once or at none, and corrected when it has ended.
//
// The counters are in the process (Memory), or in a Valkey or Redis server that several gateways share (Shared); both
// decide by the same rules. Whose counters a request draws on, how much it may need, and that every reservation ends is
// core/admit's; the record of what was spent is core/ledger's.
package limits

import (
	"context"
	"errors"
	"time"
)

// ErrDown says that the server which holds the counters does not answer. Nothing was reserved.
var ErrDown = errors.New("counters: the server does not answer")

// Counters is where use is counted. Accounts and holds are the caller's; a hold is for one goroutine at a time.
type Counters interface {
	// Look tells without a reservation, and without asking a server, whether a request of the account would be refused
	// now for the number of requests: a cheap refusal, before a body is read. A verdict that is OK promises nothing.
	Look(a *Account, now time.Time) Verdict
	// Reserve takes what is needed from all of the account's counters, or nothing. The error is ErrDown or the context's.
	Reserve(ctx context.Context, a *Account, n Need, now time.Time, h *Hold) (Verdict, error)
	// Settle ends a hold whose request has been sent: tokens and money are corrected to what was used, the request
	// counts. A hold that has ended, or never began, is left alone.
	Settle(h *Hold, used Use, now time.Time)
	// Refund ends a hold as if it had never been.
	Refund(h *Hold, now time.Time)
	// Seed says what of a period's budget was spent before these counters knew of it. It does nothing where they know.
	Seed(ctx context.Context, a *Account, level int, nano int64, now time.Time) error
	// Spent gives the money of the current period of a level's budget; false where it is not known.
	Spent(ctx context.Context, a *Account, level int, now time.Time) (Money, bool, error)
	// Close ends what the counters run. Holds that are open stay counted until their leases end.
	Close()
}

// Money is what a budget has been used for, in nano-USD.
type Money struct {
	Spent int64 // settled
	Held  int64 // reserved by requests under way
}

// Rate is one of the limits a minute.
type Rate uint8

// The rates.
const (
	Requests Rate = iota
	Tokens        // in and out together
	Input
	Output
	rates
)

// Limits is how much may be used. A zero is no limit.
type Limits struct {
	PerMinute [rates]int64
	AtOnce    int64 // requests at the same time
	Budget    Budget
}

// Budget is how much may be spent in a period.
type Budget struct {
	Set  bool
	Nano int64 // USD × 10⁻⁹; 0 lets only what costs nothing pass
	Each Period
}

// Any says whether there is a limit at all.
func (l *Limits) Any() bool {
	return l.AtOnce > 0 || l.Budget.Set || l.PerMinute != [rates]int64{}
}

// Level is a key, a team or an organisation with its limits.
type Level struct {
	Kind string // key, team, …
	Name string
	Limits
	id string
}

// String names the level in messages: key "ci".
func (l *Level) String() string { return l.Kind + ` "` + l.Name + `"` }

// maxLevels is how many levels an account may have.
const maxLevels = 4

// Account is the levels that a request draws on. All of them must allow it. It does not change.
type Account struct {
	Levels []Level
	group  string // the outermost level: in a cluster of servers all counters of an account are on one
}

// NewAccount makes an account of levels, the innermost first: the key, its team. Those without limits are left out. It
// keeps none of the list. More than four levels are a mistake of the program.
func NewAccount(levels ...Level) *Account {
	a := new(Account)
	for _, l := range levels {
		l.id = l.Kind + ":" + l.Name
		a.group = l.id
		if l.Any() {
			a.Levels = append(a.Levels, l)
		}
	}
	if len(a.Levels) > maxLevels {
		panic("limits: an account of more than four levels")
	}
	return a
}

// Budgeted says whether a level of the account has a budget.
func (a *Account) Budgeted() bool {
	for i := range a.Levels {
		if a.Levels[i].Budget.Set {
			return true
		}
	}
	return false
}

// TokenLimit gives the least limit a minute of a kind of tokens; 0 where there is none.
func (a *Account) TokenLimit(r Rate) int64 {
	var least int64
	for i := range a.Levels {
		if n := a.Levels[i].PerMinute[r]; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Use is what a request has used.
type Use struct {
	Input, Output int64 // tokens
	Nano          int64 // USD × 10⁻⁹
}

// Need is what a request may use at most. Negative numbers count as 0.
type Need struct {
	Use
	Requests int64 // 1, as a rule
}

// of gives the need of one rate.
func (n *Need) of(r Rate) int64 {
	switch r {
	case Requests:
		return max(n.Requests, 0)
	case Input:
		return max(n.Input, 0)
	case Output:
		return max(n.Output, 0)
	}
	return add(max(n.Input, 0), max(n.Output, 0))
}

// Hold is a reservation. The zero Hold is none.
type Hold struct {
	account *Account
	need    Need
	id      uint64    // of Shared: its lease
	unsure  bool      // the server may not have it: it did not answer when it was taken, or ended
	leased  time.Time // until then
	marks   [maxLevels]mark
}

// mark is what a hold remembers of a level.
type mark struct {
	full   [rates]int64 // when the rate was used up to by this hold, in ns; see rate.giveBack
	limit  [rates]int64 // at which it was taken
	each   Period       // with window: the period that its money is of
	window int64
}

// Open says whether the hold has been taken and not ended.
func (h *Hold) Open() bool { return h.account != nil }

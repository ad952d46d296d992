package admit

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/sdk"
)

// Reservation is what a request has reserved. Its owner calls End whatever becomes of the request; where Settle was called
// before, End does nothing. The zero Reservation is none. It is for one goroutine at a time.
type Reservation struct {
	counters limits.Counters
	hold     limits.Hold
	standing limits.Standing
}

// Settle ends the reservation of a request that was sent: what it used takes the place of what was reserved.
func (r *Reservation) Settle(used limits.Use) {
	if r.counters != nil {
		r.counters.Settle(&r.hold, used, time.Now())
	}
}

// End gives back what was reserved for a request that was not sent.
func (r *Reservation) End() {
	if r.counters != nil {
		r.counters.Refund(&r.hold, time.Now())
	}
}

// Look refuses a request whose key has no request left in this minute: cheaply, before its body is read.
func (a *Admitter) Look(key *Key, now time.Time, into *Reservation) *sdk.Failure {
	*into = Reservation{}
	if len(key.Account.Levels) == 0 {
		return nil
	}
	v := a.counters.Look(key.Account, now)
	if v.OK() {
		return nil
	}
	into.standing = v.Standing
	return refused(&v.Refusal, now)
}

// Reserve reserves what a request may need, at all levels of the key's account or at none.
func (a *Admitter) Reserve(ctx context.Context, d Directory, key *Key, need limits.Need, into *Reservation) *sdk.Failure {
	*into = Reservation{}
	if len(key.Account.Levels) == 0 {
		return nil
	}
	now := time.Now()
	for range 1 + len(key.Account.Levels) {
		v, err := a.counters.Reserve(ctx, key.Account, need, now, &into.hold)
		switch {
		case err != nil:
			return a.outage(d, key, err)
		case v.OK():
			into.counters, into.standing = a.counters, v.Standing
			return nil
		case v.Unknown == 0:
			into.standing = v.Standing
			return refused(&v.Refusal, now)
		}
		if err := a.seed(ctx, key.Account, v.Unknown, now); err != nil {
			return a.outage(d, key, err)
		}
	}
	return a.outage(d, key, errDown) // the counters forget what they are told
}

// outage decides on a request whose limits cannot be counted: one that may cost a budget's money is always refused.
func (a *Admitter) outage(d Directory, key *Key, err error) *sdk.Failure {
	if !key.Account.Budgeted() && !d.FailClosed() {
		return nil
	}
	if !errors.Is(err, limits.ErrDown) && err != errDown {
		a.log.Error("admission: limits cannot be counted", "error", err)
	}
	return &sdk.Failure{Kind: sdk.StoreDown, Message: "the gateway cannot count the key's limits at present", RetryAfter: retryStore}
}

// longWait is from when on a client is not told to wait: agents stop at once where retry-after is above a minute.
const longWait = time.Minute

// refused tells a client which limit it has met.
func refused(r *limits.Refusal, now time.Time) *sdk.Failure {
	f := &sdk.Failure{Kind: sdk.RateLimited, RetryAfter: r.After}
	var b strings.Builder
	b.WriteString("the " + r.Level.String())
	switch {
	case r.Limit == limits.OverBudget:
		f.Kind, f.Final = sdk.BudgetSpent, true
		if r.After > longWait {
			f.RetryAfter = 0
		}
		budget(&b, r, now)
	case r.Never:
		f.Kind, f.RetryAfter, f.Final = sdk.OverTokenLimit, 0, true
		b.WriteString(" may use " + number(r.Most) + " " + r.Limit.String() + " and this request alone may need " + number(r.Need) +
			": ask for a shorter answer or send less")
	case r.Limit == limits.OverAtOnce:
		b.WriteString(" may have " + number(r.Most) + " requests at the same time, and has")
	case r.Limit == limits.OverRequests:
		b.WriteString(" may send " + number(r.Most) + " " + r.Limit.String())
	default:
		b.WriteString(" may use " + number(r.Most) + " " + r.Limit.String() + ": this request may need " + number(r.Need) + " and " + number(r.Left) + " are left")
	}
	if f.RetryAfter > 0 {
		b.WriteString("; try again in " + ceil(f.RetryAfter, time.Millisecond).String())
	}
	f.Message = b.String()
	return f
}

// budget tells of a budget that is spent, or too small for the request.
func budget(b *strings.Builder, r *limits.Refusal, now time.Time) {
	each := r.Level.Budget.Each
	b.WriteString(" may spend " + usd(r.Most) + " USD")
	if each != limits.Total {
		b.WriteString(" a " + each.String())
	}
	b.WriteString(": " + usd(r.Left) + " are left and this request may cost " + usd(r.Need))
	if each != limits.Total {
		b.WriteString("; the next " + each.String() + " begins at " + each.End(now).Format(time.RFC3339))
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func usd(nano int64) string { return config.Nano(nano).String() }

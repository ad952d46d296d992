package limits

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Shared is counters in a Valkey or Redis server that several gateways share. Each reservation and each end of one is one
// script, one round trip, for all of an account's counters.
//
// A request's part of concurrency and budget is a lease there, which its gateway renews: of a gateway that has crashed the
// requests end when their leases do, and the money that they had reserved counts as spent. The gateways' clocks must agree
// to within a few seconds.
type Shared struct {
	link    link
	leases  leases
	refused refused
	log     *slog.Logger
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	late    backlog
}

// Times of the leases.
const (
	leaseFor   = time.Minute
	renewEvery = leaseFor / 4
	retryEvery = time.Second
)

//go:embed take.lua
var takeText string

//go:embed end.lua
var endText string

//go:embed seed.lua
var seedText string

//go:embed begin.lua
var beginText string

// Open gives the counters that a URL names: memory://, valkey://…, valkeys://…, redis://…, rediss://…, unix://…. A server
// need not answer yet: until it does, reservations give ErrDown. The caller closes them.
//
// Counters in the process begin their clock at now.
func Open(url string, now time.Time, log *slog.Logger) (Counters, error) {
	if url == "" || url == "memory://" {
		return NewMemory(now), nil
	}
	return openShared(url, callLimit, log)
}

// openShared makes counters whose calls wait for the server as long as wait.
func openShared(url string, wait time.Duration, log *slog.Logger) (*Shared, error) {
	o, err := valkey.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	o.DisableCache, o.DisableRetry = true, true
	o.ConnWriteTimeout, o.Dialer.Timeout = connLimit, connLimit
	ctx, stop := context.WithCancel(context.Background())
	s := &Shared{log: log, stop: stop, link: newLink(o, wait, log)}
	s.leases.all = map[uint64]*lease{}
	s.tasks.Go(func() { s.link.connect(ctx) })
	s.tasks.Go(func() { s.every(ctx, renewEvery, s.renew) })
	s.tasks.Go(func() { s.every(ctx, retryEvery, s.catchUp) })
	s.tasks.Go(func() { s.every(ctx, retryEvery, s.look) })
	return s, nil
}

// every runs a task at intervals until ctx ends.
func (s *Shared) every(ctx context.Context, d time.Duration, task func(context.Context, time.Time)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			task(ctx, time.Now())
		}
	}
}

// Close implements Counters. Ends that have not reached the server are tried once more.
func (s *Shared) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	s.catchUp(ctx, time.Now())
	s.stop()
	s.tasks.Wait()
	s.link.close()
}

// Look implements Counters: it remembers for how long the server has last refused.
func (s *Shared) Look(a *Account, now time.Time) (v Verdict) {
	for i := range a.Levels {
		l := &a.Levels[i]
		if l.PerMinute[Requests] == 0 {
			continue
		}
		if after := s.refused.until(l, now); after > 0 {
			most := l.PerMinute[Requests]
			v.Refusal = Refusal{Limit: OverRequests, Level: l, Most: most, Need: 1, After: after}
			v.Standing[Requests] = Gauge{Limit: most, Reset: time.Minute} // all of it is used, or it would not refuse
			break
		}
	}
	return v
}

// Reserve implements Counters. It waits no longer than a quarter of a second for each of its calls: one as a rule, five where the
// server was restarted.
func (s *Shared) Reserve(ctx context.Context, a *Account, n Need, now time.Time, h *Hold) (Verdict, error) {
	if len(a.Levels) == 0 {
		*h = Hold{}
		return Verdict{}, nil
	}
	if err := s.sure(ctx, now); err != nil {
		return Verdict{}, err
	}
	taken := Hold{account: a, need: n, id: rand.Uint64(), leased: now.Add(leaseFor)}
	for i := range a.Levels {
		l, k := &a.Levels[i], &taken.marks[i]
		k.each, k.window = l.Budget.Each, l.Budget.Each.Start(now).Unix()
	}
	got, sent, err := s.link.run(ctx, take, a.keys(), takeArgs(&taken, now, s.run()))
	if err == nil && len(got) == 1 { // the server has begun anew
		if err = s.over(ctx, a, now); err == nil {
			got, sent, err = s.link.run(ctx, take, a.keys(), takeArgs(&taken, now, s.run()))
		}
	}
	if err == nil && len(got) != 1+perReading*len(a.Levels) {
		err, sent = fmt.Errorf("counters: the script answered %d numbers", len(got)), true
	}
	if err != nil {
		if sent { // it may have been taken
			taken.unsure = true
			taken.remember(now, &[maxLevels]reading{})
			s.late.add(ending{hold: taken, at: now}, s.log)
		}
		return Verdict{}, err
	}
	var read [maxLevels]reading
	for i := range a.Levels {
		read[i] = readingOf(got[1+i*perReading:], &taken.marks[i])
	}
	v := judge(a, &n, now, &read)
	if got[0] == 1 {
		v.Refusal, v.Unknown = Refusal{}, 0
		taken.remember(now, &read)
		s.leases.add(&taken)
		*h = taken
		return v, nil
	}
	if v.OK() { // beyond 2^53 the script's numbers are rounded
		v.Refusal = Refusal{Limit: OverTokens, Level: &a.Levels[0], Most: a.Levels[0].PerMinute[Tokens], Need: n.of(Tokens), After: time.Second}
	}
	s.refused.add(&v.Refusal, now)
	return v, nil
}

// remember keeps up to when each rate is used by the hold.
func (h *Hold) remember(now time.Time, read *[maxLevels]reading) {
	for i := range h.account.Levels {
		l, k := &h.account.Levels[i], &h.marks[i]
		for r := range rates {
			if limit := l.PerMinute[r]; limit > 0 {
				k.limit[r] = limit
				k.full[r] = now.UnixNano() + min(read[i].ahead[r]+span(h.need.of(r), limit), furthest)
			}
		}
	}
}

// Settle implements Counters. Where the server does not answer it is told later.
func (s *Shared) Settle(h *Hold, used Use, now time.Time) {
	s.end(h, Need{Use: used, Requests: h.need.Requests}, now)
}

// Refund implements Counters.
func (s *Shared) Refund(h *Hold, now time.Time) { s.end(h, Need{}, now) }

func (s *Shared) end(h *Hold, used Need, now time.Time) {
	if !h.Open() {
		return
	}
	h.leased = s.leases.remove(h)
	e := ending{hold: *h, used: used, at: now}
	h.account = nil
	if !s.tell(context.Background(), &e) {
		s.late.add(e, s.log)
	}
}

// tell tells the server of an end; false where it has to be told again. A hold that it does not have then has been ended by
// the first try.
func (s *Shared) tell(ctx context.Context, e *ending) bool {
	_, sent, err := s.link.run(ctx, finish, e.hold.account.keys(), e.args(time.Now()))
	e.hold.unsure = e.hold.unsure || sent
	return err == nil
}

// Seed implements Counters. The ends that wait for the server go before: what they used is in the sum.
func (s *Shared) Seed(ctx context.Context, a *Account, level int, nano int64, now time.Time) error {
	late, cancel := context.WithTimeout(ctx, s.link.wait)
	defer cancel()
	s.catchUp(late, now)
	l := &a.Levels[level]
	each := l.Budget.Each
	args := []string{each.String(), strconv.FormatInt(each.Start(now).Unix(), 10)}
	args = appendHalves(args, max(nano, 0))
	args = append(args, number(keepFor(l, now)), s.run())
	_, _, err := s.link.run(ctx, seed, a.keys()[2*level:2*level+2], args)
	return err
}

// Spent implements Counters.
func (s *Shared) Spent(ctx context.Context, a *Account, level int, now time.Time) (Money, bool, error) {
	each := a.Levels[level].Budget.Each
	f, err := s.link.fields(ctx, a.keys()[2*level], "period", "window", "spenth", "spentl", "heldh", "heldl", "told")
	if err != nil || f[0] != each.String() || f[6] != s.run() {
		return Money{}, false, err
	}
	if w, _ := strconv.ParseInt(f[1], 10, 64); w < each.Start(now).Unix() {
		return Money{}, true, nil
	}
	var n [4]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(f[2+i], 10, 64) // the script writes whole numbers
	}
	return Money{Spent: n[0]*base + n[1], Held: n[2]*base + n[3]}, true, nil
}

// keys names an account's counters: two for each level. What stands in braces puts them on one server of a cluster.
func (a *Account) keys() []string {
	keys := make([]string, 0, 2*len(a.Levels))
	for i := range a.Levels {
		k := "penstock:{" + a.group + "}:" + a.Levels[i].id
		keys = append(keys, k, k+leasesOf)
	}
	return keys
}

// leasesOf ends the name of a level's leases.
const leasesOf = ":leases"

func number(n int64) string { return strconv.FormatInt(n, 10) }

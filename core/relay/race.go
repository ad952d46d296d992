package relay

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/sdk"
)

// race is some attempts beside each other. The task's own goroutine leads it: it alone touches the task, the clock and,
// until an attempt has been let through to it, the client.
type race struct {
	*run
	claims  chan *active // attempts that have content and want to serve
	grants  chan bool    // what the one that asked is told
	ends    chan end
	running []*active
	open    atomic.Int32 // attempts that have not ended
	winner  *active
	hedge   *time.Timer
	keep    *time.Timer
	gone    <-chan struct{} // closed when the client leaves
	beaten  []*active       // that ended after the winner was let through
	failure *sdk.Failure
	panics  any
}

// end is an attempt that has ended.
type end struct {
	*active
	failure *sdk.Failure
	panics  any
}

// races says whether a candidate is asked with others beside it. All that may be asked are then translated for at once: the
// race's leader waits for no plugin.
func (r *run) races(i int) bool {
	if r.Candidates[i].Terms.HedgeAfter <= 0 || r.res.Tried+1 >= r.most() || r.Count || r.client.Gone() {
		return false
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(j int) bool { return !r.expressible(j) })
	return len(r.waiting) > 0
}

// race makes an attempt and, whenever nobody has had content for its delay, one at the next candidate beside it. The first that has
// content serves; the calls of the others are ended.
func (r *run) race(first *active) *sdk.Failure {
	c := &race{run: r, claims: make(chan *active), grants: make(chan bool), ends: make(chan end, r.most())}
	r.Clock.AttemptStart()
	c.hedge = time.NewTimer(forever)
	c.keep = time.NewTimer(forever)
	defer c.hedge.Stop()
	defer c.keep.Stop()
	if r.Facts.Stream && r.Limits.KeepAlive > 0 {
		c.keep.Reset(r.Limits.KeepAlive)
	}
	r.client.Unwatch()
	r.client.Watch(nil)
	c.gone = r.client.Over()
	defer c.abandon()
	c.start(first)
	for len(c.running) > 0 {
		c.step()
	}
	for _, a := range c.beaten {
		r.leave(a, a.rec.Failure)
	}
	r.client.Unwatch()
	if c.panics != nil {
		panic(c.panics)
	}
	if c.winner == nil && r.client.Gone() {
		return sdk.Fail(sdk.ClientGone, "the client left")
	}
	return c.failure
}

// start sets an attempt off.
func (c *race) start(a *active) {
	a.race = c
	c.hedge.Reset(a.terms.HedgeAfter)
	if a.terms.HedgeAfter <= 0 {
		c.hedge.Stop()
	}
	c.running = append(c.running, a)
	c.open.Add(1)
	go func() {
		e := end{active: a}
		defer func() {
			if p := recover(); p != nil {
				e.panics, e.failure = fmt.Sprintf("%v\n%s", p, debug.Stack()), ownFault()
				a.rec.Failure = e.failure
			}
			c.open.Add(-1)
			c.ends <- e
		}()
		faultpoint.Reach(faultpoint.Race)
		e.failure = a.ask()
	}()
}

// abandon ends the attempts of a race whose leader has panicked, and waits for them: they use its memory.
func (c *race) abandon() {
	if len(c.running) == 0 {
		return
	}
	close(c.grants) // none is let through, who is waiting for that neither
	for _, a := range c.running {
		a.lose()
	}
	for n := len(c.running); n > 0; {
		select {
		case <-c.claims:
		case <-c.ends:
			n--
		}
	}
}

// step waits for one thing to happen.
func (c *race) step() {
	faultpoint.Reach(faultpoint.Lead)
	left := c.gone
	if c.winner != nil {
		left = nil // its own goroutine watches the client
	}
	select {
	case a := <-c.claims:
		c.grants <- c.grant(a)
	case e := <-c.ends:
		c.ended(e)
	case <-c.hedge.C:
		c.next()
	case <-c.keep.C:
		c.keepAlive()
		c.keep.Reset(c.Limits.KeepAlive)
	case <-left:
		c.left()
	}
}

// next sets the next candidate off that may be asked. One that has failed already is not: it is asked again when the race
// is over, after a wait.
func (c *race) next() {
	for !c.stop && !c.client.Gone() && !c.client.Ending() && c.res.Tried < c.most() && len(c.waiting) > 0 && c.tries[c.waiting[0]].failures == 0 {
		i := c.nextCandidate()
		if a := c.enter(i); a != nil {
			c.start(a)
			return
		}
	}
}

// grant lets the first attempt that asks through to the client, and ends the others.
func (c *race) grant(a *active) bool {
	if c.winner != nil || a.lost.Load() {
		return false
	}
	c.winner = a
	c.hedge.Stop()
	c.keep.Stop()
	c.client.Unwatch()
	for _, b := range c.running {
		if b != a {
			c.Clock.Hedge(time.Since(b.rec.Started), c.name(b))
			b.lose()
		}
	}
	return true
}

// name names an attempt that still runs, of which no more may be read than what does not change.
func (c *race) name(a *active) string {
	if !c.Backends {
		return ""
	}
	return a.up.Deployment.Provider.ID + "#" + strconv.Itoa(a.rec.Number)
}

// lose ends an attempt that another has beaten.
func (a *active) lose() {
	a.lost.Store(true)
	a.call.Abort()
}

// left ends a race whose client has gone: the first attempt alone is kept, for as long as its terms say. Where the server is
// about to be closed none is kept, and the last to end tells the client.
func (c *race) left() {
	c.gone = nil
	c.hedge.Stop()
	c.keep.Stop()
	for i, a := range c.running {
		switch {
		case c.client.Ending():
			a.call.Abort()
		case i > 0:
			a.lose()
		case a.terms.Cancel || a.terms.DrainTime <= 0:
			a.call.Abort()
		default:
			c.client.After(a.terms.DrainTime, a.call.Abort)
		}
	}
}

// ended takes an attempt out of the race. When it failed with nobody beside it, the race is over; when others run, the next
// candidate takes its place at once. Where the failure is one that nobody could do better than, it is also the race's: what
// becomes of the others then only matters if they serve.
func (c *race) ended(e end) {
	a := e.active
	for i, b := range c.running {
		if a == b {
			c.running = append(c.running[:i], c.running[i+1:]...)
			break
		}
	}
	switch {
	case e.panics == nil:
	case c.winner != nil && a != c.winner: // the answer that is being given does not suffer by it
		c.Log.Error("attempt: panic", "request_id", c.RequestID, "panic", e.panics)
	default:
		c.panics = e.panics
		for _, b := range c.running {
			b.lose()
		}
	}
	switch {
	case c.winner != nil && a != c.winner:
		c.beaten = append(c.beaten, a) // what the winner's goroutine reads stays as it is
		return
	case a == c.winner:
	case len(c.running) == 0:
		a.serving = true // nobody else is: its end is the clock's
	default:
		c.Clock.Hedge(time.Since(a.rec.Started), a.desc(e.failure))
	}
	if a == c.winner || !c.stop {
		c.failure = e.failure
	}
	a.finish(e.failure)
	c.leave(a, e.failure)
	if c.winner == nil && len(c.running) > 0 {
		c.next()
	}
}

// claim asks to serve the client; false where another attempt does.
func (a *active) claim() bool {
	if a.writes() {
		return true
	}
	a.race.claims <- a
	a.serving = <-a.race.grants
	return a.serving
}

// lostRace is the failure of an attempt that another one has beaten.
func lostRace() *sdk.Failure {
	return sdk.Fail(sdk.ClientGone, "another deployment answered first")
}

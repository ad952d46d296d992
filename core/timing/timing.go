// Package timing turns marks on one monotonic clock into the Server-Timing of a response: where the time of a request
// went, in stages that add up exactly.
//
// A mark is the number of whole microseconds since the request arrived, so that the differences of consecutive marks
// telescope: gw is the sum of its stages and total the sum of gw, upstream, backoff and post, in the printed digits too.
// Who may see what is the caller's, by the mode.
package timing

import (
	"iter"
	"strconv"
	"time"
)

// Stage is a part of the gateway's own work before the first upstream attempt.
type Stage uint8

// The stages, in the order that they are printed in.
const (
	Auth  Stage = iota // key check
	Ctx                // account
	Limit              // limits and reservation
	Prep               // body, parsing, encoding
	Route              // policy and choice
	stages
)

var stageNames = [stages]string{"gw-auth", "gw-ctx", "gw-limit", "gw-prep", "gw-route"}

// Mode says how much is shown.
type Mode uint8

// The modes.
const (
	Off      Mode = iota
	Totals        // gw, each upstream, backoff, post, total
	Stages        // and the stages of gw
	Attempts      // and what each attempt was
)

// inline is the number of attempts that cost no allocation.
const inline = 8

// attempt is a finished attempt.
type attempt struct {
	us    int64
	desc  string
	hedge bool
}

// Clock times one request. The zero Clock is ready for Start; all marks come from one goroutine.
type Clock struct {
	start   time.Time
	last    int64 // the last mark
	stages  [stages]int64
	first   [inline]attempt
	more    []attempt
	n       int
	begun   int64 // of the running attempt
	running bool
	waiting bool // a backoff has begun
	tried   bool // an attempt has begun: gw is over
	backoff int64
	post    int64
	done    bool
}

// Start begins at the arrival of the request's head.
func (c *Clock) Start(arrived time.Time) { *c = Clock{start: arrived} }

// mark gives the microseconds since the start, never less than the mark before.
func (c *Clock) mark() int64 { return max(time.Since(c.start).Microseconds(), c.last) }

// lap moves the last mark to now and gives what lies between.
func (c *Clock) lap() int64 {
	now := c.mark()
	d := now - c.last
	c.last = now
	return d
}

// Mark charges the time since the last mark to a stage. A stage may be charged more than once.
func (c *Clock) Mark(s Stage) {
	if !c.tried && !c.done {
		c.stages[s] += c.lap()
	}
}

// AttemptStart begins an attempt, and ends one that still runs. What has passed since the last mark is the gateway's: of
// its last stage before the first attempt, of post after it.
func (c *Clock) AttemptStart() {
	if c.done {
		return
	}
	c.AttemptEnd("")
	c.BackoffEnd()
	c.gap()
	c.tried, c.running, c.begun = true, true, c.last
}

// gap charges what nobody has claimed since the last mark.
func (c *Clock) gap() {
	if c.tried {
		c.post += c.lap()
	} else {
		c.stages[Route] += c.lap()
	}
}

// AttemptEnd ends the attempt that is running; desc names it for those who may see backends.
func (c *Clock) AttemptEnd(desc string) {
	if !c.running {
		return
	}
	c.running = false
	c.add(attempt{us: c.lap(), desc: desc})
}

// Hedge adds an attempt that ran beside another and lost. It stands outside the sum.
func (c *Clock) Hedge(d time.Duration, desc string) {
	c.add(attempt{us: d.Microseconds(), desc: desc, hedge: true})
}

func (c *Clock) add(a attempt) {
	if c.n < inline {
		c.first[c.n] = a
	} else {
		c.more = append(c.more, a)
	}
	c.n++
}

// at gives the i-th attempt.
func (c *Clock) at(i int) *attempt {
	if i < inline {
		return &c.first[i]
	}
	return &c.more[i-inline]
}

// BackoffStart begins a wait between attempts.
func (c *Clock) BackoffStart() {
	if !c.done && !c.running {
		c.gap()
		c.waiting = true
	}
}

// BackoffEnd ends it.
func (c *Clock) BackoffEnd() {
	if c.waiting && !c.done {
		c.backoff += c.lap()
	}
	c.waiting = false
}

// Done ends the request; only the first call counts.
func (c *Clock) Done() {
	if c.done {
		return
	}
	c.AttemptEnd("")
	c.BackoffEnd()
	c.gap()
	c.done = true
}

// Gateway is the time from arrival to the first attempt.
func (c *Clock) Gateway() time.Duration { return time.Duration(c.gw()) * time.Microsecond }

// Total is the time up to the last mark.
func (c *Clock) Total() time.Duration { return time.Duration(c.last) * time.Microsecond }

// Stage is the time charged to a stage so far.
func (c *Clock) Stage(s Stage) time.Duration { return time.Duration(c.stages[s]) * time.Microsecond }

// Backoff is the time waited between attempts.
func (c *Clock) Backoff() time.Duration { return time.Duration(c.backoff) * time.Microsecond }

// Post is the gateway's own time after its first attempt began.
func (c *Clock) Post() time.Duration { return time.Duration(c.post) * time.Microsecond }

// Attempt is a finished attempt, or a hedge that lost and stands outside the sum.
type Attempt struct {
	Took  time.Duration // whole microseconds
	Desc  string
	Hedge bool
}

// Attempts gives the finished attempts in order.
func (c *Clock) Attempts() iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		for i := range c.n {
			a := c.at(i)
			if !yield(Attempt{Took: time.Duration(a.us) * time.Microsecond, Desc: a.desc, Hedge: a.hedge}) {
				return
			}
		}
	}
}

func (c *Clock) gw() int64 {
	var sum int64
	for _, s := range c.stages {
		sum += s
	}
	return sum
}

// AppendHeader appends the value for a finished answer; Done has been called. Off appends nothing.
func (c *Clock) AppendHeader(dst []byte, m Mode) []byte {
	if m == Off {
		return dst
	}
	dst = c.appendGateway(dst, m)
	dst = c.appendAttempts(dst, m)
	return c.appendEnd(dst)
}

// AppendStreamHeader appends what is known when a stream begins: the running attempt with its time so far, no total.
// Off appends nothing.
func (c *Clock) AppendStreamHeader(dst []byte, m Mode) []byte {
	if m == Off {
		return dst
	}
	dst = c.appendGateway(dst, m)
	dst = c.appendAttempts(dst, m)
	if c.running {
		dst = appendEntry(dst, "upstream", c.mark()-c.begun)
		if m == Attempts {
			dst = appendDesc(dst, "ttfb")
		}
	}
	if c.backoff > 0 {
		dst = appendEntry(dst, "backoff", c.backoff)
	}
	return dst
}

// AppendTrailer appends the finals of a stream; Done has been called.
func (c *Clock) AppendTrailer(dst []byte, m Mode) []byte { return c.AppendHeader(dst, m) }

func (c *Clock) appendGateway(dst []byte, m Mode) []byte {
	dst = appendMillis(append(dst, "gw;dur="...), c.gw())
	if m < Stages {
		return dst
	}
	for i, us := range c.stages {
		dst = appendEntry(dst, stageNames[i], us)
	}
	return dst
}

func (c *Clock) appendAttempts(dst []byte, m Mode) []byte {
	for i := range c.n {
		a := c.at(i)
		name := "upstream"
		if a.hedge {
			name = "hedge"
		}
		dst = appendEntry(dst, name, a.us)
		if m == Attempts && a.desc != "" {
			dst = appendDesc(dst, a.desc)
		}
	}
	return dst
}

// appendEnd appends backoff, post and the total, which is the sum of what is printed.
func (c *Clock) appendEnd(dst []byte) []byte {
	total := c.gw() + c.backoff + c.post
	for i := range c.n {
		if a := c.at(i); !a.hedge {
			total += a.us
		}
	}
	if c.backoff > 0 {
		dst = appendEntry(dst, "backoff", c.backoff)
	}
	if c.tried {
		dst = appendEntry(dst, "post", c.post)
	}
	return appendEntry(dst, "total", total)
}

func appendEntry(dst []byte, name string, us int64) []byte {
	dst = append(dst, ", "...)
	dst = append(dst, name...)
	dst = append(dst, ";dur="...)
	return appendMillis(dst, us)
}

// appendMillis prints microseconds as milliseconds with three decimals.
func appendMillis(dst []byte, us int64) []byte {
	dst = strconv.AppendInt(dst, us/1000, 10)
	frac := us % 1000
	return append(dst, '.', byte('0'+frac/100), byte('0'+frac/10%10), byte('0'+frac%10))
}

// appendDesc appends a description as a quoted string; what cannot stand in a header is left out.
func appendDesc(dst []byte, desc string) []byte {
	dst = append(dst, `;desc="`...)
	for i := range len(desc) {
		switch c := desc[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20 && c < 0x7f:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

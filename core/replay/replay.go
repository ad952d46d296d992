// Package replay keeps what routers decided, and decides it again: under other policies, to tell what they would change,
// and under a shadow, a second policy whose decisions are compared and never used.
//
// What is kept is made off the path of requests from what core/route captured there; what does not fit the bounds below is
// left out and counted. The rows are core/store's, how a decision is made again is core/route's.
package replay

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

// The bounds of what is kept: decisions are left out while a budget of bytes is used up, which is filled all the time and
// holds so much. It comes to 350 MB a day at the most; a gateway that routes a request a second keeps all.
const (
	DefaultKeep   = 24 * time.Hour
	DefaultBurst  = 16 << 20 // bytes
	DefaultSteady = 4 << 10  // bytes a second
)

const (
	queueLength = 1024
	batchLength = 256
	batchTime   = 200 * time.Millisecond // that a decision waits for others to be written with
	forgetEvery = time.Hour
	writeTime   = 10 * time.Second // that a write may take
)

// Store is what the recorder keeps decisions in; *store.Store is one.
type Store interface {
	PutDecisionFacts(ctx context.Context, hash [32]byte, at time.Time, data []byte) error
	PutDecisions(ctx context.Context, list []store.Decision) error
	ForgetDecisions(ctx context.Context, before time.Time) error
}

// Options say how a recorder works.
type Options struct {
	Store  Store
	Log    *slog.Logger
	Keep   time.Duration // 0: DefaultKeep
	Burst  int           // 0: DefaultBurst
	Steady int           // 0: DefaultSteady
}

// Decision is what a router decided for a request.
type Decision struct {
	RequestID  string
	Generation int64
	Took       time.Duration
	*route.Capture
}

// Recorder keeps decisions and asks shadows. Its zero value is not ready.
type Recorder struct {
	Options
	Shadow Shadow

	queue   chan *Decision
	resting atomic.Bool // the budget is used up
	counts  struct{ kept, dropped, left atomic.Int64 }

	// What follows is Run's.
	budget   budget
	pictured *route.Statistics // the last that was written, and its hash
	hash     [sha256.Size]byte
	batch    []store.Decision
	failedAt time.Time // when a failure was last logged
}

// Counts are of decisions.
type Counts struct {
	Kept    int64 `json:"kept"`
	LeftOut int64 `json:"left_out"` // for the budget
	Dropped int64 `json:"dropped"`  // because the recorder or the store could not follow
}

// NewRecorder makes a recorder; Run does its work.
func NewRecorder(o Options) *Recorder {
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Burst == 0 {
		o.Burst = DefaultBurst
	}
	if o.Steady == 0 {
		o.Steady = DefaultSteady
	}
	r := &Recorder{Options: o, queue: make(chan *Decision, queueLength)}
	r.budget = budget{most: o.Burst, steady: o.Steady, left: o.Burst}
	return r
}

// Wants says whether a decision would be looked at now: making a capture of one that is not costs more than asking. Those
// of a table that has shadows always are.
func (r *Recorder) Wants(shadowed bool) bool {
	if r == nil {
		return false
	}
	if r.resting.Load() && !shadowed {
		r.counts.left.Add(1)
		return false
	}
	return true
}

// Add gives the recorder a decision, which it keeps. It never waits.
func (r *Recorder) Add(d *Decision) {
	select {
	case r.queue <- d:
	default:
		r.counts.dropped.Add(1)
	}
}

// Counts tells what has become of decisions so far.
func (r *Recorder) Counts() Counts {
	return Counts{Kept: r.counts.kept.Load(), LeftOut: r.counts.left.Load(), Dropped: r.counts.dropped.Load()}
}

// Run keeps decisions until ctx ends, and then those that wait.
func (r *Recorder) Run(ctx context.Context) {
	work := context.WithoutCancel(ctx) // what is under way at the end is finished: writes have a limit of their own
	r.forget(work)
	write, forget := time.NewTicker(batchTime), time.NewTicker(forgetEvery)
	defer write.Stop()
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			r.drain(work)
			return
		case d := <-r.queue:
			if r.take(work, d); len(r.batch) >= batchLength {
				r.write(work)
			}
		case now := <-write.C:
			r.resting.Store(r.budget.fill(now) <= 0)
			r.write(work)
		case <-forget.C:
			r.forget(work)
		}
	}
}

// drain keeps what has been queued.
func (r *Recorder) drain(ctx context.Context) {
	for {
		select {
		case d := <-r.queue:
			r.take(ctx, d)
		default:
			r.write(ctx)
			return
		}
	}
}

// take asks the shadow about a decision and lines it up to be written.
func (r *Recorder) take(ctx context.Context, d *Decision) {
	in := d.Input()
	r.Shadow.compare(ctx, d, in)
	row := store.Decision{RequestID: d.RequestID, Router: d.Router, At: d.At}
	var err error
	if row.Input, err = json.Marshal(in); err == nil {
		row.Outcome, err = json.Marshal(d.Explanation(d.Generation, d.Took))
	}
	if err != nil {
		r.failed("a decision cannot be written down", err)
		r.counts.dropped.Add(1)
		return
	}
	if r.budget.left <= 0 {
		r.counts.left.Add(1)
		r.resting.Store(true)
		return
	}
	if d.Statistics != r.pictured && !r.picture(ctx, d.Statistics, d.At) {
		r.counts.dropped.Add(1)
		return
	}
	row.Facts = r.hash
	r.budget.left -= len(row.Input) + len(row.Outcome)
	r.batch = append(r.batch, row)
}

// picture writes what decisions have seen, which as a rule many have.
func (r *Recorder) picture(ctx context.Context, s *route.Statistics, at time.Time) bool {
	data, err := packPicture(s.Picture())
	if err != nil {
		r.failed("what a decision saw cannot be written down", err)
		return false
	}
	hash := sha256.Sum256(data)
	r.budget.left -= len(data)
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := r.Store.PutDecisionFacts(ctx, hash, at, data); err != nil {
		r.failed("what decisions saw is not kept", err)
		return false
	}
	r.pictured, r.hash = s, hash
	return true
}

// write writes what is lined up.
func (r *Recorder) write(ctx context.Context) {
	if len(r.batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := r.Store.PutDecisions(ctx, r.batch); err != nil {
		r.failed("decisions are not kept", err)
		r.counts.dropped.Add(int64(len(r.batch)))
	} else {
		r.counts.kept.Add(int64(len(r.batch)))
	}
	clear(r.batch)
	r.batch = r.batch[:0]
}

func (r *Recorder) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := r.Store.ForgetDecisions(ctx, time.Now().Add(-r.Keep)); err != nil {
		r.failed("old decisions are not removed", err)
	}
}

// failed logs a failure, once a minute: the store's own trouble is told elsewhere.
func (r *Recorder) failed(what string, err error) {
	if now := time.Now(); now.Sub(r.failedAt) > time.Minute {
		r.failedAt = now
		r.Log.Warn("router decisions: "+what, "error", err)
	}
}

// budget is bytes that may be written.
type budget struct {
	most, steady, left int
	at                 time.Time
}

// fill adds what has come since the last time, and gives what there is.
func (b *budget) fill(now time.Time) int {
	if !b.at.IsZero() {
		b.left = min(b.most, b.left+int(now.Sub(b.at).Seconds()*float64(b.steady)))
	}
	b.at = now
	return b.left
}

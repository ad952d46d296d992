package admit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/flight"
)

// How long what was read is kept. Changes are told of at once; this is for those that are missed.
const (
	freshFor = time.Minute
	staleFor = time.Hour // where the store does not answer
)

// How long the store is waited for.
const (
	readLimit = 2 * time.Second
	downFor   = time.Second // after a read that failed none is made for so long
)

// Read is a value that the store holds and requests share: read when it is first wanted, kept for a while, read again after
// a change. Its owner calls Close.
type Read[V any] struct {
	load    func(context.Context) (V, error)
	flights flight.Group[uint64, V]
	current atomic.Pointer[reading[V]]
	epoch   atomic.Uint64 // changes so far: a read from before one is not kept
	down    outage

	starting atomic.Bool
	tasks    sync.WaitGroup
}

type reading[V any] struct {
	value V
	epoch uint64
	at    time.Time
}

// NewRead makes a read of what load gives. Load is called in a goroutine of its own, and by one at a time unless it stalls.
func NewRead[V any](load func(context.Context) (V, error)) *Read[V] {
	r := &Read[V]{load: load}
	r.flights.Limit = readLimit
	return r
}

// Start implements Starter.
func (r *Read[V]) Start(ctx context.Context) {
	if now := time.Now(); r.fresh(now) != nil || r.down.is(now) || !r.starting.CompareAndSwap(false, true) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.tasks.Go(func() {
		defer r.starting.Store(false)
		r.Get(ctx, false) // what it gives is kept; an error is for those who wait for the value
	})
}

// Get gives the value. Where the store does not answer, it gives what it was at most an hour ago, if stale allows that.
func (r *Read[V]) Get(ctx context.Context, stale bool) (V, error) {
	now := time.Now()
	if c := r.fresh(now); c != nil {
		return c.value, nil
	}
	var v V
	err := errDown
	if !r.down.is(now) {
		epoch := r.epoch.Load()
		v, err = r.flights.Do(ctx, epoch, func(ctx context.Context) (V, error) { return r.read(ctx, epoch) })
		if err == nil {
			return v, nil
		}
		r.down.note(ctx, err)
	}
	if c := r.current.Load(); c != nil && stale && now.Sub(c.at) < staleFor {
		return c.value, nil
	}
	return v, err
}

// read reads the value and keeps it, before its flight ends: whoever comes then finds it.
func (r *Read[V]) read(ctx context.Context, epoch uint64) (V, error) {
	v, err := r.load(ctx)
	if err == nil {
		r.current.Store(&reading[V]{value: v, epoch: epoch, at: time.Now()})
	}
	return v, err
}

// fresh gives what was read since the last change, and not too long ago; nil where that is to be read.
func (r *Read[V]) fresh(now time.Time) *reading[V] {
	if c := r.current.Load(); c != nil && c.epoch == r.epoch.Load() && now.Sub(c.at) < freshFor {
		return c
	}
	return nil
}

// Drop says that the value has changed.
func (r *Read[V]) Drop() {
	r.epoch.Add(1)
	r.down.clear()
}

// Close ends the reads under way and waits for them.
func (r *Read[V]) Close() {
	r.flights.Close()
	r.tasks.Wait()
}

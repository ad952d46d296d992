// Package flight lets callers who want the same thing at the same time share one load of it, without binding them to
// each other: a load outlives the caller that started it, and a caller that joined one waits for it a bounded time only
// and then loads for itself.
//
// A plain single flight runs under its starter's context, so that a client that leaves fails everyone who joined, and a
// load that hangs holds all comers until somebody gives up. Neither can happen here.
//
// Nothing is cached: a flight ends when its load does. Keeping results, and deciding which errors are worth a second
// try, is left to the caller.
package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// DefaultJoin is how long a caller waits for a load that another has started, where the group does not say.
	DefaultJoin = 1500 * time.Millisecond

	// DefaultLimit is how long a load may take, where the group does not say.
	DefaultLimit = 10 * time.Second
)

// ErrStalled says that a load gave no answer within the group's limit. It is a context.DeadlineExceeded.
var ErrStalled = fmt.Errorf("load gave no answer within its limit: %w", context.DeadlineExceeded)

// ErrClosed says that the group was closed before the load had ended.
var ErrClosed = errors.New("flight group closed")

// PanicError is what the callers of a load that panicked get.
type PanicError struct {
	Value any    // what was given to panic; nil where the load ended its goroutine by runtime.Goexit
	Stack []byte // of the load's goroutine
}

// Error gives the panic's value. The stack, which is long and for the log, is not in it.
func (e *PanicError) Error() string { return fmt.Sprintf("load panicked: %v", e.Value) }

// Group is the loads of one kind that are under way, by key. The zero Group is ready; its fields may be set before the
// first Do. Its owner calls Close.
type Group[K comparable, V any] struct {
	// Join is how long a caller waits for a load that another has started before it starts its own. 0 is DefaultJoin.
	// Less than 0 is as long as its context allows, for loads that cost money: waiting is then better than paying twice.
	Join time.Duration

	// Limit is how long a load may take, 0 is DefaultLimit. Its context ends then, and its callers have ErrStalled
	// whether it looks at its context or not.
	Limit time.Duration

	mu     sync.Mutex // guards what follows
	shared map[K]*call[V]
	all    map[*call[V]]struct{} // every load that has not returned, shared or not
	closed bool
	stats  Stats

	running sync.WaitGroup // Add under mu, and not when closed
}

// Stats counts what a group has done since it was made.
type Stats struct {
	Loads   int64 // loads that were started
	Joins   int64 // callers that found a load under way and waited for it
	Expired int64 // of those, the ones that had to load for themselves
}

// call is one load.
type call[V any] struct {
	over  <-chan struct{} // closed when the load's context has ended
	cause func() error    // why it has; nil before
	end   context.CancelCauseFunc
	done  chan struct{} // closed when val and err are set
	val   V
	err   error
}

// Do gives the result of load for the key. If such a load is under way it waits for that one, for at most Join; then it
// drops it for those who come later, too, and runs a load of its own. Callers that shared a load get the same value,
// which none may change, or the same error.
//
// The load runs in a goroutine of its own. Its context has the values of ctx, not its end or deadline, so values must
// not be reused when the caller has gone; it ends after Limit or by Close, and a load must return then. Do itself
// returns when ctx ends, with ctx's error, and the load goes on for those who joined.
func (g *Group[K, V]) Do(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	var none V
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c, joined, err := g.join(ctx, key, load)
	if err != nil {
		return none, err
	}
	if !joined {
		return c.wait(ctx, -1)
	}
	v, err := c.wait(ctx, orDefault(g.Join, DefaultJoin))
	if err != ErrStalled {
		return v, err
	}
	if c, err = g.replace(ctx, key, c, load); err != nil {
		return none, err
	}
	return c.wait(ctx, -1)
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// join gives the load that is under way for the key, or starts it. One that has passed its limit and not returned is no
// longer worth waiting for.
func (g *Group[K, V]) join(ctx context.Context, key K, load func(context.Context) (V, error)) (c *call[V], joined bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false, ErrClosed
	}
	if c := g.shared[key]; c != nil && c.cause() == nil {
		g.stats.Joins++
		return c, true, nil
	}
	return g.start(ctx, key, true, load), false, nil
}

// replace starts a load for a caller that has waited in vain for old. The first to do so puts its load in old's place;
// the others' are their own, since joining again could mean to wait in vain again.
func (g *Group[K, V]) replace(ctx context.Context, key K, old *call[V], load func(context.Context) (V, error)) (*call[V], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	g.stats.Expired++
	c := g.shared[key]
	return g.start(ctx, key, c == nil || c == old, load), nil
}

// start begins a load. g.mu is held.
func (g *Group[K, V]) start(ctx context.Context, key K, share bool, load func(context.Context) (V, error)) *call[V] {
	if g.all == nil {
		g.shared, g.all = map[K]*call[V]{}, map[*call[V]]struct{}{}
	}
	c := &call[V]{done: make(chan struct{})}
	outer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	inner, stop := context.WithTimeoutCause(outer, orDefault(g.Limit, DefaultLimit), ErrStalled)
	c.over, c.end = inner.Done(), end
	c.cause = func() error { return context.Cause(inner) }
	if share {
		g.shared[key] = c
	}
	g.all[c] = struct{}{}
	g.stats.Loads++
	g.running.Go(func() {
		defer stop()
		defer end(nil)
		defer close(c.done) // before the context ends: wait relies on it
		defer g.remove(key, c)
		c.run(inner, load)
	})
	return c
}

// remove takes a load that has returned out of the group. Another may have taken its place for the key.
func (g *Group[K, V]) remove(key K, c *call[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, c)
	if g.shared[key] == c {
		delete(g.shared, key)
	}
}

// run runs the load and keeps its result. An error after the context's end is put down to what ended it.
func (c *call[V]) run(ctx context.Context, load func(context.Context) (V, error)) {
	c.err = &PanicError{} // stays where the load neither returns nor panics
	defer func() {
		if v := recover(); v != nil {
			c.err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	val, err := load(ctx)
	if cause := c.cause(); err != nil && cause != nil {
		err = cause
	}
	c.val, c.err = val, err
}

// wait gives the load's result. It gives up when ctx ends, and with ErrStalled after limit, unless that is below 0, or
// when the load has passed its own.
func (c *call[V]) wait(ctx context.Context, limit time.Duration) (V, error) {
	var none V
	var expired <-chan time.Time
	if limit >= 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-c.done:
		return c.val, c.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-expired:
		return none, ErrStalled
	case <-c.over:
	}
	select {
	case <-c.done: // the context of a load that has returned ends, too
		return c.val, c.err
	default:
		return none, c.cause()
	}
}

// Stats gives the counts so far.
func (g *Group[K, V]) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stats
}

// Close ends the contexts of all loads and waits until they have returned. Their callers, and those who call Do later,
// get ErrClosed, unless a load had its result all the same.
func (g *Group[K, V]) Close() {
	g.mu.Lock()
	g.closed = true
	for c := range g.all {
		c.end(ErrClosed)
	}
	g.mu.Unlock()
	g.running.Wait()
}

package admit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/flight"
	"github.com/penstock-gateway/penstock/core/store"
)

// errDown says that the store did not answer a moment ago and is not asked now.
var errDown = errors.New("the store does not answer")

// outage remembers that the store did not answer.
type outage struct{ until atomic.Int64 } // Unix ns

func (o *outage) is(now time.Time) bool { return now.UnixNano() < o.until.Load() }

// note takes an error of a read in; one that comes of the caller's own end says nothing of the store.
func (o *outage) note(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, flight.ErrClosed) {
		o.until.Store(time.Now().Add(downFor).UnixNano())
	}
}

func (o *outage) clear() { o.until.Store(0) }

// Bounds of what is kept of the store's keys.
const (
	mostRecords = 100_000
	unknownFor  = 5 * time.Second // that a secret is unknown
	readsAtOnce = 64
)

// record is a key of the store as it was read; it does not change.
type record struct {
	row    store.Key
	member atomic.Pointer[member] // the key as it was last made
}

// member is a key within a team and the team's organisation; nil is none.
type member struct {
	team *Team
	of   *Organisation
	key  *Key
}

// in gives the key as a member of its team.
func (r *record) in(team *Team, of *Organisation) (*Key, error) {
	if m := r.member.Load(); m != nil && m.team == team && m.of == of {
		return m.key, nil
	}
	k, err := StoredKey(&r.row, team, of)
	if err == nil {
		r.member.Store(&member{team, of, k})
	}
	return k, err
}

// records are the keys of the store that were asked for, by the SHA-256 of the secret.
type records struct {
	store   Store
	flights flight.Group[flightKey, *record]
	down    outage
	reads   chan struct{}

	mu    sync.RWMutex // guards what follows
	all   map[[32]byte]entry
	epoch uint64 // changes so far
}

// flightKey tells a read from one that was begun before the last change.
type flightKey struct {
	sum   [32]byte
	epoch uint64
}

type entry struct {
	rec *record // nil: there is none
	at  time.Time
}

func (e entry) fresh(now time.Time) bool {
	if e.rec == nil {
		return now.Sub(e.at) < unknownFor
	}
	return now.Sub(e.at) < freshFor
}

func (r *records) init(s Store) {
	r.store, r.all, r.reads = s, map[[32]byte]entry{}, make(chan struct{}, readsAtOnce)
	r.flights.Limit = readLimit
}

// find gives the record of a secret; nil where there is none. Where the store does not answer it gives what was known an
// hour ago at most, if stale allows that.
func (r *records) find(ctx context.Context, sum [32]byte, stale bool) (*record, error) {
	now := time.Now()
	r.mu.RLock()
	e, known := r.all[sum]
	epoch := r.epoch
	r.mu.RUnlock()
	if known && e.fresh(now) {
		return e.rec, nil
	}
	err := errDown
	if !r.down.is(now) {
		var rec *record
		rec, err = r.flights.Do(ctx, flightKey{sum, epoch}, func(ctx context.Context) (*record, error) { return r.read(ctx, sum, epoch) })
		if err == nil {
			return rec, nil
		}
		r.down.note(ctx, err)
	}
	if known && e.rec != nil && stale && now.Sub(e.at) < staleFor {
		return e.rec, nil
	}
	return nil, err
}

// read asks the store, and keeps what it says before its flight ends: whoever comes then finds it. Only a record is shared
// by those who wait for it: each checks its own secret against it.
func (r *records) read(ctx context.Context, sum [32]byte, epoch uint64) (*record, error) {
	select {
	case r.reads <- struct{}{}:
		defer func() { <-r.reads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	faultpoint.Reach(faultpoint.ReadKey)
	row, err := r.store.Key(ctx, sum)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var rec *record
	if err == nil && row.RevokedAt.IsZero() {
		rec = &record{row: row}
	}
	r.keep(sum, entry{rec, time.Now()}, epoch)
	return rec, nil
}

// keep keeps what was read, unless there was a change since the read began.
func (r *records) keep(sum [32]byte, e entry, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch {
		return
	}
	if len(r.all) >= mostRecords {
		r.evict(e.at)
	}
	r.all[sum] = e
}

// evict makes room: what is not fresh goes, and where that is little, half of the rest.
func (r *records) evict(now time.Time) {
	for sum, e := range r.all {
		if !e.fresh(now) {
			delete(r.all, sum)
		}
	}
	for sum := range r.all {
		if len(r.all) <= mostRecords/2 {
			return
		}
		delete(r.all, sum)
	}
}

// changed forgets a key that was written, and which secrets are unknown; "" stands for every key.
func (r *records) changed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.down.clear()
	for sum, e := range r.all {
		if e.rec == nil || id == "" || e.rec.row.ID == id {
			delete(r.all, sum)
		}
	}
}

func (r *records) close() { r.flights.Close() }

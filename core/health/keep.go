package health

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// Store is where records are kept; *store.Store is one.
type Store interface {
	HealthFlags(ctx context.Context) ([]store.HealthFlag, error)
	PutHealthFlag(ctx context.Context, f store.HealthFlag) error
	DeleteHealthFlag(ctx context.Context, backend string) error
	Subscribe(k store.Kind, call func(store.Event)) (cancel func())
}

const (
	saveEvery = 200 * time.Millisecond // at most: what changes in between is saved together
	staleAge  = 7 * 24 * time.Hour     // of a record that is forgotten at the next start
	saveAgain = 5 * time.Second        // after the store did not take a record
	lastSave  = 2 * time.Second        // how long saving may take at the end
)

// Restore takes up all records that are kept: at the start, before there are requests.
func (r *Registry) Restore(ctx context.Context, st Store, now time.Time) error {
	flags, err := st.HealthFlags(ctx)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	for _, f := range flags {
		if now.Sub(f.At) > staleAge {
			if err := st.DeleteHealthFlag(ctx, f.Backend); err != nil {
				return fmt.Errorf("health: %w", err)
			}
			continue
		}
		r.takeUp(&f, now, true)
	}
	return nil
}

// takeUp takes up one record. One that cannot be read is left alone: it is of a later version of the program.
func (r *Registry) takeUp(f *store.HealthFlag, now time.Time, own bool) {
	var rec Record
	if err := json.Unmarshal(f.State, &rec); err != nil || len(rec.History) == 0 {
		r.log.Debug("health: a record that cannot be read", "backend", f.Backend)
		return
	}
	b := r.backend(f.Backend, rec.Credential)
	if b.take(&rec, now, own) && !own {
		r.log.Info("health: taken over from another gateway", "backend", b.ID, "phase", string(rec.Phase))
	}
}

// Follow saves records as they change, and takes up what other gateways on the same store have written, until ctx ends and
// the last are saved.
func (r *Registry) Follow(ctx context.Context, st Store) {
	foreign := make(chan struct{}, 1)
	foreign <- struct{}{} // what was written before the subscription
	cancel := st.Subscribe(store.HealthFlags, func(store.Event) {
		select {
		case foreign <- struct{}{}:
		default: // there is one to be seen to
		}
	})
	defer cancel()
	pause, again := time.NewTicker(saveEvery), time.NewTimer(saveAgain)
	defer pause.Stop()
	defer again.Stop()
	again.Stop()
	save := func(ctx context.Context) {
		if !r.save(ctx, st) {
			again.Reset(saveAgain)
		}
	}
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
			defer cancel()
			save(last)
			return
		case <-r.changed:
			save(ctx)
		case <-again.C:
			save(ctx)
		case <-foreign:
			r.refresh(ctx, st)
		}
		select { // one write or read a turn
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// save writes the records that have changed, and says whether all could be written.
func (r *Registry) save(ctx context.Context, st Store) (all bool) {
	all = true
	r.mu.Lock()
	list := make([]*Backend, 0, len(r.unsaved))
	for b := range r.unsaved {
		list = append(list, b)
	}
	clear(r.unsaved)
	r.mu.Unlock()
	for _, b := range list {
		rec := b.Record()
		state, err := json.Marshal(rec)
		if err == nil {
			err = st.PutHealthFlag(ctx, store.HealthFlag{Backend: b.ID, State: state, At: rec.changedAt()})
		}
		if err != nil {
			all = false
			r.log.Warn("health: not saved", "backend", b.ID, "error", err)
			r.mu.Lock()
			r.unsaved[b] = true
			r.mu.Unlock()
		}
	}
	return all
}

// refresh takes up what others have written.
func (r *Registry) refresh(ctx context.Context, st Store) {
	flags, err := st.HealthFlags(ctx)
	if err != nil {
		r.log.Warn("health: what other gateways know is not known here", "error", err)
		return
	}
	now := time.Now()
	for i := range flags {
		r.takeUp(&flags[i], now, false)
	}
}

package route

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// DisabledStore is where it is kept which models are disabled; *store.Store is one.
type DisabledStore interface {
	DisabledModels(ctx context.Context) ([]store.DisabledModel, error)
	DisableModel(ctx context.Context, by store.Actor, m store.DisabledModel) error
	EnableModel(ctx context.Context, by store.Actor, name string) error
	Subscribe(k store.Kind, call func(store.Event)) (cancel func())
}

// Disabled is the models and deployments that operators took out of service while the gateway runs. It outlives
// generations and, in the store, the process. Requests read a copy in memory.
type Disabled struct {
	store DisabledStore
	log   *slog.Logger
	set   atomic.Pointer[map[string]store.DisabledModel]

	mu sync.Mutex // held while the copy is made anew, so that an older one never takes a newer one's place
}

// OpenDisabled reads what is disabled.
func OpenDisabled(ctx context.Context, st DisabledStore, log *slog.Logger) (*Disabled, error) {
	d := &Disabled{store: st, log: log}
	return d, d.refresh(ctx)
}

// staleAfter is how soon the copy is read again when reading it failed.
const staleAfter = 2 * time.Second

// Follow keeps the copy as the store has it, whoever changes it, until ctx ends.
func (d *Disabled) Follow(ctx context.Context) {
	changed := make(chan struct{}, 1)
	cancel := d.store.Subscribe(store.DisabledModels, func(store.Event) {
		select {
		case changed <- struct{}{}:
		default: // there is one to be seen to
		}
	})
	defer cancel()
	again := time.NewTimer(0) // what changed before the subscription
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again.C:
		}
		if err := d.refresh(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("disabled models: not read, the last known are in force", "error", err)
			again.Reset(staleAfter)
		}
	}
}

func (d *Disabled) refresh(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, err := d.store.DisabledModels(ctx)
	if err != nil {
		return err
	}
	set := make(map[string]store.DisabledModel, len(list))
	for _, m := range list {
		set[m.Name] = m
	}
	d.set.Store(&set)
	return nil
}

// Disable takes a model, or one deployment by its id, out of service. Requests that are routed after it has returned see
// that. The reason is told to clients.
func (d *Disabled) Disable(ctx context.Context, by store.Actor, name, reason string) error {
	if err := d.store.DisableModel(ctx, by, store.DisabledModel{Name: name, At: time.Now(), Reason: reason}); err != nil {
		return err
	}
	return d.refresh(ctx)
}

// Enable takes that back. The error is store.ErrNotFound where it was not disabled.
func (d *Disabled) Enable(ctx context.Context, by store.Actor, name string) error {
	if err := d.store.EnableModel(ctx, by, name); err != nil {
		return err
	}
	return d.refresh(ctx)
}

// List gives what is disabled, by name.
func (d *Disabled) List() []store.DisabledModel {
	var list []store.DisabledModel
	for _, m := range *d.set.Load() {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b store.DisabledModel) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// now gives the set as it is; nil where nothing is disabled.
func (d *Disabled) now() map[string]store.DisabledModel {
	if d == nil {
		return nil
	}
	return *d.set.Load()
}

// off says why a model or deployment is out of service; "" where it is not.
func (x *expansion) off(name string) string {
	if m, ok := x.disabled[name]; ok && m.Reason != "" {
		return "disabled: " + m.Reason
	} else if ok || x.table.disabled[name] {
		return "the model is disabled"
	}
	return ""
}

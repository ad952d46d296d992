package health

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxIdle bounds the backends that nobody keeps and that are remembered all the same.
const maxIdle = 1024

// Registry is all backends of a process.
type Registry struct {
	log     *slog.Logger
	start   time.Time
	changed chan struct{} // holds a token when there is something in unsaved

	mu      sync.Mutex // guards what follows, and the keepers of backends
	all     map[string]*Backend
	idle    []*Backend // that nobody keeps, longest first
	unsaved map[*Backend]bool
}

// NewRegistry makes an empty registry.
func NewRegistry(log *slog.Logger) *Registry {
	return &Registry{log: log, start: time.Now(), changed: make(chan struct{}, 1), all: map[string]*Backend{}, unsaved: map[*Backend]bool{}}
}

// since is a time on the registry's clock, which no change of the wall clock moves.
func (r *Registry) since(t time.Time) int64 { return int64(t.Sub(r.start)) }

// Backend gives the backend of a deployment's id: the same as long as it is remembered. It is remembered while somebody
// keeps it, and then until maxIdle others have been let go after it.
func (r *Registry) Backend(id string) *Backend { return r.backend(id, false) }

// Credential gives the backend of a credential's id. Its breaker does not open: a failure of the service says nothing of
// the account that it was asked with, which only a limit or a refusal holds.
func (r *Registry) Credential(id string) *Backend { return r.backend(id, true) }

// Theirs is as Credential, for a credential that a tenant brings itself: what becomes of it is no warning to the operator.
func (r *Registry) Theirs(id string) *Backend {
	b := r.backend(id, true)
	b.theirs.Store(true)
	return b
}

func (r *Registry) backend(id string, account bool) *Backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.all[id]
	if b == nil {
		b = &Backend{ID: id, registry: r, account: account}
		b.breaker.phase = Closed
		r.all[id] = b
		r.retire(b)
	}
	return b
}

// Keep has the backend remembered until the function that it gives is called.
func (b *Backend) Keep() (release func()) {
	r := b.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.keepers++; b.keepers == 1 {
		r.idle = slices.DeleteFunc(r.idle, func(o *Backend) bool { return o == b })
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if b.keepers--; b.keepers == 0 {
			r.retire(b)
		}
	})
}

// retire remembers a backend that nobody keeps for a while. The caller holds mu.
func (r *Registry) retire(b *Backend) {
	r.idle = append(r.idle, b)
	if len(r.idle) > maxIdle {
		delete(r.all, r.idle[0].ID)
		r.idle = slices.Delete(r.idle, 0, 1)
	}
}

// DeploymentID is the id of a provider's model at an address.
func DeploymentID(provider, base, model string) string { return provider + "/" + model + " at " + base }

// CredentialID is the id of an account at a provider; with a model, of what that account may use of the model, for limits
// that providers set by model.
func CredentialID(provider, account, model string) string {
	if model == "" {
		return provider + " credential " + account
	}
	return provider + " credential " + account + " for " + model
}

// tell logs a change and has it saved.
func (r *Registry) tell(b *Backend, e Event) {
	if e.At.IsZero() {
		return
	}
	level := slog.LevelWarn
	if e.Phase == Closed || b.theirs.Load() {
		level = slog.LevelInfo
	}
	attrs := []any{"backend", b.ID, "phase", string(e.Phase), "reason", e.Reason}
	if !e.Until.IsZero() {
		attrs = append(attrs, "for", e.Until.Sub(e.At))
	}
	r.log.Log(context.Background(), level, "health: changed", attrs...)
	r.mu.Lock()
	r.unsaved[b] = true
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Backends lists all backends, by id.
func (r *Registry) Backends() []*Backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Backend, 0, len(r.all))
	for _, b := range r.all {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *Backend) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Release brings back the backends of a name, which is an id or the beginning of some at a word's end ("openai",
// "openai/gpt-4.1"), and gives the ids of those that had been set aside. Found says whether there is any of the name.
func (r *Registry) Release(now time.Time, name, by string) (released []string, found bool) {
	for _, b := range r.Backends() {
		rest, ok := strings.CutPrefix(b.ID, name)
		if !ok || rest != "" && rest[0] != '/' && rest[0] != ' ' {
			continue
		}
		found = true
		if b.Release(now, by) {
			released = append(released, b.ID)
		}
	}
	return released, found
}

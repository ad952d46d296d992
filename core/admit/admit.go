// Package admit lets requests in: it finds the key that a request bears, and reserves what the request may need of the
// limits and budgets of the key, its team and its organisation before anything is sent. It finds the providers' credentials
// that key and team bring themselves.
//
// What an operator wrote comes from the generation of the request (Directory); what was made at run time comes from the
// store, where core/keyring puts it. What is kept here outlives generations: the counters, what was read of the store, and the reads
// under way, which are shared and outlive the request that began them. Counting is core/limits', rows are core/store's,
// what a request did cost is core/ledger's.
package admit

import (
	"context"
	"log/slog"
	"time"

	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
)

// Store is what is read of the store.
type Store interface {
	Key(ctx context.Context, sha256 [32]byte) (store.Key, error)
	Teams(ctx context.Context) ([]store.Team, error)
	Organisations(ctx context.Context) ([]store.Organisation, error)
	Credentials(ctx context.Context) ([]store.Credential, error)
	SpentByKey(ctx context.Context, key string, since time.Time) (int64, error)
	SpentByTeam(ctx context.Context, team string, since time.Time) (int64, error)
	SpentByOrganisation(ctx context.Context, organisation string, since time.Time) (int64, error)
	Subscribe(k store.Kind, call func(store.Event)) (cancel func())
}

// Directory is what admission takes from a generation.
type Directory interface {
	// FindKey gives the configured key with the SHA-256 of its secret, or nil.
	FindKey(sum [32]byte) *Key
	// FindTeam gives the configured team of a name, or nil.
	FindTeam(name string) *Team
	// FindOrganisation gives the configured organisation of a name, or nil.
	FindOrganisation(name string) *Organisation
	// FailClosed says whether requests are refused while store or counters do not answer.
	FailClosed() bool
	// Seals gives the encryption keys of the credentials in the store; nil: none of them can be decrypted.
	Seals() *credential.Seals
}

// Starter is a read that requests share and that does not depend on who asks: it begins while the key is looked up.
type Starter interface {
	// Start begins the read where it is due, and does not wait for it.
	Start(ctx context.Context)
}

// Options are what an admitter stands on.
type Options struct {
	Counters limits.Counters
	Store    Store     // nil: there are no keys but configured ones, and budgets begin at nothing
	Warm     []Starter // the routing's reads
	// Flush has the rows of calls that have ended written; nil: there are none. The ledger's sums are read behind it, where it
	// does not last long.
	Flush func(context.Context) error
	Log   *slog.Logger
}

// Admitter admits requests. There is one for a process; its owner calls Close.
type Admitter struct {
	counters      limits.Counters
	store         Store
	keys          records
	teams         *Read[map[string]*Team]
	organisations *Read[map[string]*Organisation]
	own           *Read[*sealed]
	purses        purses
	spending      spending
	warm          []Starter
	flush         func(context.Context) error
	cancel        []func()
	log           *slog.Logger
}

// New makes an admitter. It closes neither the store nor the counters.
func New(o Options) *Admitter {
	a := &Admitter{counters: o.Counters, store: o.Store, warm: o.Warm, flush: o.Flush, log: o.Log}
	if a.store == nil {
		return a
	}
	a.keys.init(a.store)
	a.spending.init(a.store)
	a.teams, a.organisations, a.own = NewRead(a.readTeams), NewRead(a.readOrganisations), NewRead(a.readOwn)
	a.warm = append([]Starter{a.teams, a.organisations, a.own}, o.Warm...)
	a.cancel = []func(){
		a.store.Subscribe(store.Keys, func(e store.Event) { a.keys.changed(e.ID) }),
		a.store.Subscribe(store.Teams, func(store.Event) { a.teams.Drop(); a.own.Drop() }), // a team takes its credentials with it
		a.store.Subscribe(store.Organisations, func(store.Event) { a.organisations.Drop() }),
		a.store.Subscribe(store.Credentials, func(store.Event) { a.own.Drop() }),
	}
	return a
}

// Close ends the reads that are under way and waits for them.
func (a *Admitter) Close() {
	for _, cancel := range a.cancel {
		cancel()
	}
	if a.store != nil {
		a.keys.close()
		a.spending.close()
		a.teams.Close()
		a.organisations.Close()
		a.own.Close()
	}
}

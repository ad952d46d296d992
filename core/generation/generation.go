// Package generation turns a configuration into a compiled snapshot, a generation, and keeps the one in force: each
// accepted change is built whole beside the running generation and then swapped in with one atomic store; a change that
// is refused leaves the running one untouched.
//
// A request holds the generation it began with to its end and never sees two. What a generation holds (plugin processes,
// connection pools) is shared with its neighbours and let go when its last request has ended.
package generation

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/timing"
)

// Generation is one accepted configuration, compiled. It does not change.
type Generation struct {
	Number  int64
	Created time.Time
	Source  string // what brought it: start, file, signal, api
	Config  *config.Config
	Catalog *catalog.Catalog
	Routes  *route.Table
	Timing  timing.Mode

	upstreams map[*catalog.Deployment]*relay.Candidate
	keys      map[[sha256.Size]byte]*admit.Key
	teams     map[string]*admit.Team
	of        map[string]*admit.Organisation
	members   members
	tenants   tenants
	seals     *credential.Seals
	limits    relay.Limits
	upkeep    []reach.Upkeep

	holds    atomic.Int64 // requests, and one of the manager's own while it is in force
	requests atomic.Int64 // that ever held it
	parts    []release    // what is let go at the end
	ended    func()       // tells the manager
}

// release lets one part of a generation go.
type release func()

// Candidate gives the connections, the process and the credentials of a deployment of this generation's catalogue, and
// the terms on which a key's requests ask it: those that the plan of a policy states, else the key's, else the model's. The
// plan may be nil.
func (g *Generation) Candidate(d *catalog.Deployment, k *Key, p *policy.Plan) relay.Candidate {
	c := *g.upstreams[d]
	onDisconnect(&c.Terms, k.OnDisconnect)
	if p != nil {
		planned(&c.Terms, p)
	}
	return c
}

// Limits gives the limits of a request.
func (g *Generation) Limits() relay.Limits { return g.limits }

// Requests is the number of requests that this generation has served or is serving.
func (g *Generation) Requests() int64 { return g.requests.Load() }

// hold takes part in the generation; false where it has ended already.
func (g *Generation) hold() bool {
	for {
		n := g.holds.Load()
		if n == 0 {
			return false
		}
		if g.holds.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release ends a hold. The last one lets the generation's parts go.
func (g *Generation) Release() {
	if g.holds.Add(-1) == 0 {
		g.ended()
	}
}

// letGo lets all parts go, last first.
func (g *Generation) letGo() {
	for i := len(g.parts) - 1; i >= 0; i-- {
		g.parts[i]()
	}
	g.parts = nil
}

// Loader builds generations from where the configuration comes from.
type Loader interface {
	// Read gives the configuration as it stands now. The error is config.Diagnostics where the text is at fault.
	Read() (*config.Config, error)
	// Watch lists the files and folders whose change may make another configuration.
	Watch() []string
}

// Build compiles a configuration for a look at it: the generation is never in force, and has the number 0. The caller
// releases it. The error is config.Diagnostics where the configuration is at fault.
func (b *Builder) Build(ctx context.Context, cfg *config.Config) (*Generation, error) {
	g, err := b.build(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	g.ended = g.letGo
	g.holds.Store(1)
	return g, nil
}

// Hold takes part in a generation that its caller has hold of already; a Release follows. It gives the generation.
func (g *Generation) Hold() *Generation {
	g.hold()
	return g
}

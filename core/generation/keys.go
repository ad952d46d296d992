package generation

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/route"
)

// Key is a key in a generation: what policies see of the models that it may use depends on both.
type Key struct {
	*admit.Key

	seen atomic.Pointer[keyModels] // what policies were last shown; nil: none was asked for the key yet
}

// keyModels are the models that a key may use under statistics.
type keyModels struct {
	statistics *route.Statistics
	models     *policy.Models
}

// Anyone is a key that may ask for everything, and spend nothing.
func Anyone() *Key { return &Key{Key: new(admit.Key)} }

// FindKey gives the configured key of a secret's SHA-256, or nil; see admit.Directory.
func (g *Generation) FindKey(sum [32]byte) *admit.Key { return g.keys[sum] }

// FindTeam gives the configured team of a name, or nil; see admit.Directory.
func (g *Generation) FindTeam(name string) *admit.Team { return g.teams[name] }

// FindOrganisation gives the configured organisation of a name, or nil; see admit.Directory.
func (g *Generation) FindOrganisation(name string) *admit.Organisation { return g.of[name] }

// FailClosed says whether requests are refused while store or counters do not answer; see admit.Directory.
func (g *Generation) FailClosed() bool { return g.Config.OnOutage == "fail_closed" }

// KeyNamed gives the configured key of a name, or nil.
func (g *Generation) KeyNamed(name string) *Key {
	for _, k := range g.keys {
		if k.Name == name {
			return g.Key(k)
		}
	}
	return nil
}

// Key gives a key in this generation.
func (g *Generation) Key(k *admit.Key) *Key { return g.members.of(k) }

// members are the keys that were seen in a generation.
type members struct {
	mu  sync.RWMutex // guards what follows
	all map[*admit.Key]*Key
}

// mostMembers bounds the keys that are remembered; what is kept of each is made again where it is missing.
const mostMembers = 10_000

func (m *members) of(k *admit.Key) *Key {
	m.mu.RLock()
	key := m.all[k]
	m.mu.RUnlock()
	if key != nil {
		return key
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if key = m.all[k]; key != nil {
		return key
	}
	if m.all == nil || len(m.all) >= mostMembers {
		m.all = map[*admit.Key]*Key{}
	}
	key = &Key{Key: k}
	m.all[k] = key
	return key
}

// keys compiles keys, teams and organisations.
func (c *compilation) keys() {
	c.gen.of = make(map[string]*admit.Organisation, len(c.cfg.Organisations))
	for i := range c.cfg.Organisations {
		o := &c.cfg.Organisations[i]
		c.gen.of[o.Name] = admit.ConfiguredOrganisation(o)
	}
	c.gen.teams = make(map[string]*admit.Team, len(c.cfg.Teams))
	for i := range c.cfg.Teams {
		t := &c.cfg.Teams[i]
		c.gen.teams[t.Name] = admit.ConfiguredTeam(t)
	}
	c.gen.keys = make(map[[32]byte]*admit.Key, len(c.cfg.Keys))
	for i := range c.cfg.Keys {
		k := &c.cfg.Keys[i]
		var of *admit.Organisation
		team := c.gen.teams[k.Team]
		if team != nil {
			of = c.gen.of[team.Organisation]
		}
		c.gen.keys[k.SHA256] = admit.ConfiguredKey(k, team, of)
	}
	c.unique()
}

// unique refuses a name that a key of the store has: two keys would share limits, budget and place in the ledger. While the
// store does not answer, nothing is refused.
func (c *compilation) unique() {
	if c.Keys == nil {
		return
	}
	stored, err := c.Keys.Keys(c.ctx)
	if err != nil {
		c.Log.Warn("generation: names of keys are not compared with those of the store", "error", err)
		return
	}
	inForce := make(map[string]bool, len(stored))
	for _, k := range stored {
		inForce[k.Name] = inForce[k.Name] || k.RevokedAt.IsZero()
	}
	for i, k := range c.cfg.Keys {
		if inForce[k.Name] {
			c.refuse(fmt.Sprintf("keys[%d].name", i), "choose another, or `penstock keys revoke "+k.Name+"` first", "a key of the store has the name %q", k.Name)
		}
	}
}

// KeyNames lists the configured keys; see keyring.Configuration.
func (g *Generation) KeyNames() []string {
	var names []string
	for i := range g.Config.Keys {
		names = append(names, g.Config.Keys[i].Name)
	}
	return names
}

// TeamNames lists the configured teams; see keyring.Configuration.
func (g *Generation) TeamNames() []string {
	var names []string
	for i := range g.Config.Teams {
		names = append(names, g.Config.Teams[i].Name)
	}
	return names
}

// OrganisationNames lists the configured organisations; see keyring.Configuration.
func (g *Generation) OrganisationNames() []string {
	var names []string
	for i := range g.Config.Organisations {
		names = append(names, g.Config.Organisations[i].Name)
	}
	return names
}

// HasModel says whether there is a model, a router or a deployment of a name; see keyring.Configuration.
func (g *Generation) HasModel(name string) bool {
	if _, ok := g.Catalog.Find(name); ok {
		return true
	}
	if _, ok := g.Routes.Router(name); ok {
		return true
	}
	for _, m := range g.Catalog.Models {
		for _, d := range m.Deployments {
			if d.ID == name {
				return true
			}
		}
	}
	return false
}

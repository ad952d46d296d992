package generation

import (
	"fmt"
	"slices"
	"sync"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

// tenants makes the upstreams of requests that bring credentials of their own: those of the deployments, with other
// credentials. They are made when they are first wanted, and let go at the generation's end, or when many others have been
// made since.
type tenants struct {
	builder   *Builder
	providers map[string]*provider
	keyless   []string // providers that have no credentials but those that callers bring

	mu   sync.Mutex // guards what follows
	all  map[brought]*tenant
	made []brought // the first first
}

// brought is what makes two tenants the same.
type brought struct {
	*admit.Own
	first bool
}

// tenant is an owner's credentials for a provider, made ready.
type tenant struct {
	credentials []*relay.Credential
	secrets     []string
	upstreams   map[*catalog.Deployment]*relay.Upstream
	parts       []release
}

// mostTenants bounds the tenants that are kept ready. One that is let go is made anew when it is wanted again; requests
// that are under way with its token may then be refused a fresh one.
const mostTenants = 10_000

// TakesCredential says what is wrong with a credential that a caller brings for a provider; see keyring.Configuration.
func (g *Generation) TakesCredential(provider string, values map[string]string) error {
	p := g.tenants.providers[provider]
	switch {
	case p == nil:
		return fmt.Errorf("not configured")
	case !wantsCredential(&p.Auth):
		return fmt.Errorf("its requests carry no credential")
	}
	_, free, err := g.tenants.builder.credential(p.Provider, p.process, catalog.Credential{Name: "main", Values: values})
	if err == nil {
		free()
	}
	return err
}

// OwnCredentials says whether the configuration has credentials that an owner brings for a provider; see
// keyring.Configuration.
func (g *Generation) OwnCredentials(owner store.Owner, provider string) bool {
	if owner.Kind == store.OwnedByTeam {
		t := g.teams[owner.ID]
		return t != nil && t.ConfiguredOwn(provider) != nil
	}
	for _, k := range g.keys {
		if k.Name == owner.ID {
			return k.ConfiguredOwn(provider) != nil
		}
	}
	return false
}

// bring checks the credentials that keys and teams of the configuration bring.
func (c *compilation) bring() {
	t := &c.gen.tenants
	t.builder, t.providers, t.all = c.Builder, c.providers, map[brought]*tenant{}
	c.keep(t.close)
	check := func(path string, o *config.Own) {
		for _, cr := range o.Credentials {
			if c.providers[cr.Provider] == nil {
				continue // what is wrong with the provider has been said
			}
			if err := c.gen.TakesCredential(cr.Provider, valuesOf(cr.Values)); err != nil {
				c.fail(path+".credentials."+cr.Provider, "", "%v", err)
			}
		}
	}
	for i := range c.cfg.Keys {
		check(fmt.Sprintf("keys[%d]", i), &c.cfg.Keys[i].Own)
	}
	for i := range c.cfg.Teams {
		check("teams."+c.cfg.Teams[i].Name, &c.cfg.Teams[i].Own)
	}
}

// valuesOf reveals the members of a credential.
func valuesOf(secrets map[string]config.Secret) map[string]string {
	values := make(map[string]string, len(secrets))
	for name, v := range secrets {
		values[name] = v.Reveal()
	}
	return values
}

// Keyless says whether a provider is served with nothing but credentials that callers bring.
func (g *Generation) Keyless(provider string) bool {
	return slices.Contains(g.tenants.keyless, provider)
}

// AllKeyed says whether there is no such provider.
func (g *Generation) AllKeyed() bool { return len(g.tenants.keyless) == 0 }

// Own gives a deployment with the credentials that an owner of a name brings, behind which the operator's come where first
// is set. Their health is their own: what a provider says of a tenant's account holds nobody else's.
func (g *Generation) Own(d *catalog.Deployment, o *admit.Own, owner string, first bool) (*relay.Upstream, error) {
	t := &g.tenants
	t.mu.Lock()
	defer t.mu.Unlock()
	key := brought{o, first}
	one := t.all[key]
	if one == nil {
		var err error
		if one, err = t.make(o, owner); err != nil {
			return nil, err
		}
		t.remember(key, one)
	}
	up := one.upstreams[d]
	if up == nil {
		up = t.upstream(one, g.upstreams[d].Upstream, first)
		one.upstreams[d] = up
	}
	return up, nil
}

// make makes an owner's credentials ready.
func (t *tenants) make(o *admit.Own, owner string) (*tenant, error) {
	p := t.providers[o.Provider]
	one := &tenant{upstreams: map[*catalog.Deployment]*relay.Upstream{}}
	for _, c := range o.Credentials {
		// No configured name has an @: in the ledger these are told from the operator's.
		cr := catalog.Credential{Name: c.Name + "@" + o.Kind + ":" + owner, Values: c.Values}
		made, free, err := t.builder.credential(p.Provider, p.process, cr)
		if err != nil {
			one.free()
			return nil, fmt.Errorf("credential %q: %w", cr.Name, err)
		}
		one.parts = append(one.parts, free)
		one.secrets = append(one.secrets, secretsOf([]catalog.Credential{cr})...)
		made.Own = true
		if r := t.builder.Health; r != nil {
			made.Health = one.kept(r.Theirs(health.CredentialID(p.ID, made.Account, "")))
		}
		one.credentials = append(one.credentials, made)
	}
	return one, nil
}

// upstream is a deployment with the tenant's credentials.
func (t *tenants) upstream(one *tenant, of *relay.Upstream, first bool) *relay.Upstream {
	up := of.With(one.credentials, one.secrets)
	p := of.Deployment.Provider
	if r := t.builder.Health; r != nil {
		for _, c := range one.credentials {
			up.Rates = append(up.Rates, one.kept(r.Theirs(health.CredentialID(p.ID, c.Account, of.Deployment.Model))))
		}
	}
	if first {
		up.Credentials = slices.Concat(up.Credentials, of.Credentials)
		up.Rates = slices.Concat(up.Rates, of.Rates)
		up.Secrets = slices.Concat(up.Secrets, of.Secrets)
	}
	return up
}

// kept has a backend remembered for as long as the tenant.
func (one *tenant) kept(b *health.Backend) *health.Backend {
	one.parts = append(one.parts, b.Keep())
	return b
}

func (one *tenant) free() {
	for _, r := range one.parts {
		r()
	}
}

// remember keeps a tenant, and lets the first go where there are too many.
func (t *tenants) remember(key brought, one *tenant) {
	if len(t.made) >= mostTenants {
		t.all[t.made[0]].free()
		delete(t.all, t.made[0])
		t.made = slices.Delete(t.made, 0, 1)
	}
	t.all[key] = one
	t.made = append(t.made, key)
}

// close lets all tenants go.
func (t *tenants) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.all {
		one.free()
	}
	t.all, t.made = nil, nil
}

// AccountsOf gives an upstream's credentials as routing looks at them.
func AccountsOf(u *relay.Upstream) []route.Account {
	var list []route.Account
	for j, c := range u.Credentials {
		if c.Health != nil && j < len(u.Rates) {
			list = append(list, route.Account{c.Health, u.Rates[j]})
		}
	}
	return list
}

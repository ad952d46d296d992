package generation

import (
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
)

// careOf says when backends are left alone in this generation.
func careOf(cfg *config.Config) *health.Settings {
	s := health.Defaults()
	s.Failures, s.OpenFor = cfg.Breaker.Failures, cfg.Breaker.OpenFor
	s.QuarantineAfter, s.QuarantineFor = cfg.Quarantine.After, cfg.Quarantine.For
	return s
}

// watch binds a deployment to what is known of its backend and of its credentials. Other generations, and other names for
// the same model of a provider, share it.
func (c *compilation) watch(d *catalog.Deployment, u *relay.Upstream) {
	if c.Health == nil {
		return
	}
	p := d.Provider
	u.Care = c.care
	u.Health = c.kept(c.Health.Backend(health.DeploymentID(p.ID, p.Base.String(), d.Model)))
	w := route.Watch{Deployment: u.Health}
	for _, cr := range u.Credentials {
		if cr.Health == nil {
			cr.Health = c.kept(c.Health.Credential(health.CredentialID(p.ID, cr.Name, "")))
		}
		rate := c.kept(c.Health.Credential(health.CredentialID(p.ID, cr.Name, d.Model)))
		u.Rates = append(u.Rates, rate)
		w.Accounts = append(w.Accounts, route.Account{cr.Health, rate})
	}
	c.watched[d] = w
}

// kept has a backend remembered for as long as the generation.
func (c *compilation) kept(b *health.Backend) *health.Backend {
	c.keep(b.Keep())
	return b
}

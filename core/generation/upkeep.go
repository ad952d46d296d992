package generation

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/core/relay"
)

// upkeep says what is done for the generation's providers, beside requests, while it is in force.
func (c *compilation) upkeep() {
	best := c.bestCandidates()
	for i := range c.cfg.Providers {
		conf := &c.cfg.Providers[i]
		p := c.providers[conf.ID]
		if p == nil {
			continue
		}
		u := reach.Upkeep{Provider: conf.ID, Place: p.place, Service: p.service}
		if _, own := p.places.(*moving); !own && best[p.Provider] {
			u.Ready = conf.Connections.Warm
		}
		if conf.Probe.Every > 0 {
			u.Probe = c.probe(conf, p)
		}
		c.gen.upkeep = append(c.gen.upkeep, u)
	}
}

// bestCandidates gives the providers that requests go to first: that of a model's first deployment, or of any where the
// strategy does not go by their order.
func (c *compilation) bestCandidates() map[*catalog.Provider]bool {
	best := map[*catalog.Provider]bool{}
	for _, m := range c.gen.Catalog.Models {
		for i, d := range m.Deployments {
			if i == 0 || m.Strategy != catalog.Ordered {
				best[d.Provider] = true
			}
		}
	}
	return best
}

// place gives where a request to the provider goes now.
func (p *provider) place(target string) reach.Place {
	if p.places != nil {
		return p.places.Place(target)
	}
	return reach.Place{Pool: p.pool, Base: p.Base, Target: target}
}

// probe says how the provider is asked whether it is there, and whose health hangs on it.
func (c *compilation) probe(conf *config.Provider, p *provider) reach.Probe {
	probe := reach.Probe{Every: conf.Probe.Every, Connect: c.cfg.Timeout.Connect, Care: c.care}
	for d, u := range c.gen.upstreams {
		if d.Provider == p.Provider && u.Health != nil && !slices.Contains(probe.Backends, u.Health) {
			probe.Backends = append(probe.Backends, u.Health)
		}
	}
	if !conf.Probe.Get {
		return probe
	}
	probe.Get = strings.TrimRight(p.Base.Path, "/") + conf.Probe.Path
	if list := p.Manifest.Dialects; len(list) > 0 {
		probe.Fields = relay.DialectFields(&list[0])
	}
	if len(p.credentials) > 0 {
		probe.Authorize = p.authorizeProbe
	}
	return probe
}

// errHeld says that each of a provider's credentials is left alone for now.
var errHeld = errors.New("each of its credentials is held")

// authorizeProbe gives the lines of the first credential that is fit for use.
func (p *provider) authorizeProbe(at reach.Place, fields []byte) ([]byte, error) {
	for _, cr := range p.credentials {
		if cr.Health == nil || cr.Health.Ready(time.Now()) {
			return cr.Authorize(&relay.Signing{Method: "GET", Base: at.Base, Target: at.Target, Fields: fields})
		}
	}
	return nil, errHeld
}

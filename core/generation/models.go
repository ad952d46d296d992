package generation

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/schemas"
	"github.com/penstock-gateway/penstock/sdk"
)

// instanceConfig checks a provider's own configuration against the plugin's schema and names its preset in it.
func (c *compilation) instanceConfig(p *config.Provider, m *sdk.Manifest) ([]byte, bool) {
	at := "providers." + p.ID
	if p.Preset != "" {
		if _, ok := m.Presets[p.Preset]; !ok {
			c.fail(at+".preset", "presets are "+strings.Join(presetNames(m), ", "), "plugin %s has no preset %q", p.Plugin, p.Preset)
			return nil, false
		}
	}
	values := map[string]any{}
	if p.Config != nil {
		if err := json.Unmarshal(p.Config, &values); err != nil {
			c.fail(at+".config", "", "%v", err)
			return nil, false
		}
	}
	if len(m.ConfigSchema) == 0 && len(values) > 0 {
		c.fail(at+".config", "", "plugin %s takes no configuration", p.Plugin)
		return nil, false
	}
	if len(m.ConfigSchema) > 0 && !c.checkConfig(p, m, values) {
		return nil, false
	}
	if p.Preset != "" && takes(m.ConfigSchema, "preset") {
		values["preset"] = p.Preset
	}
	conf, err := json.Marshal(values)
	if err != nil {
		c.fail(at+".config", "", "%v", err)
		return nil, false
	}
	return conf, true
}

// checkConfig reports what the plugin's schema refuses, each at its line.
func (c *compilation) checkConfig(p *config.Provider, m *sdk.Manifest, values map[string]any) bool {
	at := "providers." + p.ID + ".config"
	s, err := schemas.Compile(p.Plugin+".config.json", m.ConfigSchema)
	if err != nil {
		c.fail("providers."+p.ID+".plugin", "", "plugin %s: its configuration schema: %v", p.Plugin, err)
		return false
	}
	err = s.Validate(values)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err == nil
	}
	c.out = append(c.out, c.cfg.ExplainAt(at, s, invalid)...)
	return false
}

// takes says whether a schema has a property of a name.
func takes(schema []byte, name string) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Properties[name] != nil
}

func presetNames(m *sdk.Manifest) []string {
	names := make([]string, 0, len(m.Presets))
	for name := range m.Presets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func dialectNames(m *sdk.Manifest) []string {
	names := make([]string, len(m.Dialects))
	for i := range m.Dialects {
		names[i] = m.Dialects[i].Name
	}
	return names
}

func shortHash(b []byte) string { return strconv.FormatUint(xxhash.Sum64(b), 36) }

// models compiles the catalogue and binds each deployment to its provider.
func (c *compilation) models() {
	var models []*catalog.Model
	for i := range c.cfg.Models {
		m := &c.cfg.Models[i]
		if m.Disabled {
			continue
		}
		model := &catalog.Model{Name: m.Name, Strategy: strategies[m.Strategy], Tags: m.Tags}
		for j := range m.Deployments {
			if d := c.deployment(m, j); d != nil {
				model.Deployments = append(model.Deployments, d)
			}
		}
		number(model.Deployments)
		models = append(models, model)
	}
	c.gen.Catalog = catalog.New(models)
}

var strategies = map[string]catalog.Strategy{"ordered": catalog.Ordered, "weighted": catalog.Weighted, "fastest": catalog.Fastest, "cheapest": catalog.Cheapest}

// number makes ids unique within a model.
func number(list []*catalog.Deployment) {
	seen := map[string]int{}
	for _, d := range list {
		seen[d.ID]++
		if n := seen[d.ID]; n > 1 {
			d.ID += "#" + strconv.Itoa(n)
		}
	}
}

// deployment compiles one deployment; nil where its provider could not be.
func (c *compilation) deployment(m *config.Model, j int) *catalog.Deployment {
	conf := &m.Deployments[j]
	at := fmt.Sprintf("models.%s.deployments[%d]", m.Name, j)
	p := c.providers[conf.Provider]
	if p == nil {
		return nil // what is wrong with the provider has been said
	}
	d := &catalog.Deployment{ID: m.Name + "/" + conf.Provider, Name: m.Name, Provider: p.Provider, Model: conf.Model, Native: conf.Dialect,
		Weight: conf.Weight, Context: conf.Context, MaxOutput: conf.MaxOutput, Price: conf.Price, Tags: conf.Tags}
	known := capabilities(p.Manifest, conf.Model)
	c.abilities(d, conf, known, at)
	if d.Context == 0 {
		d.Context = orUnlimited(known, func(k *sdk.Capabilities) int { return k.Context })
	}
	if d.MaxOutput == 0 {
		d.MaxOutput = orUnlimited(known, func(k *sdk.Capabilities) int { return k.MaxOutput })
	}
	if err := d.Prepare(c.Dialects); err != nil {
		path, hint := at+".provider", ""
		if conf.Dialect != "" {
			path, hint = at+".dialect", "it speaks "+strings.Join(dialectNames(p.Manifest), ", ")
		}
		c.fail(path, hint, "%v", err)
		return nil
	}
	u := &relay.Upstream{Deployment: d, Pool: p.pool, Plugin: p.process, Credentials: p.credentials, Errors: p.errors, Places: p.places, Secrets: secretsOf(p.Provider.Credentials)}
	c.watch(d, u)
	c.gen.upstreams[d] = &relay.Candidate{Upstream: u, Terms: terms(c.cfg, m, d.Price)}
	return d
}

// secretsOf lists the values of credentials that are long enough to be told from words.
func secretsOf(credentials []catalog.Credential) []string {
	var list []string
	for _, c := range credentials {
		for _, v := range c.Values {
			if len(v) >= 8 {
				list = append(list, v)
			}
		}
	}
	return list
}

// abilities sets what the deployment can do: as configured, else as the manifest says of the model, else all.
func (c *compilation) abilities(d *catalog.Deployment, conf *config.Deployment, known *sdk.Capabilities, at string) {
	names := conf.Capabilities
	if names == nil && known != nil {
		names = known.Can
	}
	if names == nil {
		d.Can = ^dialect.Need(0)
		return
	}
	for _, name := range names {
		n, ok := dialect.ParseNeed(name)
		if !ok {
			c.fail(at+".provider", "", "plugin %s: capability %q is none of the closed list", d.Provider.Plugin, name)
		}
		d.Can |= n
	}
	if conf.Capabilities != nil { // an operator lists what a model takes in and does; these are ways of asking, which translation refuses where it must
		d.Can |= dialect.ParallelTools | dialect.Prefill | dialect.Several | dialect.Logprobs | dialect.Embeddings
	}
}

func capabilities(m *sdk.Manifest, model string) *sdk.Capabilities {
	for i := range m.Capabilities {
		if ok, err := path.Match(m.Capabilities[i].Match, model); err == nil && ok {
			return &m.Capabilities[i]
		}
	}
	return nil
}

func orUnlimited(known *sdk.Capabilities, of func(*sdk.Capabilities) int) int {
	if known != nil && of(known) > 0 {
		return of(known)
	}
	return catalog.Unlimited
}

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
			cr.Health = c.kept(c.Health.Credential(health.CredentialID(p.ID, cr.Account, "")))
		}
		rate := c.kept(c.Health.Credential(health.CredentialID(p.ID, cr.Account, d.Model)))
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

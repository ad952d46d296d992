package generation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// Builder compiles configurations.
type Builder struct {
	Host     *pluginhost.Host
	Dialects []string // the client dialects that are served
	Bundled  []string // the plugins that come with the gateway, for who misspells one
	Log      *slog.Logger
	Disabled *route.Disabled  // models that operators took out of service; nil: none
	Policies fs.FS            // those that come with the gateway, by penstock/NAME; nil: none
	Health   *health.Registry // what is known of backends; nil: nobody keeps watch
	Keys     Keys             // that were made while the gateway ran, and the credentials that they bring; nil: none

	ways   reach.Network
	opened sync.Once // gives ways their log
	tokens credential.Tokens
}

// Keys is where keys and credentials are kept that no configuration has.
type Keys interface {
	Keys(ctx context.Context) ([]store.Key, error)
	Credentials(ctx context.Context) ([]store.Credential, error)
}

// compilation is a generation in the making.
type compilation struct {
	*Builder
	ctx       context.Context
	cfg       *config.Config
	before    *Generation // the one in force; nil: none is
	gen       *Generation
	out       config.Diagnostics
	passing   bool // some of out hangs on what the store has
	providers map[string]*provider
	care      *health.Settings
	watched   map[*catalog.Deployment]route.Watch
}

// provider is a configured provider with its process and its connections.
type provider struct {
	*catalog.Provider
	process     *pluginhost.Process
	pool        *h1.Pool
	credentials []*relay.Credential
	errors      *fault.Classifier
	places      relay.Places // nil: always by pool
	service     *reach.Service
}

// fingerprint tells configurations apart with the plugins and policies that they stand on: a replaced
// executable is a change too.
func (b *Builder) fingerprint(cfg *config.Config) string {
	var parts strings.Builder
	parts.WriteString(cfg.Hash())
	for i := range cfg.Providers {
		if prog, err := b.Host.Find(cfg.PluginDirs, cfg.Providers[i].Plugin); err == nil && !strings.HasPrefix(prog.Key(), "bundled") {
			parts.WriteString(" " + prog.Key())
		}
	}
	parts.WriteString(policyFingerprint(cfg))
	return parts.String()
}

// Check compiles a configuration and lets the result go.
func (b *Builder) Check(ctx context.Context, cfg *config.Config) error {
	g, err := b.build(ctx, cfg, nil)
	if err == nil {
		g.letGo()
	}
	return err
}

// build compiles a configuration beside the generation that is in force, nil where none is. The error is config.Diagnostics
// where the configuration is at fault, and passing where it need not be at fault later; what had been acquired for it is then
// let go.
func (b *Builder) build(ctx context.Context, cfg *config.Config, before *Generation) (*Generation, error) {
	c := &compilation{Builder: b, ctx: ctx, cfg: cfg, before: before, providers: map[string]*provider{}, care: careOf(cfg), watched: map[*catalog.Deployment]route.Watch{},
		gen: &Generation{Config: cfg, upstreams: map[*catalog.Deployment]*relay.Candidate{}}}
	for i := range cfg.Providers {
		c.provider(&cfg.Providers[i])
	}
	c.models()
	c.routers()
	c.keys()
	c.bring()
	c.seal()
	c.settings()
	c.upkeep()
	switch {
	case c.out.Errors() == 0:
		return c.gen, nil
	case c.passing:
		c.gen.letGo()
		return nil, passing{c.out}
	}
	c.gen.letGo()
	return nil, c.out
}

// passing is what is wrong with a configuration now, and need not be when it is judged again: what the store has speaks
// against it.
type passing struct{ config.Diagnostics }

// Unwrap gives what is wrong.
func (p passing) Unwrap() error { return p.Diagnostics }

// refuse is fail for what the store has against the configuration.
func (c *compilation) refuse(path, hint, format string, args ...any) {
	c.passing = true
	c.fail(path, hint, format, args...)
}

func (c *compilation) fail(path, hint, format string, args ...any) {
	c.out = append(c.out, c.cfg.Errorf(path, hint, fmt.Sprintf(format, args...)))
}

// keep adds a part that is let go at the generation's end.
func (c *compilation) keep(r release) { c.gen.parts = append(c.gen.parts, r) }

// provider starts, or shares, the provider's process, and configures its instance there.
func (c *compilation) provider(p *config.Provider) {
	at := "providers." + p.ID
	prog, err := c.Host.Find(c.cfg.PluginDirs, p.Plugin)
	if err != nil {
		c.fail(at+".plugin", "bundled are "+strings.Join(c.Bundled, ", "), "%v", err)
		return
	}
	o := pluginhost.AcquireOptions{SHA256: p.SHA256, MTLS: c.cfg.PluginMTLS}
	if p.Isolate {
		o.Isolate = p.ID
	}
	process, err := c.Host.Acquire(c.ctx, prog, o)
	switch {
	case errors.Is(err, pluginhost.ErrPin):
		c.fail(at+".sha256", "penstock plugin pin "+p.Plugin, "%v", err)
		return
	case err != nil:
		c.fail(at+".plugin", "", "%v", err)
		return
	}
	c.keep(process.Release)
	m := process.Manifest()
	conf, ok := c.instanceConfig(p, m)
	if !ok {
		return
	}
	// An instance is never changed: another configuration is another instance in the same process, so that requests of
	// the running generation keep theirs.
	instance := p.ID
	if len(conf) > 2 {
		instance += "@" + shortHash(conf)
	}
	configured, err := process.Configure(c.ctx, instance, conf)
	if err != nil {
		c.fail(at+".config", "", "%v", err)
		return
	}
	cat := &catalog.Provider{ID: p.ID, Instance: instance, Plugin: p.Plugin, Manifest: m, Auth: m.Auth}
	c.connect(p, cat, shape(cat, m.Presets[p.Preset], configured), process)
}

// shape brings together what the manifest, the preset and the configured instance say of a provider, of which the later
// beats the earlier, and gives its address.
func shape(p *catalog.Provider, preset sdk.Preset, own sdk.Configured) (base string) {
	p.Dialects, p.Drop = preset.Dialects, preset.Drop
	if preset.Auth != nil {
		p.Auth = *preset.Auth
	}
	if own.Auth != nil {
		p.Auth = *own.Auth
	}
	if own.Dialects != nil {
		changed := *p.Manifest
		changed.Dialects = own.Dialects
		p.Manifest = &changed
	}
	return cmp.Or(own.BaseURL, preset.BaseURL, p.Manifest.BaseURL)
}

// connect gives the provider its addresses, its connections and what authorizes its requests.
func (c *compilation) connect(p *config.Provider, cat *catalog.Provider, base string, process *pluginhost.Process) {
	at := "providers." + p.ID
	bases := c.addresses(p, base)
	if bases == nil {
		return
	}
	cat.Base = bases[0]
	if _, err := reach.ClientTLS(cat.Base.Hostname(), p.CA); err != nil { // also where it would not be read: a file that is named is there
		c.fail(at+".tls.ca", "", "%v", err)
		return
	}
	made := &provider{Provider: cat, process: process}
	told := process.Configured(cat.Instance).BaseURL
	if told != base || p.BaseURL != "" || len(p.BaseURLs) > 0 {
		told = ""
	}
	err := c.open(made, p, bases, told)
	if err != nil {
		c.fail(at+".base_url", "", "%v", err)
		return
	}
	if made.errors, err = fault.NewClassifier(cat.Manifest.Errors); err != nil {
		c.fail(at+".plugin", "", "the manifest of the plugin %s: %v", p.Plugin, err)
		return
	}
	for _, cr := range p.Credentials {
		values := make(map[string]string, len(cr.Values))
		for name, v := range cr.Values {
			values[name] = v.Reveal()
		}
		cat.Credentials = append(cat.Credentials, catalog.Credential{Name: cr.Name, Values: values})
	}
	var authorized bool
	if made.credentials, authorized = c.authorize(cat, process); authorized {
		c.providers[p.ID] = made
	}
}

// addresses gives the provider's base URLs; nil where one is none.
func (c *compilation) addresses(p *config.Provider, base string) []*url.URL {
	at := "providers." + p.ID
	if len(p.BaseURLs) == 0 {
		u, err := address(p.BaseURL, base)
		if err != nil {
			c.fail(at+".base_url", "base_url: https://…", "%v", err)
			return nil
		}
		return []*url.URL{u}
	}
	var bases []*url.URL
	for i, text := range p.BaseURLs {
		u, err := address(text, base)
		if err != nil {
			c.fail(fmt.Sprintf("%s.base_urls[%d]", at, i), "", "%v", err)
			return nil
		}
		bases = append(bases, u)
	}
	return bases
}

// open gives the provider its connections; told is where its plugin said that the service is, "" where it has no say.
func (c *compilation) open(made *provider, p *config.Provider, bases []*url.URL, told string) error {
	o := reach.Options{CA: p.CA, HTTP2: p.HTTP2, MaxConns: p.Connections.Max, MaxIdle: p.Connections.Idle, Idle: p.Connections.Keep}
	if len(bases) > 1 {
		s, free, err := c.network().Service(p.ID, bases, o)
		if err != nil {
			return err
		}
		c.keep(free)
		made.service, made.places = s, s
		return nil
	}
	pool, free, err := c.network().Pool(bases[0], o)
	if err != nil {
		return err
	}
	made.pool = pool
	if told == "" {
		c.keep(free)
		return nil
	}
	m := &moving{network: c.network(), options: o, process: made.process, instance: made.Instance, path: bases[0].Path, base: told,
		now: bases[0], pool: pool, free: free}
	made.places = m
	c.keep(m.close)
	return nil
}

// network gives the ways to providers, which generations share.
func (b *Builder) network() *reach.Network {
	b.opened.Do(func() { b.ways.Log = b.Log })
	return &b.ways
}

// Addresses tells how the addresses of providers are that have several, while a generation is in force.
func (b *Builder) Addresses() []reach.State { return b.ways.Addresses() }

// address joins the configured base URL with the path of the plugin's own, where it has none.
func address(configured, base string) (*url.URL, error) {
	own, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the plugin's base URL %q: %v", base, err)
	}
	u := own
	if configured != "" {
		if u, err = url.Parse(configured); err != nil {
			return nil, err
		}
		if strings.Trim(u.Path, "/") == "" {
			u.Path = own.Path
		}
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(u.Host, "{}<>") {
		return nil, fmt.Errorf("want the address of the service: the plugin has none of its own")
	}
	// A default port is not sent: signatures cover the host as it is.
	if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u, nil
}

// settings compiles what is not of providers or models.
func (c *compilation) settings() {
	cfg, g := c.cfg, c.gen
	g.Timing = map[string]timing.Mode{"off": timing.Off, "totals": timing.Totals, "stages": timing.Stages, "attempts": timing.Attempts}[cfg.Timing]
	g.limits = relay.Limits{
		Attempts: cfg.Retry.Attempts, BackoffFirst: cfg.Retry.First, BackoffMax: cfg.Retry.Max,
		Total: cfg.Timeout.Total, KeepAlive: cfg.Stream.KeepAlive, Stalled: cfg.Timeout.Stalled, Queue: int(cfg.Stream.Queue), QueueTotal: cfg.Stream.QueueTotal,
		Whole: max(cfg.Limits.Body, wholeAnswer), Lenient: cfg.Lenient,
	}
}

// wholeAnswer is the least bound of a whole answer: one with generated images may be this large.
const wholeAnswer = 64 << 20

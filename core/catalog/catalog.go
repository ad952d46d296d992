// Package catalog holds what can be asked for: models, the deployments that serve them, and what is known of each: the
// provider's manifest, prices, capabilities, context. It is compiled once for a generation and never changes after.
//
// It knows no process and no connection: binding a deployment to a plugin's process and a connection pool is
// core/generation's, choosing among deployments core/route's.
package catalog

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/sdk"
)

// Unlimited stands for a context or output limit that nobody stated.
const Unlimited = 1 << 60

// Catalog is the models of one generation, in the configuration's order.
type Catalog struct {
	Models []*Model
	byName map[string]*Model
}

// Model is a name that clients ask for.
type Model struct {
	Name        string
	Strategy    Strategy
	Tags        []string // for policies
	Deployments []*Deployment
}

// Strategy orders a model's deployments.
type Strategy uint8

// The strategies.
const (
	Ordered  Strategy = iota // as configured
	Weighted                 // drawn by weight, the rest behind
	Fastest                  // by measured latency
	Cheapest                 // by blended price
)

// Provider is a configured provider: a plugin's manifest with an address and credentials.
type Provider struct {
	ID          string
	Instance    string // the name of its configuration in the plugin's process
	Plugin      string
	Manifest    *sdk.Manifest
	Base        *url.URL
	Auth        sdk.Auth
	Drop        []string // members that the service refuses, as JSON Pointers
	Dialects    []string // those of the manifest that the service has; all where empty
	Credentials []Credential
}

// Credential is a named set of secrets; Values must not be printed.
type Credential struct {
	Name   string
	Values map[string]string
}

// Deployment is one provider's model behind a name.
type Deployment struct {
	ID        string // unique in the catalog: model/provider, numbered where that repeats
	Name      string // of the Model it serves
	Provider  *Provider
	Model     string // as the provider calls it
	Native    string // the provider dialect to speak; "": the client's where spoken, else the first
	Weight    int
	Context   int // tokens; Unlimited where unknown
	MaxOutput int // tokens; Unlimited where unknown
	Can       dialect.Need
	Price     price.List // empty: unknown
	Tags      []string

	ways map[string]*Way
}

// Way is how a deployment serves one client dialect.
type Way struct {
	Pass         bool         // the client's bytes go through; otherwise the plugin encodes
	Dialect      *sdk.Dialect // the provider dialect that is spoken
	Target       string       // path and query of the request, slots filled
	StreamTarget string
	CountTarget  string
	BatchTarget  string // of several inputs for embeddings at once
	Rules        []Rule // what is spliced into a passed request
}

// Find gives the model of a name.
func (c *Catalog) Find(name string) (*Model, bool) {
	m, ok := c.byName[name]
	return m, ok
}

// New makes a catalog; the models' names are unique.
func New(models []*Model) *Catalog {
	c := &Catalog{Models: models, byName: make(map[string]*Model, len(models))}
	for _, m := range models {
		c.byName[m.Name] = m
	}
	return c
}

// Nearest gives at most n names that are spelled most like a name that is not there.
func (c *Catalog) Nearest(name string, n int) []string {
	type near struct {
		name string
		dist int
	}
	var all []near
	for _, m := range c.Models {
		if d := distance(name, m.Name); d <= 2+len(name)/3 {
			all = append(all, near{m.Name, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.dist - b.dist })
	var names []string
	for _, a := range all[:min(n, len(all))] {
		names = append(names, a.name)
	}
	return names
}

// distance is the number of single-byte edits between two names.
func distance(a, b string) int {
	if len(a) > 256 || len(b) > 256 {
		return 1 << 20
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Way gives how the deployment serves clients of a dialect. All ways are made by Prepare.
func (d *Deployment) Way(client string) *Way { return d.ways[client] }

// Prepare works out the ways of serving each client dialect.
func (d *Deployment) Prepare(clients []string) error {
	d.ways = make(map[string]*Way, len(clients))
	for _, client := range clients {
		native, err := d.native(client)
		if err != nil {
			return err
		}
		w := &Way{Pass: native.Name == client, Dialect: native}
		w.Target = d.target(native.Path)
		w.StreamTarget, w.CountTarget, w.BatchTarget = w.Target, d.target(native.CountPath), w.Target
		if native.BatchPath != "" {
			w.BatchTarget = d.target(native.BatchPath)
		}
		if native.StreamPath != "" {
			w.StreamTarget = d.target(native.StreamPath)
		}
		if w.Rules, err = d.rules(native.Splice); err != nil {
			return err
		}
		d.ways[client] = w
	}
	return nil
}

// native chooses the provider dialect for a client's: the configured one, the client's own, or the first of those that serve
// the same purpose, answers or embeddings.
func (d *Deployment) native(client string) (*sdk.Dialect, error) {
	has := func(name string) bool {
		return len(d.Provider.Dialects) == 0 || slices.Contains(d.Provider.Dialects, name)
	}
	var first *sdk.Dialect
	want, embeds := d.Native, dialect.Embeds(client)
	for i := range d.Provider.Manifest.Dialects {
		n := &d.Provider.Manifest.Dialects[i]
		if !has(n.Name) {
			continue
		}
		if n.Name == want {
			return n, nil
		}
		if !speaks(n, d.Model) {
			continue
		}
		if want == "" && n.Name == client {
			return n, nil
		}
		if first == nil || dialect.Embeds(first.Name) != embeds && dialect.Embeds(n.Name) == embeds {
			first = n
		}
	}
	switch {
	case want != "":
		return nil, fmt.Errorf("dialect %q: plugin %s does not speak it", want, d.Provider.Plugin)
	case first == nil:
		return nil, fmt.Errorf("plugin %s: speaks no dialect that provider %s has", d.Provider.Plugin, d.Provider.ID)
	}
	return first, nil
}

// speaks says whether a dialect is spoken with a model.
func speaks(n *sdk.Dialect, model string) bool {
	return len(n.Models) == 0 || slices.ContainsFunc(n.Models, func(pattern string) bool {
		ok, err := path.Match(pattern, model)
		return ok && err == nil
	})
}

// target joins the base URL's path with a path of the manifest and fills its slots.
func (d *Deployment) target(p string) string {
	if p == "" {
		return ""
	}
	p, query, _ := strings.Cut(p, "?")
	t := path.Join("/", d.Provider.Base.EscapedPath()) +
		strings.NewReplacer("{model}", escapePath(d.Model), "{model_segment}", escapeSegment(d.Model)).Replace(p)
	t = strings.Replace(t, "//", "/", 1)
	if query != "" {
		t += "?" + query
	}
	return t
}

// escapePath escapes a model's name for a path; its slashes stay, since they are part of some providers' paths.
func escapePath(model string) string {
	parts := strings.Split(model, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// escapeSegment escapes a model's name so that it is one segment of a path, and holds none of the characters that a
// signature may see another way: all but RFC 3986's unreserved ones.
func escapeSegment(model string) string {
	return strings.ReplaceAll(url.QueryEscape(model), "+", "%20")
}

// Fill fills the slots of a plan's path for this deployment and puts the base path before it.
func (d *Deployment) Fill(p string) string { return d.target(p) }

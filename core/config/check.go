package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// pending are members that are read and checked, and do nothing yet. Each is taken off when it is in force.
var pending = []string{"store", "counters", "routers", "teams", "cache", "breaker", "quarantine", "guards", "telemetry", "rum", "content_log",
	"stream.commit", "stream.drain_usd", "limits.memory"}

// pendingKey and pendingModel are the same within each key and model.
var (
	pendingKey   = []string{"dialects", "limits", "budget", "zdr", "tags", "team", "priority"}
	pendingModel = []string{"tags", "commit", "on_disconnect", "hedge", "on_break"}
)

// check finds what the schema cannot: references, addresses, repeats.
func (d *decoder) check() {
	if d.Source != "file" {
		d.fail(d.root.get("source"), "source", "source: file", "the store as the source of configuration is not in force yet")
	}
	d.address(d.root.get("listen"), "listen", d.Listen)
	d.address(d.root.get("admin").get("listen"), "admin.listen", d.Admin.Listen)
	for _, p := range pending {
		if n := d.root.nearest(p); d.stands(p) {
			d.warn(n, p, "", "not yet in force")
		}
	}
	d.checkProviders()
	d.checkModels()
	d.checkKeys()
}

// stands says whether a path such as a.b is in the text.
func (d *decoder) stands(path string) bool {
	n := d.root
	for _, name := range strings.Split(path, ".") {
		if n = n.get(name); n == nil {
			return false
		}
	}
	return true
}

func (d *decoder) address(n *node, path, addr string) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		d.fail(d.root.nearest(path), path, "127.0.0.1:8080", "want HOST:PORT, got %q", addr)
	}
}

func (d *decoder) checkProviders() {
	for i := range d.Providers {
		p := &d.Providers[i]
		if p.BaseURL == "" {
			continue
		}
		path := "providers." + p.ID + ".base_url"
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			d.fail(d.root.nearest(path), path, "https://api.example.com/v1", "want http:// or https:// with a host, without user, query or fragment, got %q", p.BaseURL)
		}
	}
}

func (d *decoder) checkModels() {
	ids := make([]string, len(d.Providers))
	for i := range d.Providers {
		ids[i] = d.Providers[i].ID
	}
	for _, m := range d.Models {
		at := "models." + m.Name
		for i, dep := range m.Deployments {
			path := fmt.Sprintf("%s.deployments[%d].provider", at, i)
			if _, ok := d.Provider(dep.Provider); !ok {
				d.fail(d.root.nearest(path), path, "providers are "+strings.Join(ids, ", "), "unknown provider %q%s", dep.Provider, meant(dep.Provider, ids))
			}
		}
		node := d.root.nearest(at)
		for _, name := range pendingModel {
			if n := node.get(name); n != nil {
				d.warn(n, at+"."+name, "", "not yet in force")
			}
		}
		if m.Strategy == "fastest" || m.Strategy == "cheapest" {
			d.warn(node.get("strategy"), at+".strategy", "", "not yet in force: deployments are tried as written")
		}
	}
}

func meant(name string, known []string) string {
	if near := nearestName(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func (d *decoder) checkKeys() {
	var models []string
	for _, m := range d.Models {
		models = append(models, m.Name)
	}
	for _, r := range d.Routers {
		models = append(models, r.Name)
	}
	names, sums := map[string]int{}, map[[32]byte]int{}
	for i, k := range d.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		node := d.root.nearest(at)
		if first, ok := names[k.Name]; ok {
			d.fail(node.get("name"), at+".name", "", "the name %q stands twice, first at keys[%d]", k.Name, first)
		}
		if first, ok := sums[k.SHA256]; ok {
			d.fail(node, at, "", "the same key as keys[%d]", first)
		}
		names[k.Name], sums[k.SHA256] = i, i
		for j, m := range k.Models {
			if !contains(models, m) && !strings.HasPrefix(m, "penstock/") {
				path := fmt.Sprintf("%s.models[%d]", at, j)
				d.fail(d.root.nearest(path), path, "models are "+strings.Join(models, ", "), "unknown model %q%s", m, meant(m, models))
			}
		}
		for _, name := range pendingKey {
			if n := node.get(name); n != nil {
				d.warn(n, at+"."+name, "", "not yet in force")
			}
		}
	}
	if len(d.Keys) == 0 {
		d.warn(d.root, "keys", "keys: [{name: dev, secret: \"${PENSTOCK_KEY}\"}]", "there are no keys: every request will be refused")
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

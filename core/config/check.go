package config

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/schemas"
)

// check finds what takes more than one value to see: references, addresses, repeats.
func (d *decoder) check() {
	d.checkPending()
	if d.Source != "file" {
		d.fail(d.root.members["source"].at, "source", "source: file", "the store is not yet in force as the source of the configuration")
	}
	d.checkListeners()
	d.checkLimits()
	d.checkEncryption()
	for i := range d.Providers {
		d.checkProvider(&d.Providers[i])
	}
	models := d.checkModels()
	d.checkRouters(models)
	d.checkKeys(models)
}

// checkPending warns of members that have another value than their default and are not yet in force.
func (d *decoder) checkPending() {
	for name, n := range d.root.all() {
		if n.implied || !schemas.Pending(name) {
			continue
		}
		s := member(own().root, name)
		usual := implied(s.Default, n.at)
		fill(usual, s)
		if !bytes.Equal(n.sortedJSON(), usual.sortedJSON()) {
			d.warn(n.start(), name, "", "not yet in force: it is checked and does nothing")
		}
	}
}

func (d *decoder) checkListeners() {
	d.address("listen", d.root.members["listen"])
	d.address("admin.listen", d.root.members["admin"].members["listen"])
	if _, port, err := net.SplitHostPort(d.Listen); err == nil && d.Listen == d.Admin.Listen && port != "0" {
		if admin := d.root.members["admin"].members["listen"]; admin.implied {
			d.fail(d.root.members["listen"].at, "listen", "", "the address of the admin API: want another port, or another one for admin.listen")
		} else {
			d.fail(admin.at, "admin.listen", "", "the same address as listen: want another port")
		}
	}
	if t := d.TLS; t != nil && (t.Cert == "" || t.Key == "") {
		d.fail(d.root.members["tls"].start(), "tls", "tls: {cert: tls.crt, key: tls.key}", "want both cert and key")
	}
}

// leastTaken is what a request's head and body may have at least: below it no request could be served.
const leastTaken = 1 << 10

func (d *decoder) checkLimits() {
	n := d.root.members["limits"]
	for _, name := range [...]string{"head", "body"} {
		m := n.members[name]
		if most, err := parseSize(m.text); err == nil && most < leastTaken {
			d.fail(m.at, "limits."+name, "no value stands for no limit", "want 1KiB at least, got %s", m.shown())
		}
	}
	m := n.members["head_timeout"]
	if most, err := parseDuration(m.text); err == nil && most == 0 {
		d.fail(m.at, "limits.head_timeout", "no value stands for no limit", "want more than 0, got %s", m.shown())
	}
}

// leastKey is how long the text of an encryption key is at least, in characters: 32 of base64 are 192 bits.
const leastKey = 32

func (d *decoder) checkEncryption() {
	n := d.root.members["store"].members["encryption"]
	check := func(key *node, path string) {
		if len(key.text) < leastKey || distinct(key.text) < leastSecret {
			d.fail(key.at, path, "`openssl rand -base64 32` makes one", "want %d random characters or more, got %d", leastKey, len(key.text))
		}
	}
	key, previous := n.members["key"], n.members["previous"].items
	if key.text != "" || len(previous) > 0 {
		check(key, "store.encryption.key")
	}
	for i, old := range previous {
		check(old, element("store.encryption.previous", i))
	}
}

func (d *decoder) address(path string, n *node) {
	_, port, err := net.SplitHostPort(n.text)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		d.fail(n.at, path, "port 0 takes a free one", "want HOST:PORT with a port below 65536, got %s", n.shown())
	}
}

func (d *decoder) checkProvider(p *Provider) {
	path := join("providers", p.ID)
	n := d.root.members["providers"].members[p.ID]
	if base := n.members["base_url"]; base.text != "" {
		if message := badURL(base.text); message != "" {
			d.fail(base.at, path+".base_url", "such as https://api.example.com/v1", "%s", message)
		}
	}
	d.checkReach(p, n, path)
	seen := map[string]int{}
	for i, c := range n.members["credentials"].items {
		name, at := c.str("name"), element(path+".credentials", i)
		if first, ok := seen[name]; ok {
			d.fail(c.members["name"].at, at+".name", "", "the name %q stands twice, first at credentials[%d]", name, first)
		}
		seen[name] = i
		key := c.members["api_key"]
		switch {
		case !key.implied && key.text == "":
			d.warn(key.at, at+".api_key", "", "the key is empty")
		case strings.ContainsFunc(key.text, func(r rune) bool { return r < 0x21 || r > 0x7e }):
			d.fail(key.at, at+".api_key", "look for a line end or a space that was copied with it", "want printable ASCII without spaces")
		}
	}
}

// leastProbe is the shortest time between probes: a provider is not to be asked more often than it is worth.
const leastProbe = time.Second

// checkReach finds what is wrong with addresses, connections and probes.
func (d *decoder) checkReach(p *Provider, n *node, path string) {
	seen := map[string]int{}
	for i, base := range n.members["base_urls"].items {
		at := element(path+".base_urls", i)
		if message := badURL(base.text); message != "" {
			d.fail(base.at, at, "such as https://eu.api.example.com/v1", "%s", message)
		}
		if first, ok := seen[base.text]; ok {
			d.fail(base.at, at, "", "the address stands twice, first at base_urls[%d]", first)
		}
		seen[base.text] = i
	}
	if len(p.BaseURLs) > 0 && p.BaseURL != "" {
		d.fail(n.members["base_urls"].at, path+".base_urls", "put the address of base_url first", "want base_url or base_urls, not both")
	}
	conns, probe := n.members["connections"], n.members["probe"]
	if c := p.Connections; c.Warm > min(c.Idle, c.Max) {
		d.fail(conns.start(), path+".connections", "", "want warm at most idle and max, got warm %d, idle %d and max %d", c.Warm, c.Idle, c.Max)
	}
	if keep := conns.members["keep"]; p.Connections.Keep < time.Second {
		d.fail(keep.at, path+".connections.keep", "", "want a second at least, got %s", keep.shown())
	}
	if every := probe.members["every"]; p.Probe.Every > 0 && p.Probe.Every < leastProbe {
		d.fail(every.at, path+".probe.every", "0 is never", "want a second at least, got %s", every.shown())
	}
}

// badURL says what is wrong with a base URL; "" is nothing.
func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "want http:// or https:// with a host"
	case u.User != nil:
		return "want a URL without user and password: credentials stand in credentials"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "want a URL without query and fragment"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "want a port from 1 to 65535"
		}
	}
	return ""
}

// checkModels gives the names that keys may hold: models, deployments, routers.
func (d *decoder) checkModels() *names {
	var providers, all names
	for i := range d.Providers {
		providers.add(d.Providers[i].ID)
	}
	var deployments []string
	for _, m := range d.Models {
		n, path := d.root.members["models"].members[m.Name], join("models", m.Name)
		all.add(m.Name)
		seen := map[string]int{}
		for i, dep := range m.Deployments {
			d.known(n.members["deployments"].items[i].members["provider"], element(path+".deployments", i)+".provider", "provider", &providers)
			id := m.Name + "/" + dep.Provider
			if seen[id]++; seen[id] > 1 {
				id += "#" + strconv.Itoa(seen[id])
			}
			deployments = append(deployments, id)
		}
	}
	for _, r := range d.Routers {
		if all.has[r.Name] {
			d.fail(d.root.members["routers"].members[r.Name].start(), join("routers", r.Name), "", "there is a model of this name")
		}
		all.add(r.Name)
	}
	if len(d.Routers) == 0 { // these are served then
		all.add("penstock/auto")
		all.add("penstock/free")
	}
	for _, id := range deployments {
		all.add(id)
	}
	return &all
}

func (d *decoder) checkRouters(models *names) {
	for _, r := range d.Routers {
		d.allKnown(d.root.members["routers"].members[r.Name].members["on_error"], join("routers", r.Name)+".on_error", models)
	}
}

// names are what may be referred to.
type names struct {
	list []string
	has  map[string]bool
}

func (n *names) add(name string) {
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.list = append(n.list, name)
	n.has[name] = true
}

// known reports a reference to what is not there.
func (d *decoder) known(n *node, path, what string, there *names) {
	const most = 12 // names that a hint lists
	if there.has[n.text] {
		return
	}
	hint := ""
	switch {
	case len(there.list) == 0:
		hint = fmt.Sprintf("there are no %ss here", what)
	case len(there.list) <= most:
		hint = "known here: " + sentence(there.list, "and")
	}
	d.fail(n.at, path, hint, "unknown %s %s%s", what, n.shown(), near(n, there.list))
}

// allKnown reports the models of a list that are not there.
func (d *decoder) allKnown(n *node, path string, models *names) {
	for i, c := range n.items {
		d.known(c, element(path, i), "model", models)
	}
}

func (d *decoder) checkKeys(models *names) {
	if len(d.Keys) == 0 {
		d.warn(d.root.at, "keys", `keys: [{name: dev, secret: "${PENSTOCK_KEY}"}]`, "there are none: every request is refused")
	}
	teams := d.checkTeams(models)
	byName, bySum := map[string]int{}, map[[32]byte]int{}
	for i := range d.Keys {
		k, path, n := &d.Keys[i], element("keys", i), d.root.members["keys"].items[i]
		if first, ok := byName[k.Name]; ok {
			d.fail(n.members["name"].at, path+".name", "", "the name %q stands twice, first at keys[%d]", k.Name, first)
		} else {
			byName[k.Name] = i
		}
		if d.checkSecret(n, path) {
			if first, ok := bySum[k.SHA256]; ok {
				d.fail(n.start(), path, "", "the same secret as that of keys[%d]", first)
			} else {
				bySum[k.SHA256] = i
			}
		}
		d.allKnown(n.members["models"], path+".models", models)
		if k.Team != "" {
			d.known(n.members["team"], path+".team", "team", teams)
		}
		d.checkOwn(n, path)
	}
}

// checkTeams gives the names of the teams that keys may be in.
func (d *decoder) checkTeams(models *names) *names {
	var organisations, teams names
	for _, o := range d.Organisations {
		organisations.add(o.Name)
		d.allKnown(d.root.members["organisations"].members[o.Name].members["models"], join("organisations", o.Name)+".models", models)
	}
	for _, t := range d.Teams {
		teams.add(t.Name)
		n, path := d.root.members["teams"].members[t.Name], join("teams", t.Name)
		d.allKnown(n.members["models"], path+".models", models)
		if t.Organisation != "" {
			d.known(n.members["organisation"], path+".organisation", "organisation", &organisations)
		}
		d.checkOwn(n, path)
	}
	return &teams
}

// checkOwn checks the credentials that a key or a team brings.
func (d *decoder) checkOwn(n *node, path string) {
	for provider, c := range n.members["credentials"].all() {
		at := join(path+".credentials", provider)
		if _, ok := d.Provider(provider); !ok {
			d.fail(c.start(), at, "", "unknown provider %q", provider)
		}
		for name, v := range c.all() {
			if strings.TrimSpace(v.text) != v.text || strings.ContainsFunc(v.text, func(r rune) bool { return r < 0x20 && r != '\n' }) {
				d.fail(v.at, join(at, name), "look for a line end or a space that was copied with it", "want a text without spaces around it")
			}
		}
	}
}

// Lengths of a key's secret, in characters.
const (
	leastSecret  = 8
	mostSecret   = 256
	strongSecret = 20 // of random letters and digits: more than 100 bits
)

// checkSecret checks what a key proves itself by; it says whether that can be used.
func (d *decoder) checkSecret(n *node, path string) bool {
	secret, sum := n.members["secret"], n.members["sha256"]
	switch {
	case secret.implied && sum.implied, !secret.implied && !sum.implied && secret.text != "" && sum.text != "":
		d.fail(n.start(), path, `secret: "${PENSTOCK_KEY}"`, "want exactly one of secret and sha256")
		return false
	case sum.text != "":
		if raw, err := hex.DecodeString(sum.text); err != nil || len(raw) != 32 {
			d.fail(sum.at, path+".sha256", "printf %s \"$KEY\" | sha256sum", "want 64 hexadecimal digits, got %d characters", len(sum.text))
			return false
		}
		return true
	case secret.text == "":
		d.fail(secret.start(), path+".secret", "", "the secret is empty")
		return false
	}
	if strings.ContainsFunc(secret.text, func(r rune) bool { return r < 0x20 || r > 0x7e }) || strings.TrimSpace(secret.text) != secret.text {
		d.fail(secret.at, path+".secret", "look for a line end or a space that was copied with it", "want printable ASCII without spaces around it")
		return false
	}
	if l := len(secret.text); l < leastSecret || l > mostSecret {
		d.fail(secret.at, path+".secret", "", "want %d to %d characters, got %d", leastSecret, mostSecret, l)
		return false
	}
	if len(secret.text) < strongSecret || distinct(secret.text) < leastSecret {
		d.warn(secret.at, path+".secret", "`openssl rand -base64 32` makes a strong one", "the secret is easy to guess")
	}
	return true
}

// distinct counts the different bytes of a text.
func distinct(s string) int {
	seen := map[byte]bool{}
	for i := range len(s) {
		seen[s[i]] = true
	}
	return len(seen)
}

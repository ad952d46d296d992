package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// decoder makes a Config of a tree that the schema has let through and filled. What the schema cannot say of a value's
// range is found here, what it cannot say of several values in check.go.
type decoder struct {
	*Config
	found Diagnostics
}

func (d *decoder) fail(at Position, path, hint, format string, args ...any) {
	d.found = append(d.found, Diagnostic{File: d.File, Line: at.Line, Column: at.Column, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) warn(at Position, path, hint, format string, args ...any) {
	d.fail(at, path, hint, format, args...)
	d.found[len(d.found)-1].Warning = true
}

// str gives the text of a scalar; "" of a null.
func (n *node) str(name string) string { return n.members[name].text }

func (n *node) yes(name string) bool { return n.str(name) == "true" }

// whole gives a whole number of the schema's bounds; 0 of a null.
func (n *node) whole(name string) int64 {
	digits, _, _ := strings.Cut(n.str(name), ".") // 3.0 is a whole number too
	v, _ := strconv.ParseInt(digits, 10, 64)      // the reader takes no number of more than 18 digits
	return v
}

// texts gives the texts of a list; nil of a null.
func (n *node) texts(name string) []string {
	m := n.members[name]
	if m.kind != list {
		return nil
	}
	all := make([]string, len(m.items))
	for i, c := range m.items {
		all[i] = c.text
	}
	return all
}

// read parses a member with a parser that can refuse it.
func read[T any](d *decoder, n *node, path, name string, parse func(string) (T, error)) T {
	m := n.members[name]
	v, err := parse(m.text)
	if err != nil {
		d.fail(m.at, join(path, name), "", "%v", err)
	}
	return v
}

func (d *decoder) duration(n *node, path, name string) time.Duration {
	return read(d, n, path, name, parseDuration)
}

func (d *decoder) size(n *node, path, name string) int64 { return read(d, n, path, name, parseSize) }

// money gives an amount, and whether there is one: null is none.
func (d *decoder) money(n *node, path, name string) (amount Nano, ok bool) {
	if n.members[name].kind == null {
		return 0, false
	}
	return read(d, n, path, name, ParseUSD), true
}

// relative makes the path of a file stand on its own.
func (d *decoder) relative(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Dir, path)
}

// storeURL makes the path of a database in a file stand on its own.
func (d *decoder) storeURL(url string) string {
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		return "sqlite://" + d.relative(path)
	}
	return url
}

// policy is a file, or the name of a policy that is bundled.
func (d *decoder) policy(name string) string {
	if strings.HasPrefix(name, "penstock/") {
		return name
	}
	return d.relative(name)
}

// config decodes the whole.
func (d *decoder) config(n *node) {
	admin, tls, store := n.members["admin"], n.members["tls"], n.members["store"]
	d.Source, d.Listen, d.Origins = n.str("source"), n.str("listen"), n.members["cors"].texts("origins")
	d.Admin = Admin{Listen: admin.str("listen"), Token: Secret{admin.str("token")}}
	if tls.str("cert") != "" || tls.str("key") != "" {
		d.TLS = &TLS{Cert: d.relative(tls.str("cert")), Key: d.relative(tls.str("key"))}
	}
	for _, dir := range n.texts("plugin_dirs") {
		d.PluginDirs = append(d.PluginDirs, d.relative(dir))
	}
	d.PluginMTLS, d.Lenient = n.yes("plugin_mtls"), n.str("translate") == "lenient"
	d.Timing, d.ContentLog = n.str("server_timing"), n.str("content_log") == "on"
	d.StoreURL, d.Durability, d.OnOutage = d.storeURL(store.str("url")), store.str("durability"), store.str("on_outage")
	encryption := store.members["encryption"]
	d.Encryption.Key = Secret{encryption.str("key")}
	for _, key := range encryption.texts("previous") {
		d.Encryption.Previous = append(d.Encryption.Previous, Secret{key})
	}
	d.CountersURL = n.members["counters"].str("url")
	d.bounds(n)
	d.services(n)
	for name, m := range n.members["providers"].all() {
		d.Providers = append(d.Providers, d.provider(name, m))
	}
	for name, m := range n.members["models"].all() {
		d.Models = append(d.Models, d.model(name, m))
	}
	for name, m := range n.members["routers"].all() {
		d.Routers = append(d.Routers, d.router(name, m))
	}
	d.policyHeaders(n.members["policies"].members["headers"])
	d.callers(n)
}

// policyHeaders decodes the headers that policies see. What a policy sees it may print, and is kept for its decisions to be
// made again: no credential is shown.
func (d *decoder) policyHeaders(n *node) {
	for i, item := range n.items {
		name := strings.ToLower(item.text)
		switch {
		case name == "authorization", name == "proxy-authorization", name == "cookie", strings.HasSuffix(name, "api-key"), strings.HasSuffix(name, "-token"):
			d.fail(item.at, element("policies.headers", i), "", "%q is a credential: no policy sees it", item.text)
		default:
			d.PolicyHeaders = append(d.PolicyHeaders, name)
		}
	}
}

// callers decodes who may ask for what.
func (d *decoder) callers(n *node) {
	for name, m := range n.members["organisations"].all() {
		d.Organisations = append(d.Organisations, Organisation{Name: name, Models: m.texts("models"), Allowance: d.allowance(m, join("organisations", name))})
	}
	for name, m := range n.members["teams"].all() {
		d.Teams = append(d.Teams, Team{Name: name, Models: m.texts("models"), Organisation: m.str("organisation"), Own: m.own(),
			Allowance: d.allowance(m, join("teams", name))})
	}
	for i, m := range n.members["keys"].items {
		d.Keys = append(d.Keys, d.key(m, element("keys", i)))
	}
}

// own decodes the credentials that a key or a team brings.
func (n *node) own() Own {
	o := Own{First: n.str("own_credentials") == "first"}
	for provider, m := range n.members["credentials"].all() {
		c := OwnCredential{Provider: provider, Values: map[string]Secret{}}
		for name, v := range m.all() {
			c.Values[name] = Secret{v.text}
		}
		o.Credentials = append(o.Credentials, c)
	}
	return o
}

// all ranges over the members in the text's order.
func (n *node) all() func(yield func(string, *node) bool) {
	return func(yield func(string, *node) bool) {
		for _, name := range n.names {
			if !yield(name, n.members[name]) {
				return
			}
		}
	}
}

// bounds decodes the limits of a request.
func (d *decoder) bounds(n *node) {
	retry, timeout, stream, limits := n.members["retry"], n.members["timeout"], n.members["stream"], n.members["limits"]
	backoff := retry.members["backoff"]
	d.Retry = Retry{
		Attempts: int(retry.whole("attempts")),
		First:    d.duration(backoff, "retry.backoff", "first"),
		Max:      d.duration(backoff, "retry.backoff", "max"),
	}
	d.Timeout = Timeout{
		Connect:      d.duration(timeout, "timeout", "connect"),
		FirstContent: d.duration(timeout, "timeout", "first_content"),
		Idle:         d.duration(timeout, "timeout", "idle"),
		Total:        d.duration(timeout, "timeout", "total"),
		Stalled:      d.duration(timeout, "timeout", "stalled"),
	}
	d.Stream = Stream{
		Queue:      d.size(stream, "stream", "queue"),
		QueueTotal: d.size(stream, "stream", "queue_total"),
		KeepAlive:  d.duration(stream, "stream", "keepalive_after"),
		Commit:     stream.str("commit"),
		Cancel:     stream.str("on_disconnect") == "cancel",
		DrainLimit: d.duration(stream, "stream", "drain_limit"),
		DrainBytes: d.size(stream, "stream", "drain_bytes"),
	}
	d.Stream.DrainUSD, _ = d.money(stream, "stream", "drain_usd")
	memory, _ := strconv.Atoi(strings.TrimSuffix(limits.str("memory"), "%")) // the schema has checked it
	d.Limits = Limits{
		Body:        d.size(limits, "limits", "body"),
		Depth:       int(limits.whole("depth")),
		Head:        d.size(limits, "limits", "head"),
		HeadTimeout: d.duration(limits, "limits", "head_timeout"),
		InFlight:    int(limits.whole("in_flight")),
		Memory:      memory,
	}
}

// services decodes what stands beside the path of a request.
func (d *decoder) services(n *node) {
	cache, breaker, quarantine := n.members["cache"], n.members["breaker"], n.members["quarantine"]
	telemetry, rum := n.members["telemetry"], n.members["rum"]
	sample, _ := strconv.ParseFloat(rum.str("sample"), 64) // the reader takes no other numbers
	d.Cache = Cache{Mode: cache.str("mode"), TTL: d.duration(cache, "cache", "ttl")}
	d.Breaker = Breaker{Failures: int(breaker.whole("failures")), OpenFor: d.duration(breaker, "breaker", "open_for")}
	d.Quarantine = Quarantine{After: int(quarantine.whole("after")), For: d.duration(quarantine, "quarantine", "for")}
	d.Guards = n.members["guards"].json()
	d.Telemetry = Telemetry{GenAI: telemetry.str("genai"), OTLP: telemetry.str("otlp")}
	d.RUM = RUM{Enabled: rum.yes("enabled"), Sample: sample}
}

// json gives the value as it was written, expanded; its members keep their order.
func (n *node) json() []byte {
	return n.appendJSON(nil, func(*node) bool { return false }, func(n *node) string { return n.text })
}

// sortedJSON tells values apart.
func (n *node) sortedJSON() []byte {
	return n.appendJSON(nil, func(*node) bool { return true }, func(n *node) string { return n.text })
}

func (d *decoder) provider(id string, n *node) Provider {
	p := Provider{
		ID: id, Plugin: n.str("plugin"), Preset: n.str("preset"), BaseURL: n.str("base_url"), HTTP2: n.str("http") == "2",
		CA: d.relative(n.members["tls"].str("ca")), SHA256: strings.ToLower(n.str("sha256")), Isolate: n.yes("isolate"),
	}
	if c := n.members["config"]; len(c.names) > 0 {
		p.Config = c.json()
	}
	d.reach(&p, n)
	for _, c := range n.members["credentials"].items {
		cred := Credential{Name: c.str("name"), Values: map[string]Secret{}}
		for name, v := range c.all() {
			if name != "name" && !v.implied {
				cred.Values[name] = Secret{v.text}
			}
		}
		p.Credentials = append(p.Credentials, cred)
	}
	return p
}

// reach decodes where a provider is and how connections to it are kept.
func (d *decoder) reach(p *Provider, n *node) {
	path, conns, probe := join("providers", p.ID), n.members["connections"], n.members["probe"]
	p.BaseURLs = n.texts("base_urls")
	p.Connections = Connections{Max: int(conns.whole("max")), Idle: int(conns.whole("idle")), Warm: int(conns.whole("warm")),
		Keep: d.duration(conns, path+".connections", "keep")}
	p.Probe = Probe{Every: d.duration(probe, path+".probe", "every"), Get: probe.str("kind") == "get", Path: probe.str("path")}
}

func (d *decoder) model(name string, n *node) Model {
	path := join("models", name)
	m := Model{
		Name: name, Strategy: n.str("strategy"), Tags: n.texts("tags"), Disabled: n.yes("disabled"), Commit: n.str("commit"),
		OnDisconnect: n.str("on_disconnect"), Hedge: d.duration(n, path, "hedge"), OnBreak: n.str("on_break"),
	}
	for i, c := range n.members["deployments"].items {
		m.Deployments = append(m.Deployments, Deployment{
			Provider: c.str("provider"), Model: c.str("model"), Dialect: c.str("dialect"), Weight: int(c.whole("weight")),
			Context: int(c.whole("context_window")), MaxOutput: int(c.whole("max_output_tokens")), Capabilities: c.texts("capabilities"),
			Price: d.price(c.members["price"], element(path+".deployments", i)+".price"), Tags: c.texts("tags"),
		})
	}
	return m
}

func (d *decoder) router(name string, n *node) Router {
	return Router{
		Name: name, Policy: d.policy(n.str("policy")), MinCandidates: int(n.whole("min_candidates")), OnError: n.texts("on_error"),
		Shadow: d.policy(n.str("shadow")),
	}
}

func (d *decoder) allowance(n *node, path string) Allowance {
	limits, budget := n.members["limits"], n.members["budget"]
	a := Allowance{RPM: limits.whole("rpm"), TPM: limits.whole("tpm"), ITPM: limits.whole("itpm"), OTPM: limits.whole("otpm"), AtOnce: limits.whole("concurrency")}
	if budget.kind == object {
		a.Budget, a.Capped = d.money(budget, path+".budget", "usd")
		a.Every = budget.str("every")
	}
	return a
}

func (d *decoder) key(n *node, path string) Key {
	k := Key{
		Name: n.str("name"), Models: n.texts("models"), Dialects: n.texts("dialects"), Team: n.str("team"), Tags: n.texts("tags"),
		Priority: n.str("priority"), ZDR: n.yes("zdr"), OnDisconnect: n.str("on_disconnect"), Own: n.own(), Allowance: d.allowance(n, path),
	}
	if expires := n.members["expires"]; expires.text != "" {
		var err error
		if k.Expires, err = parseExpiry(expires.text); err != nil {
			d.fail(expires.at, path+".expires", "such as 2027-01-31T18:00:00Z", "want an RFC 3339 time or a date, got %s", expires.shown())
		}
	}
	switch secret, sum := n.str("secret"), n.str("sha256"); {
	case secret != "":
		k.SHA256 = sha256.Sum256([]byte(secret))
	case sum != "":
		hex.Decode(k.SHA256[:], []byte(sum)) // check reports what is no hexadecimal
	}
	return k
}

// contentHash is the hash of a tree's values before defaults.
func contentHash(root *node) string {
	ordered := map[*node]bool{}
	for _, name := range []string{"providers", "models", "routers", "teams", "organisations"} {
		ordered[root.members[name]] = true // users see this order
	}
	canonical := root.appendJSON(nil, func(n *node) bool { return !ordered[n] }, func(n *node) string {
		if !n.secret {
			return n.text
		}
		sum := sha256.Sum256([]byte(n.text))
		return hex.EncodeToString(sum[:])
	})
	return textHash(canonical)
}

func textHash(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }

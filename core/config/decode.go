package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// decoder fills a Config from a tree that the schema has let through.
type decoder struct {
	*Config
	out Diagnostics
}

func (d *decoder) fail(n *node, path, hint, format string, args ...any) {
	d.out = append(d.out, Diagnostic{File: d.File, Line: n.line, Column: n.column, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) warn(n *node, path, hint, format string, args ...any) {
	d.fail(n, path, hint, format, args...)
	d.out[len(d.out)-1].Warning = true
}

func str(n *node, otherwise string) string {
	if n == nil {
		return otherwise
	}
	return n.text
}

func boolean(n *node) bool { return n != nil && (n.value == true || n.text == "true") }

func integer(n *node, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		if f, ok := n.value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f)
		}
		return otherwise
	}
	return v
}

func texts(n *node) []string {
	if n == nil {
		return nil
	}
	list := make([]string, 0, len(n.items))
	for _, c := range n.items {
		list = append(list, c.text)
	}
	return list
}

// duration reads a member; the schema has checked its form.
func (d *decoder) duration(n *node, path string, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	if n.text == "0" {
		return 0
	}
	v, err := time.ParseDuration(n.text)
	if err != nil || v > 365*24*time.Hour {
		d.fail(n, path, "", "want a duration such as 5s, got %q", n.text)
	}
	return v
}

var sizeUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

func (d *decoder) size(n *node, path string, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	text, factor := n.text, int64(1)
	for _, u := range sizeUnits {
		if t, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = t, u.factor
			break
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v > math.MaxInt64/factor {
		d.fail(n, path, "", "want a size such as 64KiB, got %q", n.text)
		return otherwise
	}
	return v * factor
}

// money reads USD exactly, from the text as it was written.
func (d *decoder) money(n *node, path string, otherwise Nano) Nano {
	if n == nil {
		return otherwise
	}
	v, err := ParseUSD(n.text)
	if err != nil {
		d.fail(n, path, "", "%v", err)
	}
	return v
}

// ParseUSD reads decimal USD into nano-USD: at most nine decimals, below 9 billion.
func ParseUSD(text string) (Nano, error) {
	whole, frac, _ := strings.Cut(text, ".")
	if len(frac) > 9 || whole == "" || strings.ContainsAny(text, "+-eE_") {
		return 0, fmt.Errorf("want USD with at most nine decimals, got %q", text)
	}
	v, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want USD below 9 billion, got %q", text)
	}
	return Nano(v), nil
}

// all fills everything in.
func (d *decoder) all(n *node) {
	d.Source, d.Listen = str(n.get("source"), "file"), str(n.get("listen"), "127.0.0.1:8080")
	admin := n.get("admin")
	d.Admin = Admin{Listen: str(admin.get("listen"), "127.0.0.1:8081"), Token: Secret{str(admin.get("token"), "")}}
	if t := n.get("tls"); t != nil {
		d.TLS = &TLS{Cert: d.path(t.get("cert")), Key: d.path(t.get("key"))}
	}
	for _, dir := range texts(n.get("plugin_dirs")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(d.Dir, dir)
		}
		d.PluginDirs = append(d.PluginDirs, dir)
	}
	d.PluginMTLS = boolean(n.get("plugin_mtls"))
	d.Lenient, d.Timing = str(n.get("translate"), "strict") == "lenient", str(n.get("server_timing"), "stages")
	d.StoreURL, d.CountersURL = str(n.get("store").get("url"), "sqlite://"), str(n.get("counters").get("url"), "memory://")
	d.bounds(n)
	each(n.get("providers"), func(name string, c *node) { d.Providers = append(d.Providers, d.provider(name, c)) })
	each(n.get("models"), func(name string, c *node) { d.Models = append(d.Models, d.model(name, c)) })
	each(n.get("routers"), func(name string, c *node) { d.Routers = append(d.Routers, d.router(name, c)) })
	if keys := n.get("keys"); keys != nil {
		for i, c := range keys.items {
			d.Keys = append(d.Keys, d.key(fmt.Sprintf("keys[%d]", i), c))
		}
	}
}

func each(n *node, f func(string, *node)) {
	if n == nil {
		return
	}
	for _, name := range n.names {
		f(name, n.members[name])
	}
}

// path makes a member's path relative to the file.
func (d *decoder) path(n *node) string {
	p := str(n, "")
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(d.Dir, p)
}

func (d *decoder) bounds(n *node) {
	retry, t, s, l := n.get("retry"), n.get("timeout"), n.get("stream"), n.get("limits")
	back := retry.get("backoff")
	d.Retry = Retry{Attempts: int(integer(retry.get("attempts"), 4)), First: d.duration(back.get("first"), "retry.backoff.first", 200*time.Millisecond),
		Max: d.duration(back.get("max"), "retry.backoff.max", 5*time.Second)}
	d.Timeout = Timeout{Connect: d.duration(t.get("connect"), "timeout.connect", 3*time.Second),
		FirstContent: d.duration(t.get("first_content"), "timeout.first_content", time.Minute), Idle: d.duration(t.get("idle"), "timeout.idle", time.Minute),
		Total: d.duration(t.get("total"), "timeout.total", 10*time.Minute), Stalled: d.duration(t.get("stalled"), "timeout.stalled", time.Minute)}
	d.Stream = Stream{Queue: d.size(s.get("queue"), "stream.queue", 64<<10), KeepAlive: d.duration(s.get("keepalive_after"), "stream.keepalive_after", 15*time.Second),
		Commit: str(s.get("commit"), "content"), Cancel: str(s.get("on_disconnect"), "drain") == "cancel",
		DrainLimit: d.duration(s.get("drain_limit"), "stream.drain_limit", time.Minute), DrainBytes: d.size(s.get("drain_bytes"), "stream.drain_bytes", 1<<20)}
	d.Limits = Limits{Body: d.size(l.get("body"), "limits.body", 32<<20), Depth: int(integer(l.get("depth"), 128)), Head: d.size(l.get("head"), "limits.head", 64<<10),
		HeadTimeout: d.duration(l.get("head_timeout"), "limits.head_timeout", 10*time.Second), InFlight: int(integer(l.get("in_flight"), 20000))}
}

func (d *decoder) provider(id string, n *node) Provider {
	p := Provider{ID: id, Plugin: str(n.get("plugin"), ""), Preset: str(n.get("preset"), ""), BaseURL: str(n.get("base_url"), ""),
		HTTP2: integer(n.get("http"), 1) == 2, CA: d.path(n.get("tls").get("ca")), SHA256: strings.ToLower(str(n.get("sha256"), "")), Isolate: boolean(n.get("isolate"))}
	if c := n.get("config"); c != nil {
		p.Config, _ = json.Marshal(c.plain()) // made of JSON's own values
	}
	if list := n.get("credentials"); list != nil {
		for _, c := range list.items {
			cred := Credential{Name: str(c.get("name"), "main"), Values: map[string]Secret{}}
			for _, name := range c.names {
				if name != "name" {
					cred.Values[name] = Secret{c.members[name].text}
				}
			}
			p.Credentials = append(p.Credentials, cred)
		}
	}
	return p
}

func (d *decoder) model(name string, n *node) Model {
	m := Model{Name: name, Strategy: str(n.get("strategy"), "ordered"), Tags: texts(n.get("tags")), Disabled: boolean(n.get("disabled")),
		OnDisconnect: str(n.get("on_disconnect"), "")}
	for i, c := range n.get("deployments").items {
		path := fmt.Sprintf("models.%s.deployments[%d]", name, i)
		dep := Deployment{Provider: str(c.get("provider"), ""), Model: str(c.get("model"), ""), Dialect: str(c.get("dialect"), ""),
			Weight: int(integer(c.get("weight"), 1)), Context: int(integer(c.get("context_window"), 0)),
			MaxOutput: int(integer(c.get("max_output_tokens"), 0)), Capabilities: texts(c.get("capabilities")), Tags: texts(c.get("tags"))}
		if p := c.get("price"); p != nil {
			in := d.money(p.get("input"), path+".price.input", 0)
			dep.Price = &Price{Input: in, Output: d.money(p.get("output"), path+".price.output", 0),
				CacheRead: d.money(p.get("cache_read"), path+".price.cache_read", in), CacheWrite: d.money(p.get("cache_write"), path+".price.cache_write", in)}
		}
		m.Deployments = append(m.Deployments, dep)
	}
	return m
}

func (d *decoder) router(name string, n *node) Router {
	r := Router{Name: name, Policy: str(n.get("policy"), ""), MinCandidates: int(integer(n.get("min_candidates"), 1)), Shadow: str(n.get("shadow"), "")}
	if e := n.get("on_error"); e != nil && e.kind == sequence {
		r.OnError = texts(e)
	}
	return r
}

func (d *decoder) key(path string, n *node) Key {
	l, b := n.get("limits"), n.get("budget")
	k := Key{Name: str(n.get("name"), ""), Models: texts(n.get("models")), Dialects: texts(n.get("dialects")), Team: str(n.get("team"), ""), Tags: texts(n.get("tags")),
		Priority: str(n.get("priority"), "default"), RPM: integer(l.get("rpm"), 0), TPM: integer(l.get("tpm"), 0), AtOnce: integer(l.get("concurrency"), 0),
		Budget: d.money(b.get("usd"), path+".budget.usd", 0), Every: str(b.get("every"), "month"), ZDR: boolean(n.get("zdr"))}
	if e := n.get("expires"); e != nil {
		t, err := time.Parse(time.RFC3339, e.text)
		if err != nil {
			d.fail(e, path+".expires", "such as 2027-01-01T00:00:00Z", "want a time as RFC 3339 has it, got %q", e.text)
		}
		k.Expires = t
	}
	secret, sum := n.get("secret"), n.get("sha256")
	switch {
	case (secret == nil) == (sum == nil):
		d.fail(n, path, "secret: \"${PENSTOCK_KEY}\"", "want exactly one of secret and sha256")
	case sum != nil:
		hex.Decode(k.SHA256[:], []byte(sum.text)) // the schema has checked it
	default:
		d.secret(secret, path+".secret")
		k.SHA256 = sha256.Sum256([]byte(secret.text))
	}
	return k
}

// secret checks a key's text.
func (d *decoder) secret(n *node, path string) {
	for _, c := range []byte(n.text) {
		if c <= 0x20 || c >= 0x7f {
			d.fail(n, path, "", "want printable ASCII without spaces")
			return
		}
	}
	switch l := len(n.text); {
	case l < 8 || l > 256:
		d.fail(n, path, "", "want 8 to 256 characters, got %d", l)
	case l < 20:
		d.warn(n, path, "`openssl rand -base64 32` makes a strong one", "the key is short enough to be guessed")
	}
}

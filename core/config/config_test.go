package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/sdk"
)

// small is a configuration with nothing that need not be there.
const small = `providers:
  openai: {plugin: openai, credentials: [{name: main, api_key: "${KEY}"}]}
models:
  gpt: {deployments: [{provider: openai, model: gpt-4.1}]}
keys:
  - {name: dev, secret: psk_0123456789abcdefghijkl}
`

// env is an environment of a few variables.
func env(name string) (string, bool) {
	v, ok := map[string]string{"KEY": "sk-1", "EMPTY": "", "RPM": "600", "YES": "true", "PRICE": "0.30", "LONG": strings.Repeat("x", maxReferenced+1)}[name]
	return v, ok
}

func parse(text string) (*Config, error) {
	return Parse("penstock.yaml", []byte(text), Options{Env: env})
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSmallestConfiguration(t *testing.T) {
	c := mustParse(t, "providers: {demo: {plugin: demo}}\nmodels: {echo: {deployments: [{provider: demo, model: echo}]}}\n")
	if got := c.Warnings.Error(); got != "penstock.yaml:1:1: warning: keys: there are none: every request is refused" {
		t.Errorf("warnings %q", got)
	}
	want := &Config{
		File: "penstock.yaml", Dir: ".", Source: "file", Listen: "127.0.0.1:8080", Origins: []string{}, Admin: Admin{Listen: "127.0.0.1:8081"},
		Providers: []Provider{{ID: "demo", Plugin: "demo", BaseURLs: []string{}, Connections: Connections{20000, 256, 90 * time.Second, 1}, Probe: Probe{Path: "/models"}}},
		Models: []Model{{Name: "echo", Strategy: "ordered", OnBreak: "error", Tags: []string{},
			Deployments: []Deployment{{Provider: "demo", Model: "echo", Weight: 1, Tags: []string{}}}}},
		Retry:    Retry{Attempts: 4, First: 200 * time.Millisecond, Max: 5 * time.Second},
		Timeout:  Timeout{3 * time.Second, time.Minute, time.Minute, 10 * time.Minute, time.Minute},
		Stream:   Stream{Queue: 64 << 10, QueueTotal: 128 << 20, KeepAlive: 15 * time.Second, Commit: "content", DrainLimit: time.Minute, DrainBytes: 1 << 20},
		Limits:   Limits{Body: 32 << 20, Depth: 128, Head: 64 << 10, HeadTimeout: 10 * time.Second, InFlight: 20000, Memory: 75},
		Timing:   "stages",
		StoreURL: "sqlite://", Durability: "crash", OnOutage: "fail_open", CountersURL: "memory://",
		Cache: Cache{Mode: "off", TTL: 10 * time.Minute}, Breaker: Breaker{Failures: 5, OpenFor: 10 * time.Second},
		Quarantine: Quarantine{After: 5, For: 10 * time.Minute}, Guards: []byte("[]"),
		Telemetry: Telemetry{GenAI: "latest"}, RUM: RUM{Sample: 0.2},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Config{}), cmpopts.IgnoreFields(Config{}, "Warnings"), cmp.AllowUnexported(Secret{})); diff != "" {
		t.Error(diff)
	}
}

// rates is a price that has nothing but what each price has.
func rates(input, output, read, write int64) price.List {
	r := price.Usual(input, output)
	r.CacheRead, r.CacheWrite, r.CacheWriteHour = read, write, write
	return price.Flat(r)
}

func TestEveryMember(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("/etc/penstock/full.yaml", text, Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	wantProviders := []Provider{
		{ID: "openai", Plugin: "openai", BaseURL: "https://api.openai.com/v1", HTTP2: true, CA: "/etc/penstock/ca.pem", Isolate: true,
			SHA256:      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			Config:      []byte(`{"region":"eu","nested":{"z":1.50,"a":[true,null]}}`),
			Credentials: []Credential{{"main", map[string]Secret{"api_key": {"sk-1"}, "organization": {"org"}}}, {"spare", map[string]Secret{}}},
			BaseURLs:    []string{}, Connections: Connections{500, 100, 30 * time.Second, 4}, Probe: Probe{30 * time.Second, true, "/health"}},
		{ID: "groq", Plugin: "openai", Preset: "groq", BaseURLs: []string{"https://eu.example.com", "https://us.example.com/v2"},
			Connections: Connections{20000, 256, 90 * time.Second, 1}, Probe: Probe{Path: "/models"}},
	}
	wantModels := []Model{{
		Name: "chat", Strategy: "weighted", Tags: []string{"general"}, Disabled: true, Commit: "bytes:4096", OnDisconnect: "cancel",
		Hedge: 800 * time.Millisecond, OnBreak: "continue",
		Deployments: []Deployment{
			{Provider: "openai", Model: "gpt-4.1", Dialect: "openai-chat", Weight: 3, Context: 200000, MaxOutput: 64000, Capabilities: []string{"tools", "images"},
				Price: rates(3e9, 15e9, 3e8, 3_750_000_001), Tags: []string{"eu"}},
			{Provider: "groq", Model: "llama", Weight: 1, Tags: []string{}, Price: rates(5e8, 1e9, 5e8, 5e8)},
		},
	}}
	wantKey := Key{
		Name: "ci", SHA256: [32]byte{0x9f, 0x86, 0xd0, 0x81, 0x88, 0x4c, 0x7d, 0x65, 0x9a, 0x2f, 0xea, 0xa0, 0xc5, 0x5a, 0xd0, 0x15, 0xa3, 0xbf, 0x4f, 0x1b, 0x2b, 0x0b, 0x82, 0x2c, 0xd1, 0x5d, 0x6c, 0x15, 0xb0, 0xf0, 0x0a, 0x08},
		Models: []string{"chat", "auto", "chat/groq"}, Dialects: []string{"anthropic"}, Expires: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
		Team: "search", Tags: []string{"batch"}, Priority: "batch", ZDR: true, OnDisconnect: "drain",
		Own:       Own{Credentials: []OwnCredential{{"openai", map[string]Secret{"api_key": {"sk-1"}, "organization": {"theirs"}}}}, First: true},
		Allowance: Allowance{RPM: 600, TPM: 200000, ITPM: 150000, OTPM: 30000, AtOnce: 20, Budget: 20e9, Every: "week", Capped: true},
	}
	f := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Secret{})); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	f("providers", c.Providers, wantProviders)
	f("models", c.Models, wantModels)
	f("routers", c.Routers, []Router{{"auto", "/etc/penstock/policies/auto.star", 2, []string{"chat"}, "/etc/penstock/policies/next.star"}, {Name: "free", Policy: "penstock/free", MinCandidates: 1}})
	f("keys", c.Keys, []Key{wantKey})
	f("teams", c.Teams, []Team{{Name: "search", Models: []string{"chat"}, Organisation: "acme",
		Own: Own{Credentials: []OwnCredential{{"groq", map[string]Secret{"api_key": {"gsk-1"}}}}}, Allowance: Allowance{RPM: 1, Budget: 500e9, Every: "month", Capped: true}}})
	f("organisations", c.Organisations, []Organisation{{Name: "acme", Models: []string{"chat"}, Allowance: Allowance{OTPM: 9, Budget: 2000e9, Every: "total", Capped: true}}})
	f("encryption", c.Encryption, Encryption{Key: Secret{"YtGXOZ3EFAlpOaWNc5tPx2OUZBE2n9Pk"}, Previous: []Secret{{"mYqHWWFQ0Rz2b5a7p0t0o1yWbLx3kGmE"}}})
	f("tls", c.TLS, &TLS{"/etc/penstock/tls.crt", "/etc/keys/tls.key"})
	f("cors.origins", c.Origins, []string{"https://app.example.com", "null", "*"})
	f("policies.headers", c.PolicyHeaders, []string{"x-tier", "x-app"})
	f("plugin_dirs", c.PluginDirs, []string{"/etc/penstock/plugins.d", "/opt/plugins"})
	f("stream", c.Stream, Stream{256 << 10, 512 << 20, 0, "whole", true, 10 * time.Second, 512, 50_000_000})
	f("guards", string(c.Guards), `[{"name":"cards"}]`)
	f("rum", c.RUM, RUM{true, 1})
}

// TestPositions: what is found out later is reported where it was written, or where it would have been.
func TestPositions(t *testing.T) {
	c := mustParse(t, strings.Replace(small, "gpt:", "gpt-4.1/x:", 1))
	f := func(path string, line, column int) {
		t.Helper()
		if got := c.Pos(path); got != (Position{line, column}) {
			t.Errorf("%s: %v, want %d:%d", path, got, line, column)
		}
	}
	f("", 1, 1)
	f("providers.openai.plugin", 2, 20)
	f("providers.openai.credentials[0].api_key", 2, 64)
	f("providers.openai.base_url", 2, 3) // not written: its provider
	f("models.gpt-4.1/x.deployments[0].model", 4, 55)
	f("models.gpt-4.1/x.deployments[7]", 4, 15)
	f("keys[0].name", 6, 12)
	f("nothing.of.the[3].kind", 1, 1)
	d := c.Errorf("providers.openai.plugin", "drop one into plugins.d", "there is no such plugin")
	if got := d.Error(); got != "penstock.yaml:2:20: providers.openai.plugin: there is no such plugin" {
		t.Error(got)
	}
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(text, want string) {
		t.Helper()
		c, err := Parse("penstock.yaml", []byte(strings.ReplaceAll(small, "${KEY}", text)), Options{Dir: dir, Env: env})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := c.Providers[0].Credentials[0].Values["api_key"].Reveal(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	f("${KEY}", "sk-1")
	f("a-${KEY}-b${RPM}", "a-sk-1-b600")
	f("${NONE:-other}", "other")
	f("${NONE:-$x:-y}", "$x:-y")
	f("${EMPTY:-other}", "other")
	f("${EMPTY}", "")
	f("${NONE:-}", "")
	f("$${KEY}", "${KEY}")
	f("$${KEY}${KEY}", "${KEY}sk-1")
	f("$KEY$", "$KEY$")
	f("${file:secret}", "from-a-file")
	f("${file:"+dir+"/secret}", "from-a-file")
}

// TestStoreURL: a database's file is relative to the configuration, as other files are.
func TestStoreURL(t *testing.T) {
	f := func(url, want string) {
		t.Helper()
		c, err := Parse("penstock.yaml", []byte(small+"store: {url: \""+url+"\"}\n"), Options{Dir: "/etc/penstock", Env: env})
		if err != nil || c.StoreURL != want {
			t.Errorf("%s: %v, %v, want %s", url, c, err, want)
		}
	}
	f("sqlite://", "sqlite://")
	f("sqlite://rows.db", "sqlite:///etc/penstock/rows.db")
	f("sqlite://../rows.db", "sqlite:///etc/rows.db")
	f("sqlite:///var/rows.db", "sqlite:///var/rows.db")
	f("postgres://db/penstock", "postgres://db/penstock")
}

// TestReferencesHaveTypes: what comes by reference is a number or a truth where one is wanted, though it stood in quotes.
func TestReferencesHaveTypes(t *testing.T) {
	c := mustParse(t, small+`  - {name: two, secret: "${KEY}-0123456789abcdefghijkl", limits: {rpm: "${RPM}"}, zdr: "${YES}", budget: {usd: "${PRICE}"}}
plugin_mtls: ${YES}
limits: {in_flight: "${RPM}"}
stream: {drain_usd: "${NONE:-}"}
`)
	k := c.Keys[1]
	if k.RPM != 600 || !k.ZDR || k.Budget != 3e8 || !c.PluginMTLS || c.Limits.InFlight != 600 || c.Stream.DrainUSD != 0 {
		t.Errorf("%+v %v %d", k, c.PluginMTLS, c.Limits.InFlight)
	}
}

func TestFilesThatMayNotBeRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, outside} {
		if err := os.WriteFile(filepath.Join(d, "secret"), []byte("0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for to, name := range map[string]string{filepath.Join(outside, "secret"): "out", "secret": "in", "/proc/self/environ": "kernel"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f := func(root, path, want string) {
		t.Helper()
		_, err := Parse("penstock.yaml", []byte(strings.ReplaceAll(small, "${KEY}", "${file:"+path+"}")), Options{Dir: dir, Root: root})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	f("", "secret", "")
	f("", outside+"/secret", "")
	f("", "/proc/self/environ", "lies in /proc")
	f("", "kernel", "lies in /proc")
	f("", "../../../../../../proc/self/environ", "lies in /proc")
	f("", "/dev/zero", "lies in /dev")
	f("", "file:///etc/passwd", "no such file")
	f("", ".", "want a regular file")
	f("", "none", "no such file")
	f(dir, "secret", "")
	f(dir, "in", "")
	f(dir, "out", "lies outside")
	f(dir, outside+"/secret", "lies outside")
	f(dir, "../"+filepath.Base(outside)+"/secret", "lies outside")
	f(dir+"x", "secret", "no such file")
}

func TestHash(t *testing.T) {
	base := mustParse(t, small)
	same := func(text string) {
		t.Helper()
		if c := mustParse(t, text); c.Hash() != base.Hash() {
			t.Errorf("another hash, want the same:\n%s", text)
		} else if c.TextHash() == base.TextHash() {
			t.Errorf("the hash of another text is the same:\n%s", text)
		}
	}
	differs := func(text string) {
		t.Helper()
		if c := mustParse(t, text); c.Hash() == base.Hash() {
			t.Errorf("the same hash, want another:\n%s", text)
		}
	}
	same("# a comment\n\n" + small)
	same(strings.ReplaceAll(small, "${KEY}", "sk-1"))
	same(strings.Replace(small, "{name: dev, secret: psk_0123456789abcdefghijkl}", "\n      secret: 'psk_0123456789abcdefghijkl'\n      name: dev", 1))
	differs(strings.ReplaceAll(small, "${KEY}", "sk-2"))
	differs(small + "timeout: {idle: 61s}\n")
	differs(strings.Replace(small, "models:\n", "models:\n  other: {deployments: [{provider: openai, model: gpt-4.1}]}\n", 1))
	a := "  a: {deployments: [{provider: openai, model: m}]}\n"
	b := "  b: {deployments: [{provider: openai, model: m}]}\n"
	if x, y := mustParse(t, strings.Replace(small, "models:\n", "models:\n"+a+b, 1)), mustParse(t, strings.Replace(small, "models:\n", "models:\n"+b+a, 1)); x.Hash() == y.Hash() {
		t.Error("the order of models, which lists show, is not in the hash")
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	c := mustParse(t, strings.ReplaceAll(small, "${KEY}", "sk-hush")+"admin: {token: hush-hush}\n")
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "token", c.Admin.Token, "all", c)
	fmt.Fprintf(&b, "%v %+v %#v %s", c.Admin.Token, c.Providers, c.Providers, c.Admin)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if all := b.String() + string(asJSON); strings.Contains(all, "hush") {
		t.Errorf("a secret prints: %s", all)
	}
	if c.Admin.Token.Reveal() != "hush-hush" {
		t.Error("the token is not there")
	}
}

// TestErrorsKeepSecrets: no message shows a secret, nor the value of a reference that stands where it does not belong.
func TestErrorsKeepSecrets(t *testing.T) {
	hush := func(string) (string, bool) { return "hush\nhush", true }
	for _, text := range []string{
		strings.Replace(small, "psk_0123456789abcdefghijkl", "hush", 1),
		strings.Replace(small, "psk_0123456789abcdefghijkl", "[hush]", 1),
		strings.Replace(small, "psk_0123456789abcdefghijkl", "${KEY}", 1),
		strings.Replace(small, "plugin: openai", `plugin: openai, base_url: "${KEY}"`, 1),
		strings.Replace(small, "provider: openai", `provider: "${KEY}"`, 1),
		small + "listen: ${KEY}\n",
		small + "retry: {attempts: \"${KEY}\"}\n",
		small + "translate: ${KEY}\n",
		small + "timeout: {idle: \"${KEY}\"}\n",
	} {
		_, err := Parse("penstock.yaml", []byte(text), Options{Env: hush})
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want an error that does not show the value of\n%s", err, text)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "penstock.yaml")
	var list Diagnostics
	if _, err := Load(path, env); !errors.As(err, &list) || list[0].Message != "the file does not exist" {
		t.Errorf("%v, want that the file does not exist", err)
	}
	if _, err := Load(dir, env); err == nil || errors.As(err, &list) {
		t.Errorf("%v, want the file system's error for a folder", err)
	}
	if err := os.WriteFile(path, []byte(small+"plugin_dirs: [p]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, env)
	if err != nil || c.PluginDirs[0] != filepath.Join(dir, "p") {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, []byte(small+"#"+strings.Repeat("x", maxText)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, env); !errors.As(err, &list) || list[0].Message != "larger than 4 MiB" {
		t.Errorf("%v, want that it is too large", err)
	}
}

func TestTextsThatAreRefusedWhole(t *testing.T) {
	f := func(text string, line, column int, want string) {
		t.Helper()
		_, err := parse(text)
		list, ok := err.(Diagnostics)
		if !ok || len(list) != 1 || list[0].Line != line || list[0].Column != column || list[0].Message != want {
			t.Errorf("%.40q: %v, want %d:%d: %s", text, err, line, column, want)
		}
	}
	f("\xff", 1, 1, "not UTF-8 here")
	f("a: ü\nbü: \xe4\n", 2, 5, "not UTF-8 here")
	f("a: 1\r\nb: \xc3", 2, 4, "not UTF-8 here")
	f(strings.Repeat("x", maxText+1), 1, 1, "larger than 4 MiB")
	f("a: ["+strings.Repeat("0,", maxMarks+1)+"]", 1, 1, "more than 524288 values")
	f("\xff\xfea\x00:\x00", 1, 1, "not UTF-8 here") // UTF-16
	if _, err := parse("\ufeff" + small); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
}

func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../../examples/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range append(files, "../../cmd/penstock/demo.yaml", "testdata/contract.yaml") {
		if _, err := Load(file, func(string) (string, bool) { return "0123456789abcdefghijklmnop" + file, true }); err != nil {
			var list Diagnostics
			if errors.As(err, &list) && strings.Contains(err.Error(), "the same secret") {
				continue // the example's keys come from variables, which are all the same here
			}
			t.Error(err)
		}
	}
}

// TestPrices holds what prices by date, of longer requests and of single things come to.
func TestPrices(t *testing.T) {
	f := func(text string, want price.List) {
		t.Helper()
		c := mustParse(t, strings.Replace(small, "model: gpt-4.1}", "model: gpt-4.1, price: "+text+"}", 1))
		if diff := cmp.Diff(want, c.Models[0].Deployments[0].Price); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	f("null", nil)
	f("{input: 1, output: 2}", rates(1e9, 2e9, 1e9, 1e9))
	all := price.Rates{Input: 1e9, Output: 2e9, CacheRead: 3e9, CacheWrite: 4e9, CacheWriteHour: 5e9, Reasoning: 6e9, AudioInput: 7e9, ImageInput: 8e9, AudioOutput: 9e9,
		ImageOutput: 1e10, Request: 5e6, Image: 2_500_000, Search: 1e7}
	f(`{input: 1, output: 2, cache_read: 3, cache_write: 4, cache_write_1h: 5, reasoning: 6, audio_input: 7, image_input: 8, audio_output: 9, image_output: 10, request: "0.005", image: "0.0025", web_search: 0.01}`,
		price.Flat(all))
	first, second := rates(1e9, 2e9, 1e9, 1e9)[0], rates(3e9, 4e9, 3e9, 3e9)[0]
	second.From, second.Search = time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC), 1e7
	long := price.Usual(5e9, 6e9)
	long.Search = 1e7
	second.Tiers = []price.Tier{{Above: 200_000, Rates: long}}
	cheap := price.Period{Rates: price.Usual(1e9, 2e9)}
	cheap.Service[sdk.TierFlex], cheap.Service[sdk.TierPriority], cheap.Service[sdk.TierFast] = 500_000, 2_500_000, 6_000_000
	f("{input: 1, output: 2, service_tiers: {flex: 0.5, priority: \"2.5\", fast: 6}}", price.List{cheap})
	f("[{input: 1, output: 2}, {from: \"2027-01-01T06:00:00Z\", input: 3, output: 4, web_search: 0.01, tiers: [{above: 200000, input: 5, output: 6}]}]", price.List{first, second})
}

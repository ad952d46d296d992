package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// small is a configuration with nothing that need not be there.
const small = `providers:
  openai: {plugin: openai, credentials: [{name: main, api_key: "${KEY}"}]}
models:
  gpt: {deployments: [{provider: openai, model: gpt-4.1}]}
keys:
  - {name: dev, secret: psk_0123456789abcdefghijkl}
`

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func parse(text string) (*Config, error) {
	return Parse("penstock.yaml", []byte(text), Options{Env: env("KEY", "sk-1", "EMPTY", "")})
}

func TestDefaults(t *testing.T) {
	c, err := parse(small)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings %v, want none", c.Warnings)
	}
	p, m := c.Providers[0], c.Models[0]
	if p.ID != "openai" || p.Plugin != "openai" || p.Credentials[0].Values["api_key"].Reveal() != "sk-1" {
		t.Errorf("provider %+v", p)
	}
	if m.Name != "gpt" || m.Strategy != "ordered" || m.Deployments[0].Model != "gpt-4.1" || m.Deployments[0].Weight != 1 {
		t.Errorf("model %+v", m)
	}
	if c.Timeout != (Timeout{3 * time.Second, time.Minute, time.Minute, 10 * time.Minute, time.Minute}) {
		t.Errorf("timeout %+v", c.Timeout)
	}
	if c.Limits.Body != 32<<20 || c.Stream.Queue != 64<<10 || c.Retry.Attempts != 4 || c.Listen != "127.0.0.1:8080" || c.Timing != "stages" {
		t.Errorf("limits %+v, stream %+v, retry %+v, listen %s", c.Limits, c.Stream, c.Retry, c.Listen)
	}
}

// TestDefaultsAreTheSchemas holds the defaults of an absent member to those that the schema documents.
func TestDefaultsAreTheSchemas(t *testing.T) {
	full := small + `
listen: 127.0.0.1:8080
admin: {listen: 127.0.0.1:8081, token: ""}
plugin_mtls: false
retry: {attempts: 4, backoff: {first: 200ms, max: 5s}}
timeout: {connect: 3s, first_content: 60s, idle: 60s, total: 10m, stalled: 60s}
stream: {queue: 64KiB, keepalive_after: 15s, on_disconnect: drain, drain_limit: 60s, drain_bytes: 1MiB}
translate: strict
limits: {body: 32MiB, depth: 128, head: 64KiB, head_timeout: 10s, in_flight: 20000}
server_timing: stages
`
	a, err := parse(small)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(full)
	if err != nil {
		t.Fatal(err)
	}
	if a.Timeout != b.Timeout || a.Retry != b.Retry || a.Stream != b.Stream || a.Limits != b.Limits || a.Listen != b.Listen || a.Admin != b.Admin ||
		a.Lenient != b.Lenient || a.Timing != b.Timing || a.PluginMTLS != b.PluginMTLS {
		t.Errorf("defaults differ from what the schema says:\n%+v\n%+v", a, b)
	}
	if a.Hash() == b.Hash() || a.Hash() == "" {
		t.Errorf("hashes %q and %q, want two", a.Hash(), b.Hash())
	}
}

func TestHashIgnoresLayout(t *testing.T) {
	a, _ := parse(small)
	b, err := parse("# a comment\n\n" + strings.ReplaceAll(small, "${KEY}", "sk-1"))
	if err != nil || a.Hash() != b.Hash() {
		t.Errorf("hashes %q and %q of the same configuration (%v)", a.Hash(), b.Hash(), err)
	}
	c, err := Parse("penstock.yaml", []byte(small), Options{Env: env("KEY", "sk-2")})
	if err != nil || c.Hash() == a.Hash() {
		t.Errorf("a changed variable does not change the hash (%v)", err)
	}
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/secret", []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(text, want string) {
		t.Helper()
		doc := strings.ReplaceAll(small, "${KEY}", text)
		c, err := Parse("penstock.yaml", []byte(doc), Options{Dir: dir, Env: env("KEY", "sk-1", "EMPTY", "")})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := c.Providers[0].Credentials[0].Values["api_key"].Reveal(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	f("${KEY}", "sk-1")
	f("a-${KEY}-b", "a-sk-1-b")
	f("${NONE:-other}", "other")
	f("${EMPTY:-other}", "other")
	f("${EMPTY}", "")
	f("${NONE:-}", "")
	f("$${KEY}", "${KEY}")
	f("${file:secret}", "from-a-file")
	f("${file:"+dir+"/secret}", "from-a-file")
}

// bad are faulty texts with what must be said of them, place included.
var bad = []struct{ name, text, want, hint string }{
	{"unknown member", strings.Replace(small, "plugin:", "plugn:", 1), `2:12: providers.openai: unknown member "plugn" (did you mean "plugin"?)`, "members are"},
	{"unknown member at the top", small + "modles: {}\n", `7:1: unknown member "modles" (did you mean "models"?)`, "members are"},
	{"missing member", strings.Replace(small, ", model: gpt-4.1", "", 1), `4:23: models.gpt.deployments[0]: missing member "model"`, ""},
	{"missing providers", "models: {a: {deployments: [{provider: p, model: m}]}}\n", `1:1: missing member "providers"`, ""},
	{"wrong type", small + "retry: {attempts: many}\n", `7:19: retry.attempts: want integer, got "many"`, "For example: 3"},
	{"out of range", small + "retry: {attempts: 0}\n", "7:19: retry.attempts: 0: must be >= 1", ""},
	{"not in the list", small + "server_timing: all\n", `7:16: server_timing: want one of "off", "totals", "stages", "attempts", got "all"`, ""},
	{"bad duration", small + "timeout: {idle: 5x}\n", `7:17: timeout.idle: "5x" has not the form`, "For example: 60s"},
	{"bad size", small + "limits: {body: 1 MB}\n", `7:16: limits.body: "1 MB" has not the form`, "For example: 32MiB"},
	{"unknown provider", strings.Replace(small, "provider: openai", "provider: opnai", 1), `4:34: models.gpt.deployments[0].provider: unknown provider "opnai" (did you mean "openai"?)`, "providers are openai"},
	{"unknown model of a key", strings.Replace(small, "name: dev", "name: dev, models: [gtp]", 1), `6:26: keys[0].models[0]: unknown model "gtp" (did you mean "gpt"?)`, "models are gpt"},
	{"variable not set", strings.Replace(small, "${KEY}", "${NO_KEY}", 1), "2:64: providers.openai.credentials[0].api_key: the variable NO_KEY is not set", "export NO_KEY=…"},
	{"file not there", strings.Replace(small, "${KEY}", "${file:/nowhere/x}", 1), "2:64: providers.openai.credentials[0].api_key: open /nowhere/x: no such file or directory", ""},
	{"twice", small + "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", "8:1: listen: stands twice, first on line 7", ""},
	{"alias", small + "admin: &a {}\n", "7:8: admin: anchors and aliases are not taken", "write the value out"},
	{"merge key", small + "admin: {<<: {}}\n", "7:9: admin: merge keys are not taken", ""},
	{"tag", small + "listen: !!binary aGk=\n", "7:9: listen: the tag !!binary is not taken", ""},
	{"two documents", small + "---\na: 1\n", "7:1: a second document, want one", ""},
	{"empty", "", "1:1: the file is empty", "penstock init"},
	{"only a comment", "# nothing\n", "1:1: the file ", "penstock init"},
	{"a list", "- a\n", "1:1: want object, got a list", ""},
	{"syntax", "a: [1,\n", "2:1: ", ""},
	{"tab", "a:\n\tb: 1\n", "2:", ""},
	{"base URL", strings.Replace(small, "plugin: openai", "plugin: openai, base_url: \"ftp://x\"", 1), `2:38: providers.openai.base_url: want http:// or https://`, ""},
	{"base URL with a user", strings.Replace(small, "plugin: openai", "plugin: openai, base_url: \"https://u:p@x\"", 1), `2:38: providers.openai.base_url: want http:// or https://`, ""},
	{"no secret", strings.Replace(small, "secret: psk_0123456789abcdefghijkl", "zdr: true", 1), "6:5: keys[0]: want exactly one of secret and sha256", ""},
	{"short secret", strings.Replace(small, "psk_0123456789abcdefghijkl", "short", 1), "6:25: keys[0].secret: want 8 to 256 characters, got 5", ""},
	{"secret with a space", strings.Replace(small, "psk_0123456789abcdefghijkl", "psk_012345 6789abcdefghijkl", 1), "6:25: keys[0].secret: want printable ASCII", ""},
	{"bad sha256", strings.Replace(small, "secret: psk_0123456789abcdefghijkl", "sha256: abc", 1), `6:25: keys[0].sha256: "abc" has not the form`, ""},
	{"two keys of one name", small + "  - {name: dev, secret: psk_0123456789abcdefghijkm}\n", `7:12: keys[1].name: the name "dev" stands twice`, ""},
	{"the same key twice", small + "  - {name: dev2, secret: psk_0123456789abcdefghijkl}\n", "7:5: keys[1]: the same key as keys[0]", ""},
	{"bad listen", small + "listen: 8080\n", `7:9: listen: want string, got 8080`, ""},
	{"bad listen text", small + "listen: localhost\n", `7:9: listen: want HOST:PORT, got "localhost"`, ""},
	{"bad expiry", strings.Replace(small, "name: dev", "name: dev, expires: tomorrow", 1), `6:26: keys[0].expires: want a time as RFC 3339 has it, got "tomorrow"`, ""},
	{"price with too many decimals", strings.Replace(small, "model: gpt-4.1", "model: gpt-4.1, price: {input: 0.1234567891, output: 1}", 1), `want USD with at most nine decimals`, ""},
	{"negative price", strings.Replace(small, "model: gpt-4.1", "model: gpt-4.1, price: {input: -1, output: 1}", 1), `price.input: -1`, ""},
	{"unknown capability", strings.Replace(small, "model: gpt-4.1", "model: gpt-4.1, capabilities: [tolls]", 1), `want one of "tools"`, ""},
	{"bad name", strings.Replace(small, "gpt:", "\"a b\":", 1), `4:3: models`, ""},
	{"source store", small + "source: store\n", "7:9: source: the store as the source", ""},
	{"deep", small + "guards: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n", "nested deeper than 64", ""},
}

func TestFaultsHaveAPlaceAndARemedy(t *testing.T) {
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.text)
			list, ok := err.(Diagnostics)
			if !ok {
				t.Fatalf("error %v, want diagnostics", err)
			}
			if got := list.Error(); !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant %s", got, c.want)
			}
			hints := ""
			for _, d := range list {
				hints += d.Hint + "\n"
				if d.Line < 1 || d.Column < 1 || d.File != "penstock.yaml" {
					t.Errorf("%+v has no place", d)
				}
			}
			if !strings.Contains(hints, c.hint) {
				t.Errorf("hints %q, want %q", hints, c.hint)
			}
		})
	}
}

func TestRender(t *testing.T) {
	text := strings.Replace(small, "plugin:", "plugn:", 1)
	_, err := parse(text)
	var b strings.Builder
	err.(Diagnostics).Render(&b, []byte(text), false)
	_, after, ok := strings.Cut(b.String(), "penstock.yaml:2:12: ")
	lines := strings.Split(after, "\n")
	if !ok || len(lines) < 5 || !strings.HasPrefix(lines[4], "   help: members are ") || !strings.HasPrefix(lines[2], "    2 |   openai: {plugn") || strings.Index(lines[3], "^") != strings.Index(lines[2], "plugn") {
		t.Errorf("the caret is not under the name:\n%s", b.String())
	}
}

func TestPendingMembersAreSaid(t *testing.T) {
	c, err := parse(strings.Replace(small, "name: dev", "name: dev, limits: {rpm: 3}", 1) + "cache: {mode: exact}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := c.Warnings.Error()
	if !strings.Contains(got, "keys[0].limits: not yet in force") || !strings.Contains(got, "7:8: warning: cache: not yet in force") {
		t.Errorf("warnings:\n%s", got)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	c, err := parse(small)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "sk-1") || strings.Contains(c.Providers[0].Credentials[0].Values["api_key"].String(), "sk-1") {
		t.Errorf("a secret prints: %s", b)
	}
}

func TestParseUSD(t *testing.T) {
	f := func(text string, want Nano, fails bool) {
		t.Helper()
		got, err := ParseUSD(text)
		if (err != nil) != fails || !fails && got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	f("3", 3e9, false)
	f("0.30", 3e8, false)
	f("0.000000001", 1, false)
	f("20", 20e9, false)
	f("0.0000000001", 0, true)
	f("1e3", 0, true)
	f("-1", 0, true)
	f("", 0, true)
	f("99999999999", 0, true)
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	for _, c := range bad {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := parse(text)
		list, ok := err.(Diagnostics)
		if err != nil && (!ok || list.Errors() == 0) {
			t.Fatalf("error %v, want diagnostics", err)
		}
		for _, d := range list {
			if d.Line < 1 || d.Column < 1 || d.Message == "" {
				t.Errorf("%+v has no place or no text", d)
			}
		}
	})
}

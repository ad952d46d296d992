package schemas

import (
	"slices"
	"testing"
)

func TestExplain(t *testing.T) {
	f := func(path, typ, def, example string, members ...string) {
		t.Helper()
		d, ok := Explain(path)
		var names []string
		for _, m := range d.Members {
			names = append(names, m.Path)
		}
		if !ok || d.Type != typ || d.Default != def || d.Examples[0] != example || d.Description == "" || !slices.Equal(names, members) {
			t.Errorf("%s: %+v, want %s, default %s, example %s, members %q", path, d, typ, def, example, members)
		}
	}
	f("timeout.idle", "duration", `"60s"`, `"30s"`)
	f("stream.drain_usd", "usd", "null", `"0.05"`)
	f("models.*.deployments[].price.input", "usd", "", "3")
	f("models.chat.deployments[0].price", "object or array of object", "null", `{"input":3,"output":15,"cache_read":0.3,"cache_write":3.75,"cache_write_1h":6}`,
		"audio_input", "audio_output", "cache_read", "cache_write", "cache_write_1h", "from", "image", "image_input", "image_output", "input", "output", "reasoning", "request", "service_tiers", "tiers", "web_search")
	f("models.chat.deployments[0].price[1].tiers[].above", "integer", "", "200000")
	f("retry.backoff", "object", "{}", `{"first":"100ms","max":"2s"}`, "first", "max")
	f("plugin_dirs", "array of string", "[]", `["./plugins.d"]`)
	f("keys[].models", "array of model", "null", `["chat","auto"]`)
	f("teams", "object", "{}", `{"search":{"budget":{"usd":500}}}`, "budget", "credentials", "limits", "models", "organisation", "own_credentials")
	f("providers.x.config", "object", "{}", `{"region":"eu-west-1"}`)
	if d, _ := Explain("providers.x.credentials[].api_key"); !d.Secret || d.Restart {
		t.Errorf("%+v, want a secret", d)
	}
	if d, _ := Explain("keys[].credentials.openai.api_key"); !d.Secret {
		t.Errorf("%+v, want a secret", d)
	}
	if d, _ := Explain("listen"); d.Secret || !d.Restart {
		t.Errorf("%+v, want that a reload cannot change it", d)
	}
	for _, path := range []string{"cache", "cache.ttl", "guards[0]"} {
		if d, _ := Explain(path); !d.Pending {
			t.Errorf("%+v, want that it is not yet in force", d)
		}
	}
	if d, _ := Explain("server_timing"); d.Pending || !Pending("rum") || Pending("server_timing") || Pending("nothing") {
		t.Errorf("%+v, want that it is in force, and rum is not", d)
	}
	if d, _ := Explain("server_timing"); !slices.Equal(d.Values, []string{"off", "totals", "stages", "attempts"}) {
		t.Errorf("%+v, want its values", d)
	}
	if d, ok := Explain(""); !ok || len(d.Members) != 29 || d.Members[0].Path != "admin" {
		t.Errorf("%+v, want the whole", d)
	}
	for _, path := range []string{"nothing", "timeout.nothing", "listen.port", "listen[0]", "timeout.idle.x", "keys[]..", "."} {
		if d, ok := Explain(path); ok {
			t.Errorf("%q: %+v, want nothing", path, d)
		}
	}
}

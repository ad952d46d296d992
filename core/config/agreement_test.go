package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/schemas"
	"github.com/penstock-gateway/penstock/sdk"
)

// host is a configuration in which each part of the schema has a place, with values that no example has.
const host = `{
	"providers": {"openai": {"plugin": "demo"}, "other": {"plugin": "demo", "credentials": [{"api_key": "k"}]}},
	"models": {"chat": {"deployments": [{"provider": "other", "model": "m", "price": {"input": 7, "output": 7, "tiers": [{"above": 7, "input": 7, "output": 7, "cache_read": 7, "cache_write": 7,
		"cache_write_1h": 7, "reasoning": 7, "audio_input": 7, "image_input": 7, "audio_output": 7, "image_output": 7}]}}]}},
	"routers": {"auto": {"policy": "a.star"}},
	"teams": {"search": {"budget": {"usd": 7}}},
	"organisations": {"acme": {"budget": {"usd": 7}}},
	"keys": [{"name": "k", "secret": "psk_0123456789abcdefghijkl", "budget": {"usd": 7}}]
}`

// places say where in the host the elements of lists and mappings are.
var places = map[string]string{"providers.*": "other", "models.*": "chat", "routers.*": "auto", "teams.*": "search", "organisations.*": "acme"}

// TestSchemaAndTypesAgree: to write a member's default changes nothing, so that the schema's default is the one in force;
// and to write its example changes something, so that no member is checked and then lost.
func TestSchemaAndTypesAgree(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(schemas.Config, &schema); err != nil {
		t.Fatal(err)
	}
	base := typed(t, host)
	parts := schema["definitions"].(map[string]any)
	n := 0
	var walk func(s map[string]any, path []string)
	walk = func(s map[string]any, path []string) {
		for name, p := range s["properties"].(map[string]any) {
			p, at := p.(map[string]any), append(slices.Clone(path), name)
			n++
			if def, ok := p["default"]; ok && !has(t, at) {
				if got := typed(t, with(t, at, def)); !reflect.DeepEqual(got, base) {
					t.Errorf("%s: to write the default %v changes the configuration", strings.Join(at, "."), def)
				}
			}
			changed := false
			for _, e := range p["examples"].([]any) {
				changed = changed || !reflect.DeepEqual(typed(t, with(t, at, e)), base)
			}
			if !changed {
				t.Errorf("%s: none of the examples %v changes the configuration", strings.Join(at, "."), p["examples"])
			}
			for sub := p; ; {
				if sub = resolved(sub, parts); sub["properties"] != nil {
					walk(sub, at)
				}
				next, ok := sub["items"].(map[string]any)
				ok = ok && sub["properties"] == nil // what may be a list of itself is seen once
				step := "0"
				if !ok {
					next, ok = sub["additionalProperties"].(map[string]any)
					step = places[strings.Join(at, ".")+".*"]
				}
				if !ok || step == "" {
					break
				}
				sub, at = next, append(at, step)
			}
		}
	}
	walk(schema, nil)
	if n < 110 {
		t.Errorf("%d members were seen, want them all", n)
	}
}

// resolved gives a schema with what it takes over of the definitions.
func resolved(s, parts map[string]any) map[string]any {
	whole := maps.Clone(s)
	of, _ := s["allOf"].([]any)
	for _, o := range of {
		ref, _ := o.(map[string]any)["$ref"].(string)
		for k, v := range parts[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any) {
			if _, ok := whole[k]; !ok {
				whole[k] = v
			}
		}
	}
	return whole
}

// has says whether the host gives a member.
func has(t *testing.T, path []string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(host), &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			v = at[0]
		}
	}
	return v != nil
}

// with gives the host with another value at a path.
func with(t *testing.T, path []string, value any) string {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(host), &root); err != nil {
		t.Fatal(err)
	}
	var at any = root
	for _, name := range path[:len(path)-1] {
		switch v := at.(type) {
		case []any:
			at = v[0]
		case map[string]any:
			if v[name] == nil {
				v[name] = map[string]any{}
				if name == "credentials" || name == "deployments" {
					v[name] = []any{map[string]any{}}
				}
			}
			at = v[name]
		}
	}
	last := path[len(path)-1]
	parent := at.(map[string]any)
	parent[last] = value
	switch path := strings.Join(path, "."); {
	case path == "keys.0.sha256" && value != "":
		delete(parent, "secret")
	case path == "tls.cert" && value != "":
		parent["key"] = "k"
	case path == "store.encryption.previous" && len(value.([]any)) > 0:
		parent["key"] = "a text of more than 32 random characters"
	case path == "tls.key" && value != "":
		parent["cert"] = "c"
	case path == "providers", path == "models": // what the rest refers to
		for name, v := range fresh(t)[last].(map[string]any) {
			if all := parent[last].(map[string]any); all[name] == nil {
				all[name] = v
			}
		}
	}
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fresh(t *testing.T) map[string]any {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(host), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// typed gives what a text says, without where it says it.
func typed(t *testing.T, text string) Config {
	t.Helper()
	c, err := Parse("penstock.yaml", []byte(text), Options{Env: func(name string) (string, bool) { return "of-" + name + "-0123456789abcdef", true }})
	var list Diagnostics
	if errors.As(err, &list) && slices.ContainsFunc(list, func(d Diagnostic) bool { return strings.HasPrefix(d.Path, "source") }) {
		return Config{Source: "store"} // refused until it is in force
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	got := *c
	got.Warnings, got.root, got.hash, got.textHash = nil, nil, "", ""
	return got
}

// TestManifestAndSchemaAgree: the schema of a manifest has exactly the members of sdk.Manifest, and requires exactly those
// that encoding/json never leaves out.
func TestManifestAndSchemaAgree(t *testing.T) {
	s, err := schemas.Compile("plugin.schema.json", schemas.Plugin)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, "manifest", reflect.TypeFor[sdk.Manifest](), s)
}

func agree(t *testing.T, path string, typ reflect.Type, s *jsonschema.Schema) {
	t.Helper()
	if s == nil {
		t.Errorf("%s: no schema", path)
		return
	}
	if len(parts(s)) > 1 {
		s = parts(s)[1]
	}
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return
	case typ.Kind() == reflect.Pointer:
		agree(t, path, typ.Elem(), s)
		return
	case typ.Kind() == reflect.Slice:
		agree(t, path+"[]", typ.Elem(), elements(s))
		return
	case typ.Kind() == reflect.Map:
		agree(t, path+".*", typ.Elem(), member(s, ""))
		return
	case typ.Kind() != reflect.Struct:
		if want := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean"}[typ.Kind()]; len(s.Enum) == 0 && !slices.Contains(s.Types, want) {
			t.Errorf("%s: the schema takes %v, want %s", path, s.Types, want)
		}
		return
	}
	if s.AdditionalProperties != false {
		t.Errorf("%s: unknown members are taken", path)
	}
	known := map[string]bool{}
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		known[name] = true
		if s.Properties[name] == nil {
			t.Errorf("%s.%s: not in the schema", path, name)
			continue
		}
		if required := slices.Contains(s.Required, name); required && options == "omitempty" {
			t.Errorf("%s.%s: required, and left out where it is empty", path, name)
		}
		agree(t, path+"."+name, typ.Field(i).Type, s.Properties[name])
	}
	for name := range s.Properties {
		if !known[name] {
			t.Errorf("%s.%s: not in the type", path, name)
		}
	}
}

// TestExplainAt: what a plugin's own schema refuses is reported where it stands in the file, without values of secrets.
func TestExplainAt(t *testing.T) {
	schema := `{"type":"object","required":["region"],"additionalProperties":false,"properties":{
		"region":{"type":"string","enum":["eu","us"]},
		"token":{"type":"string","minLength":8,"format":"uri","writeOnly":true},
		"mode":{"oneOf":[
			{"type":"object","required":["type"],"properties":{"type":{"const":"fixed"},"n":{"type":"integer","maximum":3}},"additionalProperties":false},
			{"type":"object","required":["type"],"properties":{"type":{"const":"free"},"m":{"type":"boolean"}},"additionalProperties":false}]},
		"step":{"type":"number","multipleOf":2}}}`
	s, err := schemas.Compile("demo.config.json", []byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	f := func(config string, want ...string) {
		t.Helper()
		c := mustParse(t, strings.Replace(small, "plugin: openai", "plugin: openai"+config, 1))
		var values any = map[string]any{}
		if p := c.Providers[0].Config; p != nil {
			if err := json.Unmarshal(p, &values); err != nil {
				t.Fatal(err)
			}
		}
		var invalid *jsonschema.ValidationError
		if !errors.As(s.Validate(values), &invalid) {
			t.Fatalf("%s: valid", config)
		}
		var got []string
		list := c.ExplainAt("providers.openai.config", s, invalid)
		list.sort()
		for _, d := range list {
			got = append(got, strings.TrimPrefix(d.Error(), "penstock.yaml:"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", config, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	f("", `2:3: providers.openai.config: the member "region" is missing`)
	f(", config: {}", `2:28: providers.openai.config: the member "region" is missing`)
	f(", config: {regoin: eu}", `2:37: providers.openai.config: unknown member "regoin" (did you mean "region"?)`)
	f(", config: {region: ue}", `2:45: providers.openai.config.region: want eu or us, got "ue" (did you mean "eu"?)`)
	f(", config: {region: eu, token: hush}",
		`2:56: providers.openai.config.token: want 8 characters or more, got 4`,
		`2:56: providers.openai.config.token: want a text of the format uri, got a value that is not shown`)
	f(", config: {region: eu, mode: {type: fixed, n: 7}}", `2:72: providers.openai.config.mode.n: want at most 3, got 7`)
	f(", config: {region: eu, mode: {type: free, n: 7}}", `2:68: providers.openai.config.mode: unknown member "n"`)
	f(", config: {region: eu, mode: 3}", `2:55: providers.openai.config.mode: want a mapping, got 3`)
	f(", config: {region: eu, step: 3}", fmt.Sprintf(`2:55: providers.openai.config.step: %s`, "3 not multipleOf 2"))
}

package schemas

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

func compile(t *testing.T, name string, text []byte) *jsonschema.Schema {
	t.Helper()
	s, err := Compile(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemasAreDraft07(t *testing.T) {
	for name, text := range map[string][]byte{"config.schema.json": Config, "plugin.schema.json": Plugin} {
		var head struct {
			Schema string `json:"$schema"`
		}
		if err := json.Unmarshal(text, &head); err != nil || head.Schema != "http://json-schema.org/draft-07/schema#" {
			t.Errorf("%s: $schema %q (%v), want draft-07, which editors know", name, head.Schema, err)
		}
		compile(t, name, text) // checks it against the schema of schemas
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"file:///etc/passwd"}`,
		`{"$ref":"https://example.com/x"}`,
		`{"$ref":"other.json"}`,
		`{"properties":{"a":{"$ref":"other.json#/definitions/a"}}}`,
		`{"$schema":"https://example.com/own-draft"}`,
		`{"type":"text"}`,
		`{"pattern":"("}`,
		`[]`,
		`{`,
		`{"description":"` + strings.Repeat("x", maxSchema) + `"}`,
	} {
		if _, err := Compile("x.json", []byte(text)); err == nil {
			t.Errorf("%.60s: compiled, want an error", text)
		}
	}
}

func TestCompileTakes2020(t *testing.T) {
	s := compile(t, "x.json", []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{"type":"integer"}},"prefixItems":[{"$ref":"#/$defs/a"}]}`))
	if s.Validate([]any{json.Number("1")}) != nil || s.Validate([]any{"a"}) == nil {
		t.Error("prefixItems, which is of 2020-12, is not checked")
	}
}

// TestPropertiesAreDocumented: each property has a description; those of the configuration have an example too, and a
// default unless they must be given; defaults and examples are valid.
func TestPropertiesAreDocumented(t *testing.T) {
	for name, text := range map[string][]byte{"config.schema.json": Config, "plugin.schema.json": Plugin} {
		n := 0
		walk(t, compile(t, name, text), raw(t, text), "", func(p property) {
			n++
			if p.Description == "" || strings.TrimSpace(p.Description) != p.Description {
				t.Errorf("%s: %s: description %q", name, p.path, p.Description)
			}
			for _, e := range p.Examples {
				if err := p.Validate(e); err != nil {
					t.Errorf("%s: %s: example: %#v", name, p.path, err)
				}
			}
			if name == "plugin.schema.json" {
				return
			}
			if len(p.Examples) == 0 {
				t.Errorf("%s: no example", p.path)
			}
			if p.hasDefault == p.required {
				t.Errorf("%s: required %v, default %v, want one of them", p.path, p.required, p.hasDefault)
			}
			if p.hasDefault {
				if err := p.Validate(p.Default); err != nil {
					t.Errorf("%s: default: %#v", p.path, err)
				}
			}
		})
		if n < 40 {
			t.Errorf("%s: %d properties were seen, want them all", name, n)
		}
	}
}

func TestRootExamplesAreValid(t *testing.T) {
	s := compile(t, "config.schema.json", Config)
	if len(s.Examples) == 0 {
		t.Error("the configuration has no example")
	}
	for _, e := range s.Examples {
		if err := s.Validate(e); err != nil {
			t.Errorf("%#v", err)
		}
	}
}

// TestRestart: what a reload cannot change is marked, and nothing else.
func TestRestart(t *testing.T) {
	var got []string
	walk(t, compile(t, "config.schema.json", Config), raw(t, Config), "", func(p property) {
		if p.raw["x-restart"] == true {
			got = append(got, p.path)
		}
	})
	slices.Sort(got)
	want := []string{"admin.listen", "admin.token", "counters", "limits.head", "limits.head_timeout", "listen", "store.durability", "store.url", "tls"}
	if !slices.Equal(got, want) {
		t.Errorf("x-restart at %q, want %q", got, want)
	}
}

// TestPendingIsAtTheTop: that is where who asks looks for it.
func TestPendingIsAtTheTop(t *testing.T) {
	var got []string
	walk(t, compile(t, "config.schema.json", Config), raw(t, Config), "", func(p property) {
		if p.raw["x-pending"] == true {
			got = append(got, p.path)
		}
	})
	slices.Sort(got)
	want := []string{"cache", "content_log", "guards", "rum", "telemetry"}
	if !slices.Equal(got, want) {
		t.Errorf("x-pending at %q, want %q", got, want)
	}
}

// property is a property of a schema, compiled and as it stands.
type property struct {
	*jsonschema.Schema
	raw                  map[string]any
	path                 string
	required, hasDefault bool
}

func raw(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// walk visits each property below a schema.
func walk(t *testing.T, s *jsonschema.Schema, m map[string]any, path string, visit func(property)) {
	t.Helper()
	props, _ := m["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		sub := props[name].(map[string]any)
		p := property{Schema: s.Properties[name], raw: sub, path: strings.TrimPrefix(path+"."+name, "."), required: slices.Contains(s.Required, name)}
		_, p.hasDefault = sub["default"]
		visit(p)
		walk(t, p.Schema, sub, p.path, visit)
	}
	if sub, ok := m["items"].(map[string]any); ok {
		if items, ok := s.Items.(*jsonschema.Schema); ok {
			walk(t, items, sub, path+"[]", visit)
		}
	}
	if sub, ok := m["additionalProperties"].(map[string]any); ok {
		walk(t, s.AdditionalProperties.(*jsonschema.Schema), sub, path+".*", visit)
	}
}

package schemas

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestSchemasCompile(t *testing.T) {
	for name, text := range map[string][]byte{"config.schema.json": Config, "plugin.schema.json": Plugin} {
		if _, err := Compile(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Compile("x.json", []byte(`{"$ref":"file:///etc/passwd"}`)); err == nil {
		t.Error("a reference to a file was followed")
	}
	if _, err := Compile("x.json", []byte(`{"$ref":"https://example.com/x"}`)); err == nil {
		t.Error("a reference to a server was followed")
	}
}

// TestPropertiesAreDocumented: each property of the configuration has a description, a default or required place, and an
// example that is valid.
func TestPropertiesAreDocumented(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Config, &root); err != nil {
		t.Fatal(err)
	}
	n := 0
	properties(root, "", func(path string, p map[string]any) {
		n++
		if d, _ := p["description"].(string); d == "" {
			t.Errorf("%s: no description", path)
		}
		if _, ok := p["default"]; !ok {
			t.Errorf("%s: no default", path)
		}
		examples, _ := p["examples"].([]any)
		if len(examples) == 0 {
			t.Errorf("%s: no example", path)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile("p.json", text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		for _, e := range examples {
			if err := s.Validate(e); err != nil {
				t.Errorf("%s: example %v: %v", path, e, err)
			}
		}
	})
	if n < 100 {
		t.Errorf("%d properties were seen, want them all", n)
	}
	s, err := Compile("config.schema.json", Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range root["examples"].([]any) {
		if err := s.Validate(e); err != nil {
			t.Errorf("example: %v", err)
		}
	}
}

// properties visits each property below a schema.
func properties(s map[string]any, path string, visit func(string, map[string]any)) {
	if props, ok := s["properties"].(map[string]any); ok {
		for name, p := range props {
			sub := p.(map[string]any)
			visit(path+"/"+name, sub)
			properties(sub, path+"/"+name, visit)
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if sub, ok := s[k].(map[string]any); ok {
			properties(sub, fmt.Sprintf("%s/%s", path, k), visit)
		}
	}
}

package schema

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestExact(t *testing.T) {
	tests := []struct {
		schema string
		want   bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{},"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`, false},
		{`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"array","items":{"type":"object","properties":{},"additionalProperties":true}}`, false},
		{`{"anyOf":[{"type":"string"},{"allOf":[{}]}]}`, false},
		{`{"type":"object","properties":{"properties":{"type":"string"}},"required":["properties"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"\u0061":{}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":[],"additionalProperties":false}`, false},
		{`true`, true},
		{`{`, false},
	}
	for _, test := range tests {
		if got := Exact([]byte(test.schema)); got != test.want {
			t.Errorf("Exact(%s) = %t, want %t", test.schema, got, test.want)
		}
	}
}

func TestFit(t *testing.T) {
	g := &Grammar{Spoken: []string{"minimum", "maxLength"}, Silent: []string{"$schema"}, Formats: []string{"date"}, MinItems: 1}
	tests := []struct {
		name, in, want string
		changed        []string
	}{
		{"nothing to do", `{"type":"object","properties":{"a":{"type":"string","format":"date"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"date"}},"additionalProperties":false}`, nil},
		{"an object is closed", `{"$schema":"x","type":"object","properties":{"a":{"properties":{}}}}`,
			`{"type":"object","properties":{"a":{"properties":{},"additionalProperties":false}},"additionalProperties":false}`, nil},
		{"an open object is closed", `{"type":["object","null"],"additionalProperties":{"type":"string"}}`,
			`{"type":["object","null"],"additionalProperties":false}`, []string{"additionalProperties"}},
		{"bounds are spoken", `{"type":"array","minItems":2,"items":{"type":"integer","minimum":1,"description":"how \"many\""}}`,
			`{"type":"array","items":{"type":"integer","description":"how \"many\"\n\n{minimum: 1}"},"description":"{minItems: 2}"}`,
			[]string{"minimum", "minItems"}},
		{"a format is spoken", `{"anyOf":[{"type":"string","format":"int64","maxLength":3},{"type":"array","minItems":1}]}`,
			`{"anyOf":[{"type":"string","description":"{format: \"int64\", maxLength: 3}"},{"type":"array","minItems":1}]}`,
			[]string{"format", "maxLength"}},
		{"one of is any of", `{"oneOf":[{"type":"string"},true]}`, `{"anyOf":[{"type":"string"},true]}`, nil},
		{"names are no keywords", `{"properties":{"minimum":{"type":"string"},"$schema":{"minimum":1}}}`,
			`{"properties":{"minimum":{"type":"string"},"$schema":{"description":"{minimum: 1}"}},"additionalProperties":false}`,
			[]string{"minimum"}},
		{"values are no schemas", `{"enum":[{"minimum":1}],"default":{"minimum":1}}`, `{"enum":[{"minimum":1}],"default":{"minimum":1}}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, changed, err := g.Fit([]byte(test.in))
			if err != nil || string(got) != test.want || !slices.Equal(changed, test.changed) {
				t.Errorf("Fit(%s)\n= %s, %q, %v\nwant %s, %q", test.in, got, changed, err, test.want, test.changed)
			}
			again, _, err := g.Fit(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("fitted again: %s, %v", again, err)
			}
		})
	}
}

func FuzzFit(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"minimum":1}}}`, `[]`, `{"description":"","minimum":1}`, `{"description":1,"minimum":1}`, `{"oneOf":{}}`,
	} {
		f.Add(s)
	}
	g := &Grammar{Spoken: []string{"minimum"}, Silent: []string{"$id"}}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := g.Fit([]byte(text))
		if err == nil && !json.Valid(got) {
			t.Errorf("Fit(%q) = %q, which is no JSON", text, got)
		}
		Exact([]byte(text))
	})
}

package config

import "github.com/santhosh-tekuri/jsonschema/v5"

// ExplainAt turns the error of a schema for what stands at a path, such as a plugin's own configuration, into
// diagnostics at their places.
func (c *Config) ExplainAt(path string, s *jsonschema.Schema, e *jsonschema.ValidationError) Diagnostics {
	list := Explain(c.File, c.root.nearest(path), s, e)
	for i := range list {
		list[i].Path = join(path, list[i].Path)
	}
	return list
}

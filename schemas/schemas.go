// Package schemas holds the JSON Schemas (draft-07) of the configuration and of a plugin's manifest, embedded. They are
// what editors complete by and what `penstock validate` checks against; each property is documented where it stands.
package schemas

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Config is the schema of the configuration.
//
//go:embed config.schema.json
var Config []byte

// Plugin is the schema of a plugin's manifest.
//
//go:embed plugin.schema.json
var Plugin []byte

// maxSchema bounds the text of a schema, in bytes: a plugin hands one over.
const maxSchema = 1 << 20

// Compile compiles a schema: draft-07, or another draft up to 2020-12 where it says so. References to anything outside the
// text are refused, so that a schema can make nobody read a file or ask a server. Descriptions, defaults and examples are
// kept.
func Compile(name string, text []byte) (*jsonschema.Schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("schema %s: %d bytes, want %d at most", name, len(text), maxSchema)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	c.ExtractAnnotations = true
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %s: a schema may not refer to another text", url)
	}
	name = "schema:///" + name // a plain name would be made a path in the working directory
	if err := c.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

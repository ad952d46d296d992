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

// Compile compiles a schema: draft-07, or 2020-12 where it says so. References to anything outside the text are refused,
// so that a schema can make nobody read a file or ask a server.
func Compile(name string, text []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	c.ExtractAnnotations = true
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %s: a schema may not refer to another text", url)
	}
	if err := c.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

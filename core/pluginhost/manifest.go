package pluginhost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/schemas"
	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// manifestSchema is the contract's form of a manifest. It is compiled once for all gateways of a process, and does not
// change.
var manifestSchema = sync.OnceValue(func() *jsonschema.Schema {
	s, err := schemas.Compile("plugin.schema.json", schemas.Plugin)
	if err != nil {
		panic("pluginhost: the embedded schema: " + err.Error()) // a test compiles it
	}
	return s
})

// The closed lists of a manifest.
var (
	abilities = [...]string{"tools", "parallel_tools", "images", "audio", "documents", "thinking", "json_schema",
		"prefill", "embeddings", "logprobs", "n"}
	framings  = [...]string{"", "sse", "ndjson", "json-array", "aws-event-stream"}
	authKinds = [...]string{"", "header", "none", "signer", "token"}
	spliceOps = [...]string{"replace", "set", "insert", "delete"}
)

// readManifest reads a manifest's JSON and says what in it cannot be.
func readManifest(text []byte, name string) (*sdk.Manifest, error) {
	m := new(sdk.Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("manifest: %v", err)
	}
	if m.Name != name {
		return nil, fmt.Errorf("manifest: name %q: want %q, as the executable is called", m.Name, name)
	}
	if m.Protocol != sdk.Protocol {
		return nil, fmt.Errorf("manifest: protocol %d: the gateway speaks %d", m.Protocol, sdk.Protocol)
	}
	if m.Version == "" {
		return nil, fmt.Errorf("manifest: version: want one")
	}
	if err := oneOf("auth.kind", m.Auth.Kind, authKinds[:]); err != nil {
		return nil, err
	}
	if err := checkDialects(m.Dialects); err != nil {
		return nil, err
	}
	for i, e := range m.Errors {
		if _, ok := sdk.ParseKind(e.Kind); !ok {
			return nil, fmt.Errorf("manifest: errors[%d].kind %q: no such kind", i, e.Kind)
		}
	}
	for i, c := range m.Capabilities {
		for _, can := range c.Can {
			if err := oneOf(fmt.Sprintf("capabilities[%d].can", i), can, abilities[:]); err != nil {
				return nil, err
			}
		}
	}
	return m, checkForm(text)
}

// readConfigured reads what an instance has answered to its configuration. What stands in it in place of a member of the
// manifest is held to the same rules.
func readConfigured(r *wirepb.ConfigureReply, m *sdk.Manifest) (sdk.Configured, error) {
	c := sdk.Configured{BaseURL: r.GetBaseUrl()}
	changed := *m
	if b := r.GetDialects(); len(b) > 0 {
		if err := json.Unmarshal(b, &c.Dialects); err != nil {
			return sdk.Configured{}, fmt.Errorf("configured: dialects: %v", err)
		}
		changed.Dialects = c.Dialects
	}
	if b := r.GetAuth(); len(b) > 0 {
		c.Auth = new(sdk.Auth)
		if err := json.Unmarshal(b, c.Auth); err != nil {
			return sdk.Configured{}, fmt.Errorf("configured: auth: %v", err)
		}
		changed.Auth = *c.Auth
	}
	if c.Dialects == nil && c.Auth == nil {
		return c, nil
	}
	text, err := json.Marshal(changed)
	if err == nil {
		_, err = readManifest(text, m.Name)
	}
	if err != nil {
		return sdk.Configured{}, fmt.Errorf("configured: %w", err)
	}
	return c, nil
}

// checkForm holds a manifest to schemas/plugin.schema.json. What has a message of its own has been told before: this is
// for members that we do not know, and for values that are of the right type and still no name, path or header.
func checkForm(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return fmt.Errorf("manifest: %v", err)
	}
	err := manifestSchema().Validate(doc)
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	for len(bad.Causes) > 0 {
		bad = bad.Causes[0]
	}
	at := strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(strings.TrimPrefix(bad.InstanceLocation, "/"))
	if at != "" {
		at += ": "
	}
	return fmt.Errorf("manifest: %s%s", at, bad.Message)
}

func checkDialects(ds []sdk.Dialect) error {
	if len(ds) == 0 {
		return fmt.Errorf("manifest: dialects: want at least one")
	}
	seen := make(map[string]bool)
	for i, d := range ds {
		at := fmt.Sprintf("dialects[%d]", i)
		if d.Name == "" || seen[d.Name] {
			return fmt.Errorf("manifest: %s.name %q: want a name of its own", at, d.Name)
		}
		seen[d.Name] = true
		for _, p := range [...]string{d.Path, d.StreamPath, d.CountPath, d.BatchPath} {
			if p != "" && p[0] != '/' {
				return fmt.Errorf("manifest: %s: path %q: want one that begins with /", at, p)
			}
		}
		if err := oneOf(at+".framing", d.Framing, framings[:]); err != nil {
			return err
		}
		for j, s := range d.Splice {
			if err := oneOf(fmt.Sprintf("%s.splice[%d].op", at, j), s.Op, spliceOps[:]); err != nil {
				return err
			}
			if n := strings.Count(strings.Replace(s.At, "/*/", "/", 1), "/"); n < 1 || n > 2 || s.At[0] != '/' {
				return fmt.Errorf("manifest: %s.splice[%d].at %q: want a JSON Pointer of one or two names", at, j, s.At)
			}
		}
	}
	return nil
}

func oneOf(what, got string, list []string) error {
	if slices.Contains(list, got) {
		return nil
	}
	if list[0] == "" {
		list = list[1:]
	}
	return fmt.Errorf("manifest: %s %q: want one of %s", what, got, strings.Join(list, ", "))
}

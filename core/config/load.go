package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/schemas"
)

// maxFile bounds a configuration's text.
const maxFile = 4 << 20

// Options say how a text is read.
type Options struct {
	Env func(name string) (string, bool) // for ${NAME}; nil: nothing is set
	Dir string                           // for relative paths; "" the file's
}

// Load reads and checks a configuration file. The error is Diagnostics where the text is at fault.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Diagnostics{{File: path, Line: 1, Column: 1, Message: "the file does not exist", Hint: "`penstock init` writes one"}}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, text, Options{Env: env})
}

// Parse checks a configuration's text. The error is Diagnostics.
func Parse(file string, text []byte, o Options) (*Config, error) {
	if o.Dir == "" {
		o.Dir = filepath.Dir(file)
	}
	r := &reader{file: file, dir: o.Dir, env: o.Env}
	if len(text) > maxFile {
		return nil, Diagnostics{{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("larger than %d bytes", maxFile)}}
	}
	root := r.read(text)
	if len(r.out) == 0 && root != nil {
		r.checkSchema(root)
	}
	if len(r.out) > 0 || root == nil {
		r.out.sort()
		return nil, r.out
	}
	d := &decoder{Config: &Config{File: file, Dir: o.Dir, root: root}}
	d.all(root)
	d.check()
	d.out.sort()
	if d.out.Errors() > 0 {
		return nil, d.out
	}
	d.Warnings = d.out
	canonical, err := json.Marshal(root.plain()) // names sorted, values expanded
	if err != nil {
		return nil, err
	}
	d.hash = hashOf(canonical)
	return d.Config, nil
}

// compiled is the configuration's schema; it is the same for all gateways of a process.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) { return schemas.Compile("config.schema.json", schemas.Config) })

// checkSchema reports what the schema refuses, each at its place.
func (r *reader) checkSchema(root *node) {
	s, err := compiled()
	if err != nil {
		panic("config: the embedded schema is broken: " + err.Error())
	}
	var invalid *jsonschema.ValidationError
	if err := s.Validate(root.plain()); errors.As(err, &invalid) {
		r.out = append(r.out, Explain(r.file, root, s, invalid)...)
	}
}

// Explain turns the leaves of a schema's error into diagnostics at their places in a tree.
func Explain(file string, root *node, s *jsonschema.Schema, e *jsonschema.ValidationError) Diagnostics {
	x := &explainer{file: file, root: root, schema: s, seen: map[string]bool{}}
	x.leaf(e)
	return x.out
}

type explainer struct {
	file   string
	root   *node
	schema *jsonschema.Schema
	seen   map[string]bool
	out    Diagnostics
}

// leaf descends to the causes that have none themselves.
func (x *explainer) leaf(e *jsonschema.ValidationError) {
	if len(e.Causes) > 0 && !strings.HasSuffix(e.KeywordLocation, "/oneOf") {
		for _, c := range e.Causes {
			x.leaf(c)
		}
		return
	}
	n, path := x.root.pointer(e.InstanceLocation)
	switch {
	case strings.HasSuffix(e.KeywordLocation, "/additionalProperties"):
		for _, name := range quoted.FindAllString(e.Message, -1) {
			x.unknown(n, path, strings.Trim(name, "'"), e)
		}
	case strings.HasSuffix(e.KeywordLocation, "/required"):
		for _, name := range quoted.FindAllString(e.Message, -1) {
			x.add(n, path, "", "missing member %q", strings.Trim(name, "'"))
		}
	default:
		x.add(n, path, x.hint(e), "%s", message(n, e))
	}
}

// quoted finds names in the library's messages.
var quoted = regexp.MustCompile(`'[^']*'`)

func (x *explainer) add(n *node, path, hint, format string, args ...any) {
	d := Diagnostic{File: x.file, Line: n.line, Column: n.column, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)}
	if id := d.Error(); !x.seen[id] {
		x.seen[id] = true
		x.out = append(x.out, d)
	}
}

// unknown reports a member that is not known, and what it may have been meant to be.
func (x *explainer) unknown(n *node, path, name string, e *jsonschema.ValidationError) {
	at := n
	if c := n.members[name]; c != nil && c.key != nil {
		at = c.key
	}
	known := x.properties(e)
	text, hint := fmt.Sprintf("unknown member %q", name), ""
	if near := nearestName(name, known); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) > 0 {
		hint = "members are " + strings.Join(known, ", ")
	}
	x.add(at, path, hint, "%s", text)
}

// pointer gives the node of a JSON Pointer, and the path as people write it.
func (n *node) pointer(p string) (*node, string) {
	path := ""
	for _, part := range strings.Split(strings.TrimPrefix(p, "/"), "/") {
		if p == "" {
			break
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if i, err := strconv.Atoi(part); err == nil && n.kind == sequence && i < len(n.items) {
			n, path = n.items[i], fmt.Sprintf("%s[%d]", path, i)
		} else if c := n.members[part]; c != nil {
			n, path = c, join(path, part)
		}
	}
	return n, path
}

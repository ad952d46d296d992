package core

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// layers is policy, not description: a package may import ours only from an
// earlier line. Do not edit it to make a build pass.
//
// A name stands for itself, and a/* for the folders of a that are not named. A
// folder xtest in a folder x holds fixtures for the users of x: it stands just
// above x, whatever else is said.
const layers = `
core core/jsonspan core/frame core/coding core/bytequeue core/timing core/flight core/faultpoint
schemas sdk/wire/wirepb
sdk/*
sdk
core/dialect core/price core/h2
core/config core/h1 core/dialect/* core/store core/limits
core/pluginhost core/policy core/catalog core/credential core/fault core/ledger core/telemetry
core/admit core/cache core/guard core/health core/shed
core/route core/reach core/keyring
core/relay/*
core/relay core/replay
core/generation
core/admin/console
core/gateway core/admin
policies plugins/* examples/*
cmd/penstock/*
cmd/*
`

// only narrows what the order alone would allow: folders on the left see of our
// packages nothing but what stands on the right.
var only = []struct {
	from []string
	to   []string
	why  string
}{
	{[]string{"plugins/*"}, []string{"sdk", "sdk/oauth", "sdk/schema"}, "a plugin is a separate program and sees sdk alone"},
	{[]string{"sdk", "sdk/*", "sdk/wire/*"}, []string{"core/jsonspan", "sdk", "sdk/*", "sdk/wire/*"}, "a plugin's author must not pull in the gateway"},
	{[]string{"schemas", "policies"}, nil, "embedded files lean on nothing"},
}

const module = "github.com/penstock-gateway/penstock/"

func TestLayers(t *testing.T) {
	// The files are opened here and not listed by the go command: the test cache
	// follows opened files, and would never see a new import otherwise.
	for _, f := range layerFindings(t, os.DirFS("..")) {
		t.Error(f)
	}
}

// layerFindings reads the imports of each Go file of a module and says which of
// them break the order, one line each.
func layerFindings(t *testing.T, module fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && unread(d.Name()):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		found = append(found, fileFindings(t, module, name)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unread reports whether the go command passes a folder of this name by.
func unread(name string) bool {
	return name == "testdata" || name == "node_modules" || name[0] == '.' || name[0] == '_'
}

func fileFindings(t *testing.T, tree fs.FS, name string) (found []string) {
	t.Helper()
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return []string{err.Error()}
	}
	from := path.Dir(name)
	if levelOf(from) == 0 {
		return []string{fmt.Sprintf("%s: %s has no layer: add it to the list", name, from)}
	}
	if strings.HasSuffix(name, "_test.go") && strings.HasSuffix(f.Name.Name, "_test") {
		return nil // Looks at the package from outside, as its users on any floor do.
	}
	for _, im := range f.Imports {
		s, err := strconv.Unquote(im.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if to, ours := strings.CutPrefix(s, module); ours {
			if why := refusal(from, to); why != "" {
				found = append(found, fmt.Sprintf("%s: %s may not import %s: %s", name, from, to, why))
			}
		}
	}
	return found
}

// refusal says why from may not import to, or nothing where it may.
func refusal(from, to string) string {
	switch {
	case levelOf(to) == 0:
		return "it has no layer"
	case levelOf(to) >= levelOf(from):
		return "it is not on an earlier line"
	}
	for _, rule := range only {
		if matches(rule.from, from) && !matches(rule.to, to) {
			return rule.why
		}
	}
	return ""
}

// levelOf is the place of a package in the order, 0 for one that has none. Lines
// count in twos, so that a folder of fixtures fits between two of them.
func levelOf(pkg string) int {
	if dir := path.Dir(pkg); path.Base(pkg) == path.Base(dir)+"test" && levelOf(dir) > 0 {
		return levelOf(dir) + 1
	}
	named, wild, n := 0, 0, 0
	for line := range strings.Lines(layers) {
		n += 2
		names := strings.Fields(line)
		if slices.Contains(names, pkg) {
			named = n
		}
		if slices.Contains(names, path.Dir(pkg)+"/*") {
			wild = n
		}
	}
	if named > 0 {
		return named
	}
	return wild
}

func matches(patterns []string, pkg string) bool {
	return slices.Contains(patterns, pkg) || slices.Contains(patterns, path.Dir(pkg)+"/*")
}

// TestLayersRefuse holds the test above to account: each case is one file, and
// what must be said of it.
func TestLayersRefuse(t *testing.T) {
	f := func(name, pkg, imports, want string) {
		t.Helper()
		src := "package " + pkg + "\n"
		for _, im := range strings.Fields(imports) {
			src += "import " + strconv.Quote(module+im) + "\n"
		}
		got := strings.Join(layerFindings(t, fstest.MapFS{name: {Data: []byte(src)}}), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s imports %s: got %q, want it to say %q", name, imports, got, want)
		}
	}
	const order = "it is not on an earlier line"
	f("core/relay/a.go", "relay", "core/route core/jsonspan sdk", "")
	f("core/relay/a.go", "relay", "core/gateway", order)
	f("core/cache/a.go", "cache", "core/guard", order)
	f("core/cache/a.go", "cache", "core/cache", order)
	f("core/route/a.go", "route", "plugins/openai", order)
	f("core/route/a.go", "route", "policies", order)
	f("core/route/a.go", "route", "cmd/penstock", order)
	f("core/route/a.go", "route", "core/nowhere", "core/nowhere: it has no layer")
	f("core/nowhere/a.go", "nowhere", "", "core/nowhere has no layer")
	f("core/dialect/gemini/a.go", "gemini", "sdk core/frame", "")
	f("core/dialect/gemini/a.go", "gemini", "core/dialect/anthropic", order)
	f("core/dialect/gemini/a.go", "gemini", "core/dialect", "")
	f("core/dialect/a.go", "dialect", "core/dialect/gemini", order)
	f("core/admin/a.go", "admin", "core/admin/console", "")
	f("core/admin/console/a.go", "console", "core/admin", order)

	f("sdk/a.go", "sdk", "core/jsonspan sdk/wire", "")
	f("sdk/wire/a.go", "wire", "sdk", order)
	f("sdk/wire/a.go", "wire", "sdk/wire/wirepb", "")
	f("sdk/a.go", "sdk", "core/frame", "must not pull in the gateway")
	f("sdk/wire/a.go", "wire", "core/flight", "must not pull in the gateway")
	f("sdk/a.go", "sdk", "core/store", order)
	f("sdk/sdktest/a.go", "sdktest", "sdk", "")
	f("sdk/sdktest/a.go", "sdktest", "core/frame", "must not pull in the gateway")
	f("core/h1/h1test/a.go", "h1test", "core/h1", "")
	f("core/h1/a.go", "h1", "core/h1/h1test", order)
	f("schemas/a.go", "schemas", "core/jsonspan", "embedded files lean on nothing")

	f("plugins/acme/a.go", "main", "sdk", "")
	f("plugins/acme/a.go", "main", "core/jsonspan", "sees sdk alone")
	f("plugins/acme/a.go", "main", "sdk/wire", "sees sdk alone")
	f("plugins/acme/a.go", "main", "plugins/openai", order)
	f("cmd/penstock/a.go", "main", "core/gateway plugins/openai policies", "")

	f("core/cache/a_test.go", "cache", "core/gateway", order)
	f("core/cache/a_test.go", "cache_test", "core/gateway", "")
	f("core/cache/a.go", "cache_test", "core/gateway", order)
	f("core/cache/testdata/a.go", "x", "core/gateway", "")
	f("core/cache/a.go", "cache", "core/gateway\" \"", "a.go:")
}

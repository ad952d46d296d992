package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// modulePath is the module whose rules these are.
const modulePath = "github.com/penstock-gateway/penstock"

// A tree is the repository as the checks see it: its folders, and its Go files
// parsed and resolved. It is read once and not changed.
type tree struct {
	fsys     fs.FS
	fset     *token.FileSet
	files    []*file // by path
	packages []*pkg  // by folder; an external test package after the one it tests
	broken   []finding
}

// A file is one Go file.
type file struct {
	path      string
	src       []byte
	syntax    *ast.File
	test      bool
	generated bool
	pkg       *pkg
}

// A pkg is what the files of one folder that share a package name declare.
type pkg struct {
	dir   string
	name  string
	files []*file
	// types and info resolve the names of this package. Imports are taken as empty
	// packages, so what depends on them has no type; nothing here needs it.
	types *types.Package
	info  *types.Info
}

// A finding is one place where the tree breaks a rule.
type finding struct {
	check   string
	file    string
	line    int
	message string
	// subject is what an exception names: a file, or file#Function.
	subject string
	// final marks a finding that no exception lifts.
	final bool
}

// String gives the form that editors turn into a link.
func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]", f.file, max(f.line, 1), f.message, f.check)
}

// byPlace orders findings as a reader walks the tree.
func byPlace(a, b finding) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.message, b.message))
}

// readTree parses each Go file below fsys that the go command would see. A file
// that does not parse is a finding, not an error: the rest can still be read.
func readTree(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys, fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && unread(d.Name()):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return t.parse(name)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range t.packages {
		p.resolve(t.fset)
	}
	return t, nil
}

// unread reports whether the go command passes a folder of this name by.
func unread(name string) bool {
	return name == "testdata" || name == "node_modules" || name[0] == '.' || name[0] == '_'
}

func (t *tree) parse(name string) error {
	src, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.broken = append(t.broken, finding{file: name, message: err.Error(), final: true})
		return nil
	}
	f := &file{
		path: name, src: src, syntax: syntax,
		test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
	}
	dir := path.Dir(name)
	i := slices.IndexFunc(t.packages, func(p *pkg) bool { return p.dir == dir && p.name == syntax.Name.Name })
	if i < 0 {
		i = len(t.packages)
		t.packages = append(t.packages, &pkg{dir: dir, name: syntax.Name.Name})
	}
	f.pkg = t.packages[i]
	f.pkg.files = append(f.pkg.files, f)
	t.files = append(t.files, f)
	return nil
}

func (p *pkg) resolve(fset *token.FileSet) {
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	conf := types.Config{
		Importer:    hollow{},
		FakeImportC: true,
		Error:       func(error) {}, // Expected: the imports are empty.
	}
	var syntax []*ast.File
	for _, f := range p.files {
		syntax = append(syntax, f.syntax)
	}
	p.types, _ = conf.Check(p.dir, fset, syntax, p.info)
}

// hollow imports each package as an empty one, so that a check needs neither the
// module cache nor a build.
type hollow struct{}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// Import makes a package with the name that its path leads one to expect.
func (hollow) Import(importPath string) (*types.Package, error) {
	name := path.Base(importPath)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(importPath))
	}
	p := types.NewPackage(importPath, name)
	p.MarkComplete()
	return p, nil
}

func (t *tree) line(n ast.Node) int { return t.fset.Position(n.Pos()).Line }

// at makes a finding about a node of a file.
func (t *tree) at(f *file, n ast.Node, format string, args ...any) finding {
	return finding{file: f.path, line: t.line(n), subject: f.path, message: fmt.Sprintf(format, args...)}
}

// code gives the files that become part of a program.
func (t *tree) code() []*file {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *file) bool { return f.test })
}

// member says which name of which imported package an expression is:
// "net/http" and "Get" for http.Get. The path is empty where it is none.
func (f *file) member(e ast.Expr) (importPath, name string) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	p, ok := f.pkg.info.Uses[x].(*types.PkgName)
	if !ok {
		return "", ""
	}
	return p.Imported().Path(), sel.Sel.Name
}

// each calls visit for each node of type N in a file, in order of appearance.
func each[N ast.Node](root ast.Node, visit func(N)) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n, ok := n.(N); ok {
			visit(n)
		}
		return true
	})
}

// literal is the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// lines counts the lines of a text, a last one without an end included.
func lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// within reports whether a path is one of these folders or stands below one.
func within(name string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}

package main

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// packageComments wants one package comment for each package, where a reader
// looks for it: in doc.go or in the file that bears the package's name. A second
// one would be joined to the first in an order that nobody chose.
func packageComments(t *tree) (found []finding) {
	for _, p := range t.packages {
		var commented []*file
		for _, f := range p.files {
			if !f.test && f.syntax.Doc != nil {
				commented = append(commented, f)
			}
		}
		code := slices.ContainsFunc(p.files, func(f *file) bool { return !f.test })
		switch {
		case !code: // Tests alone; their file says what they are for.
		case len(commented) == 0:
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: "package " + p.name + ": has no package comment, want one that says what it does and what it leaves to whom"})
		case len(commented) > 1:
			for _, f := range commented[1:] {
				found = append(found, t.at(f, f.syntax, "package %s: has another package comment in %s, want one", p.name, commented[0].path))
			}
		default:
			found = append(found, packageComment(t, p, commented[0])...)
		}
	}
	return found
}

func packageComment(t *tree, p *pkg, f *file) (found []finding) {
	places := []string{"doc.go", p.name + ".go", path.Base(p.dir) + ".go"}
	if p.name == "main" {
		// A program's comment is the manual of its command.
		places = append(places, "main.go")
	} else if text := f.syntax.Doc.Text(); !strings.HasPrefix(text, "Package "+p.name+" ") {
		found = append(found, t.at(f, f.syntax.Doc, "package %s: its comment begins %q, want \"Package %s …\"", p.name, firstWords(text), p.name))
	}
	if !slices.Contains(places, path.Base(f.path)) {
		found = append(found, t.at(f, f.syntax.Doc, "package %s: its comment stands in %s, want it in %s", p.name, path.Base(f.path), strings.Join(places[:2], " or ")))
	}
	return found
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(3, len(words))], " ")
}

// undemanding are methods whose names say all there is to say.
var undemanding = []string{"Error", "String", "Unwrap", "GoString", "LogValue", "Len", "Less", "Swap"}

// exportedDocs wants a comment on each exported function, method, type, constant
// and variable. A comment on a group serves all that is in it.
func exportedDocs(t *tree) (found []finding) {
	for _, f := range t.code() {
		if f.pkg.name == "main" || f.generated {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && visible(d) {
					found = append(found, undocumented(t, f, d.Name))
				}
			case *ast.GenDecl:
				if d.Doc == nil {
					for _, name := range bareNames(d) {
						found = append(found, undocumented(t, f, name))
					}
				}
			}
		}
	}
	return found
}

func undocumented(t *tree, f *file, name *ast.Ident) finding {
	found := t.at(f, name, "%s: has no comment, want its reasons, units, errors or sources", name.Name)
	found.subject = f.path + "#" + name.Name
	return found
}

// visible reports whether a function can be reached from outside, and asks for
// more than its name.
func visible(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	return ast.IsExported(receiver(d)) && !slices.Contains(undemanding, d.Name.Name)
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// bareNames gives the exported names of a declaration that have no comment of
// their own, before them or behind them.
func bareNames(d *ast.GenDecl) (bare []*ast.Ident) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Doc == nil && spec.Comment == nil && spec.Name.IsExported() {
				bare = append(bare, spec.Name)
			}
		case *ast.ValueSpec:
			if spec.Doc != nil || spec.Comment != nil {
				continue
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					bare = append(bare, name)
				}
			}
		}
	}
	return bare
}

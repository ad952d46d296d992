package main

import (
	"fmt"
	"go/ast"
	"path"
)

// The budgets. Of the codebases that were taken as models, 94 to 97% of the
// functions have 60 lines or fewer; file sizes differ widely, so that limit is
// soft up to where no reader follows any more.
const (
	functionLines = 60
	fileLines     = 400
	fileLinesMost = 800
	packageFiles  = 12
	folderDepth   = 3
)

// functionSizes holds functions to their budget. In tests the lines of tables
// are not counted: a table is data, and is read a line at a time.
func functionSizes(t *tree) (found []finding) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		each(f.syntax, func(d *ast.FuncDecl) {
			n := t.span(d)
			if f.test {
				n -= t.tableLines(d)
			}
			if n > functionLines {
				over := t.at(f, d, "%s: has %d lines, want at most %d", d.Name.Name, n, functionLines)
				over.subject = f.path + "#" + d.Name.Name
				found = append(found, over)
			}
		})
	}
	return found
}

// span counts the lines that a node stands on.
func (t *tree) span(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.line(n) + 1
}

// tableLines counts the lines of a function that belong to literal slices and
// maps, but for their first and last.
func (t *tree) tableLines(d *ast.FuncDecl) int {
	n := 0
	ast.Inspect(d, func(node ast.Node) bool {
		lit, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch lit.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			n += max(0, t.span(lit)-2)
			return false
		}
		return true
	})
	return n
}

// fileSizes holds files and packages to their budgets.
func fileSizes(t *tree) (found []finding) {
	for _, f := range t.files {
		n := lines(f.src)
		switch {
		case f.generated:
		case n > fileLinesMost:
			found = append(found, finding{file: f.path, line: fileLinesMost + 1, final: true,
				message: fmt.Sprintf("has %d lines, and may never have more than %d: split it by noun", n, fileLinesMost)})
		case n > fileLines && !f.test:
			found = append(found, finding{file: f.path, line: fileLines + 1, subject: f.path,
				message: fmt.Sprintf("has %d lines, want at most %d: split it by noun", n, fileLines)})
		}
	}
	for _, p := range t.packages {
		n := 0
		for _, f := range p.files {
			if !f.test && !f.generated {
				n++
			}
		}
		if n > packageFiles {
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: fmt.Sprintf("package %s: has %d files beside its tests, want at most %d", p.name, n, packageFiles)})
		}
		if n := depth(p.dir); n > folderDepth {
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: fmt.Sprintf("%s: stands %d folders below the top level, want at most %d", p.dir, n, folderDepth)})
		}
	}
	return found
}

// depth counts the folders between a package and its entry at the top.
func depth(dir string) int {
	n := 0
	for d := path.Dir(dir); d != "."; d = path.Dir(d) {
		n++
	}
	return n
}

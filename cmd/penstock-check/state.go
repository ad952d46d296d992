package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// initFunctions refuses init: two gateways must be able to run in one test
// process, and what a package does must be done by a call that can be seen.
func initFunctions(t *tree) (found []finding) {
	for _, f := range t.files {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" && !f.generated {
				found = append(found, t.at(f, d, "init: runs unasked, want a constructor that the owner calls"))
			}
		}
	}
	return found
}

// sharedState refuses variables of a package that functions write to, and those
// of a type that exists to be written to. What is only reached through another
// name is not seen; the race detector is for that.
func sharedState(t *tree) (found []finding) {
	for _, f := range t.code() {
		if f.generated {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				found = append(found, writes(t, f, d)...)
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					found = append(found, lockedVars(t, f, d)...)
				}
			}
		}
	}
	return found
}

// writes gives the places of a function that change a variable of its package.
func writes(t *tree, f *file, d *ast.FuncDecl) (found []finding) {
	check := func(at ast.Node, target ast.Expr) {
		if name := f.packageVar(target); name != "" {
			found = append(found, t.at(f, at, "%s: is written by %s and shared by all of the process, want a field of an owner", name, d.Name.Name))
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				check(n, lhs)
			}
		case *ast.IncDecStmt:
			check(n, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				check(n, n.Key)
				check(n, n.Value)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (id.Name == "delete" || id.Name == "clear") {
				check(n, n.Args[0])
			}
		}
		return true
	})
	return found
}

// packageVar names the variable of the file's package in which an assignment to
// target is seen, if it is one: m for m[k], v for v.field and *v.
func (f *file) packageVar(target ast.Expr) string {
	for {
		switch x := target.(type) {
		case *ast.IndexExpr:
			target = x.X
		case *ast.SelectorExpr:
			target = x.X
		case *ast.StarExpr:
			target = x.X
		case *ast.ParenExpr:
			target = x.X
		case *ast.SliceExpr:
			target = x.X
		case *ast.Ident:
			v, ok := f.pkg.info.Uses[x].(*types.Var)
			if ok && f.pkg.types != nil && v.Parent() == f.pkg.types.Scope() {
				return x.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// lockedVars gives the variables declared with a type of sync or sync/atomic. A
// sync.Pool holds nothing that can be told apart, and may stand if it says why.
func lockedVars(t *tree, f *file, d *ast.GenDecl) (found []finding) {
	for _, spec := range d.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		declared := spec.Type
		if declared == nil && len(spec.Values) == 1 {
			declared = literalType(spec.Values[0])
		}
		if generic, ok := declared.(*ast.IndexExpr); ok {
			declared = generic.X
		}
		from, name := f.member(declared)
		commented := d.Doc != nil || spec.Doc != nil || spec.Comment != nil
		switch {
		case from != "sync" && from != "sync/atomic":
		case name == "Pool" && commented:
		case name == "Pool":
			found = append(found, t.at(f, spec, "%s: a pool of the whole package, want a comment that says why it has no owner", spec.Names[0].Name))
		default:
			found = append(found, t.at(f, spec, "%s: a %s.%s shared by all of the process, want a field of an owner", spec.Names[0].Name, from, name))
		}
	}
	return found
}

// storedContexts refuses contexts in structs. A context ends with a call, and a
// struct outlives it.
func storedContexts(t *tree) (found []finding) {
	for _, f := range t.code() {
		each(f.syntax, func(s *ast.StructType) {
			for _, field := range s.Fields.List {
				if from, name := f.member(field.Type); from == "context" && name == "Context" {
					found = append(found, t.at(f, field, "field holds a context.Context, want it as the first parameter of what needs it"))
				}
			}
		})
	}
	return found
}

// literalType is the type of T{} and &T{}.
func literalType(e ast.Expr) ast.Expr {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = u.X
	}
	if lit, ok := e.(*ast.CompositeLit); ok {
		return lit.Type
	}
	return nil
}

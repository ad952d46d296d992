package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// queryMethods take a statement as text, in database/sql and in pgx.
var queryMethods = []string{
	"Exec", "ExecContext", "Query", "QueryContext", "QueryRow", "QueryRowContext", "Prepare", "PrepareContext",
}

// statement is the look of SQL. Upper case is how it is written here, and tells
// it from prose.
var statement = regexp.MustCompile(`^\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(TABLE|INDEX|UNIQUE)\s|ALTER\s+TABLE\s|DROP\s+(TABLE|INDEX)\s)`)

// builtSQL refuses statements that are put together at run time. Values go in as
// parameters; there is nothing else in a statement that a request decides.
func builtSQL(t *tree) (found []finding) {
	for _, f := range t.files {
		each(f.syntax, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains(queryMethods, sel.Sel.Name) && slices.ContainsFunc(n.Args, f.builtText) {
					found = append(found, t.at(f, n, "%s: its statement is built at run time, want constant text and parameters", sel.Sel.Name))
				} else if f.formatsStatement(n) {
					found = append(found, t.at(f, n, "statement is formatted at run time, want constant text and parameters"))
				}
			case *ast.BinaryExpr:
				if f.builtText(n) && statement.MatchString(leftmost(n)) {
					found = append(found, t.at(f, n, "statement is joined at run time, want constant text and parameters"))
				}
			}
		})
	}
	return slices.CompactFunc(found, func(a, b finding) bool { return a.file == b.file && a.line == b.line })
}

// builtText reports whether an expression makes a text that is not constant.
func (f *file) builtText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD || f.pkg.info.Types[e].Value != nil {
			return false
		}
		_, left := literal(e.X)
		_, right := literal(e.Y)
		return left || right || f.builtText(e.X)
	case *ast.CallExpr:
		from, name := f.member(e.Fun)
		return from == "fmt" && strings.HasPrefix(name, "Sprint") || from == "strings" && (name == "Join" || name == "ReplaceAll" || name == "Replace")
	}
	return false
}

func (f *file) formatsStatement(call *ast.CallExpr) bool {
	from, name := f.member(call.Fun)
	if from != "fmt" || !strings.HasSuffix(name, "f") {
		return false
	}
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		s, ok := literal(arg)
		return ok && statement.MatchString(s) && strings.Contains(s, "%")
	})
}

// leftmost is the literal that a chain of additions begins with.
func leftmost(e ast.Expr) string {
	for {
		b, ok := e.(*ast.BinaryExpr)
		if !ok {
			s, _ := literal(e)
			return s
		}
		e = b.X
	}
}

// secretName is what holds a secret here, by the last word of its name.
var secretName = regexp.MustCompile(`(?i)(secret|password|passwd|apikey|api_key|bearer|token|signature|hmac)$`)

// comparedSecrets refuses == on secrets: the time it takes tells how much of a
// guess was right. To ask whether one is empty is no comparison of secrets.
func comparedSecrets(t *tree) (found []finding) {
	for _, f := range t.code() {
		each(f.syntax, func(n ast.Node) {
			var x, y ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					x, y = n.X, n.Y
				}
			case *ast.CallExpr:
				if from, name := f.member(n.Fun); from == "bytes" && name == "Equal" && len(n.Args) == 2 {
					x, y = n.Args[0], n.Args[1]
				}
			}
			if x == nil || f.constant(x) || f.constant(y) {
				return
			}
			for _, e := range []ast.Expr{x, y} {
				if name := lastName(e); secretName.MatchString(name) && f.textual(e) {
					found = append(found, t.at(f, n, "%s: a secret is compared in a time that depends on it, want subtle.ConstantTimeCompare", name))
					return
				}
			}
		})
	}
	return found
}

func (f *file) constant(e ast.Expr) bool {
	v := f.pkg.info.Types[e]
	return v.Value != nil || v.IsNil()
}

// textual reports whether an expression holds text or bytes, as a secret does
// and a token of a grammar does not.
func (f *file) textual(e ast.Expr) bool {
	of := f.pkg.info.TypeOf(e)
	if of == nil {
		return false
	}
	switch under := of.Underlying().(type) {
	case *types.Basic:
		return under.Info()&types.IsString != 0
	case *types.Slice:
		return isByte(under.Elem())
	case *types.Array:
		return isByte(under.Elem())
	}
	return false
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// lastName is the name of a variable or field.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

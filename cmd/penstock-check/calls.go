package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// requestPath are the folders whose code runs for a client's request, on bytes
// that a client chose.
var requestPath = []string{
	"core/dialect", "core/admit", "core/cache", "core/guard", "core/route", "core/relay", "core/gateway",
}

// outbound keeps HTTP clients to the packages that are listed as exceptions. All
// else goes upstream through core/relay, where addresses are judged, credentials
// are chosen and time is limited.
func outbound(t *tree) (found []finding) {
	banned := []string{"Client", "Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport", "Transport"}
	for _, f := range t.code() {
		each(f.syntax, func(sel *ast.SelectorExpr) {
			if from, name := f.member(sel); from == "net/http" && slices.Contains(banned, name) {
				found = append(found, t.at(f, sel, "http.%s: calls out past the relay, want its client or an exception with a reason", name))
			}
		})
	}
	return found
}

// unboundedReads refuses io.ReadAll on anything that does not carry its limit in
// sight: each buffer has a bound.
func unboundedReads(t *tree) (found []finding) {
	for _, f := range t.code() {
		each(f.syntax, func(call *ast.CallExpr) {
			if from, name := f.member(call.Fun); from != "io" || name != "ReadAll" || len(call.Args) != 1 || f.limited(call.Args[0]) {
				return
			}
			found = append(found, t.at(f, call, "io.ReadAll: reads without a limit, want io.LimitReader or http.MaxBytesReader around its argument"))
		})
	}
	return found
}

func (f *file) limited(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	from, name := f.member(call.Fun)
	return from == "io" && name == "LimitReader" || from == "net/http" && name == "MaxBytesReader"
}

// requestContexts refuses contexts of their own in code that serves a request:
// such code would outlive the request or lose its deadline.
func requestContexts(t *tree) (found []finding) {
	for _, f := range t.code() {
		if !within(f.path, requestPath...) {
			continue
		}
		each(f.syntax, func(sel *ast.SelectorExpr) {
			if from, name := f.member(sel); from == "context" && (name == "Background" || name == "TODO") {
				found = append(found, t.at(f, sel, "context.%s: starts afresh within a request, want the context that was passed in", name))
			}
		})
	}
	return found
}

// clientJSON refuses encoding/json as a reader of what a client sent: it takes
// members whose names differ in case, and the last of two with one name.
func clientJSON(t *tree) (found []finding) {
	for _, f := range t.code() {
		if !within(f.path, requestPath...) {
			continue
		}
		each(f.syntax, func(sel *ast.SelectorExpr) {
			if from, name := f.member(sel); from == "encoding/json" && (name == "Unmarshal" || name == "NewDecoder") {
				found = append(found, t.at(f, sel, "json.%s: takes names in any case and the last of two, want core/jsonspan", name))
			}
		})
	}
	return found
}

// testSleeps refuses time.Sleep in tests: it is too short on a busy machine and
// too long on all others. Within a bubble of testing/synctest, where time is
// not real, it is the way to let time pass.
func testSleeps(t *tree) (found []finding) {
	for _, p := range t.packages {
		inside := bubbles(p)
		for _, f := range p.files {
			if !f.test {
				continue
			}
			each(f.syntax, func(sel *ast.SelectorExpr) {
				from, name := f.member(sel)
				bubbled := slices.ContainsFunc(inside, func(n ast.Node) bool { return n.Pos() <= sel.Pos() && sel.End() <= n.End() })
				if from == "time" && name == "Sleep" && !bubbled {
					found = append(found, t.at(f, sel, "time.Sleep: in a test, want testing/synctest, or a channel or condition to wait for"))
				}
			})
		}
	}
	return found
}

// bubbles gives the functions of a package that run within synctest.Test: those
// it is called with, those that they call, and those that a function is called
// with which runs what it is given there.
func bubbles(p *pkg) (inside []ast.Node) {
	declared, given := p.functions(), p.given()
	var enter func(ast.Node)
	enter = func(n ast.Node) {
		if slices.Contains(inside, n) {
			return
		}
		inside = append(inside, n)
		each(n, func(id *ast.Ident) {
			if fn := declared[p.info.Uses[id]]; fn != nil {
				enter(fn)
			}
		})
		each(n, func(call *ast.CallExpr) {
			if id, ok := call.Fun.(*ast.Ident); ok {
				for _, arg := range given[p.info.Uses[id]] {
					enter(arg)
				}
			}
		})
	}
	for _, f := range p.files {
		each(f.syntax, func(call *ast.CallExpr) {
			if from, _ := f.member(call.Fun); from != "testing/synctest" {
				return
			}
			for _, arg := range call.Args {
				enter(arg)
			}
		})
	}
	return inside
}

// given finds the function literals that the functions of a package are called
// with, by the parameter.
func (p *pkg) given() map[types.Object][]ast.Node {
	given := map[types.Object][]ast.Node{}
	for _, f := range p.files {
		each(f.syntax, func(call *ast.CallExpr) {
			id, ok := call.Fun.(*ast.Ident)
			if !ok {
				return
			}
			fn, ok := p.info.Uses[id].(*types.Func)
			if !ok || fn.Signature().Variadic() {
				return
			}
			for i, arg := range call.Args {
				if lit, ok := arg.(*ast.FuncLit); ok && i < fn.Signature().Params().Len() {
					param := fn.Signature().Params().At(i)
					given[param] = append(given[param], lit)
				}
			}
		})
	}
	return given
}

// functions finds the body of each function of a package by what it declares:
// those at the top, methods, and function literals that are given a name.
func (p *pkg) functions() map[types.Object]ast.Node {
	declared := map[types.Object]ast.Node{}
	for _, f := range p.files {
		each(f.syntax, func(d *ast.FuncDecl) {
			if o := p.info.Defs[d.Name]; o != nil {
				declared[o] = d
			}
		})
		each(f.syntax, func(a *ast.AssignStmt) {
			if a.Tok != token.DEFINE || len(a.Lhs) != len(a.Rhs) {
				return
			}
			for i, rhs := range a.Rhs {
				if id, ok := a.Lhs[i].(*ast.Ident); ok && p.info.Defs[id] != nil {
					if lit, ok := rhs.(*ast.FuncLit); ok {
						declared[p.info.Defs[id]] = lit
					}
				}
			}
		})
	}
	return declared
}

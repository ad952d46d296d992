package policy

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// methods are the methods of texts, lists and dicts that policies have. Those marked run as they are: they cost no more
// than their step. The others become calls of *method, which charges for them.
var methods = map[string]bool{
	"append": true, "clear": true, "endswith": true, "get": true, "setdefault": true, "startswith": true,

	"capitalize": false, "count": false, "extend": false, "find": false, "format": false, "index": false,
	"insert": false, "isalnum": false, "isalpha": false, "isdigit": false, "islower": false, "isspace": false,
	"isupper": false, "items": false, "join": false, "keys": false, "lower": false, "lstrip": false,
	"partition": false, "pop": false, "popitem": false, "remove": false, "removeprefix": false,
	"removesuffix": false, "replace": false, "rfind": false, "rindex": false, "rpartition": false, "rsplit": false,
	"rstrip": false, "split": false, "splitlines": false, "strip": false, "title": false, "update": false,
	"upper": false, "values": false,
}

// results are the classes of what built-in functions give. Their names cannot be bound, so the name says it all.
var results = map[string]class{
	"float": floating, "rendezvous": floating, "all": number, "any": number, "bool": number, "int": number, "len": number, "abs": scalar, "str": scalar, "type": scalar,
}

// expr rewrites an expression and says what class its value is of.
func (r *rewriter) expr(e syntax.Expr) (syntax.Expr, class) {
	r.nodes++
	switch e := e.(type) {
	case *syntax.Literal:
		return e, checkLiteral(e)
	case *syntax.Ident:
		return e, r.name(e)
	case *syntax.ParenExpr:
		x, c := r.expr(e.X)
		e.X = x
		return e, c
	case *syntax.UnaryExpr:
		return r.unary(e)
	case *syntax.BinaryExpr:
		x, xc := r.expr(e.X)
		y, yc := r.expr(e.Y)
		e.X, e.Y = x, y
		return r.binary(e, xc, yc)
	case *syntax.CondExpr:
		var t, f class
		e.Cond, _ = r.expr(e.Cond)
		e.True, t = r.expr(e.True)
		e.False, f = r.expr(e.False)
		return e, min(t, f)
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.DotExpr:
		return r.dot(e)
	case *syntax.IndexExpr:
		e.X, _ = r.expr(e.X)
		e.Y, _ = r.expr(e.Y)
		return e, unknown
	case *syntax.SliceExpr:
		return r.slice(e), unknown
	case *syntax.LambdaExpr:
		r.lambda(e)
		return e, unknown
	}
	return r.collection(e), unknown
}

// collection rewrites what makes a list, a tuple or a dict.
func (r *rewriter) collection(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.ListExpr:
		r.exprs(e.List)
	case *syntax.TupleExpr:
		if r.exprs(e.List) == unknown && len(e.List) > 0 {
			pos, _ := e.Span()
			return hidden(pos, "*tuple", e)
		}
	case *syntax.DictExpr:
		for _, x := range e.List {
			entry := x.(*syntax.DictEntry)
			entry.Key, _ = r.expr(entry.Key)
			entry.Value, _ = r.expr(entry.Value)
		}
		return hidden(e.Lbrace, "*dict", e)
	case *syntax.Comprehension:
		r.comprehension(e)
		if e.Curly {
			return hidden(e.Lbrack, "*dict", e)
		}
	}
	return e
}

// exprs rewrites a list and gives the least class in it.
func (r *rewriter) exprs(list []syntax.Expr) class {
	least := number
	for i := range list {
		var c class
		list[i], c = r.expr(list[i])
		least = min(least, c)
	}
	return least
}

func (r *rewriter) name(e *syntax.Ident) class {
	if starlark.Universe.Has(e.Name) && !r.env.Has(e.Name) && !constants[e.Name] {
		fault(e.NamePos, "%s: policies do not have this built-in", e.Name)
	}
	if constants[e.Name] {
		return number
	}
	return unknown
}

var constants = map[string]bool{"None": true, "True": true, "False": true}

func (r *rewriter) unary(e *syntax.UnaryExpr) (syntax.Expr, class) {
	var c class
	e.X, c = r.expr(e.X)
	if e.Op == syntax.NOT {
		return e, number
	}
	return e, max(c, scalar)
}

func (r *rewriter) comprehension(e *syntax.Comprehension) {
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			r.target(c.Vars)
			c.X, _ = r.expr(c.X)
		case *syntax.IfClause:
			c.Cond, _ = r.expr(c.Cond)
		}
	}
	if entry, ok := e.Body.(*syntax.DictEntry); ok {
		entry.Key, _ = r.expr(entry.Key)
		entry.Value, _ = r.expr(entry.Value)
		return
	}
	e.Body, _ = r.expr(e.Body)
}

// slice charges for the whole of what is cut, which is never less than the cut.
func (r *rewriter) slice(e *syntax.SliceExpr) syntax.Expr {
	x, _ := r.expr(e.X)
	e.X = hidden(e.Lbrack, "*whole", x)
	for _, part := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
		if *part != nil {
			*part, _ = r.expr(*part)
		}
	}
	return e
}

func (r *rewriter) lambda(e *syntax.LambdaExpr) {
	r.params(e.Params)
	outer, before := r.frame, r.nodes
	r.frame = &frame{names: map[string]bool{}}
	for _, p := range e.Params {
		r.bind(param(p))
	}
	r.count(e.Lambda)
	e.Body, _ = r.expr(e.Body)
	if r.nodes-before > maxLambda {
		fault(e.Lambda, "lambda: too long, use def")
	}
	r.frame = outer
}

// dot rewrites x.name where it is not called.
func (r *rewriter) dot(e *syntax.DotExpr) (syntax.Expr, class) {
	e.X, _ = r.expr(e.X)
	c, fact := attributes[e.Name.Name]
	free, method := methods[e.Name.Name]
	switch {
	case fact:
		return e, c
	case r.own[e.Name.Name]:
	case !method:
		fault(e.Name.NamePos, "%s: %s", e.Name.Name, unknownAttribute(e.Name.Name))
	case !free:
		fault(e.Name.NamePos, "%s: a method must be called where it is named", e.Name.Name)
	}
	return e, unknown
}

func (r *rewriter) call(e *syntax.CallExpr) (syntax.Expr, class) {
	if len(e.Args) > maxLiteral {
		fault(e.Lparen, "more than %d arguments", maxLiteral)
	}
	for i, a := range e.Args {
		switch a := a.(type) {
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				fault(a.OpPos, "%s: policies name each argument", a.Op)
			}
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				a.Y, _ = r.expr(a.Y)
				continue
			}
		}
		e.Args[i], _ = r.expr(a)
	}
	if fn, ok := e.Fn.(*syntax.Ident); ok {
		r.name(fn)
		return e, results[fn.Name]
	}
	if fn, ok := e.Fn.(*syntax.DotExpr); ok {
		if free, method := methods[fn.Name.Name]; method && !free {
			x, _ := r.expr(fn.X)
			call := hidden(e.Lparen, "*method", x, textLiteral(fn.Name.NamePos, fn.Name.Name))
			call.Args = append(call.Args, e.Args...)
			return call, unknown
		}
	}
	e.Fn, _ = r.expr(e.Fn)
	return e, unknown
}

// guards are the operators that can make much of little, or look at much, and the built-ins that stand in for them.
var guards = map[syntax.Token]string{
	syntax.PLUS: "*add", syntax.MINUS: "*sub", syntax.STAR: "*mul", syntax.PERCENT: "*mod", syntax.PIPE: "*or",
	syntax.LTLT: "*shl", syntax.EQL: "*eq", syntax.NEQ: "*ne", syntax.LT: "*lt", syntax.LE: "*le", syntax.GT: "*gt",
	syntax.GE: "*ge", syntax.IN: "*in", syntax.NOT_IN: "*notin",
}

// binary rewrites an operator whose operands are rewritten already.
func (r *rewriter) binary(e *syntax.BinaryExpr, x, y class) (syntax.Expr, class) {
	both, either := min(x, y), max(x, y)
	guard := hidden(e.OpPos, guards[e.Op], e.X, e.Y)
	switch e.Op {
	case syntax.AND, syntax.OR:
		return e, both
	case syntax.SLASH:
		return e, floating
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if either >= scalar {
			return e, number
		}
		return guard, number
	case syntax.IN, syntax.NOT_IN:
		if short(e.Y) {
			return e, number
		}
		return guard, number
	case syntax.SLASHSLASH, syntax.AMP, syntax.CIRCUMFLEX, syntax.GTGT: // Never larger than the larger operand.
		return e, max(both, scalar)
	}
	switch {
	case e.Op == syntax.PERCENT:
		if x >= number {
			return e, max(both, scalar)
		}
		return guard, unknown // A text on the left is filled in, whatever is on the right.
	case either == floating && e.Op != syntax.PIPE && e.Op != syntax.LTLT:
		return e, floating // What is not a number on the other side fails.
	case either == number && (e.Op == syntax.PLUS || e.Op == syntax.MINUS):
		return e, max(both, scalar) // One bit longer at most.
	case both == number && e.Op == syntax.STAR:
		return e, scalar // Twice as long, and so not to be multiplied again unseen.
	}
	return guard, unknown
}

// short says whether looking for something in a value takes a moment, whatever is looked for: a fact's own words, or a
// literal list of literals.
func short(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.DotExpr:
		return true
	case *syntax.TupleExpr:
		return literals(e.List)
	case *syntax.ListExpr:
		return literals(e.List)
	}
	return false
}

func literals(list []syntax.Expr) bool {
	for _, x := range list {
		if _, ok := x.(*syntax.Literal); !ok {
			return false
		}
	}
	return len(list) <= 64
}

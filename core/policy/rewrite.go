package policy

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// class is what the text alone says of an expression's value. The rewriting leaves alone the operators whose operands
// are known to be small, which is most of a policy: they run at the interpreter's own speed.
type class uint8

const (
	unknown  class = iota
	scalar         // a number, text, truth or None, where the expression has a value at all
	number         // the same, and no text, and an integer only of bounded size
	floating       // a float, or a failure
)

const (
	maxSource    = 256 << 10 // bytes of a file
	maxFunctions = 512       // in a file; it bounds the depth of calls, since there is no recursion
	maxLambda    = 32        // nodes of a lambda's body; it bounds the frame that each call of it takes
	maxLiteral   = 250       // arguments of a call
	freeSlots    = 24        // of a frame, paid for by the steps of the call itself
)

// rewriter turns a parsed file into one whose every operation is within the budget: what can make much of little becomes
// a call of a hidden built-in, named with a star so that no policy can name it. What cannot be guarded is refused.
type rewriter struct {
	env       starlark.StringDict // what the file finds defined
	own       map[string]bool     // attributes of values in env
	visits    bool                // each statement of a function says that it runs
	nodes     int                 // of expressions seen
	functions int
	depth     int // of functions around
	frame     *frame
}

// frame estimates from above what one call of a function takes of the interpreter's stack.
type frame struct {
	names   map[string]bool // bound in the function; each takes a slot, and a cell where an inner function uses it
	largest int             // nodes of its largest statement: no operand stack is deeper
}

// rewrite works on the tree in place. It panics with *Error, which parse recovers.
func rewrite(f *syntax.File, env starlark.StringDict, visits bool) {
	r := &rewriter{env: env, own: map[string]bool{}, visits: visits, frame: &frame{names: map[string]bool{}}}
	for _, v := range env {
		if x, ok := v.(starlark.HasAttrs); ok {
			for _, name := range x.AttrNames() {
				r.own[name] = true
			}
		}
	}
	f.Stmts = r.stmts(f.Stmts)
}

func fault(pos syntax.Position, format string, args ...any) {
	panic(&Error{Kind: Names, Pos: place(pos), Msg: fmt.Sprintf(format, args...)})
}

// hidden is a call of a hidden built-in, placed where the operator stood, so that errors point there.
func hidden(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: pos, Name: name}, Lparen: pos, Args: args, Rparen: pos}
}

// told is a statement that calls a hidden built-in with a number.
func told(name string, pos syntax.Position, n int) syntax.Stmt {
	return &syntax.ExprStmt{X: hidden(pos, name, &syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: strconv.Itoa(n), Value: int64(n)})}
}

// Line is the line that a statement of a function begins on; 0 for one that does nothing when it is reached.
func Line(s syntax.Stmt) int {
	switch s := s.(type) {
	case *syntax.BranchStmt:
		return 0
	case *syntax.ExprStmt:
		if _, ok := s.X.(*syntax.Literal); ok {
			return 0 // A docstring.
		}
	}
	return int(syntax.Start(s).Line)
}

func textLiteral(pos syntax.Position, s string) syntax.Expr {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: syntax.Quote(s, false), Value: s}
}

func (r *rewriter) stmts(list []syntax.Stmt) []syntax.Stmt {
	var visited []syntax.Stmt
	for _, s := range list {
		if line := Line(s); r.visits && r.depth > 0 && line > 0 {
			visited = append(visited, told("*line", syntax.Start(s), line))
		}
		visited = append(visited, s)
		before := r.nodes
		r.stmt(s)
		r.frame.largest = max(r.frame.largest, r.nodes-before)
	}
	if !r.visits {
		return list
	}
	return visited
}

func (r *rewriter) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		r.assign(s)
	case *syntax.DefStmt:
		r.def(s)
	case *syntax.ExprStmt:
		s.X, _ = r.expr(s.X)
	case *syntax.ForStmt:
		r.target(s.Vars)
		s.X, _ = r.expr(s.X)
		s.Body = r.stmts(s.Body)
	case *syntax.IfStmt:
		s.Cond, _ = r.expr(s.Cond)
		s.True, s.False = r.stmts(s.True), r.stmts(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result, _ = r.expr(s.Result)
		}
	case *syntax.LoadStmt:
		for _, name := range s.From {
			r.bind(name)
		}
	case *syntax.WhileStmt:
		fault(s.While, "while: policies have no while loops; use for over a range")
	case *syntax.BranchStmt:
	}
}

// bind notes a name that a file gives a value. Names of built-ins stay theirs, so that what the text says of a call is
// true.
func (r *rewriter) bind(name *syntax.Ident) {
	if starlark.Universe.Has(name.Name) || r.env.Has(name.Name) {
		fault(name.NamePos, "%s: the name of a built-in cannot be bound", name.Name)
	}
	r.frame.names[name.Name] = true
}

// target rewrites what is assigned to.
func (r *rewriter) target(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Ident:
		r.bind(e)
	case *syntax.ParenExpr:
		r.target(e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			r.target(x)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			r.target(x)
		}
	case *syntax.IndexExpr:
		e.X, _ = r.expr(e.X)
		e.Y, _ = r.expr(e.Y)
	case *syntax.DotExpr:
		fault(e.Dot, "%s: attributes cannot be assigned to", e.Name.Name)
	}
	r.nodes++
}

func (r *rewriter) assign(s *syntax.AssignStmt) {
	if s.Op == syntax.EQ {
		left, lok := unparen(s.LHS).(*syntax.TupleExpr)
		right, rok := unparen(s.RHS).(*syntax.TupleExpr)
		r.target(s.LHS)
		if lok && rok && len(left.List) == len(right.List) {
			r.exprs(right.List) // a, b = b, a: the tuple lives for a moment only.
			return
		}
		s.RHS, _ = r.expr(s.RHS)
		return
	}
	// x op= y becomes x = x op y, in place where x is a list or a dict; so x is evaluated twice and must be simple.
	again := simple(s.LHS)
	if again == nil {
		fault(s.OpPos, "%s: want a name or a plain index on the left", s.Op)
	}
	r.target(s.LHS)
	op := s.Op - syntax.PLUS_EQ + syntax.PLUS
	x, xc := r.expr(again)
	y, yc := r.expr(s.RHS)
	switch {
	case op == syntax.PLUS && yc < number:
		s.RHS = hidden(s.OpPos, "*extend", x, y)
	case op == syntax.PIPE:
		s.RHS = hidden(s.OpPos, "*unite", x, y)
	default:
		s.RHS, _ = r.binary(&syntax.BinaryExpr{X: x, OpPos: s.OpPos, Op: op, Y: y}, xc, yc)
	}
	s.Op = syntax.EQ
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// simple copies an expression that can be evaluated twice without being noticed; nil for any other.
func simple(e syntax.Expr) syntax.Expr {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		return &syntax.Ident{NamePos: e.NamePos, Name: e.Name}
	case *syntax.Literal:
		c := *e
		return &c
	case *syntax.DotExpr:
		if x := simple(e.X); x != nil {
			return &syntax.DotExpr{X: x, Dot: e.Dot, NamePos: e.NamePos, Name: e.Name}
		}
	case *syntax.IndexExpr:
		if x, y := simple(e.X), simple(e.Y); x != nil && y != nil {
			return &syntax.IndexExpr{X: x, Lbrack: e.Lbrack, Y: y, Rbrack: e.Rbrack}
		}
	}
	return nil
}

func (r *rewriter) def(s *syntax.DefStmt) {
	r.bind(s.Name)
	outer := r.frame
	r.params(s.Params)
	r.frame = &frame{names: map[string]bool{}}
	for _, p := range s.Params {
		r.bind(param(p))
	}
	r.count(s.Def)
	r.depth++
	s.Body = r.stmts(s.Body)
	r.depth--
	if slots := 2*len(r.frame.names) + r.frame.largest; slots > freeSlots {
		at := 0
		if _, ok := docstring(s.Body); ok {
			at = 1
		}
		s.Body = slices.Insert(s.Body, at, told("*enter", s.Def, slots*16))
	}
	r.frame = outer
}

func (r *rewriter) count(pos syntax.Position) {
	if r.functions++; r.functions > maxFunctions {
		fault(pos, "more than %d functions in one file", maxFunctions)
	}
}

// params rewrites the defaults, which belong to the function around.
func (r *rewriter) params(list []syntax.Expr) {
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.BinaryExpr:
			p.Y, _ = r.expr(p.Y)
		case *syntax.UnaryExpr:
			if p.X != nil {
				fault(p.OpPos, "%s: policies name each argument", p.Op)
			}
		}
	}
}

// param is the name of a parameter; the bare star that opens keyword-only ones has a blank.
func param(p syntax.Expr) *syntax.Ident {
	switch p := p.(type) {
	case *syntax.Ident:
		return p
	case *syntax.BinaryExpr:
		return p.X.(*syntax.Ident)
	}
	return &syntax.Ident{Name: "_"}
}

// docstring gives the text that a body opens with.
func docstring(body []syntax.Stmt) (string, bool) {
	if len(body) == 0 {
		return "", false
	}
	if e, ok := body[0].(*syntax.ExprStmt); ok {
		if lit, ok := e.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			return lit.Value.(string), true
		}
	}
	return "", false
}

func checkLiteral(e *syntax.Literal) class {
	switch v := e.Value.(type) {
	case *big.Int:
		if v.BitLen() > maxBits {
			fault(e.TokenPos, "integer of %d bits, the limit is %d", v.BitLen(), maxBits)
		}
		return number
	case string:
		if e.Token == syntax.BYTES {
			fault(e.TokenPos, "bytes: policies have none")
		}
		return scalar
	case float64:
		return floating
	}
	return number
}

package policy

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Kind says in what way a policy is at fault. The list is closed; metrics count by it.
type Kind string

// The kinds.
const (
	Syntax Kind = "syntax" // the text is not Starlark
	Names  Kind = "names"  // a name is unknown, or something is used that policies do not have
	Load   Kind = "load"   // a load statement names a file that is not there, or not allowed
	Steps  Kind = "steps"  // the call took more steps than its bound
	Time   Kind = "time"   // the call took longer than its bound, or its context ended
	Memory Kind = "memory" // the call made more, or larger, values than its bound
	Raised Kind = "raised" // evaluation failed: a wrong type, a missing key, a division by zero
	Failed Kind = "failed" // the policy called fail
	Result Kind = "result" // the call gave something that is no decision
	Empty  Kind = "empty"  // route gave no branch at all
)

// Error is what is wrong with a policy, or with one call of it. Its text opens with the place, as compilers write it.
type Error struct {
	Kind  Kind
	Pos   Pos     // the innermost place in a policy's own text; zero where there is none
	Msg   string  // without the place
	Stack []Frame // the calls that led there, outermost first; empty for faults of the text
	cause error
}

// Pos is a place in a file; lines and columns count from 1.
type Pos struct {
	File      string
	Line, Col int
}

// Frame is one call on the way to an error.
type Frame struct {
	Func string
	Pos  Pos
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

func (e *Error) Error() string {
	if e.Pos.Line == 0 {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap gives the context's error where the call ended with its context.
func (e *Error) Unwrap() error { return e.cause }

// Backtrace is the error with the calls that led to it, a line each, innermost first.
func (e *Error) Backtrace() string {
	var b strings.Builder
	b.WriteString(e.Error())
	for i := len(e.Stack) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "\n\tin %s at %s", e.Stack[i].Func, e.Stack[i].Pos)
	}
	return b.String()
}

// refusal is an error that one of the runtime's own built-ins gives, with its kind.
type refusal struct {
	kind Kind
	msg  string
}

func (r *refusal) Error() string { return r.msg }

func refuse(kind Kind, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

func place(p syntax.Position) Pos {
	if !p.IsValid() {
		return Pos{}
	}
	return Pos{p.Filename(), int(p.Line), int(p.Col)}
}

// textErrors gives the faults of a text as the parser and the resolver report them, in order.
func textErrors(err error) []*Error {
	var parse syntax.Error
	var names resolve.ErrorList
	var own *Error
	switch {
	case errors.As(err, &own):
		return []*Error{own}
	case errors.As(err, &parse):
		return []*Error{{Kind: Syntax, Pos: place(parse.Pos), Msg: parse.Msg}}
	case errors.As(err, &names):
		var list []*Error
		for _, n := range names {
			list = append(list, &Error{Kind: Names, Pos: place(n.Pos), Msg: n.Msg})
		}
		return list
	}
	return []*Error{{Kind: Syntax, Msg: err.Error()}}
}

// callError turns what a call of the interpreter gave into an Error. A stop by the budget stands above whatever error
// it surfaced as.
func (r *run) callError(err error) *Error {
	out := &Error{Kind: Raised, Msg: err.Error()}
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		for _, f := range eval.CallStack {
			if p := place(f.Pos); p.Line > 0 {
				out.Stack = append(out.Stack, Frame{f.Name, p})
				out.Pos = p
			}
		}
	}
	var own *Error
	var mine *refusal
	switch {
	case errors.As(err, &own):
		own.Stack = append(out.Stack, own.Stack...)
		return own
	case r.stopped != nil:
		out.Kind, out.Msg, out.cause = r.stopped.kind, r.stopped.msg, r.stopCause
	case errors.As(err, &mine):
		out.Kind, out.Msg = mine.kind, mine.msg
	}
	return out
}

// said is what was wanted of a dict of facts, by the error of one of its members; empty: nothing.
func said(err error) string {
	if err == nil {
		return ""
	}
	return "a dict with right members: " + err.Error()
}

package policy

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// builtin is the shape of a function that the interpreter calls.
type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// operators are the hidden built-ins that the rewriting puts in place of operators and literals. They are called with
// the right number of arguments, always.
var operators = map[string]builtin{
	"*add": func(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return add(th, a[0], a[1])
	},
	"*extend": extendInPlace,
	"*unite":  uniteInPlace,
	"*sub":    arithmetic(syntax.MINUS),
	"*shl":    arithmetic(syntax.LTLT),
	"*mul":    multiply,
	"*mod":    modulo,
	"*or":     union,
	"*eq":     comparison(syntax.EQL),
	"*ne":     comparison(syntax.NEQ),
	"*lt":     comparison(syntax.LT),
	"*le":     comparison(syntax.LE),
	"*gt":     comparison(syntax.GT),
	"*ge":     comparison(syntax.GE),
	"*in":     membership(syntax.IN),
	"*notin":  membership(syntax.NOT_IN),
	"*whole":  beforeSlice,
	"*enter":  enter,
	"*line":   visit,
	"*dict":   dictMade,
	"*tuple":  tupleMade,
}

// arithmetic guards an operator that gives a number or fails.
func arithmetic(op syntax.Token) builtin {
	return func(_ *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return narrow(starlark.Binary(op, a[0], a[1]))
	}
}

// narrow refuses an integer that has grown too long. Its parts were not, so one operation cannot have made it very long.
func narrow(v starlark.Value, err error) (starlark.Value, error) {
	i, ok := v.(starlark.Int)
	if err != nil || !ok {
		return v, err
	}
	if _, small := i.Int64(); small {
		return v, nil
	}
	if n := i.BigInt().BitLen(); n > maxBits {
		return nil, refuse(Memory, "integer of %d bits, the limit is %d", n, maxBits)
	}
	return v, nil
}

func add(th *starlark.Thread, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if err := fits(th, len(x)+len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	case *starlark.List, starlark.Tuple:
		if err := charge(th, 16*(starlark.Len(x)+max(0, starlark.Len(y)))); err != nil {
			return nil, err
		}
	}
	z, err := narrow(starlark.Binary(syntax.PLUS, x, y))
	if err != nil {
		return nil, err
	}
	return z, small(th, z)
}

// extendInPlace is x += y, which lengthens a list and is x + y for all else.
func extendInPlace(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, isList := a[0].(*starlark.List)
	_, iterable := a[1].(starlark.Iterable)
	if !isList || !iterable {
		return add(th, a[0], a[1])
	}
	if _, err := callMethod(th, x, "extend", a[1:], nil); err != nil {
		return nil, err
	}
	return x, nil
}

// uniteInPlace is x |= y, which adds to a dict and is x | y for all else.
func uniteInPlace(th *starlark.Thread, b *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, xok := a[0].(*starlark.Dict)
	_, yok := a[1].(*starlark.Dict)
	if !xok || !yok {
		return union(th, b, a, nil)
	}
	if _, err := callMethod(th, x, "update", a[1:], nil); err != nil {
		return nil, err
	}
	return x, nil
}

func multiply(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := a[0], a[1]
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	if err := repeat(th, x, y); err != nil {
		return nil, err
	}
	z, err := narrow(starlark.Binary(syntax.STAR, a[0], a[1]))
	if err != nil {
		return nil, err
	}
	return z, small(th, z)
}

// repeat charges for x * n where x is a text, a list or a tuple.
func repeat(th *starlark.Thread, x, n starlark.Value) error {
	times, ok := n.(starlark.Int)
	if !ok {
		return nil
	}
	length, each := 0, 16
	switch x := x.(type) {
	case starlark.String:
		length, each = len(x), 1
	case *starlark.List, starlark.Tuple:
		length = starlark.Len(x)
	}
	if length == 0 || times.Sign() <= 0 {
		return nil
	}
	count, ok := times.Int64()
	if !ok || count > maxOnce/int64(each*length) {
		return refuse(Memory, "%s repeated %s times, the limit is %d KiB", x.Type(), times, maxOnce>>10)
	}
	if each == 1 {
		return fits(th, length*int(count))
	}
	return charge(th, each*length*int(count))
}

// modulo is the remainder of numbers, or fills a text in.
func modulo(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if text, ok := a[0].(starlark.String); ok {
		if err := fills(th, string(text), '%', a[1:], nil); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PERCENT, a[0], a[1])
}

// fills charges for a text whose holes, each marked by a sign, are filled with values: as if the largest filled each.
func fills(th *starlark.Thread, text string, sign byte, args []starlark.Value, kwargs []starlark.Tuple) error {
	largest, holes := 0, 0
	put := func(v starlark.Value) error {
		n, err := whole(th, v, "format")
		largest = max(largest, n)
		return err
	}
	for _, v := range args {
		if err := put(v); err != nil {
			return err
		}
	}
	for _, kv := range kwargs {
		if err := put(kv[1]); err != nil {
			return err
		}
	}
	for i := range len(text) {
		if text[i] == sign {
			holes++
		}
	}
	return fits(th, len(text)+holes*largest)
}

func union(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, xok := a[0].(*starlark.Dict)
	y, yok := a[1].(*starlark.Dict)
	if xok && yok {
		if err := charge(th, dictBytes(x.Len()+y.Len())); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PIPE, a[0], a[1])
}

// dictBytes is what a dict of some entries takes, its growth included.
func dictBytes(entries int) int { return 512 + 200*entries }

func comparison(op syntax.Token) builtin {
	return func(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		ok, err := compare(th, op, a[0], a[1])
		return starlark.Bool(ok), err
	}
}

// compare compares two values after it has made sure that both end soon.
func compare(th *starlark.Thread, op syntax.Token, x, y starlark.Value) (bool, error) {
	if !flat(x) && !flat(y) {
		if _, err := whole(th, x, "compare"); err != nil {
			return false, err
		}
		if _, err := whole(th, y, "compare"); err != nil {
			return false, err
		}
	}
	return starlark.Compare(op, x, y)
}

func membership(op syntax.Token) builtin {
	return func(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if err := searches(th, a[1], a[0]); err != nil {
			return nil, err
		}
		return starlark.Binary(op, a[0], a[1])
	}
}

// searches charges for looking for x in y one element after the other.
func searches(th *starlark.Thread, y, x starlark.Value) error {
	each := 16
	if !flat(x) {
		n, err := whole(th, x, "compare")
		if err != nil {
			return err
		}
		each = max(each, n)
	}
	switch y := y.(type) {
	case *starlark.List, starlark.Tuple:
		return charge(th, each*starlark.Len(y))
	case starlark.String:
		return charge(th, len(y))
	}
	return nil
}

func beforeSlice(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	each := 16
	if _, ok := a[0].(starlark.String); ok {
		each = 1
	}
	return a[0], charge(th, each*max(0, starlark.Len(a[0])))
}

func enter(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n, _ := starlark.AsInt32(a[0])
	return starlark.None, charge(th, n)
}

// visit tells the script's visitor that a statement is about to run.
func visit(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n, _ := starlark.AsInt32(a[0])
	running(th).script.visit(th.CallFrame(1).Pos.Filename(), n)
	return starlark.None, nil
}

func dictMade(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return a[0], charge(th, dictBytes(0))
}

func tupleMade(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return a[0], small(th, a[0])
}

// method is the hidden built-in that x.name(…) becomes where name is not a method that runs as it is.
func method(th *starlark.Thread, _ *starlark.Builtin, a starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name, _ := starlark.AsString(a[1])
	return callMethod(th, a[0], name, a[2:], kwargs)
}

func callMethod(th *starlark.Thread, recv starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, ok := recv.(starlark.HasAttrs)
	if !ok {
		return nil, refuse(Raised, "%s has no .%s attribute", recv.Type(), name)
	}
	fn, err := x.Attr(name)
	if err != nil {
		return nil, err
	}
	b, ok := fn.(*starlark.Builtin)
	if !ok {
		return nil, refuse(Raised, "%s has no .%s method", recv.Type(), name)
	}
	switch recv := recv.(type) {
	case starlark.String:
		err = textMethod(th, recv, name, args, kwargs)
	case *starlark.List:
		err = listMethod(th, recv, name, args)
	case *starlark.Dict:
		err = dictMethod(th, recv, name, args, kwargs)
	}
	if err != nil {
		return nil, refuseIn(name, err)
	}
	v, err := b.CallInternal(th, args, kwargs)
	if err != nil {
		return nil, err
	}
	return v, checkMade(th, name, v)
}

func textMethod(th *starlark.Thread, s starlark.String, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	switch name {
	case "join":
		return joins(th, len(s), args)
	case "replace":
		return replaces(th, string(s), args)
	case "format":
		return fills(th, string(s), '{', args, kwargs)
	case "split", "rsplit", "splitlines", "partition", "rpartition":
		return charge(th, 32*len(s)+96)
	}
	n := len(s)
	for _, a := range args {
		if t, ok := a.(starlark.String); ok {
			n += len(t)
		}
	}
	return charge(th, n)
}

func joins(th *starlark.Thread, sep int, args starlark.Tuple) error {
	if len(args) != 1 {
		return nil // The method itself says what it wants.
	}
	count, err := length(args[0])
	if err != nil {
		return err
	}
	if err := charge(th, 16*count); err != nil {
		return err
	}
	total := sep * max(0, count-1)
	for x := range starlark.Elements(args[0].(starlark.Iterable)) {
		if s, ok := x.(starlark.String); ok {
			total += len(s)
		}
	}
	return fits(th, total)
}

func replaces(th *starlark.Thread, s string, args starlark.Tuple) error {
	if len(args) < 2 {
		return nil
	}
	old, ok := args[0].(starlark.String)
	to, tok := args[1].(starlark.String)
	if !ok || !tok {
		return nil
	}
	return fits(th, len(s)+strings.Count(s, string(old))*len(to))
}

func listMethod(th *starlark.Thread, l *starlark.List, name string, args starlark.Tuple) error {
	switch {
	case name == "extend" && len(args) == 1:
		n, err := length(args[0])
		if err != nil {
			return err
		}
		return charge(th, 32*n)
	case (name == "index" || name == "remove") && len(args) > 0:
		return searches(th, l, args[0])
	}
	return charge(th, 2*l.Len()) // insert and pop move what stands behind.
}

func dictMethod(th *starlark.Thread, d *starlark.Dict, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	n := d.Len()
	switch name {
	case "items":
		return charge(th, 96*n)
	case "keys", "values":
		return charge(th, 16*n)
	case "update":
		n = len(kwargs)
		for _, a := range args {
			more, err := length(a)
			if err != nil {
				return err
			}
			n += more
		}
		return charge(th, dictBytes(n))
	}
	return nil
}

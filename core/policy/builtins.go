package policy

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// predeclared is all that a policy finds defined: the built-ins of Starlark that it is allowed, in place of the
// language's own; the verbs; and the hidden ones. It is made once and never changes.
var predeclared = func() starlark.StringDict {
	env := starlark.StringDict{"*method": starlark.NewBuiltin("*method", method)}
	for _, set := range []map[string]builtin{operators, functions, verbs} {
		for name, fn := range set {
			env[name] = starlark.NewBuiltin(name, fn)
		}
	}
	for _, name := range []string{"abs", "bool", "float", "len", "type"} {
		env[name] = starlark.Universe[name] // They look at no more than their argument's head.
	}
	return env
}()

// Vocabulary lists the names that policies have: functions, verbs and attributes, sorted. For completion in editors, and
// for the test that the page for authors names them all.
func Vocabulary() []string {
	names := slices.Collect(maps.Keys(attributes))
	for _, name := range predeclared.Keys() {
		if name[0] != '*' {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// functions are the built-in functions that are guarded. The others that policies have run as they are.
var functions = map[string]builtin{
	"all": overElements("all", 8), "any": overElements("any", 8),
	"list": overElements("list", 16), "reversed": overElements("reversed", 32),
	"tuple": overElements("tuple", 32), "enumerate": overElements("enumerate", 96), "zip": overElements("zip", 96),
	"dict": newDict, "int": toInt, "str": toText, "range": newRange,
	"sorted": sorted, "min": extreme(syntax.LT), "max": extreme(syntax.GT),
	"print": printLine, "fail": failCall, "rendezvous": rendezvous,
}

// overElements is a built-in of the language that goes over its arguments once and makes so many bytes for each element.
func overElements(name string, each int) builtin {
	fn := starlark.Universe[name].(*starlark.Builtin)
	return func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		total := 0
		for _, a := range args {
			if _, isInt := a.(starlark.Int); isInt {
				continue // enumerate's start
			}
			n, err := length(a)
			if err != nil {
				return nil, refuseIn(name, err)
			}
			total += n
		}
		if err := charge(th, each*total); err != nil {
			return nil, err
		}
		v, err := fn.CallInternal(th, args, kwargs)
		if err != nil {
			return nil, err
		}
		if name == "zip" || name == "enumerate" {
			return v, checkMade(th, "items", v)
		}
		return v, small(th, v)
	}
}

// checkMade looks at what a method made: texts that grew by a change of case, tuples of a dict's items.
func checkMade(th *starlark.Thread, name string, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.String:
		if len(v) > maxText {
			return fits(th, len(v))
		}
	case starlark.Tuple:
		return small(th, v)
	case *starlark.List:
		if name != "items" {
			return nil
		}
		for i := range v.Len() {
			if err := small(th, v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func universe(name string, th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return starlark.Universe[name].(*starlark.Builtin).CallInternal(th, args, kwargs)
}

func newDict(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	n := len(kwargs)
	for _, a := range args {
		more, err := length(a)
		if err != nil {
			return nil, refuseIn("dict", err)
		}
		n += more
	}
	if err := charge(th, dictBytes(n)); err != nil {
		return nil, err
	}
	return universe("dict", th, args, kwargs)
}

// toInt refuses long texts, whose conversion takes time with the square of their length.
func toInt(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, kv := range kwargs {
		args = append(args, kv[1]) // To look at; the language's own int sorts them out.
	}
	for _, a := range args {
		if s, ok := a.(starlark.String); ok && len(s) > maxBits {
			return nil, refuse(Raised, "int: text of %d bytes is no number of at most %d bits", len(s), maxBits)
		}
	}
	return narrow(universe("int", th, args[:len(args)-len(kwargs)], kwargs))
}

func toText(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	if _, err := whole(th, x, "str"); err != nil {
		return nil, err
	}
	return universe("str", th, args, kwargs)
}

func newRange(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, a := range args {
		if n, err := starlark.AsInt32(a); err != nil || n > 1<<30 || n < -1<<30 {
			return nil, refuse(Raised, "range: got %s, want an int under 2**30", a.Type())
		}
	}
	v, err := universe("range", th, args, kwargs)
	if err == nil && starlark.Len(v) > maxRange {
		return nil, refuse(Memory, "range of %d elements, the limit is %d", starlark.Len(v), maxRange)
	}
	return v, err
}

// keyed is an element to be ordered, and the key that orders it.
type keyed struct{ value, key starlark.Value }

// elements gives the elements of an iterable, charged for; without a key function each is its own key.
func elements(th *starlark.Thread, x starlark.Value, key starlark.Callable) ([]keyed, error) {
	n, err := length(x)
	if err != nil {
		return nil, err
	}
	each := 64
	if key != nil {
		each = 192 // with the frame of the call
	}
	if err := charge(th, each*n); err != nil {
		return nil, err
	}
	list := make([]keyed, 0, n)
	for v := range starlark.Elements(x.(starlark.Iterable)) {
		list = append(list, keyed{v, v})
	}
	if key == nil {
		return list, nil
	}
	arg := make(starlark.Tuple, 1) // One for all calls: nothing that can be called keeps its arguments' array.
	for i := range list {
		arg[0] = list[i].value
		if list[i].key, err = starlark.Call(th, key, arg, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sorted is the language's own, stable, with keys compared no more than the budget allows.
func sorted(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "iterable", &x, "key?", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	list, err := elements(th, x, key)
	if err != nil {
		return nil, refuseIn(b.Name(), err)
	}
	slices.SortStableFunc(list, func(x, y keyed) int {
		if err != nil {
			return 0
		}
		var c int
		c, err = order(th, x.key, y.key)
		if reverse {
			return -c
		}
		return c
	})
	if err != nil {
		return nil, refuseIn(b.Name(), err)
	}
	out := make([]starlark.Value, len(list))
	for i := range list {
		out[i] = list[i].value
	}
	return starlark.NewList(out), nil
}

// refuseIn names the built-in in an error; errors of functions that it called have their own place.
func refuseIn(name string, err error) error {
	switch err := err.(type) {
	case *starlark.EvalError:
		return err
	case *refusal:
		return refuse(err.kind, "%s: %s", name, err.msg)
	}
	return refuse(Raised, "%s: %s", name, err)
}

// order orders two keys. It takes budget for each look: sorting looks at n log n pairs.
func order(th *starlark.Thread, x, y starlark.Value) (int, error) {
	if fx, ok := x.(starlark.Float); ok {
		if fy, ok := y.(starlark.Float); ok && fx == fx && fy == fy {
			return threeWay(fx < fy, fx > fy), charge(th, unit)
		}
	}
	if err := charge(th, unit); err != nil {
		return 0, err
	}
	less, err := compare(th, syntax.LT, x, y)
	if err != nil || less {
		return -1, err
	}
	more, err := compare(th, syntax.GT, x, y)
	return threeWay(false, more), err
}

func threeWay(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

// extreme is min or max; the first of equals wins.
func extreme(op syntax.Token) builtin {
	return func(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var key starlark.Callable
		if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "key?", &key); err != nil {
			return nil, err
		}
		var x starlark.Value = args
		if len(args) == 1 {
			x = args[0]
		}
		list, err := elements(th, x, key)
		if err != nil {
			return nil, refuseIn(b.Name(), err)
		}
		if len(list) == 0 {
			return nil, refuse(Raised, "%s: nothing to choose from", b.Name())
		}
		best := 0
		for i := 1; i < len(list); i++ {
			better, err := compare(th, op, list[i].key, list[best].key)
			if err != nil {
				return nil, refuseIn(b.Name(), err)
			}
			if better {
				best = i
			}
		}
		return list[best].value, nil
	}
}

const maxPrint = 1 << 10

func line(th *starlark.Thread, args starlark.Tuple) (string, error) {
	text := ""
	for i, a := range args {
		if i > 0 {
			text += " "
		}
		if _, err := whole(th, a, "print"); err != nil {
			return "", err
		}
		if s, ok := a.(starlark.String); ok {
			text += string(s)
		} else {
			text += a.String()
		}
		if len(text) > maxPrint {
			return text[:maxPrint] + "…", nil
		}
	}
	return text, nil
}

func printLine(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, refuse(Raised, "%s: takes no named arguments", b.Name())
	}
	text, err := line(th, args)
	if err != nil {
		return nil, err
	}
	th.Print(th, text)
	return starlark.None, nil
}

func failCall(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, refuse(Raised, "%s: takes no named arguments", b.Name())
	}
	text, err := line(th, args)
	if err != nil {
		return nil, err
	}
	return nil, refuse(Failed, "fail: %s", text)
}

// rendezvous gives a pair a number that is the same each time. The name with the lowest number for a key is the key's
// place: when a name goes, only the keys that it had move, and they spread over all others. The number is from 0 up to 1;
// with a weight it is drawn so that names are lowest in proportion to their weights, and has no upper end.
// Thaler, Ravishankar: Using name-based mappings to increase hit rates, 1998.
func rendezvous(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, name starlark.Value
	var weight starlark.Value = starlark.None
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &key, "name", &name, "weight?", &weight); err != nil {
		return nil, err
	}
	var d xxhash.Digest
	d.Reset()
	for _, v := range []starlark.Value{key, name} {
		var kind byte
		text, ok := starlark.AsString(v)
		if i, isInt := v.(starlark.Int); isInt {
			kind, text, ok = 'i', i.String(), true
		}
		if !ok {
			return nil, refuse(Raised, "%s: got %s, want a string or an int", b.Name(), v.Type())
		}
		var head [9]byte // The length keeps ("ab", "c") and ("a", "bc") apart.
		binary.LittleEndian.PutUint64(head[1:], uint64(len(text)))
		head[0] = kind
		d.Write(head[:])
		d.WriteString(text)
	}
	draw := float64(d.Sum64()>>11) / (1 << 53)
	if weight == starlark.None {
		return starlark.Float(draw), nil
	}
	w, ok := starlark.AsFloat(weight)
	if !ok || !(w > 0) {
		return nil, refuse(Raised, "%s: weight: got %s, want a number over 0", b.Name(), brief(weight))
	}
	return starlark.Float(-math.Log1p(-draw) / w), nil
}

package policytest

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/penstock-gateway/penstock/core/policy"
)

// module is a value whose attributes are functions.
type module struct {
	name    string
	members map[string]*starlark.Builtin
}

func (m *module) String() string        { return m.name }
func (m *module) Type() string          { return "module" }
func (m *module) Freeze()               {}
func (m *module) Truth() starlark.Bool  { return true }
func (m *module) Hash() (uint32, error) { return 0, errors.New("unhashable: module") }

func (m *module) Attr(name string) (starlark.Value, error) {
	if b, ok := m.members[name]; ok {
		return b, nil
	}
	return nil, nil
}

func (m *module) AttrNames() []string {
	var names []string
	for name := range m.members {
		names = append(names, name)
	}
	return names
}

// asserts is what tests call assert. It never changes.
var asserts = &module{"assert", map[string]*starlark.Builtin{
	"eq":       starlark.NewBuiltin("assert.eq", assertEq),
	"ne":       starlark.NewBuiltin("assert.ne", assertNe),
	"true":     starlark.NewBuiltin("assert.true", assertTrue),
	"contains": starlark.NewBuiltin("assert.contains", assertContains),
	"fails":    starlark.NewBuiltin("assert.fails", assertFails),
}}

// two unpacks two values that are small enough to be compared and shown, and their texts.
func two(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (x, y starlark.Value, xs, ys string, err error) {
	if err = starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &x, &y); err != nil {
		return
	}
	if xs, err = policy.Text(x); err != nil {
		return
	}
	ys, err = policy.Text(y)
	return
}

func assertEq(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	got, want, gs, ws, err := two(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	if same, err := starlark.Equal(got, want); err != nil || !same {
		return nil, errors.Join(fmt.Errorf("%s: got %s, want %s", b.Name(), gs, ws), err)
	}
	return starlark.None, nil
}

func assertNe(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, xs, _, err := two(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	if same, err := starlark.Equal(x, y); err != nil || same {
		return nil, errors.Join(fmt.Errorf("%s: got %s twice", b.Name(), xs), err)
	}
	return starlark.None, nil
}

func assertTrue(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	why := "not true"
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "cond", &x, "why?", &why); err != nil {
		return nil, err
	}
	if !x.Truth() {
		return nil, fmt.Errorf("%s: %s", b.Name(), why)
	}
	return starlark.None, nil
}

func assertContains(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	all, one, as, os, err := two(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	var has bool
	switch all := all.(type) {
	case starlark.String:
		part, ok := starlark.AsString(one)
		has = ok && strings.Contains(string(all), part)
	case starlark.Iterable:
		for x := range starlark.Elements(all) {
			if same, err := starlark.Equal(x, one); err == nil && same {
				has = true
			}
		}
	default:
		return nil, fmt.Errorf("%s: got %s, want a string, list or dict", b.Name(), all.Type())
	}
	if !has {
		return nil, fmt.Errorf("%s: %s is not in %s", b.Name(), os, as)
	}
	return starlark.None, nil
}

// assertFails calls a function and wants it to fail with an error that has a part.
func assertFails(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Callable
	var want string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "fn", &fn, "want", &want); err != nil {
		return nil, err
	}
	_, err := starlark.Call(th, fn, nil, nil)
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s: it did not fail, want %q", b.Name(), want)
	case !strings.Contains(err.Error(), want):
		return nil, fmt.Errorf("%s: it failed with %q, want %q", b.Name(), err, want)
	}
	return starlark.None, nil
}

package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// record shows a fact to a policy, each attribute boxed when it is first asked for. It belongs to one call.
type record[T any] struct {
	facts *T
	table *table[T]
	asked []starlark.Value // by field; nil: not asked for yet
}

func newRecord[T any](facts *T, t *table[T]) *record[T] {
	return &record[T]{facts, t, make([]starlark.Value, len(t.fields))}
}

func (r *record[T]) String() string        { return r.table.kind }
func (r *record[T]) Type() string          { return r.table.kind }
func (r *record[T]) Freeze()               {}
func (r *record[T]) Truth() starlark.Bool  { return true }
func (r *record[T]) Hash() (uint32, error) { return 0, unhashable(r) }
func (r *record[T]) AttrNames() []string   { return r.table.names() }

func (r *record[T]) Attr(name string) (starlark.Value, error) {
	i, ok := r.table.index[name]
	if !ok {
		return nil, nil // The interpreter words the error, and proposes what is spelled alike.
	}
	if r.asked[i] == nil {
		r.asked[i] = box(r.table.fields[i].at(r.facts))
	}
	return r.asked[i], nil
}

func unhashable(v starlark.Value) error { return errors.New("unhashable: " + v.Type()) }

// boxed shows a fact whose attributes were all boxed beforehand, so that reading one costs a look-up.
type boxed[T any] struct {
	table *table[T]
	name  starlark.String // stands for the value in text and as a key
	attrs []starlark.Value
}

func newBoxed[T any](facts *T, t *table[T], name string) *boxed[T] {
	b := &boxed[T]{t, starlark.String(name), make([]starlark.Value, len(t.fields))}
	for i, f := range t.fields {
		b.attrs[i] = box(f.at(facts))
	}
	return b
}

func (b *boxed[T]) String() string        { return string(b.name) }
func (b *boxed[T]) Type() string          { return b.table.kind }
func (b *boxed[T]) Freeze()               {}
func (b *boxed[T]) Truth() starlark.Bool  { return true }
func (b *boxed[T]) Hash() (uint32, error) { return b.name.Hash() }
func (b *boxed[T]) AttrNames() []string   { return b.table.names() }

func (b *boxed[T]) Attr(name string) (starlark.Value, error) {
	if i, ok := b.table.index[name]; ok {
		return b.attrs[i], nil
	}
	return nil, nil
}

// Models is the models of a generation under one snapshot of statistics, boxed once. It never changes and is shared by
// all requests until the next snapshot.
type Models struct{ list starlark.Value }

// BoxModels boxes models, in the configuration's order. It keeps nothing of the slice.
func BoxModels(models []Model) *Models {
	list := make(starlark.Tuple, len(models))
	for i, m := range models {
		list[i] = newBoxed(&m, modelTable, m.Name)
	}
	return &Models{list}
}

// BoxedTarget is a deployment under one snapshot of statistics, boxed once and shared by all requests until the next.
type BoxedTarget struct{ *boxed[Target] }

// BoxTarget boxes a target. It keeps nothing of t.
func BoxTarget(t *Target) *BoxedTarget {
	own := *t
	return &BoxedTarget{newBoxed(&own, targetTable, own.Deployment)}
}

// Candidate is a target together with what is known of it for one request alone.
type Candidate struct {
	Target *BoxedTarget
	Cached float64  // the share of the input, 0 to 1, that its prompt cache is expected to hold
	Loses  []string // members of the request that translation would drop, or cannot express; see Script.ReadsLosses
}

// seat is a candidate in one call: it knows its place, so that a verb finds the slot to write to.
type seat struct {
	Candidate
	run   *run
	index int
}

func (s *seat) String() string        { return s.Target.String() }
func (s *seat) Type() string          { return s.Target.Type() }
func (s *seat) Freeze()               {}
func (s *seat) Truth() starlark.Bool  { return true }
func (s *seat) Hash() (uint32, error) { return s.Target.Hash() }
func (s *seat) AttrNames() []string   { return append(s.Target.AttrNames(), candidateTable.names()...) }

func (s *seat) Attr(name string) (starlark.Value, error) {
	if v, _ := s.Target.Attr(name); v != nil {
		return v, nil
	}
	if i, ok := candidateTable.index[name]; ok {
		return box(candidateTable.fields[i].at(&s.Candidate)), nil
	}
	return nil, nil
}

// textMap shows a map of texts: indexing, in, iteration by key in order, get, keys. No dict is built for it.
type textMap struct{ m map[string]string }

var _ interface {
	starlark.IterableMapping
	starlark.Sequence
	starlark.HasAttrs
} = (*textMap)(nil)

func (t *textMap) String() string        { return fmt.Sprintf("map of %d", len(t.m)) }
func (t *textMap) Type() string          { return "map" }
func (t *textMap) Freeze()               {}
func (t *textMap) Truth() starlark.Bool  { return len(t.m) > 0 }
func (t *textMap) Hash() (uint32, error) { return 0, unhashable(t) }
func (t *textMap) Len() int              { return len(t.m) }
func (t *textMap) AttrNames() []string   { return []string{"get"} }

func (t *textMap) Get(key starlark.Value) (starlark.Value, bool, error) {
	k, ok := key.(starlark.String)
	if !ok {
		return nil, false, nil
	}
	v, ok := t.m[string(k)]
	return starlark.String(v), ok, nil
}

func (t *textMap) keys() []starlark.Value {
	list := make([]starlark.Value, 0, len(t.m))
	for _, k := range slices.Sorted(maps.Keys(t.m)) {
		list = append(list, starlark.String(k))
	}
	return list
}

func (t *textMap) Iterate() starlark.Iterator { return starlark.Tuple(t.keys()).Iterate() }

func (t *textMap) Items() []starlark.Tuple {
	var items []starlark.Tuple
	for _, k := range t.keys() {
		v, _, _ := t.Get(k)
		items = append(items, starlark.Tuple{k, v})
	}
	return items
}

func (t *textMap) Attr(name string) (starlark.Value, error) {
	if name != "get" {
		return nil, nil
	}
	return starlark.NewBuiltin("get", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var key, or starlark.Value = nil, starlark.None
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &key, &or); err != nil {
			return nil, err
		}
		if v, ok, _ := t.Get(key); ok {
			return v, nil
		}
		return or, nil
	}), nil
}

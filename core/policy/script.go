package policy

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Script is a compiled file, a policy or a policy's tests: its top level has run, and what it defines is frozen.
type Script struct {
	name    string
	doc     string
	bounds  Bounds
	globals starlark.StringDict
	visit   func(file string, line int) // nil: not asked for
	files   []string
	losses  bool      // it looks at what targets lose
	runs    sync.Pool // of *run
}

const (
	maxFiles  = 32      // that one policy loads
	maxGlobal = 1 << 20 // bytes of a global value when written out
	patience  = 20      // times the time bound, where no request waits: a busy machine must not refuse a good policy
)

// dialect is plain Starlark: no while, no recursion, no sets, no reassigned globals.
var dialect = syntax.FileOptions{}

// CompileScript compiles a file that need not be a policy. The error is an *Error.
func CompileScript(name string, src []byte, o Options) (*Script, error) {
	s := &Script{name: name, bounds: o.Bounds.orDefault(), visit: o.Visit}
	c := &compiler{script: s, folder: o.Folder, env: predeclared, modules: map[string]*module{}}
	if len(o.Env) > 0 {
		c.env = maps.Clone(predeclared)
		maps.Copy(c.env, o.Env)
	}
	c.run = newRun(s)
	c.run.thread.Load = c.load
	loading := s.bounds
	loading.Time *= patience
	c.run.begin(context.Background(), loading, nil)
	defer c.run.end()
	globals, doc, err := c.file(name, src)
	if err != nil {
		return nil, err
	}
	s.globals, s.doc, s.files = globals, doc, slices.Sorted(maps.Keys(c.modules))
	return s, nil
}

// Doc is the text that the file opens with.
func (s *Script) Doc() string { return s.doc }

// ReadsLosses says whether the script, or a file that it loads, reads what targets lose of a request: it takes a call of
// each target's plugin to know.
func (s *Script) ReadsLosses() bool { return s.losses }

// Loads lists the files that were loaded, sorted; a change of one of them is a change of the script.
func (s *Script) Loads() []string { return s.files }

// Functions lists the functions that the file defines and that take no argument, in the order of the text.
func (s *Script) Functions() []string {
	var list []*starlark.Function
	for _, v := range s.globals {
		if fn, ok := v.(*starlark.Function); ok && fn.NumParams() == 0 && fn.Position().Filename() == s.name {
			list = append(list, fn)
		}
	}
	slices.SortFunc(list, func(a, b *starlark.Function) int { return int(a.Position().Line) - int(b.Position().Line) })
	var names []string
	for _, fn := range list {
		names = append(names, fn.Name())
	}
	return names
}

// Call calls a function of Functions. The error is an *Error; trace may be nil.
func (s *Script) Call(ctx context.Context, function string, trace *Trace) error {
	fn, ok := s.globals[function].(*starlark.Function)
	if !ok {
		return &Error{Kind: Names, Msg: fmt.Sprintf("%s: %s has no such function", function, s.name)}
	}
	r := s.take(ctx, trace)
	if _, err := starlark.Call(&r.thread, fn, nil, nil); err != nil {
		e := r.callError(err)
		r.end()
		return e
	}
	s.give(r)
	return nil
}

// compiler compiles a file and those that it loads, all within one budget.
type compiler struct {
	script  *Script
	folder  fs.FS
	env     starlark.StringDict
	run     *run
	modules map[string]*module
}

// module is a loaded file; one that is still being loaded has no globals.
type module struct{ globals starlark.StringDict }

func (c *compiler) file(name string, src []byte) (starlark.StringDict, string, error) {
	tree, err := parse(name, src, c.env, c.script.visit != nil)
	if err != nil {
		return nil, "", textErrors(err)[0]
	}
	doc, _ := docstring(tree.Stmts)
	c.script.losses = c.script.losses || reads(tree, losesName)
	program, err := starlark.FileProgram(tree, c.env.Has)
	if err != nil {
		return nil, "", textErrors(err)[0]
	}
	globals, err := program.Init(&c.run.thread, c.env)
	if err != nil {
		return nil, "", c.run.callError(err)
	}
	// Freezing walks what it freezes to the leaves, with no limit of its own.
	for _, key := range globals.Keys() {
		if _, ok := size(globals[key], maxGlobal); !ok {
			return nil, "", &Error{Kind: Memory, Pos: Pos{name, 1, 1}, Msg: fmt.Sprintf("%s: more than %d KiB in a global", key, maxGlobal>>10)}
		}
	}
	globals.Freeze()
	return globals, doc, nil
}

// parse gives the guarded tree of a file.
func parse(name string, src []byte, env starlark.StringDict, visits bool) (tree *syntax.File, err error) {
	if len(src) > maxSource {
		return nil, &Error{Kind: Syntax, Pos: Pos{name, 1, 1}, Msg: fmt.Sprintf("file of %d bytes, the limit is %d", len(src), maxSource)}
	}
	tree, err = dialect.Parse(name, src, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(*Error)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	rewrite(tree, env, visits)
	return tree, nil
}

// reads says whether a file reads an attribute of a name.
func reads(tree *syntax.File, name string) (found bool) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		dot, ok := n.(*syntax.DotExpr)
		found = found || ok && dot.Name.Name == name
		return !found
	})
	return found
}

// load finds what a load statement names: a file of the policy's folder, by its path there.
func (c *compiler) load(_ *starlark.Thread, name string) (starlark.StringDict, error) {
	if m, ok := c.modules[name]; ok {
		if m.globals == nil {
			return nil, refuse(Load, "load: %q is loading this file already", name)
		}
		return m.globals, nil
	}
	switch {
	case c.folder == nil:
		return nil, refuse(Load, "load: %q: this policy has no folder", name)
	case !fs.ValidPath(name) || path.Ext(name) != ".star" || strings.HasSuffix(name, "_test.star"):
		return nil, refuse(Load, "load: %q: want the path of a .star file within the folder of the policy", name)
	case len(c.modules) == maxFiles:
		return nil, refuse(Load, "load: %q: more than %d files", name, maxFiles)
	}
	src, err := fs.ReadFile(c.folder, name)
	if err != nil {
		return nil, refuse(Load, "load: %q: no such file in the folder of the policy", name)
	}
	m := &module{}
	c.modules[name] = m
	globals, _, err := c.file(name, src)
	if err != nil {
		return nil, err
	}
	m.globals = globals
	return globals, nil
}

package generation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
	"github.com/penstock-gateway/penstock/core/route"
)

// embedded begins the names of the policies that come with the gateway.
const embedded = "penstock/"

// defaultRouters are served where the configuration has none.
var defaultRouters = [...]string{embedded + "auto", embedded + "free"}

// routers compiles the routers, runs their tests, and makes the table of what can be asked for.
func (c *compilation) routers() {
	o := route.Options{Catalog: c.gen.Catalog, Off: c.Disabled, Health: c.watched}
	for i := range c.cfg.Models {
		if m := &c.cfg.Models[i]; m.Disabled {
			o.Disabled = append(o.Disabled, m.Name)
		}
	}
	for _, conf := range Routers(c.cfg) {
		if c.Policies == nil && len(c.cfg.Routers) == 0 {
			break // a test's generation, without the policies that are served where none is configured
		}
		if r := c.router(&conf); r != nil {
			o.Routers = append(o.Routers, r)
		}
	}
	c.gen.Routes = route.NewTable(o)
	if len(c.cfg.Routers) == 0 {
		return
	}
	for _, cycle := range c.gen.Routes.Cycles(c.ctx) {
		c.fail("routers."+cycle[0]+".policy", "a router may branch to another, and none of those back to it",
			"routers lead back to themselves: %s", strings.Join(cycle, ", "))
	}
}

// Routers gives the routers of a configuration; where it has none, those that are served then.
func Routers(cfg *config.Config) []config.Router {
	if len(cfg.Routers) > 0 {
		return cfg.Routers
	}
	var list []config.Router
	for _, name := range defaultRouters {
		if !slices.ContainsFunc(cfg.Models, func(m config.Model) bool { return m.Name == name }) {
			list = append(list, config.Router{Name: name, Policy: name, MinCandidates: 1})
		}
	}
	return list
}

// router compiles one router; nil where a policy of it is at fault, which has then been said.
func (c *compilation) router(conf *config.Router) *route.Router {
	p := c.policy(conf.Policy, "routers."+conf.Name+".policy")
	if p == nil {
		return nil
	}
	r := &route.Router{Name: conf.Name, Policy: p, MinCandidates: conf.MinCandidates, OnError: conf.OnError}
	if conf.Shadow != "" {
		if r.Shadow = c.policy(conf.Shadow, "routers."+conf.Name+".shadow"); r.Shadow == nil {
			return nil
		}
	}
	return r
}

// policy compiles a policy. The tests of one that comes with the gateway are the gateway's own, and are not run here.
func (c *compilation) policy(name, at string) *policy.Program {
	folder, file, dir := c.Policies, strings.TrimPrefix(name, embedded)+".star", ""
	own := !strings.HasPrefix(name, embedded)
	switch {
	case own:
		dir, file = filepath.Dir(name), filepath.Base(name)
		folder = os.DirFS(dir)
	case folder == nil || !fs.ValidPath(file) || strings.Contains(file, "/"):
		c.fail(at, c.shipped(), "no policy %q comes with the gateway", name)
		return nil
	}
	src, err := fs.ReadFile(folder, file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !own:
		c.fail(at, c.shipped(), "no policy %q comes with the gateway", name)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		c.fail(at, "a path is relative to the configuration", "no file %q", name)
		return nil
	case err != nil:
		c.fail(at, "", "%v", err)
		return nil
	}
	p, err := policy.Compile(file, src, policy.Options{Folder: folder})
	if err != nil {
		c.policyFault(at, dir, "", err)
		return nil
	}
	if own && !c.testPolicy(folder, file, dir, at) {
		return nil
	}
	return p
}

// shipped is a hint at the policies that there are.
func (c *compilation) shipped() string {
	if c.Policies == nil {
		return ""
	}
	files, err := fs.Glob(c.Policies, "*.star")
	if err != nil {
		return ""
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, policytest.Suffix) })
	return "there are " + embedded + strings.ReplaceAll(strings.Join(files, ", "+embedded), ".star", "")
}

// testPolicy runs the tests beside a policy, where there are any, and says whether all passed.
func (c *compilation) testPolicy(folder fs.FS, file, dir, at string) bool {
	tests := strings.TrimSuffix(file, ".star") + policytest.Suffix
	if _, err := fs.Stat(folder, tests); err != nil {
		return true
	}
	report, err := policytest.Run(c.ctx, folder, tests, policytest.Options{})
	if err != nil {
		c.policyFault(at, dir, "", err)
		return false
	}
	for _, t := range report.Tests {
		if t.Err != nil {
			c.policyFault(at, dir, t.Name+": ", t.Err)
		}
	}
	return report.Failed() == 0
}

// policyFault reports what is wrong with a policy at its place in the policy's own text.
func (c *compilation) policyFault(at, dir, test string, err error) {
	var e *policy.Error
	if !errors.As(err, &e) || e.Pos.Line == 0 {
		c.fail(at, "", "%s%v", test, err)
		return
	}
	c.out = append(c.out, config.Diagnostic{File: filepath.Join(dir, e.Pos.File), Line: e.Pos.Line, Column: e.Pos.Col, Path: at, Message: test + e.Msg})
}

// PolicyModels gives the models that a key may use, as policies see them.
func (g *Generation) PolicyModels(k *Key, s *route.Statistics) *policy.Models {
	if k.Unrestricted() {
		return s.Models()
	}
	if seen := k.seen.Load(); seen != nil && seen.statistics == s {
		return seen.models
	}
	models := s.Describe(k.Allows)
	k.seen.Store(&keyModels{s, models})
	return models
}

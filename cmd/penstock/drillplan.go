package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// drillPlan is a configuration that is to be drilled, and what is asked of it.
type drillPlan struct {
	source string
	text   []byte // as its operator wrote it
	dir    string // of the file: relative paths start there
	model  string // that is asked: a model, or a router
	routed bool
	at     drillPlace
	models []config.Model
	key    string
}

// drillPlace is the deployment that is made to fail.
type drillPlace struct {
	model string
	index int
	alone bool // nothing else can serve: a healthy deployment is put beside it
}

// noModelError says that there is nothing to ask.
type noModelError struct{ text string }

func (e *noModelError) Error() string { return e.text }

// newDrillPlan chooses the model that is asked.
func newDrillPlan(cfg *config.Config, text []byte, model string) (*drillPlan, error) {
	p := &drillPlan{source: cfg.File, text: text, dir: cfg.Dir, model: model, models: cfg.Models, key: newSecret("psk_")}
	for _, r := range cfg.Routers {
		p.routed = p.routed || r.Name == model
	}
	if p.routed {
		return p, nil
	}
	chosen := -1
	for i, m := range cfg.Models {
		switch {
		case model != "" && m.Name != model, model == "" && m.Disabled:
			continue
		case chosen < 0 || len(m.Deployments) > 1 && len(cfg.Models[chosen].Deployments) == 1:
			chosen = i
		}
	}
	if chosen < 0 && model != "" {
		return nil, &noModelError{fmt.Sprintf("%s: no model or router %q", cfg.File, model)}
	}
	if chosen < 0 {
		return nil, &noModelError{cfg.File + ": no model to drill"}
	}
	m := &cfg.Models[chosen]
	p.model, p.at = m.Name, drillPlace{model: m.Name, alone: len(m.Deployments) == 1}
	return p, nil
}

// drillProvider stands before the names of the providers that a drill adds.
const drillProvider = "drill-"

// The limits of a drill: short, so that it is soon over.
const (
	drillWait  = 400 * time.Millisecond // to connect, for the first content, between two pieces
	drillTotal = 3 * time.Second
	drillOpen  = 500 * time.Millisecond // between a failure too many and the first probe
)

// without are members of a configuration that a drill does not take over: doors, stores and whatever speaks to others.
var without = [...]string{"source", "listen", "admin", "tls", "plugin_dirs", "plugin_mtls", "store", "counters", "teams", "guards", "cache",
	"content_log", "telemetry", "rum"}

// object is a mapping of a configuration.
type object = map[string]any

// with writes the configuration in which a fault is played; nil: all is well.
func (p *drillPlan) with(f *demo.Fault) ([]byte, error) { return p.write(f, false) }

// write is with, for a fault that perhaps nobody stands behind.
func (p *drillPlan) write(f *demo.Fault, alone bool) ([]byte, error) {
	var doc object
	if err := yaml.Unmarshal(p.text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %v", p.source, err)
	}
	for _, name := range without {
		delete(doc, name)
	}
	providers, _ := doc["providers"].(object)
	for id := range providers {
		providers[id] = object{"plugin": "demo"}
	}
	models, _ := doc["models"].(object)
	for name, m := range models {
		if m, ok := m.(object); ok {
			if s := m["strategy"]; s == "weighted" || s == "fastest" {
				m["strategy"] = "ordered" // the order must not depend on luck or on what was measured
			}
			m["deployments"] = p.deployments(name, m, f)
			if alone && name == p.at.model {
				m["deployments"] = m["deployments"].([]any)[p.at.index : p.at.index+1]
			}
		}
	}
	providers[drillProvider+"healthy"] = object{"plugin": "demo"}
	if f != nil {
		providers[drillProvider+f.Name] = misbehaving(f)
	}
	routers, _ := doc["routers"].(object)
	for _, r := range routers {
		if r, ok := r.(object); ok {
			p.absolute(r, "policy")
			p.absolute(r, "shadow")
		}
	}
	doc["keys"] = []object{{"name": "drill", "secret": p.key}}
	wait := drillWait
	if f != nil && f.Long { // nobody is silent, and there is much to do
		wait = drillTotal
	}
	doc["timeout"] = object{"connect": wait.String(), "first_content": wait.String(), "idle": wait.String(), "total": drillTotal.String()}
	retry, _ := doc["retry"].(object)
	if retry == nil {
		retry = object{}
	}
	retry["backoff"] = object{"first": "10ms", "max": "100ms"}
	if alone {
		retry["attempts"], retry["backoff"] = 2, object{"first": "10ms", "max": "2s"}
	}
	doc["retry"] = retry
	breaker, _ := doc["breaker"].(object)
	if breaker == nil {
		breaker = object{}
	}
	breaker["open_for"] = drillOpen.String()
	doc["breaker"] = breaker
	return json.Marshal(doc)
}

// misbehaving is the provider of a fault. One that harms its process, or keeps it busy, has it for itself.
func misbehaving(f *demo.Fault) object {
	provider := object{"plugin": "demo"}
	if f.Connect {
		provider["config"] = object{"fault": f.Name}
	}
	if f.Process || f.Large {
		provider["isolate"] = true
	}
	return provider
}

// deployments are those of a model, played by the demo.
func (p *drillPlan) deployments(name string, m object, f *demo.Fault) []any {
	list, _ := m["deployments"].([]any)
	for i, d := range list {
		d, ok := d.(object)
		if !ok {
			continue
		}
		delete(d, "dialect")
		d["model"] = demo.Echo
		here := f != nil && name == p.at.model && i == p.at.index
		switch {
		case here && f.Size:
			d["context_window"] = 100_000
		case f != nil && f.Size:
			d["context_window"] = 1_000_000
		}
		if here {
			d["provider"], d["model"] = drillProvider+f.Name, demo.FaultModel+f.Name
			if f.Connect {
				d["model"] = demo.Echo
			}
		}
	}
	if f != nil && name == p.at.model && p.at.alone {
		list = append(list, object{"provider": drillProvider + "healthy", "model": demo.Echo, "context_window": 1_000_000})
	}
	return list
}

// deploymentOf finds the deployment of a model at a provider.
func (p *drillPlan) deploymentOf(model, provider string) int {
	for _, m := range p.models {
		if m.Name != model {
			continue
		}
		for i, d := range m.Deployments {
			if d.Provider == provider {
				return i
			}
		}
	}
	return 0
}

// absolute makes a relative path of a policy hold from elsewhere.
func (p *drillPlan) absolute(router object, member string) {
	path, ok := router[member].(string)
	if ok && !filepath.IsAbs(path) && !strings.HasPrefix(path, "penstock/") {
		if abs, err := filepath.Abs(filepath.Join(p.dir, path)); err == nil {
			router[member] = abs
		}
	}
}

package gateway

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// target is where a request leads.
type target struct {
	dialect dialect.Dialect // of the answer, errors included
	model   string          // where the path names it
	local   func(*request)  // answered here; nil: relayed
}

// Dialects are the client dialects by name, and the routes that lead to them.
type Dialects struct {
	exact map[string]endpoint
	chat  dialect.Dialect // answers where no route tells a dialect
	byDir []dir
}

// endpoint is what stands at a path.
type endpoint struct {
	method string
	target target
}

// dir says in which dialect unknown paths below a prefix are answered.
type dir struct {
	prefix  string
	dialect dialect.Dialect
}

// NewDialects makes the route table (CONTRACTS, "Routes on the data listener"). A dialect that is nil has no routes.
func NewDialects(chat, anthropic dialect.Dialect) Dialects {
	d := Dialects{chat: chat, exact: map[string]endpoint{}}
	post := func(t target, paths ...string) {
		for _, p := range paths {
			d.exact[p] = endpoint{"POST", t}
		}
	}
	get := func(local func(*request), paths ...string) {
		for _, p := range paths {
			d.exact[p] = endpoint{"GET", target{dialect: chat, local: local}}
		}
	}
	post(target{dialect: chat}, "/v1/chat/completions", "/api/v1/chat/completions", "/openai/v1/chat/completions")
	post(target{dialect: anthropic}, "/v1/messages", "/anthropic/v1/messages")
	get((*request).listModels, "/v1/models", "/api/v1/models", "/openai/v1/models", "/anthropic/v1/models")
	get((*request).live, "/livez", "/healthz", "/health/liveliness")
	get((*request).ready, "/readyz", "/health/readiness")
	d.byDir = []dir{{"/v1/messages", anthropic}, {"/anthropic/", anthropic}}
	return d
}

// Names lists the client dialects that the routes speak.
func (d *Dialects) Names() []string {
	seen := map[string]bool{}
	var names []string
	for _, e := range d.exact {
		if e.target.local == nil && !seen[e.target.dialect.Name()] {
			seen[e.target.dialect.Name()] = true
			names = append(names, e.target.dialect.Name())
		}
	}
	return names
}

// modelPrefixes are the paths below which a model's own page stands.
var modelPrefixes = [...]string{"/v1/models/", "/api/v1/models/", "/openai/v1/models/", "/anthropic/v1/models/"}

// find gives the target of a request. Paths are matched as they were sent: nothing is decoded, joined or cleaned.
func (d *Dialects) find(method, path string) (target, *sdk.Failure) {
	if e, ok := d.exact[path]; ok {
		if method == e.method || method == "HEAD" && e.method == "GET" {
			return e.target, nil
		}
		return target{dialect: e.target.dialect}, &sdk.Failure{Kind: sdk.BadMethod, Message: "method " + method + " is not for " + path + ", want " + e.method}
	}
	for _, p := range modelPrefixes {
		if name, ok := strings.CutPrefix(path, p); ok && name != "" && (method == "GET" || method == "HEAD") {
			return target{dialect: d.of(path), model: name, local: (*request).showModel}, nil
		}
	}
	return target{dialect: d.of(path)}, &sdk.Failure{Kind: sdk.UnknownRoute, Message: "path " + quote(path) + " is not served"}
}

// of gives the dialect that a path without a route is answered in.
func (d *Dialects) of(path string) dialect.Dialect {
	for _, dir := range d.byDir {
		if strings.HasPrefix(path, dir.prefix) {
			return dir.dialect
		}
	}
	return d.chat
}

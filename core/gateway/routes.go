package gateway

import (
	"net/url"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/sdk"
)

// target is where a request leads.
type target struct {
	dialect dialect.Dialect // of the answer, errors included
	model   string          // where the path names it
	inBody  bool            // and it takes the place of the model that bodies of the dialect name
	stream  bool            // where the path says that a stream is wanted
	framing string          // of such a stream: "array", or the dialect's own
	count   bool            // tokens are to be counted
	local   func(*request)  // answered here; nil: relayed
	allow   string          // the methods that the path takes, where the request's is none of them
}

// Dialects are the client dialects, and the routes that lead to them.
type Dialects struct {
	Speakers
	exact map[string]endpoint
}

// Speakers are the client dialects that have routes.
type Speakers struct {
	Chat, Responses, Embeddings, Anthropic, Gemini dialect.Dialect
	GeminiEmbeddings, GeminiBatch                  dialect.Dialect // of one name: one input, and several
}

// endpoint is what stands at a path.
type endpoint struct {
	method string
	target target
}

// NewDialects makes the route table.
func NewDialects(s Speakers) Dialects {
	d := Dialects{Speakers: s, exact: map[string]endpoint{}}
	post := func(t target, paths ...string) {
		for _, p := range paths {
			d.exact[p] = endpoint{"POST", t}
		}
	}
	get := func(local func(*request), paths ...string) {
		for _, p := range paths {
			d.exact[p] = endpoint{"GET", target{dialect: d.of(p), local: local}}
		}
	}
	post(target{dialect: s.Chat}, "/v1/chat/completions", "/api/v1/chat/completions", "/openai/v1/chat/completions", "/v1beta/openai/chat/completions")
	post(target{dialect: s.Responses}, "/v1/responses", "/api/v1/responses", "/openai/v1/responses", "/openai/responses")
	post(target{dialect: s.Embeddings}, "/v1/embeddings", "/api/v1/embeddings", "/openai/v1/embeddings", "/v1beta/openai/embeddings")
	post(target{dialect: s.Anthropic}, "/v1/messages", "/api/v1/messages", "/anthropic/v1/messages")
	post(target{dialect: s.Responses, count: true}, "/v1/responses/input_tokens", "/openai/v1/responses/input_tokens")
	post(target{dialect: s.Anthropic, count: true}, "/v1/messages/count_tokens", "/api/v1/messages/count_tokens", "/anthropic/v1/messages/count_tokens")
	get((*request).listModels, "/v1/models", "/api/v1/models", "/openai/v1/models", "/openai/models", "/anthropic/v1/models",
		"/v1beta/models", "/v1alpha/models", "/gemini/v1beta/models", "/v1beta/openai/models")
	get((*request).showKey, "/api/v1/key")
	get((*request).live, "/livez", "/healthz", "/health/liveliness")
	get((*request).ready, "/readyz", "/health/readiness")
	return d
}

// Names lists the client dialects that the routes speak.
func (d *Dialects) Names() []string {
	var names []string
	for _, s := range []dialect.Dialect{d.Chat, d.Responses, d.Embeddings, d.Anthropic, d.Gemini, d.GeminiEmbeddings} {
		names = append(names, s.Name())
	}
	return names
}

// served is what a client is told that asks for a path that leads nowhere.
const served = "want /v1/chat/completions, /v1/responses, /v1/messages, /v1/embeddings, /v1beta/models/MODEL:generateContent or /v1/models"

// find gives the target of a request.
func (d *Dialects) find(head *h1.Head) (target, *sdk.Failure) {
	if e, ok := d.exact[string(head.Path())]; ok && string(head.Method) == e.method {
		return e.target, nil
	}
	return d.search(asked{string(head.Method), string(head.Path()), string(head.Query())})
}

// asked is what a request's line says.
type asked struct{ method, path, query string }

// search is find for a request that names no route as it stands in the table. A path that misses a route by a usual mistake
// in a client's base URL leads to it.
func (d *Dialects) search(a asked) (target, *sdk.Failure) {
	e, ok := d.at(a)
	if !ok {
		near := a
		near.path = d.near(a)
		e, ok = d.at(near)
	}
	switch {
	case !ok:
		return target{dialect: d.of(a.path)}, &sdk.Failure{Kind: sdk.UnknownRoute, Message: "path " + quote(a.path) + " is not served: " + served}
	case a.method == e.method, a.method == "HEAD" && e.method == "GET":
		return e.target, nil
	}
	f := &sdk.Failure{Kind: sdk.BadMethod, Message: "method " + a.method + " is not for " + quote(a.path) + ", want " + e.method}
	return target{dialect: e.target.dialect, allow: e.methods()}, f
}

// methods are those that the endpoint takes, as an Allow field lists them (RFC 9110 10.2.1).
func (e endpoint) methods() string {
	if e.method == "GET" {
		return "GET, HEAD"
	}
	return e.method
}

// of gives the dialect that a path without a route of its own is answered in.
func (d *Dialects) of(path string) dialect.Dialect {
	switch {
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/anthropic/"):
		return d.Anthropic
	case strings.HasPrefix(path, "/v1beta/openai/"):
		return d.Chat
	case strings.HasPrefix(path, "/v1beta/"), strings.HasPrefix(path, "/v1alpha/"), strings.HasPrefix(path, "/gemini/"):
		return d.Gemini
	case strings.HasPrefix(path, "/v1/responses"):
		return d.Responses
	}
	return d.Chat
}

// modelPrefixes are the paths below which a model's own page stands.
var modelPrefixes = [...]string{"/v1/models/", "/api/v1/models/", "/openai/v1/models/", "/openai/models/", "/anthropic/v1/models/",
	"/v1beta/models/", "/v1alpha/models/", "/gemini/v1beta/models/", "/v1beta/openai/models/"}

// at gives what stands at a path. Nothing of it is decoded, joined or cleaned but the escapes in a model's name.
func (d *Dialects) at(a asked) (endpoint, bool) {
	if e, ok := d.exact[a.path]; ok {
		return e, true
	}
	if t, ok := d.verb(a.path, a.query); ok {
		return endpoint{"POST", t}, true
	}
	if t, ok := d.deployment(a.path); ok {
		return endpoint{"POST", t}, true
	}
	if a.method != "GET" && a.method != "HEAD" {
		return endpoint{}, false
	}
	for _, p := range modelPrefixes {
		if name, ok := strings.CutPrefix(a.path, p); ok && name != "" {
			return endpoint{"GET", target{dialect: d.of(a.path), model: name, local: (*request).showModel}}, true
		}
	}
	return endpoint{}, false
}

// near gives the path of a route that another path misses by the usual mistakes in a client's base URL: a slash too many, a
// version too many or none. "": it misses by more.
func (d *Dialects) near(a asked) string {
	path := a.path
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	path = strings.TrimSuffix(path, "/")
	for _, version := range [...]string{"/v1", "/v1beta"} {
		path = strings.Replace(path, version+version+"/", version+"/", 1)
	}
	paths := []string{path}
	for _, service := range [...]string{"", "/openai", "/anthropic", "/gemini", "/api"} {
		if rest, ok := strings.CutPrefix(path, service+"/"); ok {
			paths = append(paths, service+"/v1/"+rest, service+"/v1beta/"+rest)
		}
	}
	for _, p := range paths {
		a.path = p
		if _, ok := d.at(a); ok {
			return p
		}
	}
	return ""
}

// deployment reads the paths of Azure's API, /openai/deployments/MODEL/chat/completions
// (https://learn.microsoft.com/azure/ai-services/openai/reference). What the body says of a model does not count there.
func (d *Dialects) deployment(path string) (target, bool) {
	rest, ok := strings.CutPrefix(path, "/openai/deployments/")
	if !ok {
		return target{}, false
	}
	t := target{dialect: d.Chat, inBody: true}
	name, ok := strings.CutSuffix(rest, "/chat/completions")
	if !ok {
		name, ok = strings.CutSuffix(rest, "/embeddings")
		t.dialect = d.Embeddings
	}
	model, err := url.PathUnescape(name)
	t.model = model
	return t, ok && err == nil && model != ""
}

// geminiPrefixes are the paths below which Gemini's clients name a model and a verb.
var geminiPrefixes = [...]string{"/v1beta/models/", "/v1/models/", "/v1alpha/models/", "/gemini/v1beta/models/", "/gemini/v1/models/"}

// verb reads the paths of Gemini's API, MODEL:VERB, where slashes and colons may be escaped.
func (d *Dialects) verb(path, query string) (target, bool) {
	for _, p := range geminiPrefixes {
		rest, ok := strings.CutPrefix(path, p)
		if !ok {
			continue
		}
		rest, err := url.PathUnescape(rest)
		i := strings.LastIndexByte(rest, ':')
		if i <= 0 {
			return target{}, false
		}
		t := target{dialect: d.Gemini, model: rest[:i]}
		switch rest[i+1:] {
		case "generateContent":
		case "streamGenerateContent":
			t.stream = true
			if v, err := url.ParseQuery(query); err != nil || v.Get("alt") != "sse" {
				t.framing = "array"
			}
		case "countTokens":
			t.count = true
		case "embedContent":
			t.dialect = d.GeminiEmbeddings
		case "batchEmbedContents":
			t.dialect = d.GeminiBatch
		default:
			return target{}, false
		}
		return t, err == nil
	}
	return target{}, false
}

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
	stream  bool            // where the path says that a stream is wanted
	framing string          // of such a stream: "array", or the dialect's own
	count   bool            // tokens are to be counted
	local   func(*request)  // answered here; nil: relayed
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

// NewDialects makes the route table (CONTRACTS, "Routes on the data listener").
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
	post(target{dialect: s.Chat}, "/v1/chat/completions", "/api/v1/chat/completions", "/openai/v1/chat/completions")
	post(target{dialect: s.Responses}, "/v1/responses", "/openai/v1/responses")
	post(target{dialect: s.Embeddings}, "/v1/embeddings", "/api/v1/embeddings", "/openai/v1/embeddings")
	post(target{dialect: s.Anthropic}, "/v1/messages", "/anthropic/v1/messages")
	post(target{dialect: s.Anthropic, count: true}, "/v1/messages/count_tokens", "/anthropic/v1/messages/count_tokens")
	get((*request).listModels, "/v1/models", "/api/v1/models", "/openai/v1/models", "/anthropic/v1/models", "/v1beta/models", "/gemini/v1beta/models")
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

// modelPrefixes are the paths below which a model's own page stands.
var modelPrefixes = [...]string{"/v1/models/", "/api/v1/models/", "/openai/v1/models/", "/anthropic/v1/models/", "/v1beta/models/", "/gemini/v1beta/models/"}

// find gives the target of a request. Paths are matched as they were sent: nothing is decoded, joined or cleaned.
func (d *Dialects) find(head *h1.Head) (target, *sdk.Failure) {
	e, ok := d.exact[string(head.Path())]
	method := string(head.Method)
	if ok && (method == e.method || method == "HEAD" && e.method == "GET") {
		return e.target, nil
	}
	path := string(head.Path())
	if ok {
		return target{dialect: e.target.dialect}, &sdk.Failure{Kind: sdk.BadMethod, Message: "method " + method + " is not for " + path + ", want " + e.method}
	}
	if t, ok := d.verb(path, string(head.Query())); ok {
		if method == "POST" {
			return t, nil
		}
		return t, &sdk.Failure{Kind: sdk.BadMethod, Message: "method " + method + " is not for " + path + ", want POST"}
	}
	for _, p := range modelPrefixes {
		if name, ok := strings.CutPrefix(path, p); ok && name != "" && (method == "GET" || method == "HEAD") {
			return target{dialect: d.of(path), model: name, local: (*request).showModel}, nil
		}
	}
	return d.unknown(path)
}

// unknown is where a path leads that has no route.
func (d *Dialects) unknown(path string) (target, *sdk.Failure) {
	f := &sdk.Failure{Kind: sdk.UnknownRoute, Message: "path " + quote(path) + " is not served"}
	if near := d.near(path); near != "" {
		f.Message += "; did you mean " + near + "?"
		path = near // whoever meant it speaks its dialect
	}
	return target{dialect: d.of(path)}, f
}

// near gives the route that a path misses by the usual mistakes in a client's base URL: a slash too many, a version too many
// or none. "": it misses by more.
func (d *Dialects) near(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	path = strings.TrimSuffix(path, "/")
	for _, version := range [...]string{"/v1", "/v1beta"} {
		path = strings.Replace(path, version+version+"/", version+"/", 1)
	}
	for _, p := range [...]string{path, "/v1" + path, "/v1beta" + path} {
		if _, ok := d.exact[p]; ok {
			return p
		}
		if _, ok := d.verb(p, ""); ok && len(p) <= maxShown {
			return p
		}
	}
	return ""
}

// maxShown bounds a path that a client is shown.
const maxShown = 200

// methods are those that a path takes, as an Allow field lists them (RFC 9110 10.2.1).
func (d *Dialects) methods(path string) string {
	if e, ok := d.exact[path]; ok && e.method == "GET" {
		return "GET, HEAD"
	}
	return "POST"
}

// geminiPrefixes are the paths below which Gemini's clients name a model and a verb.
var geminiPrefixes = [...]string{"/v1beta/models/", "/v1/models/", "/gemini/v1beta/models/", "/gemini/v1/models/"}

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

// of gives the dialect that a path without a route of its own is answered in.
func (d *Dialects) of(path string) dialect.Dialect {
	switch {
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/anthropic/"):
		return d.Anthropic
	case strings.HasPrefix(path, "/v1beta/"), strings.HasPrefix(path, "/gemini/"):
		return d.Gemini
	case strings.HasPrefix(path, "/v1/responses"):
		return d.Responses
	}
	return d.Chat
}

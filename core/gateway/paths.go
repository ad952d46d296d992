package gateway

import (
	"net/url"
	"strings"
)

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

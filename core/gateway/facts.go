package gateway

import (
	"bytes"
	"strings"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// readFacts reads what routing needs of the body.
func (r *request) readFacts() error {
	r.facts = dialect.Facts{}
	err := r.dialect.Facts(&r.doc, &r.facts)
	if err == nil || r.facts.ModelNode != 0 || !r.nameFirst() {
		return err
	}
	r.facts = dialect.Facts{}
	return r.dialect.Facts(&r.doc, &r.facts)
}

// nameFirst makes the first of a chat request's models its model, where it names none: OpenRouter's clients may send the list
// alone (https://openrouter.ai/docs/guides/routing/model-fallbacks). It says whether it did.
func (r *request) nameFirst() bool {
	list, ok := r.doc.Member(0, "models")
	if !ok || r.dialect.Name() != "openai-chat" || r.doc.Kind(list) != jsonspan.Array || r.doc.Len(list) == 0 {
		return false
	}
	first := list + 1
	if r.doc.Kind(first) != jsonspan.String || len(r.doc.Inner(first)) == 0 {
		return false
	}
	edit := r.doc.Insert(0, "model", r.doc.Raw(first))
	if none, ok := r.doc.Member(0, "model"); ok {
		if r.doc.Kind(none) != jsonspan.Null {
			return false
		}
		edit = r.doc.Replace(none, r.doc.Raw(first))
	}
	segs, _ := jsonspan.Splice(nil, r.doc.Body, []jsonspan.Edit{edit})
	return r.doc.Parse(bytes.Join(segs, nil), jsonspan.Limits{Depth: r.gen.Config.Limits.Depth}) == nil
}

var _ route.Translator = (*request)(nil)

// wholeRequest stands for a member where all of a request cannot be expressed.
const wholeRequest = "*"

// Loses gives the members of the request that translation for a deployment would drop, or cannot express; see
// route.Translator. Nothing is known where its plugin fails.
func (r *request) Loses(d *catalog.Deployment) (members []string) {
	if r.route.count || d.Way(r.dialect.Name()).Pass {
		return nil
	}
	if r.middle == nil {
		q := new(sdk.Request)
		if r.dialect.Decode(&r.doc, q) != nil { // which the client is told when it is tried
			return nil
		}
		q.Dialect, q.Stream = r.dialect.Name(), r.facts.Stream
		r.middle = q
	}
	u := r.gen.Candidate(d, r.key, nil)
	e, f := u.Encode(r.dialect, &r.doc, *r.middle)
	switch {
	case f == nil:
	case f.Kind == sdk.PluginFailed:
		return nil
	case f.Param == "":
		return []string{wholeRequest}
	default:
		return []string{f.Param}
	}
	for _, n := range e.Dropped {
		if !n.Approximate {
			members = append(members, n.Path)
		}
	}
	return members
}

// shownHeaders gives the headers that the configuration lets policies see, several lines of one as one.
func (r *request) shownHeaders() map[string]string {
	shown := r.gen.Config.PolicyHeaders
	if len(shown) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, field := range r.head().Fields {
		for _, name := range shown {
			if !strings.EqualFold(string(field.Name), name) {
				continue
			}
			value := string(field.Value)
			if before, ok := all[name]; ok {
				value = before + ", " + value
			}
			all[name] = value
		}
	}
	return all
}

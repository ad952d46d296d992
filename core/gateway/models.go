package gateway

import (
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// listModels answers GET /v1/models with the models and routers that the key may use: in Anthropic's form where the client speaks that dialect,
// in OpenAI's otherwise.
func (r *request) listModels() {
	if f := r.member(); f != nil {
		r.fail(f)
		return
	}
	var allowed []string
	for _, m := range r.gen.Catalog.Models {
		if r.key.Allows(m.Name) {
			allowed = append(allowed, m.Name)
		}
	}
	for _, router := range r.gen.Routes.Routers() {
		if r.key.Allows(router.Name) {
			allowed = append(allowed, router.Name)
		}
	}
	var w sdk.Writer
	w.Object()
	if r.anthropicClient() {
		w.Name("data").Array()
		for _, m := range allowed {
			r.anthropicModel(&w, m)
		}
		w.EndArray()
		w.Name("has_more").Bool(false)
		w.Name("first_id").Value(edgeID(allowed, 0))
		w.Name("last_id").Value(edgeID(allowed, len(allowed)-1))
	} else {
		w.Name("object").String("list")
		w.Name("data").Array()
		for _, m := range allowed {
			r.openaiModel(&w, m)
		}
		w.EndArray()
	}
	w.EndObject()
	r.answer(200, "application/json", w.Bytes())
}

// showModel answers GET /v1/models/{id}.
func (r *request) showModel() {
	if f := r.member(); f != nil {
		r.fail(f)
		return
	}
	r.model = r.route.model
	_, ok := r.gen.Catalog.Find(r.model)
	if !ok {
		_, ok = r.gen.Routes.Router(r.model)
	}
	if !ok || !r.key.Allows(r.model) {
		r.fail(r.unknownModel())
		return
	}
	var w sdk.Writer
	if r.anthropicClient() {
		r.anthropicModel(&w, r.model)
	} else {
		r.openaiModel(&w, r.model)
	}
	r.answer(200, "application/json", w.Bytes())
}

// member admits a request for a page that needs a key but no model.
func (r *request) member() *sdk.Failure {
	if r.gen == nil {
		return &sdk.Failure{Kind: sdk.Draining, Message: "no generation is in force yet", RetryAfter: retrySoon}
	}
	f := r.authenticate()
	r.clock.Mark(0)
	return f
}

// anthropicClient tells Anthropic's SDK from OpenAI's on the path that they share.
func (r *request) anthropicClient() bool {
	head := r.ex.Head()
	return head.Get("anthropic-version") != nil || head.Get("x-api-key") != nil
}

func (r *request) openaiModel(w *sdk.Writer, name string) {
	w.Object()
	w.Name("id").String(name)
	w.Name("object").String("model")
	w.Name("created").Int(r.gen.Created.Unix())
	w.Name("owned_by").String("penstock")
	w.EndObject()
}

func (r *request) anthropicModel(w *sdk.Writer, name string) {
	w.Object()
	w.Name("type").String("model")
	w.Name("id").String(name)
	w.Name("display_name").String(name)
	w.Name("created_at").String(r.gen.Created.UTC().Format(time.RFC3339))
	w.EndObject()
}

// edgeID is the name of the i-th model, or null.
func edgeID(models []string, i int) sdk.Value {
	if i < 0 || i >= len(models) {
		return sdk.Value{}
	}
	var w sdk.Writer
	w.String(models[i])
	return sdk.RawValue(w.Bytes())
}

// live answers whether the process should go on living.
func (r *request) live() { r.answer(200, "text/plain; charset=utf-8", []byte("ok\n")) }

// ready answers whether the gateway takes requests.
func (r *request) ready() {
	if r.gen == nil || r.g.draining.Load() {
		r.answer(503, "text/plain; charset=utf-8", []byte("not ready\n"))
		return
	}
	r.answer(200, "text/plain; charset=utf-8", []byte("ok\n"))
}

// answer sends a body of the gateway's own.
func (r *request) answer(status int, contentType string, body []byte) {
	r.status = status
	r.clock.Done()
	fields := r.appendIdentity(r.fields[:0])
	fields = append(fields, "Content-Type: "...)
	fields = append(fields, contentType...)
	fields = append(fields, "\r\n"...)
	fields = r.appendTiming(fields)
	r.fields = fields
	if r.ex.Commit(status, fields, int64(len(body))) == nil && r.ex.Write(body) == nil {
		r.ex.End(nil)
	}
}

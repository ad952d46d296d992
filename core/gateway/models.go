package gateway

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// listModels answers with the models and routers that the key may use, in the form of the client's dialect.
func (r *request) listModels() {
	if f := r.member(); f != nil {
		r.fail(f)
		return
	}
	form := r.modelForm()
	query, _ := url.ParseQuery(string(r.ex.Head().Query()))
	p, f := form.page(r.allowed(), query)
	if f != nil {
		r.fail(f)
		return
	}
	var w sdk.Writer
	w.Object()
	list := "data"
	switch form {
	case geminiForm:
		list = "models"
		if p.more {
			w.Name("nextPageToken").String(p.names[len(p.names)-1])
		}
	case anthropicForm:
		w.Name("has_more").Bool(p.more)
		w.Name("first_id").Value(edgeID(p.names, 0))
		w.Name("last_id").Value(edgeID(p.names, len(p.names)-1))
	default:
		w.Name("object").String("list")
	}
	w.Name(list).Array()
	for _, m := range p.names {
		r.writeModel(&w, form, m)
	}
	w.EndArray()
	w.EndObject()
	r.answer(200, "application/json", w.Bytes())
}

// allowed lists the models and routers that the key may use.
func (r *request) allowed() (names []string) {
	for _, m := range r.gen.Catalog.Models {
		if r.key.Allows(m.Name) {
			names = append(names, m.Name)
		}
	}
	for _, router := range r.gen.Routes.Routers() {
		if r.key.Allows(router.Name) {
			names = append(names, router.Name)
		}
	}
	return names
}

// modelPage is a part of the list of models.
type modelPage struct {
	names []string
	more  bool // in the direction that was asked for
}

// page gives the part of the list that a request asks for: by limit, after_id and before_id
// (https://platform.claude.com/docs/en/api/models/list), or by pageSize and pageToken (https://ai.google.dev/api/models), where
// the token is the name that the page before ended with. OpenAI's list has no parts. Who names no size is given all: clients
// that read one page see each model, and those that go on find no more.
func (form modelForm) page(names []string, query url.Values) (modelPage, *sdk.Failure) {
	size, after, before := "limit", "after_id", "before_id"
	switch form {
	case openaiForm:
		return modelPage{names: names}, nil
	case geminiForm:
		size, after, before = "pageSize", "pageToken", ""
	}
	const most = 1000
	limit := len(names)
	if v := query.Get(size); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || form == anthropicForm && (n < 1 || n > most) {
			return modelPage{}, badQuery(size, v, "a number from 1 to "+strconv.Itoa(most))
		}
		if n > 0 {
			limit = min(n, most)
		}
	}
	first, last := query.Get(after), ""
	if before != "" {
		last = query.Get(before)
	}
	switch {
	case first != "" && last != "":
		return modelPage{}, badQuery(before, last, "no "+after+" beside it")
	case first != "":
		i := slices.Index(names, first)
		if i < 0 {
			return modelPage{}, badQuery(after, first, "the name of a model")
		}
		names = names[i+1:]
	case last != "":
		i := slices.Index(names, last)
		if i < 0 {
			return modelPage{}, badQuery(before, last, "the name of a model")
		}
		return modelPage{names: names[max(0, i-limit):i], more: i > limit}, nil
	}
	return modelPage{names: names[:min(limit, len(names))], more: len(names) > limit}, nil
}

// badQuery is the failure of a query whose parameter is not as wanted.
func badQuery(name, value, want string) *sdk.Failure {
	return &sdk.Failure{Kind: sdk.BadRequest, Message: name + " " + quote(value) + ": want " + want, Param: name}
}

// showModel answers GET /v1/models/{id}. A name may come with its slashes escaped.
func (r *request) showModel() {
	if f := r.member(); f != nil {
		r.fail(f)
		return
	}
	r.model = r.route.model
	if name, err := url.PathUnescape(r.model); err == nil {
		r.model = name
	}
	_, ok := r.gen.Catalog.Find(r.model)
	if !ok {
		_, ok = r.gen.Routes.Router(r.model)
	}
	if !ok || !r.key.Allows(r.model) {
		r.fail(r.unknownModel())
		return
	}
	var w sdk.Writer
	r.writeModel(&w, r.modelForm(), r.model)
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

// modelForm is the form of a model's description, by the dialect of who asks.
type modelForm uint8

const (
	openaiForm modelForm = iota
	anthropicForm
	geminiForm
)

// modelForm tells the SDKs of three dialects apart, also on the path that they share: each has its own header for the key.
func (r *request) modelForm() modelForm {
	head := r.ex.Head()
	path := string(head.Path())
	switch {
	case strings.HasPrefix(path, "/v1beta/"), strings.HasPrefix(path, "/gemini/"), head.Get("x-goog-api-key") != nil:
		return geminiForm
	case strings.HasPrefix(path, "/anthropic/"), head.Get("anthropic-version") != nil, head.Get("x-api-key") != nil:
		return anthropicForm
	}
	return openaiForm
}

func (r *request) writeModel(w *sdk.Writer, form modelForm, name string) {
	switch form {
	case geminiForm:
		r.geminiModel(w, name)
	case anthropicForm:
		r.anthropicModel(w, name)
	default:
		r.openaiModel(w, name)
	}
}

func (r *request) openaiModel(w *sdk.Writer, name string) {
	w.Object()
	w.Name("id").String(name)
	w.Name("object").String("model")
	w.Name("created").Int(r.gen.Created.Unix())
	w.Name("owned_by").String("penstock")
	w.EndObject()
}

// geminiModel describes a model as Google does (https://ai.google.dev/api/models).
func (r *request) geminiModel(w *sdk.Writer, name string) {
	w.Object()
	w.Name("name").String("models/" + name)
	w.Name("version").String("1")
	w.Name("displayName").String(name)
	r.writeLimits(w, name, "inputTokenLimit", "outputTokenLimit")
	methods := []string{"generateContent", "countTokens"}
	if r.embeds(name) {
		methods = []string{"embedContent", "batchEmbedContents"}
	}
	w.Name("supportedGenerationMethods").Array()
	for _, m := range methods {
		w.String(m)
	}
	w.EndArray()
	w.EndObject()
}

// anthropicModel describes a model as Anthropic does (https://platform.claude.com/docs/en/api/models/list).
func (r *request) anthropicModel(w *sdk.Writer, name string) {
	w.Object()
	w.Name("type").String("model")
	w.Name("id").String(name)
	w.Name("display_name").String(name)
	w.Name("created_at").String(r.gen.Created.UTC().Format(time.RFC3339))
	r.writeLimits(w, name, "max_input_tokens", "max_tokens")
	w.EndObject()
}

// writeLimits tells how much a model takes and gives: that of the deployment that takes most, where all are known.
func (r *request) writeLimits(w *sdk.Writer, name, inputName, outputName string) {
	m, ok := r.gen.Catalog.Find(name)
	if !ok {
		return
	}
	var input, output int
	for _, d := range m.Deployments {
		input, output = max(input, d.Context), max(output, d.MaxOutput)
	}
	if input < catalog.Unlimited {
		w.Name(inputName).Int(int64(input))
	}
	if output < catalog.Unlimited {
		w.Name(outputName).Int(int64(output))
	}
}

// embeds says whether a model is for embeddings alone.
func (r *request) embeds(name string) bool {
	m, ok := r.gen.Catalog.Find(name)
	if !ok {
		return false
	}
	for _, d := range m.Deployments {
		if d.Can != dialect.Embeddings {
			return false
		}
	}
	return len(m.Deployments) > 0
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

// countHere answers a request to count tokens where no deployment of the model counts them in the client's dialect: with
// the estimate that admission goes by, which x-penstock-estimated says. It is false where one does.
func (r *request) countHere() bool {
	for _, c := range r.candidates {
		if way := c.Deployment.Way(r.dialect.Name()); way.Pass && way.CountTarget != "" {
			return false
		}
	}
	var w sdk.Writer
	w.Object()
	member := "input_tokens"
	switch r.dialect.Name() {
	case "gemini":
		member = "totalTokens"
	case "openai-responses":
		w.Name("object").String("response.input_tokens")
	}
	w.Name(member).Int(r.input(r.candidates[0].Deployment))
	w.EndObject()
	r.answer(200, "application/json", w.Bytes(), "x-penstock-estimated: true\r\n")
	return true
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

// answer sends a body of the gateway's own, with more fields where there are any.
func (r *request) answer(status int, contentType string, body []byte, more ...string) {
	r.status = status
	r.clock.Done()
	fields := r.appendIdentity(r.fields[:0])
	fields = append(fields, "Content-Type: "...)
	fields = append(fields, contentType...)
	fields = append(fields, "\r\n"...)
	for _, field := range more {
		fields = append(fields, field...)
	}
	fields = r.appendTiming(fields)
	r.fields = fields
	if r.ex.Commit(status, fields, int64(len(body))) == nil && r.ex.Write(body) == nil {
		r.ex.End(nil)
	}
}

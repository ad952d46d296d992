package gateway

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/coding"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// body reads the request's body whole and undoes its content coding.
func (r *request) body() ([]byte, *sdk.Failure) {
	limit := r.gen.Config.Limits.Body
	head := r.ex.Head()
	body, err := r.ex.Body(limit)
	if err != nil {
		return nil, bodyFailure(err, limit)
	}
	if value := head.Get("content-encoding"); !coding.Identity(value) {
		decoded, err := coding.Decode(string(value), body, limit)
		switch {
		case errors.Is(err, coding.ErrTooLarge):
			return nil, bodyFailure(h1.ErrBodyTooLarge, limit)
		case errors.Is(err, coding.ErrUnknown):
			return nil, &sdk.Failure{Kind: sdk.BadEncoding, Message: "content-encoding " + quote(string(value)) + ": want gzip, deflate, br, zstd or none"}
		case err != nil:
			return nil, sdk.Fail(sdk.BadRequest, "the body is not what its content-encoding "+quote(string(value))+" says")
		}
		body = decoded
	}
	return bytes.TrimPrefix(body, byteOrderMark), nil
}

// byteOrderMark is what some editors and writers put before a text in UTF-8; a reader of JSON may ignore it (RFC 8259 8.1).
var byteOrderMark = []byte("\uFEFF")

// bodyFailure tells the client what was wrong with how it sent its body.
func bodyFailure(err error, limit int64) *sdk.Failure {
	var bad *h1.RequestError
	switch {
	case errors.Is(err, h1.ErrBodyTooLarge):
		return &sdk.Failure{Kind: sdk.TooLarge, Message: "the body is larger than the limit of " + strconv.FormatInt(limit, 10) + " bytes", Final: true}
	case errors.As(err, &bad):
		return &sdk.Failure{Kind: sdk.BadRequest, Status: bad.Status, Message: bad.Msg}
	}
	return sdk.Fail(sdk.ClientGone, "the body did not come whole")
}

// badJSON names the place of what is wrong with a body.
func badJSON(err error) *sdk.Failure {
	f := sdk.Fail(sdk.BadRequest, "the body is not valid JSON: "+err.Error())
	var at *jsonspan.SyntaxError
	if errors.As(err, &at) {
		f.Param = at.Path
	}
	return f
}

// asFailure gives the failure in an error.
func asFailure(err error) *sdk.Failure {
	var f *sdk.Failure
	if errors.As(err, &f) {
		return f
	}
	return sdk.Fail(sdk.BadRequest, err.Error())
}

// quote puts outside text into a message, cut where it is long.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.QuoteToGraphic(s)
}

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
	if none, ok := r.doc.Member(0, "model"); ok && r.doc.Kind(none) != jsonspan.Null {
		return false
	}
	return r.nameInBody(r.doc.Text(first))
}

// nameInBody makes a name the model that the body asks for. It says whether there was an object to put it in.
func (r *request) nameInBody(name string) bool {
	if r.doc.Kind(0) != jsonspan.Object {
		return false
	}
	var w sdk.Writer
	w.String(name)
	edit := r.doc.Insert(0, "model", w.Bytes())
	if was, ok := r.doc.Member(0, "model"); ok {
		edit = r.doc.Replace(was, w.Bytes())
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

package gateway

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/replay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// expand finds the candidates of the model or router that is asked for.
func (r *request) expand() *sdk.Failure {
	q := &r.routing
	*q = route.Request{Name: r.model, Facts: &r.facts, Caller: r, Seed: rand.Uint64(), Now: r.arrived(), KeepPrints: r.made != nil}
	if r.brought.Any() || !r.gen.AllKeyed() {
		q.Accounts = r.accounts
	}
	if r.dialect.Name() == "openai-chat" {
		if f := r.readExtras(q); f != nil {
			return f
		}
	}
	if s := r.session(); s != "" {
		q.Warm = r.g.warmth.Of(s, r.facts.TextBytes/4, q.Now)
	}
	begun := time.Now()
	err := r.gen.Routes.Expand(context.Background(), q, &r.decision)
	r.record(time.Since(begun))
	for _, f := range r.decision.Failures {
		r.g.Log.Warn("router: the policy failed, on_error names what is tried", "request_id", r.id, "router", f.Router, "error", f.Err)
	}
	if f := r.narrow(); f != nil {
		return f
	}
	return r.routeFailure(err)
}

// session names the conversation where the client does, among those of the key; "" where it does not.
func (r *request) session() string {
	id := r.head().Get("x-claude-code-session-id")
	if len(id) == 0 || len(id) > maxSession {
		return ""
	}
	return r.key.Name + "\x00" + string(id)
}

// maxSession bounds a name of a conversation that is remembered.
const maxSession = 128

// warm remembers what the deployment that served has cached of the conversation.
func (r *request) warm() {
	if r.result == nil || r.result.Served == nil || !r.result.Usage.Known {
		return
	}
	if s := r.session(); s != "" {
		u := &r.result.Usage
		r.g.warmth.Note(s, r.result.Served.Deployment.ID, u.CacheRead+u.CacheWrites(), time.Now())
	}
}

// record has a router's decision kept.
func (r *request) record(took time.Duration) {
	if r.made != nil || r.decision.Router == "" || !r.g.Decisions.Wants(r.gen.Routes.Shadowed()) {
		return
	}
	if c := r.decision.Capture(&r.routing, r.key.Allows); c != nil {
		r.g.Decisions.Add(&replay.Decision{RequestID: r.id, Generation: r.gen.Number, Took: took, Capture: c})
	}
}

// routeFailure gives the answer to a request that could not be routed; nil where it could.
func (r *request) routeFailure(err error) *sdk.Failure {
	if err == nil {
		if len(r.decision.Candidates) > 0 {
			return nil
		}
		return noTarget(r.model, &r.decision, r.arrived())
	}
	var failed *route.Failure
	var bad *policy.Error
	switch {
	case errors.Is(err, route.ErrUnknown):
		return r.unknownModel()
	case errors.Is(err, route.ErrForbidden):
		return &sdk.Failure{Kind: sdk.Forbidden, Message: "the key " + quote(r.key.Name) + " may not use the model " + quote(r.model), Param: "model"}
	case !errors.As(err, &failed):
		return sdk.Fail(sdk.Internal, "routing ended: "+err.Error())
	}
	r.g.Log.Error("router: the policy failed", "request_id", r.id, "router", failed.Router, "error", failed.Err)
	f := sdk.Fail(sdk.PolicyFailed, "the policy of the router "+quote(failed.Router)+" failed: "+failed.Err.Error())
	if errors.As(err, &bad) {
		f.Message = "the policy of the router " + quote(failed.Router) + " failed (" + string(bad.Kind) + ")"
	}
	if bad != nil && bad.Kind == policy.Empty {
		f.Kind, f.Message = sdk.NoTarget, "the router "+quote(failed.Router)+" found no model that can serve this request"
	}
	return f
}

// head is the request's, also of one that nobody sent.
func (r *request) head() *h1.Head {
	if r.made != nil {
		return &r.made.head
	}
	return r.ex.Head()
}

func (r *request) arrived() time.Time {
	if r.made != nil {
		return r.made.at
	}
	return r.ex.Arrived()
}

// limits are the generation's, and what the client asks for beside them.
func (r *request) limits() relay.Limits {
	l := r.gen.Limits()
	if r.strict {
		l.Lenient = false
	}
	return l
}

// Allows says whether the key may use a model; see route.Caller.
func (r *request) Allows(name string) bool { return r.key.Allows(name) }

// Models gives the models that the key may use; see route.Caller.
func (r *request) Models(s *route.Statistics) *policy.Models { return r.gen.PolicyModels(r.key, s) }

// Describe gives the request as policies see it; see route.Caller.
func (r *request) Describe() *policy.Request {
	p := route.DescribeRequest(&r.facts, r.dialect.Name(), r.arrived(), r.routing.Seed)
	p.Model = r.model
	p.Key = policy.Key{Name: r.key.Name, Team: r.key.Team, Tags: r.key.Tags}
	head := r.head()
	says := func(name string) string { return string(head.Get("x-claude-code-" + name)) }
	p.Client = policy.Client{SessionID: says("session-id"), AgentID: says("agent-id"), ParentAgentID: says("parent-agent-id"),
		AgentType: says("agent-type"), RequestClass: says("request-class")}
	compaction := says("compaction")
	p.Client.Compaction = p.Client.RequestClass == "compaction" || compaction != "" && compaction != "0" && !strings.EqualFold(compaction, "false")
	p.Session = p.Client.SessionID
	p.Headers, p.Metadata = r.shownHeaders(), metadata(&r.doc)
	return p
}

// metadata reads the texts of the body's own metadata member.
func metadata(doc *jsonspan.Doc) map[string]string {
	obj, ok := doc.Member(0, "metadata")
	if !ok || doc.Kind(obj) != jsonspan.Object {
		return nil
	}
	all := make(map[string]string, doc.Len(obj))
	for key, val := range doc.Members(obj) {
		if doc.Kind(val) == jsonspan.String {
			all[doc.Text(key)] = doc.Text(val)
		}
	}
	return all
}

// readExtras reads what OpenRouter's clients say of routing, `models` and `provider`, and takes it out of the body: it is
// said to the gateway, and no provider knows it.
func (r *request) readExtras(q *route.Request) *sdk.Failure {
	_, also := r.doc.Member(0, "models")
	_, preferred := r.doc.Member(0, "provider")
	if !also && !preferred {
		return nil
	}
	x := extras{Reader: dialect.Read(&r.doc), q: q}
	var edits []jsonspan.Edit
	for key, val := range r.doc.Members(0) {
		switch {
		case r.doc.Is(key, "models"):
			x.models(val, r.model)
		case r.doc.Is(key, "provider"):
			x.provider(val)
		default:
			continue
		}
		edits = append(edits, r.doc.Delete(0, key))
	}
	if err := x.Fault(); err != nil {
		return asFailure(err)
	}
	segs, n := jsonspan.Splice(nil, r.doc.Body, edits)
	body := make([]byte, 0, n)
	for _, s := range segs {
		body = append(body, s...)
	}
	if err := r.doc.Parse(body, jsonspan.Limits{Depth: r.gen.Config.Limits.Depth}); err != nil {
		return badJSON(err)
	}
	r.facts = dialect.Facts{}
	if err := r.dialect.Facts(&r.doc, &r.facts); err != nil {
		return asFailure(err)
	}
	r.strict = x.strict
	return nil
}

// extras reads the two members.
type extras struct {
	dialect.Reader
	q      *route.Request
	prefs  route.Preferences
	strict bool // parameters are required: nothing may be dropped
}

// models reads the names to be tried after the first, which may stand among them again.
func (x *extras) models(val int, first string) {
	if x.Kind(val) == jsonspan.Null {
		return
	}
	for _, name := range x.words(val) {
		if name != first && !slices.Contains(x.q.Also, name) {
			x.q.Also = append(x.q.Also, name)
		}
	}
	if len(x.q.Also) > route.MaxAlso {
		x.Want(val, "at most 16 models")
	}
}

// words reads an array of texts. It is not nil where the member is an array.
func (x *extras) words(val int) []string {
	list := []string{}
	if x.Kind(val) == jsonspan.Null || !x.Array(val) {
		return nil
	}
	for i := range x.Items(val) {
		list = append(list, x.Word(i))
	}
	return list
}

// provider reads the preferences.
func (x *extras) provider(obj int) {
	if x.Kind(obj) == jsonspan.Null || !x.Object(obj) {
		return
	}
	for key, val := range x.Members(obj) {
		x.preference(string(x.Name(key)), val)
	}
	x.q.Preferences = &x.prefs
}

func (x *extras) preference(name string, val int) {
	p := &x.prefs
	switch name {
	case "order":
		p.Order = x.words(val)
	case "only":
		p.Only = x.words(val)
	case "ignore":
		p.Ignore = x.words(val)
	case "allow_fallbacks":
		p.NoFallbacks = !x.yes(val, true)
	case "require_parameters":
		x.strict = x.yes(val, false)
	case "sort":
		x.sort(val)
	case "max_price":
		x.maxPrice(val)
	case "data_collection":
		if x.Kind(val) != jsonspan.Null && !x.Is(val, "allow") {
			x.Refuse(val, "only \"allow\" is served: what providers keep is not known here")
		}
	case "zdr":
		if x.yes(val, false) {
			x.Refuse(val, "only false is served: what providers keep is not known here")
		}
	default:
		x.RefuseAt("provider."+name, "not served: want order, only, ignore, allow_fallbacks, require_parameters, sort or max_price")
	}
}

// yes reads a truth value; null is as if it were not said.
func (x *extras) yes(val int, unsaid bool) bool {
	if x.Kind(val) == jsonspan.Null {
		return unsaid
	}
	return x.Truth(val)
}

// sort reads an order: its name, or an object with the name and how far it goes.
func (x *extras) sort(val int) {
	if x.Kind(val) == jsonspan.Object {
		for key, v := range x.Members(val) {
			switch name := string(x.Name(key)); {
			case name == "by":
				x.sortBy(v)
			case name == "partition" && x.Kind(v) == jsonspan.Null || name == "partition" && x.Is(v, "model"):
			case name == "partition" && x.Is(v, "none"):
				x.prefs.Across = true
			case name == "partition":
				x.Want(v, "model or none")
			default:
				x.RefuseAt("provider.sort."+name, "not served: want by and partition")
			}
		}
		return
	}
	x.sortBy(val)
}

func (x *extras) sortBy(val int) {
	switch {
	case x.Kind(val) == jsonspan.Null:
	case x.Is(val, "price"):
		x.prefs.Sort = route.ByPrice
	case x.Is(val, "throughput"):
		x.prefs.Sort = route.ByThroughput
	case x.Is(val, "latency"):
		x.prefs.Sort = route.ByLatency
	default:
		x.Want(val, "price, throughput or latency")
	}
}

// maxPrice reads limits in USD for a million tokens. No deployment has a price for a request or an image, so that limits
// of these are kept by all.
func (x *extras) maxPrice(obj int) {
	if x.Kind(obj) == jsonspan.Null || !x.Object(obj) {
		return
	}
	for key, val := range x.Members(obj) {
		limit := x.usd(val)
		switch name := string(x.Name(key)); name {
		case "prompt":
			x.prefs.MaxInput = limit
		case "completion":
			x.prefs.MaxOutput = limit
		case "request", "image":
		default:
			x.RefuseAt("provider.max_price."+name, "not served: want prompt, completion, request or image")
		}
	}
}

// usd reads an amount as nano-USD; nil where there is none.
func (x *extras) usd(val int) *int64 {
	const most = 1e9 // USD
	switch v, ok := x.Float(val); {
	case x.Kind(val) == jsonspan.Null:
		return nil
	case !ok || v < 0 || v > most:
		x.Want(val, "an amount in USD")
		return nil
	default:
		nano := int64(math.Round(v * 1e9))
		return &nano
	}
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

package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

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
		r.g.warmth.Note(s, r.result.Served.Deployment.ID, u.CacheRead+u.CacheWrite, time.Now())
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
	var failed *route.Failure
	var bad *policy.Error
	switch {
	case err == nil && len(r.decision.Candidates) > 0:
		return nil
	case err == nil:
		return noTarget(r.model, &r.decision, r.arrived())
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
	p.Metadata = metadata(&r.doc)
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

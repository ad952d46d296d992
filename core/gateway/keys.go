package gateway

import (
	"bytes"
	"net/url"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// authenticate finds the key that the request presents.
func (r *request) authenticate() *sdk.Failure {
	faultpoint.Reach(faultpoint.Auth)
	secret := presented(r.ex.Head())
	if len(secret) == 0 {
		return &sdk.Failure{Kind: sdk.BadKey, Message: "no key: send it as \"Authorization: Bearer KEY\", x-api-key, x-goog-api-key or api-key", Final: true}
	}
	key, f := r.g.Admission.Authenticate(unhurried(), r.gen, secret, r.ex.Arrived())
	if f != nil {
		return f
	}
	r.key = r.gen.Key(key)
	return nil
}

// own gives the upstream of a deployment with the credentials that the key or its team brings; nil where they bring none.
// Where the deployment cannot be asked, why says so: the operator's credentials never take the place of a caller's that
// does not work.
func (r *request) own(d *catalog.Deployment) (up *relay.Upstream, why string) {
	o, owner, first := r.brought.For(d.Provider.ID)
	switch {
	case o == nil && r.gen.Keyless(d.Provider.ID):
		return nil, "the provider " + d.Provider.ID + " is served with credentials of the caller's own alone, and neither the key nor its team has any"
	case o == nil:
		return nil, ""
	case o.Broken:
		return nil, "a credential of the " + o.Kind + "'s own cannot be decrypted"
	}
	up, err := r.gen.Own(d, o, owner, first)
	if err != nil {
		return nil, "a credential of the " + o.Kind + "'s own cannot be used: " + err.Error()
	}
	return up, ""
}

// accounts gives the accounts with which the request asks a deployment; see route.Request.
func (r *request) accounts(d *catalog.Deployment) ([]route.Account, string) {
	up, why := r.own(d)
	if up == nil {
		return nil, why
	}
	return generation.AccountsOf(up), ""
}

// presented gives the key of a request: from a header, or from Gemini's ?key=.
func presented(head *h1.Head) []byte {
	if v := head.Get("authorization"); v != nil {
		const scheme = "bearer "
		if len(v) > len(scheme) && bytes.EqualFold(v[:len(scheme)], []byte(scheme)) {
			return bytes.TrimSpace(v[len(scheme):])
		}
	}
	for _, name := range [...]string{"x-api-key", "x-goog-api-key", "api-key"} {
		if v := head.Get(name); len(v) > 0 {
			return v
		}
	}
	if q := head.Query(); bytes.Contains(q, []byte("key=")) {
		if v, err := url.ParseQuery(string(q)); err == nil {
			return []byte(v.Get("key"))
		}
	}
	return nil
}

// showKey answers GET /api/v1/key with what the key has spent and may spend, in OpenRouter's form: USD as numbers
// (https://openrouter.ai/docs/api-reference/limits).
func (r *request) showKey() {
	if f := r.member(); f != nil {
		r.fail(f)
		return
	}
	now := time.Now()
	u, err := r.g.Admission.Usage(unhurried(), r.key.Key, now)
	if err != nil {
		r.g.Log.Error("key: its usage was not read", "request_id", r.id, "key", r.key.Name, "error", err)
		r.fail(&sdk.Failure{Kind: sdk.StoreDown, RetryAfter: retrySoon})
		return
	}
	budget := r.key.Budget()
	var w sdk.Writer
	w.Object()
	w.Name("data").Object()
	w.Name("label").String(r.key.Name)
	writeUSD(&w, "limit", budget.Nano, budget.Set)
	writeUSD(&w, "limit_remaining", u.Left, budget.Set)
	writeOrNull(&w, "limit_reset", resets[budget.Each])
	writeUSD(&w, "usage", u.Total, true)
	writeUSD(&w, "usage_daily", u.Day, true)
	writeUSD(&w, "usage_weekly", u.Week, true)
	writeUSD(&w, "usage_monthly", u.Month, true)
	w.Name("is_free_tier").Bool(false)
	expires := ""
	if !r.key.Expires.IsZero() {
		expires = r.key.Expires.UTC().Format(time.RFC3339)
	}
	writeOrNull(&w, "expires_at", expires)
	if n := r.key.PerMinute(); n > 0 {
		w.Name("rate_limit").Object()
		w.Name("requests").Int(n)
		w.Name("interval").String("1m")
		w.EndObject()
	}
	w.EndObject()
	w.EndObject()
	r.answer(200, "application/json", w.Bytes())
}

// writeUSD writes money as a number; null where there is none.
func writeUSD(w *sdk.Writer, name string, nano int64, known bool) {
	if w.Name(name); known {
		w.Raw(config.Nano(nano).String())
	} else {
		w.Null()
	}
}

func writeOrNull(w *sdk.Writer, name, s string) {
	if w.Name(name); s != "" {
		w.String(s)
	} else {
		w.Null()
	}
}

// resets are OpenRouter's words for the periods.
var resets = [...]string{limits.Total: "", limits.Day: "daily", limits.Week: "weekly", limits.Month: "monthly"}

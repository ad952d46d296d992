package gateway

import (
	"bytes"
	"net/url"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/sdk"
)

// authenticate finds the key that the request presents.
func (r *request) authenticate() *sdk.Failure {
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

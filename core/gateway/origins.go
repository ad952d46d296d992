package gateway

import (
	"slices"

	"github.com/penstock-gateway/penstock/sdk"
)

// anyOrigin is the entry of cors.origins that stands for all.
const anyOrigin = "*"

// appendOrigin lets the web page that asks read the answer, all of its header fields and its timing, where the configuration
// allows the page's origin (https://fetch.spec.whatwg.org/#http-cors-protocol). Keys are no credentials in a browser's sense,
// so "*" is enough, and no answer ever allows cookies.
func (r *request) appendOrigin(dst []byte) []byte {
	if r.gen == nil || len(r.gen.Config.Origins) == 0 {
		return dst
	}
	allowed := r.allowedOrigin()
	if allowed != anyOrigin {
		dst = append(dst, "Vary: Origin\r\n"...)
	}
	if allowed == "" {
		return dst
	}
	dst = append(append(append(dst, "Access-Control-Allow-Origin: "...), allowed...), "\r\nAccess-Control-Expose-Headers: *\r\nTiming-Allow-Origin: "...)
	return append(append(dst, allowed...), "\r\n"...)
}

// allowedOrigin is the entry of cors.origins that the request's origin comes under; "" where there is none.
func (r *request) allowedOrigin() string {
	list, origin := r.gen.Config.Origins, r.head().Get("origin")
	if slices.Contains(list, anyOrigin) {
		return anyOrigin
	}
	for _, o := range list {
		if o == string(origin) {
			return o
		}
	}
	return ""
}

// preflight says whether the request is a browser's question whether a page may send another one, which is answered here.
func (r *request) preflight() bool {
	head := r.ex.Head()
	return string(head.Method) == "OPTIONS" && head.Get("origin") != nil && head.Get("access-control-request-method") != nil &&
		r.gen != nil && len(r.gen.Config.Origins) > 0
}

// answerPreflight allows a page what it wants to send. The fields are those that it names, since "*" would not cover
// Authorization.
func (r *request) answerPreflight() {
	if r.allowedOrigin() == "" {
		r.fail(&sdk.Failure{Kind: sdk.Forbidden, Message: "the origin " + quote(string(r.ex.Head().Get("origin"))) + " is none of cors.origins"})
		return
	}
	r.status = 204
	r.clock.Done()
	fields := append(r.appendIdentity(r.fields[:0]), "Access-Control-Allow-Methods: GET, HEAD, POST\r\nAccess-Control-Max-Age: 600\r\n"...)
	if wanted := r.ex.Head().Get("access-control-request-headers"); len(wanted) > 0 {
		fields = append(append(append(fields, "Access-Control-Allow-Headers: "...), wanted...), "\r\n"...)
	}
	fields = r.appendTiming(fields)
	r.fields = fields
	if r.ex.Commit(204, fields, 0) == nil {
		r.ex.End(nil)
	}
}

package gateway

import (
	"slices"
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// appendIdentity appends the request's id under the name that the dialect's clients look for, and the generation.
func (r *request) appendIdentity(dst []byte) []byte {
	if r.dialect.Name() == "anthropic" {
		dst = append(dst, "request-id: "...)
		dst = append(dst, r.id...)
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, "x-request-id: "...)
	dst = append(dst, r.id...)
	if r.gen != nil {
		dst = append(dst, "\r\nx-penstock-generation: "...)
		dst = strconv.AppendInt(dst, r.gen.Number, 10)
	}
	return r.appendOrigin(append(dst, "\r\n"...))
}

// appendTiming appends the Server-Timing of a finished answer.
func (r *request) appendTiming(dst []byte) []byte {
	mode := r.timingMode()
	if mode == timing.Off {
		return dst
	}
	dst = append(dst, "Server-Timing: "...)
	dst = r.clock.AppendHeader(dst, mode)
	return append(dst, "\r\n"...)
}

func (r *request) timingMode() timing.Mode {
	if r.gen == nil {
		return timing.Stages
	}
	return r.gen.Timing
}

// AppendFields writes what the gateway says in the head of an answer; see relay.Answer.
func (r *request) AppendFields(dst []byte, c relay.Committing) []byte {
	dst = r.appendIdentity(dst)
	dst = r.appendLimits(dst)
	if c.Early {
		return r.appendStreamTiming(dst)
	}
	dst = append(dst, "x-penstock-model: "...)
	dst = append(dst, c.Upstream.Deployment.Name...)
	dst = append(dst, "\r\nx-penstock-attempts: "...)
	dst = strconv.AppendInt(dst, int64(c.Result.Tried), 10)
	dst = append(dst, "\r\n"...)
	if r.timingMode() == timing.Attempts {
		dst = append(dst, "x-penstock-provider: "...)
		dst = append(dst, c.Upstream.Deployment.Provider.ID...)
		dst = append(dst, "\r\n"...)
	}
	if dropped := relay.DroppedHeader(c.Result.Dropped); dropped != "" {
		dst = append(dst, "x-penstock-dropped: "...)
		dst = append(dst, dropped...)
		dst = append(dst, "\r\n"...)
	}
	dst = relay.AppendAnswerFields(dst, c.Fields, r.reserved.Limited())
	if c.Stream {
		return r.appendStreamTiming(dst)
	}
	r.clock.Done()
	if r.dialect.Name() == "openai-chat" {
		dst = append(dst, "openai-processing-ms: "...)
		dst = strconv.AppendInt(dst, r.clock.Total().Milliseconds(), 10)
		dst = append(dst, "\r\n"...)
	}
	return r.appendTiming(dst)
}

// appendLimits tells where the key's limits stand, in place of the upstream's.
func (r *request) appendLimits(dst []byte) []byte {
	if !r.reserved.Limited() {
		return dst
	}
	return r.reserved.AppendHeaders(dst, r.dialect.Name(), time.Now())
}

func (r *request) appendStreamTiming(dst []byte) []byte {
	mode := r.timingMode()
	if mode == timing.Off {
		return dst
	}
	dst = append(dst, "Server-Timing: "...)
	dst = r.clock.AppendStreamHeader(dst, mode)
	return append(dst, "\r\n"...)
}

// AppendTrailer writes a stream's trailer; see relay.Answer.
func (r *request) AppendTrailer(dst []byte, _ *relay.Result) []byte {
	r.clock.Done()
	mode := r.timingMode()
	if mode == timing.Off {
		return dst
	}
	dst = append(dst, "Server-Timing: "...)
	dst = r.clock.AppendTrailer(dst, mode)
	return append(dst, "\r\n"...)
}

// Holds remembers who has an answer that a later request may continue; see relay.Answer.
func (r *request) Holds(id string, u *relay.Upstream, c *relay.Credential) {
	by := route.Holder{Provider: u.Deployment.Provider.ID}
	if c != nil {
		by.Credential = c.Name
	}
	r.g.holders.Note(r.key.Name, id, by, time.Now())
}

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

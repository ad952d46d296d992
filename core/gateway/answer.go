package gateway

import (
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/timing"
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

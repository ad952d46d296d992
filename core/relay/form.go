package relay

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/sdk"
)

// form is how an answer came, which is not always how it was asked for: compatible services answer a stream with one
// body or one body with a stream, and leave the content type out or name a wrong one. What the bytes begin with is
// believed before it.
type form uint8

const (
	asFrames form = iota // of the dialect's framing
	asBody
	asArray // of what a stream's events hold (Gemini's API has it where nobody asks for alt=sse)
)

// formOfStream tells by its first bytes how an answer came that is to be a stream. An event stream's first line names a
// field or is a comment, and a message of the AWS event stream begins with its length, so neither can be taken for JSON.
func formOfStream(framing string, contentType, first []byte) form {
	text := bytes.TrimLeft(first, blank)
	switch {
	case !isSSE(framing) && framing != awsEvents:
		return asFrames
	case len(text) == 0:
		if isSSE(framing) && !isEventStream(contentType) {
			return asBody
		}
	case text[0] == '{' || text[0] == '<':
		return asBody
	case text[0] == '[' && isSSE(framing):
		return asArray
	}
	return asFrames
}

// blank is what may stand before a text: white space and a byte order mark.
const blank = " \t\r\n\ufeff"

// The framings of manifests.
const (
	awsEvents = "aws-event-stream"
	lines     = "ndjson"
	elements  = "json-array"
)

// isSSE says whether a manifest's framing is server-sent events.
func isSSE(framing string) bool { return framing == "" || framing == "sse" }

// namesStream says whether a content type is that of a stream in a framing.
func namesStream(framing string, contentType []byte) bool {
	switch framing {
	case awsEvents:
		return isType(contentType, "application/vnd.amazon.eventstream")
	case lines:
		return isType(contentType, "application/x-ndjson")
	}
	return isEventStream(contentType)
}

// looksStreamed says whether a body that was to be one JSON text is an event stream.
func looksStreamed(framing string, body []byte) bool {
	if !isSSE(framing) {
		return false
	}
	text := bytes.TrimLeft(body, blank)
	for _, field := range [...]string{"data:", "event:", ":", "id:", "retry:"} {
		if bytes.HasPrefix(text, []byte(field)) {
			return true
		}
	}
	return false
}

func isEventStream(contentType []byte) bool { return isType(contentType, "text/event-stream") }

// isType says whether a content type is of a media type, whatever its parameters.
func isType(contentType []byte, mediaType string) bool {
	n := len(mediaType)
	return len(contentType) >= n && bytes.EqualFold(contentType[:n], []byte(mediaType))
}

// source is where the answer comes from.
func (a *active) source(stream bool) pipe.Source {
	d, w := a.up.Deployment, a.plan.way
	s := pipe.Source{Plugin: a.up.Plugin, Dialect: w.Dialect,
		Info: sdk.AnswerInfo{Provider: d.Provider.Instance, Native: w.Dialect.Name, Model: d.Model, Stream: stream}}
	if a.form == asArray {
		as := *w.Dialect
		as.Framing, s.Dialect = elements, &as
	}
	return s
}

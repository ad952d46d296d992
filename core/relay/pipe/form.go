package pipe

import "bytes"

// Form is how an answer came, which is not always how it was asked for: compatible services answer a stream with one
// body or one body with a stream, and leave the content type out or name a wrong one. What the bytes begin with is
// believed before it.
type Form uint8

// The forms.
const (
	AsFrames Form = iota // of the dialect's framing
	AsBody
	AsArray // of what a stream's events hold (Gemini's API has it where nobody asks for alt=sse)
)

// FormOfStream tells by its first bytes how an answer came that is to be a stream. An event stream's first line names a
// field or is a comment, and a message of the AWS event stream begins with its length, so neither can be taken for JSON.
func FormOfStream(framing string, contentType, first []byte) Form {
	text := bytes.TrimLeft(first, blank)
	switch {
	case !isSSE(framing) && framing != awsEvents:
		return AsFrames
	case len(text) == 0:
		if isSSE(framing) && !isEventStream(contentType) {
			return AsBody
		}
	case text[0] == '{' || text[0] == '<':
		return AsBody
	case text[0] == '[' && isSSE(framing):
		return AsArray
	}
	return AsFrames
}

// blank is what may stand before a text: white space and a byte order mark.
const blank = " \t\r\n\ufeff"

// WithoutMark is a body without the byte order mark that some services put before it; RFC 8259 8.1 lets readers ignore it.
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// The framings of manifests, beside server-sent events.
const (
	awsEvents = "aws-event-stream"
	lines     = "ndjson"
	elements  = "json-array"
)

// isSSE says whether a manifest's framing is server-sent events.
func isSSE(framing string) bool { return framing == "" || framing == "sse" }

// NamesStream says whether a content type is that of a stream in a framing.
func NamesStream(framing string, contentType []byte) bool {
	switch framing {
	case awsEvents:
		return isType(contentType, "application/vnd.amazon.eventstream")
	case lines:
		return isType(contentType, "application/x-ndjson")
	}
	return isEventStream(contentType)
}

// LooksStreamed says whether a body that was to be one JSON text is an event stream.
func LooksStreamed(framing string, body []byte) bool {
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

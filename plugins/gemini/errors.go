package gemini

import (
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// knownErrors tells kinds of failure by error bodies; the first that matches counts. It serves the gateway, by way of
// the manifest, for error statuses, and the decoder for errors inside a stream
// (https://ai.google.dev/gemini-api/docs/troubleshooting, https://cloud.google.com/apis/design/errors). The wordings are
// from recorded answers.
func knownErrors() []sdk.KnownError {
	status, message := "/error/status", "/error/message"
	return []sdk.KnownError{
		{At: message, Has: "api key not valid", Kind: "upstream_auth"}, // under 400, INVALID_ARGUMENT
		{At: message, Has: "api key expired", Kind: "upstream_auth"},
		{At: message, Has: "exceeds the maximum number of tokens", Kind: "context_too_long"},
		{At: message, Has: "the input token count is", Kind: "context_too_long"}, // Vertex AI
		{At: message, Has: "prepayment credits are depleted", Kind: "upstream_money"},
		{At: status, Equals: "UNAUTHENTICATED", Kind: "upstream_auth"},
		{At: status, Equals: "PERMISSION_DENIED", Kind: "upstream_auth"},
		{At: status, Equals: "NOT_FOUND", Kind: "upstream_model"},
		{At: status, Equals: "RESOURCE_EXHAUSTED", Kind: "upstream_rate"},
		{At: status, Equals: "UNAVAILABLE", Kind: "overloaded"},
		{At: status, Equals: "DEADLINE_EXCEEDED", Kind: "timeout"},
		{At: status, Equals: "INVALID_ARGUMENT", Kind: "bad_request"},
		{At: status, Equals: "FAILED_PRECONDITION", Kind: "bad_request"},
		{At: status, Equals: "INTERNAL", Kind: "upstream_error"},
	}
}

// ReadError reads an error body for the wait that it may name. The kind is KindNone where no known error matches.
func (*provider) ReadError(status int, body *sdk.Doc) sdk.Failure {
	f := failed(body.Root())
	if f == nil {
		return sdk.Failure{}
	}
	f.Status = status
	if known, ok := kindOf(envelope(body.Root())); ok {
		f.Kind = known
	} else {
		f.Kind = sdk.KindNone
	}
	return *f
}

// envelope gives the object that holds the error: an answer without alt=sse is a list of objects.
func envelope(root sdk.Node) sdk.Node {
	for item := range root.Items() {
		return item
	}
	return root
}

// failed reads an error object, in a stream or under a status of success; nil where there is none.
func failed(root sdk.Node) *sdk.Failure {
	root = envelope(root)
	e := root.Get("error")
	if e.Null() {
		return nil
	}
	f := &sdk.Failure{Kind: sdk.UpstreamError, Message: strings.Clone(e.Get("message").Str())}
	if f.Message == "" {
		f.Message = "the provider answered with an error"
	}
	if kind, ok := kindOf(root); ok {
		f.Kind = kind
	}
	f.Type = strings.Clone(e.Get("status").Str())
	for d := range e.Get("details").Items() {
		switch d.Get("@type").Str() {
		case "type.googleapis.com/google.rpc.RetryInfo":
			f.RetryAfter = wait(d.Get("retryDelay").Str())
		case "type.googleapis.com/google.rpc.ErrorInfo":
			f.Code = strings.Clone(d.Get("reason").Str())
		}
	}
	return f
}

// wait reads a protobuf duration in JSON, such as 34.4s.
func wait(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || !strings.HasSuffix(s, "s") {
		return 0
	}
	return d
}

// kindOf looks an error body up.
func kindOf(root sdk.Node) (sdk.Kind, bool) {
	for _, k := range knownErrors() {
		n := root
		for name := range strings.SplitSeq(k.At[1:], "/") {
			n = n.Get(name)
		}
		text := n.Str()
		if text == "" || k.Equals != "" && text != k.Equals || k.Has != "" && !strings.Contains(strings.ToLower(text), k.Has) {
			continue
		}
		return sdk.ParseKind(k.Kind)
	}
	return sdk.KindNone, false
}

package bedrock

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// knownErrors tells kinds of failure by error bodies, which hold no more than a message; the status tells the rest
// (https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html). Of a stream's exceptions
// the name tells.
func knownErrors() []sdk.KnownError {
	message := "/message"
	return []sdk.KnownError{
		{At: message, Has: "security token included in the request", Kind: "upstream_auth"},
		{At: message, Has: "is not authorized to perform", Kind: "upstream_auth"},
		{At: message, Has: "signature we calculated does not match", Kind: "upstream_auth"},
		{At: message, Has: "signature expired", Kind: "upstream_auth"},
		{At: message, Has: "access to the model", Kind: "upstream_auth"},
		{At: message, Has: "input is too long", Kind: "context_too_long"},
		{At: message, Has: "prompt is too long", Kind: "context_too_long"},
		{At: message, Has: "too many input tokens", Kind: "context_too_long"},
		{At: message, Has: "exceed context limit", Kind: "context_too_long"},
		{At: message, Has: "maximum context length", Kind: "context_too_long"},
		{At: message, Has: "model identifier is invalid", Kind: "upstream_model"},
		{At: message, Has: "on-demand throughput", Kind: "upstream_model"},
		{At: message, Has: "too many requests", Kind: "upstream_rate"},
		{At: message, Has: "too many tokens", Kind: "upstream_rate"}, // … please wait before trying again
		{At: message, Has: "content filtering policy", Kind: "content_refused"},
	}
}

// failed reads an exception of a stream; nil where the event is none.
func failed(event string, root sdk.Node) *sdk.Failure {
	name, isException := strings.CutSuffix(event, "Exception")
	if !isException {
		return nil
	}
	f := &sdk.Failure{Kind: kindOf(name, root), Message: strings.Clone(root.Get("message").Str()), Type: strings.Clone(event)}
	if f.Message == "" {
		f.Message = "the provider answered with an error"
	}
	return f
}

// kindOf gives the kind of an exception, by its message or else its name
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html).
func kindOf(exception string, root sdk.Node) sdk.Kind {
	text := strings.ToLower(root.Get("message").Str())
	for _, k := range knownErrors() {
		if strings.Contains(text, k.Has) {
			kind, _ := sdk.ParseKind(k.Kind)
			return kind
		}
	}
	switch exception {
	case "throttling", "serviceQuotaExceeded":
		return sdk.UpstreamRate
	case "serviceUnavailable", "modelNotReady":
		return sdk.Overloaded
	case "modelTimeout":
		return sdk.Timeout
	case "validation":
		return sdk.BadRequest
	case "accessDenied":
		return sdk.UpstreamAuth
	case "resourceNotFound":
		return sdk.UpstreamModel
	}
	return sdk.UpstreamError
}

package anthropic

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// knownErrors tells kinds of failure by error bodies; the first that matches counts. It serves the gateway, by way of
// the manifest, for error statuses, and the decoder for errors inside a stream
// (https://platform.claude.com/docs/en/api/errors).
func knownErrors() []sdk.KnownError {
	typ, message, code := "/error/type", "/error/message", "/error/details/error_code"
	return []sdk.KnownError{
		{At: code, Equals: "enforced_spend_limit_reached", Kind: "upstream_money"}, // under 429, without retry-after
		{At: code, Has: "spend_limit", Kind: "upstream_money"},
		{At: typ, Equals: "billing_error", Kind: "upstream_money"},
		{At: message, Has: "credit balance is too low", Kind: "upstream_money"},
		{At: message, Has: "prompt is too long", Kind: "context_too_long"},
		{At: message, Has: "exceed context limit", Kind: "context_too_long"},
		{At: message, Has: "is over the limit of", Kind: "context_too_long"},
		{At: message, Has: "content filtering policy", Kind: "content_refused"},
		{At: typ, Equals: "rate_limit_error", Kind: "upstream_rate"},
		{At: typ, Equals: "overloaded_error", Kind: "overloaded"},
		{At: typ, Equals: "authentication_error", Kind: "upstream_auth"},
		{At: typ, Equals: "permission_error", Kind: "upstream_auth"},
		{At: typ, Equals: "not_found_error", Kind: "upstream_model"},
		{At: typ, Equals: "timeout_error", Kind: "timeout"},
		{At: typ, Equals: "request_too_large", Kind: "context_too_long"},
		{At: typ, Equals: "invalid_request_error", Kind: "bad_request"},
		{At: typ, Equals: "api_error", Kind: "upstream_error"},
	}
}

// failed reads an error object in a stream, or under a status of success; nil where there is none.
func failed(root sdk.Node, event string) *sdk.Failure {
	e := root.Get("error")
	if e.Null() && !root.Get("type").Is("error") && event != "error" {
		return nil
	}
	f := &sdk.Failure{Kind: kindOf(root), Message: strings.Clone(e.Get("message").Str())}
	if f.Message == "" {
		f.Message = strings.Clone(root.Get("message").Str()) // of compatible services
	}
	if f.Message == "" {
		f.Message = "the provider answered with an error"
	}
	f.Type, f.Code = strings.Clone(e.Get("type").Str()), strings.Clone(e.At("details", "error_code").Str())
	return f
}

// kindOf looks an error body up.
func kindOf(root sdk.Node) sdk.Kind {
	for _, k := range knownErrors() {
		n := root
		for name := range strings.SplitSeq(k.At[1:], "/") {
			n = n.Get(name)
		}
		text := n.Str()
		if text == "" || k.Equals != "" && text != k.Equals || k.Has != "" && !strings.Contains(strings.ToLower(text), k.Has) {
			continue
		}
		kind, _ := sdk.ParseKind(k.Kind)
		return kind
	}
	return sdk.UpstreamError
}

package openai

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// knownErrors tells kinds of failure by error bodies; the first that matches counts. It serves the gateway, by way of
// the manifest, for error statuses, and the decoder for errors inside a stream.
//
// OpenAI's codes: https://platform.openai.com/docs/guides/error-codes, those about money:
// https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits. The others are from recorded answers of the
// services named.
func knownErrors() []sdk.KnownError {
	code, typ, message := "/error/code", "/error/type", "/error/message"
	return []sdk.KnownError{
		{At: code, Equals: "insufficient_quota", Kind: "upstream_money"},
		{At: typ, Equals: "insufficient_quota", Kind: "upstream_money"},
		{At: code, Equals: "credit_balance_exhausted", Kind: "upstream_money"},
		{At: code, Equals: "organization_spend_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "project_spend_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "organization_usage_limit_exceeded", Kind: "upstream_money"},
		{At: code, Equals: "billing_hard_limit_reached", Kind: "upstream_money"},
		{At: message, Has: "insufficient balance", Kind: "upstream_money"}, // DeepSeek
		{At: message, Has: "insufficient credits", Kind: "upstream_money"}, // OpenRouter
		{At: code, Equals: "context_length_exceeded", Kind: "context_too_long"},
		{At: typ, Equals: "too_many_prompt_tokens", Kind: "context_too_long"}, // Perplexity
		{At: message, Has: "maximum context length", Kind: "context_too_long"},
		{At: message, Has: "max context length", Kind: "context_too_long"}, // Ollama
		{At: "/message", Has: "maximum context length", Kind: "context_too_long"},
		{At: code, Equals: "model_not_found", Kind: "upstream_model"},
		{At: code, Equals: "DeploymentNotFound", Kind: "upstream_model"}, // Azure
		{At: code, Equals: "content_filter", Kind: "content_refused"},    // Azure
		{At: code, Equals: "content_policy_violation", Kind: "content_refused"},
		{At: code, Equals: "moderation_blocked", Kind: "content_refused"},
		{At: code, Equals: "invalid_prompt", Kind: "content_refused"},
		{At: code, Equals: "invalid_api_key", Kind: "upstream_auth"},
		{At: code, Equals: "account_deactivated", Kind: "upstream_auth"},
		{At: typ, Equals: "invalid_api_key", Kind: "upstream_auth"}, // Perplexity
		{At: typ, Equals: "authentication_error", Kind: "upstream_auth"},
		{At: code, Equals: "401", Kind: "upstream_auth"},
		{At: message, Has: "api key not valid", Kind: "upstream_auth"}, // Google
		{At: code, Equals: "rate_limit_exceeded", Kind: "upstream_rate"},
		{At: code, Equals: "RateLimitReached", Kind: "upstream_rate"}, // Azure
		{At: code, Equals: "429", Kind: "upstream_rate"},
		{At: code, Equals: "server_is_overloaded", Kind: "overloaded"},
		{At: code, Equals: "slow_down", Kind: "overloaded"},
		{At: code, Equals: "engine_overloaded_error", Kind: "overloaded"}, // Moonshot
		{At: typ, Equals: "engine_overloaded_error", Kind: "overloaded"},
		{At: typ, Equals: "overloaded_error", Kind: "overloaded"},
		{At: code, Equals: "503", Kind: "overloaded"},
	}
}

// failed reads an error object in a stream, or under a status of success; nil where there is none.
func failed(root sdk.Node, event string) *sdk.Failure {
	for item := range root.Items() { // a list of errors: Google
		root = item
		break
	}
	e := root.Get("error")
	switch {
	case e.Len() > 0 || !e.Text().Empty():
	case root.Get("choices").Exists():
		return nil
	case event == "error" || root.Get("object").Is("error") || root.Get("detail").Exists() || root.Get("message").Exists():
		e = root
	default:
		return nil
	}
	f := &sdk.Failure{Kind: kindOf(root), Message: e.Str()}
	for _, name := range []string{"message", "detail"} {
		if f.Message == "" {
			f.Message = strings.Clone(e.Get(name).Str())
		}
	}
	if f.Message == "" {
		f.Message = "the provider answered with an error"
	}
	f.Type, f.Code, f.Param = word(e.Get("type")), word(e.Get("code")), word(e.Get("param"))
	if f.Type == "error" { // the event's own
		f.Type = ""
	}
	return f
}

// kindOf looks an error body up, which may also be the error object alone.
func kindOf(root sdk.Node) sdk.Kind {
	bare := root.Get("error").Null()
	for _, k := range knownErrors() {
		n, at := root, k.At[1:]
		if bare {
			at = strings.TrimPrefix(at, "error/")
		}
		for name := range strings.SplitSeq(at, "/") {
			n = n.Get(name)
		}
		text := word(n)
		if text == "" || k.Equals != "" && text != k.Equals || k.Has != "" && !strings.Contains(strings.ToLower(text), k.Has) {
			continue
		}
		kind, _ := sdk.ParseKind(k.Kind)
		return kind
	}
	return sdk.UpstreamError
}

// word is a member's text; services write codes as numbers too.
func word(n sdk.Node) string {
	if s := n.Str(); s != "" {
		return strings.Clone(s)
	}
	if n.Len() > 0 || n.Text().Present() {
		return ""
	}
	return string(n.Value().Raw())
}

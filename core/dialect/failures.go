package dialect

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Form is how a kind of failure looks in the client dialects.
type Form struct {
	Status          int    // HTTP
	OpenAI          string // error.type
	Code            string // error.code in the OpenAI dialects; "" is null
	Anthropic       string // error.type
	Gemini          string // error.status: https://cloud.google.com/apis/design/errors
	Text            string // for a failure that brings no message
	AnthropicStatus int    // the HTTP status in the Anthropic dialect; 0: Status
}

// FormOf gives the form of a kind. A kind that is not of the list has that of Internal.
func FormOf(k sdk.Kind) Form {
	if int(k) >= len(forms) || forms[k].Status == 0 {
		k = sdk.Internal
	}
	return forms[k]
}

// forms is the one table of failures. The types are those of the services' own references; the codes are OpenAI's where
// it has one for the case.
var forms = [...]Form{
	sdk.BadRequest:      {400, "invalid_request_error", "", "invalid_request_error", "INVALID_ARGUMENT", "the request is not valid", 0},
	sdk.BadKey:          {401, "invalid_request_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED", "the API key is missing or not known", 0},
	sdk.Forbidden:       {403, "invalid_request_error", "model_not_allowed", "permission_error", "PERMISSION_DENIED", "the API key may not do this", 0},
	sdk.UnknownModel:    {404, "invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND", "the model does not exist", 0},
	sdk.UnknownRoute:    {404, "invalid_request_error", "unknown_url", "not_found_error", "NOT_FOUND", "there is nothing at this path", 0},
	sdk.BadMethod:       {405, "invalid_request_error", "method_not_allowed", "invalid_request_error", "INVALID_ARGUMENT", "the path does not take this method", 0},
	sdk.BadEncoding:     {415, "invalid_request_error", "unsupported_encoding", "invalid_request_error", "INVALID_ARGUMENT", "the encoding or type of the body is not understood", 0},
	sdk.TooLarge:        {413, "invalid_request_error", "request_too_large", "request_too_large", "INVALID_ARGUMENT", "the body is larger than the limit", 0},
	sdk.ContextTooLong:  {400, "invalid_request_error", "context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT", "the input is longer than the model takes", 0},
	sdk.CannotTranslate: {400, "invalid_request_error", "unsupported_parameter", "invalid_request_error", "INVALID_ARGUMENT", "no target can express the request", 0},
	sdk.RateLimited:     {429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "the rate limit of the key is reached", 0},
	sdk.OverTokenLimit:  {400, "invalid_request_error", "request_over_token_limit", "invalid_request_error", "INVALID_ARGUMENT", "the request is larger than the token limit of the key", 0},
	sdk.BudgetSpent:     {429, "insufficient_quota", "budget_exhausted", "billing_error", "RESOURCE_EXHAUSTED", "the budget of the key is spent", 402},
	sdk.NoTarget:        {503, "service_unavailable_error", "no_target", "api_error", "UNAVAILABLE", "no target can take the request now", 0},
	sdk.UpstreamRate:    {429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "the provider's rate limit is reached", 0},
	sdk.UpstreamMoney:   {502, "insufficient_quota", "insufficient_quota", "billing_error", "RESOURCE_EXHAUSTED", "the account at the provider has no money left", 0},
	sdk.UpstreamAuth:    {502, "api_error", "upstream_auth", "api_error", "INTERNAL", "the provider refused the gateway's credential", 0},
	sdk.UpstreamModel:   {404, "invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND", "the provider does not know the model", 0},
	sdk.Overloaded:      {503, "service_unavailable_error", "server_is_overloaded", "overloaded_error", "UNAVAILABLE", "the provider is overloaded", 529},
	sdk.UpstreamError:   {502, "api_error", "upstream_error", "api_error", "INTERNAL", "the provider failed", 0},
	sdk.UpstreamEmpty:   {502, "api_error", "upstream_empty", "api_error", "INTERNAL", "the provider's answer says nothing", 0},
	sdk.Timeout:         {504, "timeout_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED", "the provider did not answer in time", 0},
	sdk.ContentRefused:  {400, "invalid_request_error", "content_filter", "invalid_request_error", "INVALID_ARGUMENT", "the provider refused the content", 0},
	sdk.PluginFailed:    {502, "api_error", "plugin_failed", "api_error", "INTERNAL", "the provider's plugin failed", 0},
	sdk.PolicyFailed:    {500, "api_error", "policy_failed", "api_error", "INTERNAL", "the routing policy failed", 0},
	sdk.GuardBlocked:    {403, "invalid_request_error", "guard_blocked", "permission_error", "PERMISSION_DENIED", "a guardrail blocked the request", 0},
	sdk.Draining:        {503, "service_unavailable_error", "overloaded", "overloaded_error", "UNAVAILABLE", "the gateway is shutting down", 0},
	sdk.Shedding:        {503, "service_unavailable_error", "overloaded", "overloaded_error", "UNAVAILABLE", "the gateway is overloaded", 0},
	sdk.StoreDown:       {503, "service_unavailable_error", "store_unavailable", "api_error", "UNAVAILABLE", "the gateway's store does not answer", 0},
	sdk.ClientGone:      {499, "api_error", "client_closed_request", "api_error", "CANCELLED", "the client left", 0},
	sdk.Internal:        {500, "api_error", "internal", "api_error", "INTERNAL", "the gateway failed", 0},
}

// StatusOf is the HTTP status of a failure whose kind has the status own in a dialect. The provider's own status is kept
// where its error body passes as it is, and where the fault is in the request; a refusal of our credential never looks
// like one of the client's.
func StatusOf(f *sdk.Failure, own int) int {
	switch {
	case f.Status < 400 || f.Status > 599 || f.Status == 401 || f.Status == 407 || f.Kind == sdk.UpstreamAuth:
		return own
	case len(f.Body) > 0:
		return f.Status
	}
	switch f.Kind {
	case sdk.BadRequest, sdk.ContextTooLong, sdk.UpstreamModel, sdk.ContentRefused:
		if f.Status < 500 {
			return f.Status
		}
	case sdk.UpstreamMoney:
		if f.Status == 402 || f.Status == 429 {
			return f.Status
		}
	}
	return own
}

// Passes says whether the provider's error body goes to the client as it is.
func Passes(f *sdk.Failure) bool { return len(f.Body) > 0 && f.Kind != sdk.UpstreamAuth }

// Said is the public text of a failure.
func Said(f *sdk.Failure) string {
	if f.Message != "" {
		return f.Message
	}
	return FormOf(f.Kind).Text
}

// KindOf tells what an error object in an answer of success means: by its type or code, and by the code where that is an
// HTTP status. Services that are compatible with one another mix their words, so one list serves all dialects.
func KindOf(typ, code string, status int) sdk.Kind {
	for _, word := range [...]string{code, typ} {
		if k := kindOfWord(strings.ToLower(word)); k != sdk.KindNone {
			return k
		}
	}
	switch status {
	case 400, 413, 422:
		return sdk.BadRequest
	case 401, 403:
		return sdk.UpstreamAuth
	case 402:
		return sdk.UpstreamMoney
	case 404:
		return sdk.UpstreamModel
	case 408, 504, 524:
		return sdk.Timeout
	case 429:
		return sdk.UpstreamRate
	case 503, 529:
		return sdk.Overloaded
	}
	if strings.EqualFold(typ, "invalid_request_error") {
		return sdk.BadRequest
	}
	return sdk.UpstreamError
}

func kindOfWord(word string) sdk.Kind {
	switch word {
	case "overloaded_error", "overloaded", "server_is_overloaded", "engine_overloaded", "unavailable", "service_unavailable_error":
		return sdk.Overloaded
	case "rate_limit_error", "rate_limit_exceeded", "rate_limit", "requests", "tokens", "resource_exhausted", "ratelimitreached", "too_many_requests":
		return sdk.UpstreamRate
	case "insufficient_quota", "billing_error", "insufficient_credits", "payment_required":
		return sdk.UpstreamMoney
	case "authentication_error", "permission_error", "invalid_api_key", "unauthenticated", "permission_denied":
		return sdk.UpstreamAuth
	case "context_length_exceeded", "string_above_max_length":
		return sdk.ContextTooLong
	case "not_found_error", "model_not_found", "not_found":
		return sdk.UpstreamModel
	case "timeout_error", "timeout", "deadline_exceeded":
		return sdk.Timeout
	case "content_filter", "content_policy_violation", "responsibleaipolicyviolation":
		return sdk.ContentRefused
	case "server_error", "api_error", "internal", "internal_server_error", "tool_use_failed":
		// tool_use_failed: the model wrote a call that its provider could not read (Groq); another try may well do better.
		return sdk.UpstreamError
	}
	return sdk.KindNone
}

package dialecttest

import "github.com/penstock-gateway/penstock/sdk"

// Failures are failures that bring more than their kind: a provider's status, words or body.
func Failures() []sdk.Failure {
	return []sdk.Failure{
		{Kind: sdk.BadRequest, Message: "messages[2].content: want a string", Param: "messages[2].content"},
		{Kind: sdk.BadRequest, Message: "want a string", Param: "messages[2].content"},
		{Kind: sdk.BadRequest, Status: 422, Message: "bad \"words\"\n", Type: "BadRequestError", Code: "422", Param: "n"},
		{Kind: sdk.ContextTooLong, Status: 400, Message: "prompt (190000) plus max_tokens (32000) is over the limit of 200000", Type: "invalid_request_error"},
		{Kind: sdk.ContextTooLong, Status: 413, Message: "too long"},
		{Kind: sdk.Overloaded, Status: 529, Message: "Overloaded", Type: "overloaded_error"},
		{Kind: sdk.Overloaded, Status: 529, Message: "Overloaded", Body: []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)},
		{Kind: sdk.UpstreamError, Status: 500, Message: "oops", Body: []byte("{\n \"error\": {}\n}")},
		{Kind: sdk.UpstreamError, Status: 500, Message: "oops", Type: "server_error"},
		{Kind: sdk.UpstreamAuth, Status: 401, Message: "the provider refused the credential", Type: "authentication_error", Code: "invalid_api_key", Body: []byte(`{"error":{"message":"Incorrect API key provided: sk-abc"}}`)},
		{Kind: sdk.UpstreamAuth, Status: 403, Message: "the provider refused the credential"},
		{Kind: sdk.UpstreamMoney, Status: 402, Message: "no credits", Code: "insufficient_credits"},
		{Kind: sdk.UpstreamMoney, Status: 403, Message: "spend limit"},
		{Kind: sdk.UpstreamRate, Status: 429, Message: "slow down", Type: "requests", Code: "rate_limit_exceeded"},
		{Kind: sdk.UpstreamRate, Status: 429, Message: "Resource has been exhausted", Code: "429"},
		{Kind: sdk.Overloaded, Status: 503, Message: "The model is overloaded.", Type: "UNAVAILABLE"},
		{Kind: sdk.UpstreamModel, Status: 404, Message: "no such model"},
		{Kind: sdk.UpstreamModel, Message: "The model does not exist", Type: "invalid_request_error", Code: "model_not_found"},
		{Kind: sdk.BudgetSpent, Message: "the budget of key \"ci\" is spent", Code: "budget_exhausted"},
		{Kind: sdk.Kind(250), Message: "of no kind"},
	}
}

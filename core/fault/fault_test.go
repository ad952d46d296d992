package fault

import (
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

func headers(pairs ...string) func(string) []byte {
	return func(name string) []byte {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return []byte(pairs[i+1])
			}
		}
		return nil
	}
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestEnvelopes(t *testing.T) {
	var c *Classifier
	f := func(body, message, typ, code string) {
		t.Helper()
		got := c.Classify(400, []byte(body), headers(), noon)
		if got.Message != message || got.Type != typ || got.Code != code {
			t.Errorf("%s: %q type %q code %q, want %q, %q, %q", body, got.Message, got.Type, got.Code, message, typ, code)
		}
	}
	f(`{"error":{"message":"m","type":"t","code":"c","param":"p"}}`, "m", "t", "c")
	f(`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, "m", "overloaded_error", "")
	f(`{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}`, "m", "", "400")
	f(`[{"error":{"code":400,"message":"m","status":"X"}}]`, "m", "", "400")
	f(`{"error":"plain"}`, "plain", "", "")
	f(`{"error":"Bad Request","message":"longer"}`, "longer", "", "")
	f(`{"detail":"Unauthorized"}`, "Unauthorized", "", "")
	f(`{"message":"m","code":7}`, "m", "", "7")
	f(`{"errors":[{"message":"first"},{"message":"second"}]}`, "first", "", "")
	f(`{"detail":[{"loc":["body","model"],"msg":"m","type":"missing"}]}`, "m", "missing", "")
	if got := c.Classify(422, []byte(`{"detail":[{"loc":["body","stop",0],"msg":"m"}]}`), headers(), noon).Param; got != "stop" {
		t.Errorf("detail with a location: member %q, want stop", got)
	}
	f(`{"errors":["m"]}`, "m", "", "")
	f(`{"success":false,"errors":[{"code":7003,"message":"m"}]}`, "m", "", "7003")
	f(`{"error":{"error":{"message":"m","type":"t"}}}`, "m", "t", "")
	f(`{"error":"invalid_client","error_description":"m"}`, "m", "", "")
	f(`{"Message":"m"}`, "m", "", "")
	f(`{"message":["m"]}`, "m", "", "")
	f(`{"message":{"detail":"m"}}`, "m", "", "")
	f(`{"error_code":17,"error_msg":"m"}`, "m", "", "")
	f(`{"fault":{"faultstring":"m"}}`, "m", "", "")
	f(`{"base_resp":{"status_code":1008,"status_msg":"m"}}`, "m", "", "")
	f(`{"error":{"message":"m","errors":[{"message":"n","reason":"r"}]}}`, "m", "", "") // Google's older form
	f("404 page not found\n", "404 page not found", "", "")
	f("a\nb", "the provider answered 400 Bad Request", "", "")
	f(`{"error":{"message":"cut`, "the provider answered 400 Bad Request", "", "")
	f(`<html>`, "the provider answered 400 Bad Request", "", "")
	f(``, "the provider answered 400 Bad Request", "", "")
	f(`{"error":null}`, "the provider answered 400 Bad Request", "", "")
	f(`[]`, "the provider answered 400 Bad Request", "", "")
	f(`"x"`, "the provider answered 400 Bad Request", "", "")
}

func TestStatuses(t *testing.T) {
	var c *Classifier
	for status, want := range map[int]sdk.Kind{400: sdk.BadRequest, 401: sdk.UpstreamAuth, 402: sdk.UpstreamMoney, 403: sdk.UpstreamAuth,
		404: sdk.UpstreamModel, 408: sdk.Timeout, 409: sdk.UpstreamError, 413: sdk.ContextTooLong, 418: sdk.BadRequest, 422: sdk.BadRequest, 421: sdk.UpstreamError, 424: sdk.UpstreamError, 425: sdk.UpstreamError, 429: sdk.UpstreamRate,
		499: sdk.UpstreamError, 520: sdk.UpstreamError, 521: sdk.UpstreamError, 522: sdk.UpstreamError, 523: sdk.UpstreamError, 524: sdk.Timeout, 525: sdk.UpstreamError, 530: sdk.UpstreamError,
		500: sdk.UpstreamError, 502: sdk.UpstreamError, 503: sdk.Overloaded, 504: sdk.Timeout, 529: sdk.Overloaded} {
		if got := c.Classify(status, nil, headers(), noon); got.Kind != want || got.Status != status {
			t.Errorf("%d: %v with status %d, want %v", status, got.Kind, got.Status, want)
		}
	}
}

func TestKnownErrorsComeFirst(t *testing.T) {
	c, err := NewClassifier([]sdk.KnownError{
		{Status: 429, At: "/error/code", Equals: "insufficient_quota", Kind: "upstream_money"},
		{At: "/error/message", Has: "Context Length", Kind: "context_too_long"},
		{Status: 400, Has: "gone mad", Kind: "overloaded"},
		{At: "/error/type", Equals: "invalid_request_error", Kind: "bad_request"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(status int, body string, want sdk.Kind) {
		t.Helper()
		if got := c.Classify(status, []byte(body), headers(), noon).Kind; got != want {
			t.Errorf("%d %s: %v, want %v", status, body, got, want)
		}
	}
	f(429, `{"error":{"code":"insufficient_quota"}}`, sdk.UpstreamMoney)
	f(429, `{"error":{"code":"rate_limit_exceeded"}}`, sdk.UpstreamRate)
	f(400, `{"error":{"message":"maximum context length is 8"}}`, sdk.ContextTooLong)
	f(400, `[{"error":{"message":"maximum context length is 8"}}]`, sdk.ContextTooLong) // Google's, of a stream without alt=sse
	f(400, `[]`, sdk.BadRequest)
	f(400, `it has Gone Mad`, sdk.Overloaded)
	f(400, `{"error":{"code":"insufficient_quota"}}`, sdk.BadRequest)
	f(401, `{"error":{"type":"invalid_request_error"}}`, sdk.UpstreamAuth)
	f(429, `{"error":{"type":"invalid_request_error"}}`, sdk.UpstreamRate)
	f(500, `{"error":{"type":"invalid_request_error"}}`, sdk.BadRequest)
	if _, err := NewClassifier([]sdk.KnownError{{Kind: "sad"}}); err == nil {
		t.Error("an unknown kind was taken")
	}
}

func TestRetryAfter(t *testing.T) {
	f := func(want time.Duration, pairs ...string) {
		t.Helper()
		if got := RetryAfter(headers(pairs...), noon); got != want {
			t.Errorf("%q: %v, want %v", pairs, got, want)
		}
	}
	f(0)
	f(3*time.Second, "retry-after", "3")
	f(1500*time.Millisecond, "retry-after", " 1.5 ")
	f(250*time.Millisecond, "retry-after-ms", "250", "retry-after", "9")
	f(30*time.Second, "retry-after", "Sun, 29 Nov 2026 12:00:30 GMT")
	f(0, "retry-after", "Sun, 29 Nov 2026 11:00:00 GMT")
	f(0, "retry-after", "-5")
	f(0, "retry-after", "soon")
	f(0, "retry-after", "NaN")
	f(0, "retry-after", "inf")
	f(0, "retry-after", "1e3") // RFC 9110 has digits alone
	f(time.Hour, "retry-after", "999999999999999999999")
	f(time.Hour, "retry-after", "Sun, 29 Nov 2099 12:00:30 GMT")
	c := (*Classifier)(nil).Classify(429, []byte(`{"error":{"details":[{"@type":"x"},{"retryDelay":"12s"}]}}`), headers(), noon)
	if c.RetryAfter != 12*time.Second {
		t.Errorf("RetryInfo: %v, want 12s", c.RetryAfter)
	}
	c = (*Classifier)(nil).Classify(429, []byte(`[{"error":{"message":"m","details":[{"retryDelay":"1.5s"}]}}]`), headers(), noon)
	if c.RetryAfter != 1500*time.Millisecond || c.Message != "m" {
		t.Errorf("RetryInfo in a list: %v, %q, want 1.5s", c.RetryAfter, c.Message)
	}
}

// TestLimitsBeginAnew: a 429 without a word on when to come back may tell which limit is used up, and until when.
func TestLimitsBeginAnew(t *testing.T) {
	f := func(want time.Duration, pairs ...string) {
		t.Helper()
		if got := (*Classifier)(nil).Classify(429, nil, headers(pairs...), noon).RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", pairs, got, want)
		}
	}
	f(3*time.Second, "retry-after", "3", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1m30s")
	f(90*time.Second, "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1m30s")
	f(7660*time.Millisecond, "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "7.66s", "x-ratelimit-remaining-requests", "12", "x-ratelimit-reset-requests", "6m0s")
	f(2*time.Second, "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2s", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "12ms")
	f(0, "x-ratelimit-reset-requests", "1m30s")
	f(0, "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "-3s")
	f(0, "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "soon")
	f(10*time.Second, "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "10")
	f(40*time.Second, "anthropic-ratelimit-output-tokens-remaining", "0", "anthropic-ratelimit-output-tokens-reset", "2026-11-29T12:00:40Z")
	f(0, "anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-29T11:59:40Z")
	f(15*time.Second, "x-ratelimit-remaining", "0", "x-ratelimit-reset", "1795953615000")
	f(15*time.Second, "x-ratelimit-remaining", "0", "x-ratelimit-reset", "1795953615")
	f(time.Hour, "x-ratelimit-remaining", "0", "x-ratelimit-reset", "9e12")
	f(0, "x-ratelimit-remaining", "0", "x-ratelimit-reset", "1e300")
	if got := (*Classifier)(nil).Classify(500, nil, headers("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1m30s"), noon); got.RetryAfter != 0 {
		t.Errorf("500: a wait of %v for a limit that is not what failed", got.RetryAfter)
	}
}

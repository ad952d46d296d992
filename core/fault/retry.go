package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what an upstream may ask for.
const maxRetryAfter = time.Hour

// RetryAfter reads how long an upstream asks to wait: retry-after-ms (OpenAI), Retry-After in seconds, also with a fraction,
// or as a date (RFC 9110 10.2.3). Zero: nothing usable.
func RetryAfter(get func(name string) []byte, now time.Time) time.Duration {
	if d, ok := seconds(string(get("retry-after-ms")), time.Millisecond); ok {
		return d
	}
	v := strings.TrimSpace(string(get("retry-after")))
	if d, ok := seconds(v, time.Second); ok {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return within(t.Sub(now))
	}
	return 0
}

// resetAfter is how long it takes until all limits of which nothing is left have begun anew; zero: none tells.
func resetAfter(get func(name string) []byte, now time.Time) (wait time.Duration) {
	for _, l := range limits {
		if strings.TrimSpace(string(get(l.remaining))) == "0" {
			wait = max(wait, until(strings.TrimSpace(string(get(l.reset))), now))
		}
	}
	return wait
}

// within bounds a wait.
func within(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }

// limits are the headers that tell what is left of a limit and when it begins anew: those of OpenAI and those who follow it,
// Anthropic's, and OpenRouter's.
var limits = [...]struct{ remaining, reset string }{
	{"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
	{"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
	{"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
	{"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
	{"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
	{"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
	{"x-ratelimit-remaining", "x-ratelimit-reset"},
}

// Numbers over these are no seconds to wait but a moment, in seconds or milliseconds since 1970.
const (
	momentSeconds = 1e9
	momentMillis  = 1e12
)

// until reads when a limit begins anew: "6m0s", "7.66s", RFC 3339, seconds to wait, or a moment as a number.
func until(v string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(v); err == nil {
		return within(d)
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return within(t.Sub(now))
	}
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil || !(n >= 0) || n > 10*momentMillis:
		return 0
	case n >= momentMillis:
		return within(time.UnixMilli(int64(n)).Sub(now))
	case n >= momentSeconds:
		return within(time.Unix(int64(n), 0).Sub(now))
	}
	d, _ := seconds(v, time.Second)
	return d
}

// seconds reads a decimal number without sign or exponent.
func seconds(v string, unit time.Duration) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || strings.Trim(v, "0123456789.") != "" {
		return 0, false
	}
	if n*float64(unit) >= float64(maxRetryAfter) {
		return maxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}

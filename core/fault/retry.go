package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what an upstream may ask for.
const maxRetryAfter = time.Hour

// RetryAfter reads how long an upstream asks to wait: retry-after-ms (OpenAI), or Retry-After in seconds, also with a
// fraction, or as a date (RFC 9110 10.2.3). Zero: nothing usable.
func RetryAfter(get func(name string) []byte, now time.Time) time.Duration {
	if d, ok := seconds(string(get("retry-after-ms")), time.Millisecond); ok {
		return d
	}
	v := strings.TrimSpace(string(get("retry-after")))
	if d, ok := seconds(v, time.Second); ok {
		return d
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return min(t.Sub(now), maxRetryAfter)
	}
	return 0
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

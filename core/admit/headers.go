package admit

import (
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/limits"
)

// Limited says whether the key has a limit that headers tell of.
func (r *Reservation) Limited() bool {
	return r.standing != limits.Standing{}
}

// AppendHeaders appends the header lines that tell a client of a dialect where its limits stand, as OpenAI's and
// Anthropic's own services do.
func (r *Reservation) AppendHeaders(dst []byte, dialect string, now time.Time) []byte {
	s := &r.standing
	if dialect != "anthropic" {
		dst = appendOpenAI(dst, "requests", &s[limits.Requests])
		return appendOpenAI(dst, "tokens", &s[limits.Tokens])
	}
	for rate, name := range [...]string{limits.Requests: "requests", limits.Tokens: "tokens", limits.Input: "input-tokens", limits.Output: "output-tokens"} {
		dst = appendAnthropic(dst, name, &s[rate], now)
	}
	return dst
}

// appendOpenAI writes the reset as a duration such as 6m0s or 12ms.
func appendOpenAI(dst []byte, name string, g *limits.Gauge) []byte {
	if g.Limit == 0 {
		return dst
	}
	dst = appendLine(dst, "x-ratelimit-limit-", name, strconv.FormatInt(g.Limit, 10))
	dst = appendLine(dst, "x-ratelimit-remaining-", name, strconv.FormatInt(g.Left, 10))
	return appendLine(dst, "x-ratelimit-reset-", name, ceil(g.Reset, time.Millisecond).String())
}

// appendAnthropic writes the reset as a moment.
func appendAnthropic(dst []byte, name string, g *limits.Gauge, now time.Time) []byte {
	if g.Limit == 0 {
		return dst
	}
	dst = appendLine(dst, "anthropic-ratelimit-", name+"-limit", strconv.FormatInt(g.Limit, 10))
	dst = appendLine(dst, "anthropic-ratelimit-", name+"-remaining", strconv.FormatInt(g.Left, 10))
	return appendLine(dst, "anthropic-ratelimit-", name+"-reset", now.Add(g.Reset+time.Second-1).UTC().Format(time.RFC3339))
}

func appendLine(dst []byte, prefix, name, value string) []byte {
	dst = append(dst, prefix...)
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// ceil rounds up, so that who waits as long as told has waited long enough.
func ceil(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

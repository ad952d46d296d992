package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Nano is money in units of 10⁻⁹ USD.
type Nano int64

// ParseUSD reads decimal USD exactly: at most nine decimals, below 9 billion, no sign and no exponent.
func ParseUSD(s string) (Nano, error) {
	whole, fraction, point := strings.Cut(s, ".")
	if !digits(whole) || point && !digits(fraction) || len(fraction) > 9 {
		return 0, fmt.Errorf("want USD with at most nine decimals, got %q", s)
	}
	v, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want USD below 9 billion, got %q", s)
	}
	return Nano(v), nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String is decimal USD without needless zeros.
func (n Nano) String() string {
	sign, abs := "", uint64(n)
	if n < 0 {
		sign, abs = "-", -uint64(n)
	}
	s := fmt.Sprintf("%s%d.%09d", sign, abs/1e9, abs%1e9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Secret is a text that does not print: not by fmt, not by log/slog, not as JSON.
type Secret struct{ value string }

// hidden stands for a secret.
const hidden = "[secret]"

// String hides the secret.
func (Secret) String() string { return hidden }

// GoString hides the secret from %#v.
func (Secret) GoString() string { return hidden }

// MarshalText hides the secret from encoders and from log/slog.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Reveal gives the text; the caller sees that it goes nowhere else.
func (s Secret) Reveal() string { return s.value }

// maxDuration is what a duration of a configuration is below.
const maxDuration = 366 * 24 * time.Hour

// parseDuration reads a duration whose form the schema has checked.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d > maxDuration {
		return 0, errors.New("want a duration of a year at most")
	}
	return d, nil
}

// parseSize reads a size in bytes whose form the schema has checked.
func parseSize(s string) (int64, error) {
	unit := strings.TrimLeft(s, "0123456789")
	n, err := strconv.ParseInt(s[:len(s)-len(unit)], 10, 64)
	factor := int64(1)
	switch unit {
	case "KB":
		factor = 1e3
	case "MB":
		factor = 1e6
	case "GB":
		factor = 1e9
	case "KiB":
		factor = 1 << 10
	case "MiB":
		factor = 1 << 20
	case "GiB":
		factor = 1 << 30
	}
	if err != nil || n > math.MaxInt64/factor {
		return 0, errors.New("want a size below 8 EiB")
	}
	return n * factor, nil
}

// parseExpiry reads a moment: an RFC 3339 time, or a date, which means its midnight in UTC.
func parseExpiry(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, s)
}

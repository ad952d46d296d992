package config

import (
	"math"
	"testing"
	"time"
)

func TestParseUSD(t *testing.T) {
	f := func(text string, want Nano) {
		t.Helper()
		got, err := ParseUSD(text)
		if err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	f("3", 3e9)
	f("0.30", 3e8)
	f("0.1", 1e8)
	f("0.000000001", 1)
	f("0003", 3e9)
	f("9223372036.854775807", math.MaxInt64)
	for _, text := range []string{"", ".", ".5", "5.", "-1", "+1", "1e3", "1_0", " 1", "0.0000000001", "9223372036.854775808", "99999999999", "1.2.3", "٣"} {
		if got, err := ParseUSD(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestNanoString(t *testing.T) {
	f := func(n Nano, want string) {
		t.Helper()
		if got := n.String(); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	f(0, "0")
	f(1, "0.000000001")
	f(3e9, "3")
	f(3_750_000_000, "3.75")
	f(-5e8, "-0.5")
	f(math.MinInt64, "-9223372036.854775808")
}

func TestParseSize(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	f("0", 0)
	f("512", 512)
	f("512B", 512)
	f("1KB", 1000)
	f("1KiB", 1024)
	f("32MiB", 32<<20)
	f("2GB", 2e9)
	f("8589934591GiB", 8589934591<<30)
	if got, err := parseSize("8589934592GiB"); err == nil {
		t.Errorf("%d, want an error", got)
	}
}

func TestParseDuration(t *testing.T) {
	if d, err := parseDuration("1h30m"); err != nil || d != 90*time.Minute {
		t.Errorf("%v %v", d, err)
	}
	for _, text := range []string{"8785h", "99999999999999999999h"} {
		if d, err := parseDuration(text); err == nil {
			t.Errorf("%s: %v, want an error", text, d)
		}
	}
}

func TestNearestName(t *testing.T) {
	known := []string{"openai", "anthropic", "groq", "base_url", "timeout"}
	f := func(name, want string) {
		t.Helper()
		if got := nearestName(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	f("opnai", "openai")
	f("oepnai", "openai")
	f("antropic", "anthropic")
	f("baseurl", "base_url")
	f("base-url", "base_url")
	f("timeouts", "timeout")
	f("gorq", "groq")
	f("mistral", "")
	f("", "")
}

package main

import (
	"log/slog"
	"strings"
	"testing"
)

// TestTerminalKeepsRecordsApart: what others wrote into a value is neither a command to the terminal nor a record of its own.
func TestTerminalKeepsRecordsApart(t *testing.T) {
	f := func(key, value, want string) {
		t.Helper()
		var b strings.Builder
		slog.New(newTerminalHandler(&b, slog.LevelInfo)).Info("said", key, value)
		if got, ok := strings.CutPrefix(b.String()[len("15:04:05 "):], "said  "+key+"="); !ok || got != want+"\n" {
			t.Errorf("%s %q: %q, want %q", key, value, b.String(), want)
		}
	}
	f("model", "chat", "chat")
	f("model", "two words", `"two words"`)
	f("model", "a\n15:04:05 error: b", `"a\n15:04:05 error: b"`)
	f("model", "a\u009b2J", `"a\u009b2J"`)
	f("error", "two words", "two words")
	f("error", "a\n15:04:05 error: b", "a\n    15:04:05 error: b")
	f("error", "a\x1b[2J", `"a\x1b[2J"`)
	f("error", "a\bb", `"a\bb"`)
	f("stack", "main.f()\n\tmain.go:1", "main.f()\n    \tmain.go:1")
}

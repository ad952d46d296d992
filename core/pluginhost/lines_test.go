package pluginhost

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLines(t *testing.T) {
	f := func(in []string, want ...string) {
		t.Helper()
		var l lines
		for _, s := range in {
			if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("write: %d, %v", n, err)
			}
		}
		if got := l.tail(); !slices.Equal(got, want) {
			t.Errorf("%.60q: got %.200q, want %.200q", in, got, want)
		}
	}
	f([]string{"a\nb\n"}, "a", "b")
	f([]string{"a", "b", "\n", "\n\n", "c"}, "ab", "c")
	f([]string{"a\r\n"}, "a")
	f([]string{"\xff\n"}, "\uFFFD")
	long := strings.Repeat("x", lineBytes)
	f([]string{long + "y\nz\n"}, long+"…", "z")
	f([]string{long, "y", "\nz\n"}, long+"…", "z")
	var many, last []string
	for i := range 100 {
		many = append(many, fmt.Sprintln(i))
		if i >= 100-linesKept {
			last = append(last, fmt.Sprint(i))
		}
	}
	f(many, last...)
}

func TestLinesRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		l := lines{emit: func(s string) { got = append(got, s) }}
		flood := []byte(strings.Repeat("x\n", 1000))
		l.Write(flood)
		if len(got) != lineBurst {
			t.Errorf("%d lines at once: want %d", len(got), lineBurst)
		}
		time.Sleep(3 * lineRefill)
		l.Write(flood)
		if len(got) != lineBurst+3 || got[lineBurst] != "x (lines left out before it: 950)" {
			t.Errorf("%d lines, the first later one %q", len(got), got[lineBurst])
		}
	})
}

func TestLevelOf(t *testing.T) {
	f := func(line string, want slog.Level) {
		t.Helper()
		if got := levelOf(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
	f("panic: oh no", slog.LevelError)
	f(`time=2026-01-02T03:04:05Z level=WARN msg=x`, slog.LevelWarn)
	f(`{"@level":"error","@message":"x"}`, slog.LevelError)
	f(`{"time":"…","level":"INFO","msg":"x"}`, slog.LevelInfo)
	f("hello", slog.LevelDebug)
}

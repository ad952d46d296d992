package pluginhosttest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// journal is the log of the host: it knows why a plugin failed, which clients are not told.
type journal struct {
	mu      sync.Mutex // guards what follows
	last    string     // the cause of the latest trouble since begin
	flooded bool       // lines of the plugin's had to be left out
}

// begin forgets the cause of what was before.
func (j *journal) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = ""
}

func (j *journal) cause() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

func (j *journal) overflown() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flooded
}

// Enabled takes everything: the plugin's lines are logged at any level.
func (j *journal) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes a record.
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "line" && strings.Contains(a.Value.String(), "(lines left out before it: "):
			j.flooded = true
		case a.Key == "error" && r.Level >= slog.LevelWarn:
			j.last = r.Message + ": " + a.Value.String()
		}
		return true
	})
	return nil
}

// WithAttrs and WithGroup change nothing: what is common to all records is known here.
func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup changes nothing.
func (j *journal) WithGroup(string) slog.Handler { return j }

package generation

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/config"
)

// broken is a configuration that cannot be read.
type broken struct{ why string }

func (b *broken) Read() (*config.Config, error) { return nil, errors.New(b.why) }

func (*broken) Watch() []string { return nil }

// TestRefusedOnce: a mistake that stands is logged and recorded when it is found, not whenever the file is looked at, and
// whoever asks is told each time.
func TestRefusedOnce(t *testing.T) {
	var log strings.Builder
	from := &broken{"no colon"}
	m := NewManager(from, &Builder{}, slog.New(slog.NewTextHandler(&log, nil)))
	load := func(why string, records int) {
		t.Helper()
		from.why = why
		if n, err := m.Load(context.Background(), "file"); n != 0 || err == nil || err.Error() != why {
			t.Errorf("generation %d, %v, want none and %q", n, err, why)
		}
		if got, lines := len(m.Records()), strings.Count(log.String(), "\n"); got != records || lines != records {
			t.Errorf("%s: %d records and %d lines, want %d of each", why, got, lines, records)
		}
	}
	load("no colon", 1)
	load("no colon", 1)
	load("no brace", 2)
	load("no colon", 3)
}

package generation

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
)

// looked tells when the configuration is looked at.
type looked struct {
	path string
	at   chan struct{}
}

func (l *looked) Read() (*config.Config, error) {
	select {
	case l.at <- struct{}{}:
	default:
	}
	return nil, errors.New("not wanted here")
}

func (l *looked) Watch() []string { return []string{l.path} }

// TestWatchOfABusyFolder: a log that is written beside the configuration all the time does not keep an edit from being seen
// before the poll.
func TestWatchOfABusyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := &looked{filepath.Join(dir, "penstock.yaml"), make(chan struct{}, 1)}
	m := NewManager(from, &Builder{}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { m.Watch(ctx) })
	tasks.Go(func() {
		tick := time.NewTicker(settle / 10)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := os.WriteFile(filepath.Join(dir, "log"), []byte("line"), 0o600); err != nil {
				t.Error(err)
			}
			<-tick.C
		}
	})
	select {
	case <-from.at:
	case <-time.After(pollEvery * 2 / 3):
		t.Error("the file was not looked at")
	}
	stop()
	tasks.Wait()
}

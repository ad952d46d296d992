package generation

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a folder must be quiet before its files are read: editors write, rename and write again, and
// Kubernetes swaps a link.
const settle = 200 * time.Millisecond

// pollEvery is the net under the watch, for file systems that tell nothing.
const pollEvery = 30 * time.Second

// Watch loads the configuration whenever a file that it stands on may have changed, until ctx ends. Folders are watched,
// not files, since a file that is replaced is another file. Whether anything did change is told by the content's hash.
func (m *Manager) Watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		m.log.Warn("file watch: not to be had, files are read every 30 s", "error", err)
		w = &fsnotify.Watcher{} // nil channels: never ready
	} else {
		defer w.Close()
	}
	watched := map[string]bool{}
	quiet := time.NewTimer(settle) // an edit may have come before the watch
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		follow(w, watched, m.loader.Watch(), m.log)
		select {
		case <-ctx.Done():
			return
		case e := <-w.Events:
			if e.Op != fsnotify.Chmod {
				quiet.Reset(settle)
			}
		case err := <-w.Errors:
			m.log.Warn("file watch", "error", err)
			quiet.Reset(settle)
		case <-quiet.C:
			m.Load(ctx, "file")
		case <-poll.C:
			m.Load(ctx, "file")
		}
	}
}

// follow makes the watch cover the folders of all paths.
func follow(w *fsnotify.Watcher, watched map[string]bool, paths []string, log *slog.Logger) {
	if w.Events == nil {
		return
	}
	for _, p := range paths {
		dir := p
		if info, err := os.Stat(p); err != nil || !info.IsDir() {
			dir = filepath.Dir(p)
		}
		if watched[dir] {
			continue
		}
		if err := w.Add(dir); err == nil {
			watched[dir] = true
			log.Debug("file watch: folder", "dir", dir)
		}
	}
}

package generation

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/fsnotify/fsnotify"
	"go.starlark.net/syntax"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
)

// settle is how long a folder must be quiet before its files are read: editors write, rename and write again, and
// Kubernetes swaps a link.
const settle = 200 * time.Millisecond

// unsettled is how long a folder that is never quiet may put that off: a log or a database may lie in it.
const unsettled = 2 * time.Second

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
	var since time.Time // of the first event that has not been looked into
	stirred := func() {
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(settle, unsettled-time.Since(since)))
	}
	for {
		follow(w, watched, m.loader.Watch(), m.log)
		select {
		case <-ctx.Done():
			return
		case e := <-w.Events:
			if e.Op != fsnotify.Chmod {
				stirred()
			}
		case err := <-w.Errors:
			m.log.Warn("file watch", "error", err)
			stirred()
		case <-quiet.C:
			since = time.Time{}
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

// maxPolicyFiles bounds the files of one policy that are watched; a policy can load no more.
const maxPolicyFiles = 64

// PolicyFiles lists the files that the routers of a configuration stand on, those that do not exist included: each
// policy and shadow, its tests, and what these load.
func PolicyFiles(cfg *config.Config) []string {
	var all []string
	var names []string
	for i := range cfg.Routers {
		names = append(names, cfg.Routers[i].Policy, cfg.Routers[i].Shadow)
	}
	for _, name := range names {
		if name == "" || strings.HasPrefix(name, embedded) {
			continue
		}
		dir, file := filepath.Dir(name), filepath.Base(name)
		files := []string{file, strings.TrimSuffix(file, ".star") + policytest.Suffix}
		for i := 0; i < len(files) && len(files) < maxPolicyFiles; i++ {
			for _, next := range loads(filepath.Join(dir, files[i])) {
				if !slices.Contains(files, next) {
					files = append(files, next)
				}
			}
		}
		for _, f := range files {
			if path := filepath.Join(dir, f); !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// loads lists what a file loads. A file that cannot be read or parsed loads nothing.
func loads(path string) []string {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	tree, err := (&syntax.FileOptions{}).Parse(path, src, 0)
	if err != nil {
		return nil
	}
	var list []string
	for _, s := range tree.Stmts {
		if l, ok := s.(*syntax.LoadStmt); ok && fs.ValidPath(l.ModuleName()) {
			list = append(list, l.ModuleName())
		}
	}
	return list
}

// policyFingerprint tells apart what the files of policies hold.
func policyFingerprint(cfg *config.Config) string {
	var b strings.Builder
	for _, path := range PolicyFiles(cfg) {
		b.WriteString(" " + path + "=")
		if src, err := os.ReadFile(path); err == nil {
			b.WriteString(strconv.FormatUint(xxhash.Sum64(src), 36))
		}
	}
	return b.String()
}

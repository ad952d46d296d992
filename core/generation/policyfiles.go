package generation

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"go.starlark.net/syntax"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
)

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

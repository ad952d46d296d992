// Package dialecttest is what the tests of the client dialects share: requests in the middle form as text, scripts of
// events, golden files, and walks over recorded traffic.
//
// It is for tests alone. What a dialect must answer is said by each dialect's own tests.
package dialecttest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update rewrites golden files. It is a flag of the test binary, so it is the package's and not an argument.
var update = flag.Bool("update", false, "rewrite the golden files")

// Golden runs f over each archive (.txtar) in a folder. f reads the sections that are the input and gives those that are
// wanted; what the archive has differently is an error.
func Golden(t *testing.T, dir string, f func(t *testing.T, in func(name string) []byte) []Section) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no archives (%v)", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			archive := parse(text)
			section := func(name string) []byte {
				for _, s := range archive.sections {
					if s.Name == name {
						return bytes.TrimSuffix(s.Data, []byte("\n"))
					}
				}
				return nil
			}
			for _, got := range f(t, section) {
				archive.compare(t, got)
			}
			if *update {
				if err := os.WriteFile(path, archive.format(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Section is one file of an archive.
type Section struct {
	Name string
	Data []byte
}

// archive is a text in the txtar form: a comment, then sections, each behind a line "-- name --".
type archive struct {
	comment  []byte
	sections []Section
}

func parse(text []byte) *archive {
	a := new(archive)
	for line := range bytes.Lines(text) {
		name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("-- "))
		if name, found := bytes.CutSuffix(name, []byte(" --")); ok && found {
			a.sections = append(a.sections, Section{Name: string(name)})
			continue
		}
		if n := len(a.sections); n > 0 {
			a.sections[n-1].Data = append(a.sections[n-1].Data, line...)
		} else {
			a.comment = append(a.comment, line...)
		}
	}
	return a
}

func (a *archive) format() []byte {
	out := bytes.Clone(a.comment)
	for _, s := range a.sections {
		out = append(out, "-- "+s.Name+" --\n"...)
		out = append(out, s.Data...)
	}
	return out
}

// compare checks one section, or replaces it.
func (a *archive) compare(t *testing.T, got Section) {
	t.Helper()
	if n := len(got.Data); n > 0 && got.Data[n-1] != '\n' {
		got.Data = append(got.Data, '\n')
	}
	for i := range a.sections {
		if s := &a.sections[i]; s.Name == got.Name {
			if *update {
				s.Data = got.Data
			} else if d := cmp.Diff(string(s.Data), string(got.Data)); d != "" {
				t.Errorf("%s (-want +got):\n%s", got.Name, d)
			}
			return
		}
	}
	if !*update {
		t.Errorf("%s: the archive has no such section; -update writes it", got.Name)
	}
	a.sections = append(a.sections, got)
}

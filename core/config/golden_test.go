package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what is found into testdata/*.txtar")

// TestFindings holds every finding to its place, words and remedy. An archive has pairs of files: NAME.yaml, and in
// NAME.want what is printed of it.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range files {
		archive := readArchive(t, path)
		for i := 0; i+1 < len(archive); i += 2 {
			in, want := archive[i], &archive[i+1]
			name, _ := strings.CutSuffix(in.name, ".yaml")
			if want.name != name+".want" {
				t.Fatalf("%s: %s is followed by %s, want %s.want", path, in.name, want.name, name)
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				got := findings(t, []byte(in.data))
				if *update {
					want.data = got
				}
				if diff := cmp.Diff(want.data, got); diff != "" {
					t.Error(diff)
				}
			})
		}
		if *update {
			writeArchive(t, path, archive)
		}
	}
}

// findings gives what is printed of a text: errors, or the warnings of a valid one.
func findings(t *testing.T, text []byte) string {
	t.Helper()
	c, err := Parse("penstock.yaml", text, Options{Env: env, Dir: "testdata"})
	list, ok := err.(Diagnostics)
	switch {
	case err == nil:
		list = c.Warnings
	case !ok || list.Errors() == 0:
		t.Fatalf("error %#v, want diagnostics of which one is no warning", err)
	}
	hasPlaces(t, list)
	var b strings.Builder
	if err := list.Render(&b, text, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func hasPlaces(t *testing.T, list Diagnostics) {
	t.Helper()
	for i, d := range list {
		if d.Line < 1 || d.Column < 1 || d.File != "penstock.yaml" || d.Message == "" {
			t.Errorf("%+v has no place or no words", d)
		}
		if i > 0 && (d.Line < list[i-1].Line || d.Line == list[i-1].Line && d.Column < list[i-1].Column) {
			t.Errorf("%+v stands behind %+v", d, list[i-1])
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		for _, in := range readArchive(f, path) {
			if strings.HasSuffix(in.name, ".yaml") {
				f.Add([]byte(in.data))
			}
		}
	}
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("penstock.yaml", text, Options{Env: env, Root: dir})
		list, ok := err.(Diagnostics)
		switch {
		case err == nil:
			list = c.Warnings
			if list.Errors() > 0 {
				t.Errorf("valid, with errors among the warnings: %v", list)
			}
		case !ok || list.Errors() == 0:
			t.Fatalf("error %#v, want diagnostics of which one is no warning", err)
		}
		hasPlaces(t, list)
		var b strings.Builder
		if err := list.Render(&b, text, true); err != nil {
			t.Fatal(err)
		}
	})
}

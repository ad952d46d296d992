package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// A section is one file of a text archive: a line "-- name --" and what follows
// up to the next such line.
type section struct{ name, text string }

// sections takes a text archive apart. What stands before the first file is its
// comment.
func sections(text string) (comment string, files []section) {
	for line := range strings.Lines(text) {
		name, isStart := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		name, isEnd := strings.CutSuffix(name, " --")
		switch {
		case isStart && isEnd:
			files = append(files, section{name: name})
		case len(files) == 0:
			comment += line
		default:
			files[len(files)-1].text += line
		}
	}
	return comment, files
}

// archive is the opposite of sections.
func archive(comment string, files []section) string {
	for _, f := range files {
		comment += "-- " + f.name + " --\n" + f.text
	}
	return comment
}

func mapFS(files []section) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range files {
		m[f.name] = &fstest.MapFile{Data: []byte(f.text)}
	}
	return m
}

// writeAll puts the files of an archive into a folder.
func writeAll(t *testing.T, dir, text string) {
	t.Helper()
	_, files := sections(text)
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

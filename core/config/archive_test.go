package config

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"testing"
)

// file is one file of a txtar archive.
type file struct{ name, data string }

// marker begins a file of an archive.
var marker = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// readArchive reads a txtar archive; what stands before its first file is dropped.
func readArchive(t testing.TB, path string) []file {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	at := marker.FindAllSubmatchIndex(b, -1)
	for i, m := range at {
		end := len(b)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		files = append(files, file{string(b[m[2]:m[3]]), string(b[m[1]:end])})
	}
	return files
}

func writeArchive(t testing.TB, path string, files []file) {
	t.Helper()
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.name, f.data)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

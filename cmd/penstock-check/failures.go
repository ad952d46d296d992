package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// failures reads what go test prints, as it passes, and keeps what failed: in a run of all packages that stands far
// above the end, among the logs of what was tested.
type failures struct {
	w       io.Writer // where it goes on to
	line    []byte    // the one that is begun
	list    []*failed // of packages that have ended
	current []*failed // of the package whose output this is
	said    []string  // the last that it said outside of tests
	more    int       // failed and not kept
}

// failed is a test that failed, or a package that did not come to its tests.
type failed struct {
	name   string
	indent int
	lines  []string
}

// Bounds of what is kept.
const (
	failuresKept = 30
	linesKept    = 6   // of one
	widthKept    = 300 // bytes of a line
)

// Write passes bytes on and reads the lines in them.
func (f *failures) Write(p []byte) (int, error) {
	f.line = append(f.line, p...)
	for {
		i := bytes.IndexByte(f.line, '\n')
		if i < 0 {
			break
		}
		f.read(string(f.line[:i]))
		f.line = f.line[i+1:]
	}
	f.line = f.line[:min(len(f.line), widthKept)] // of one that does not end its beginning is enough
	return f.w.Write(p)
}

// read takes a line: the head of a failed test, what it said, or the end of a package.
func (f *failures) read(line string) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	name, isTest := strings.CutPrefix(text, "--- FAIL: ")
	status, pkg, isEnd := strings.Cut(line, "\t")
	switch {
	case isTest:
		name, _, _ = strings.Cut(name, " (")
		f.current = append(f.current, &failed{name: name, indent: indent})
	case strings.HasPrefix(line, "panic: "), line == "WARNING: DATA RACE":
		f.current = append(f.current, &failed{name: strings.TrimSuffix(line, ":"), indent: -1})
	case isEnd && status == "FAIL":
		f.end(pkg)
	case isEnd && (strings.TrimSpace(status) == "ok" || status == "?   "):
		f.current, f.said = nil, nil
	case strings.TrimSpace(line) == "" || line == "FAIL":
	default:
		f.keep(line, indent)
	}
}

// keep puts a line to the test that it is of: the last whose head stands further out.
func (f *failures) keep(line string, indent int) {
	line = line[:min(len(line), widthKept)]
	of := len(f.current) - 1
	for of >= 0 && f.current[of].indent >= indent {
		of--
	}
	if of < 0 {
		f.said = append(f.said, line)
		f.said = f.said[max(0, len(f.said)-linesKept):]
		return
	}
	if t := f.current[of]; len(t.lines) < linesKept {
		t.lines = append(t.lines, line)
	}
}

// end puts what has failed under the name of its package. Where no test has, it did not build or did not come to its end.
func (f *failures) end(pkg string) {
	pkg, _, _ = strings.Cut(pkg, "\t")
	pkg = strings.TrimPrefix(pkg, modulePath+"/")
	if len(f.current) == 0 {
		f.current = append(f.current, &failed{lines: f.said})
	}
	for _, t := range f.current {
		t.name = strings.TrimSpace(pkg + " " + t.name)
	}
	f.list = append(f.list, f.current...)
	if over := len(f.list) - failuresKept; over > 0 {
		f.more += over
		f.list = slices.Delete(f.list, failuresKept, len(f.list))
	}
	f.current, f.said = nil, nil
}

// tell prints once more what failed, in short.
func (f *failures) tell() {
	if len(f.list) == 0 {
		return
	}
	fmt.Fprintln(f.w, "\npenstock-check: what failed, in short:")
	for _, t := range f.list {
		fmt.Fprintln(f.w, "FAIL "+t.name)
		for _, line := range t.lines {
			fmt.Fprintln(f.w, "    "+strings.TrimSpace(line))
		}
	}
	if f.more > 0 {
		fmt.Fprintf(f.w, "FAIL %d more, above\n", f.more)
	}
}

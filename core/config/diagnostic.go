package config

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Diagnostic is one thing that is wrong with a configuration, or doubtful.
type Diagnostic struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // in characters, from 1
	Path    string `json:"path"`   // such as models.chat.deployments[0].provider
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"`
}

// Error is "FILE:LINE:COL: message".
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", d.File, d.Line, d.Column)
	}
	if d.Warning {
		b.WriteString("warning: ")
	}
	if d.Path != "" {
		b.WriteString(d.Path + ": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics are findings in the order of the text. As an error, at least one of them is no warning.
type Diagnostics []Diagnostic

// Error lists them, one line each.
func (l Diagnostics) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// sort puts them into the order of the text.
func (l Diagnostics) sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Errors counts those that are no warnings.
func (l Diagnostics) Errors() int {
	n := 0
	for _, d := range l {
		if !d.Warning {
			n++
		}
	}
	return n
}

// Render prints each finding with its line of the source, a caret and the remedy.
func (l Diagnostics) Render(w io.Writer, source []byte, color bool) {
	lines := bytes.Split(source, []byte{'\n'})
	bold, red, off := "", "", ""
	if color {
		bold, red, off = "\x1b[1m", "\x1b[31m", "\x1b[0m"
	}
	for _, d := range l {
		fmt.Fprintf(w, "%s%s%s\n", bold, d.Error(), off)
		for n := max(d.Line-1, 1); n <= d.Line && n <= len(lines) && d.Line > 0; n++ {
			line := strings.TrimRight(string(lines[n-1]), "\r")
			fmt.Fprintf(w, "%5d | %s\n", n, printable(line))
			if n == d.Line {
				fmt.Fprintf(w, "      | %s%s^%s\n", indent(line, d.Column-1), red, off)
			}
		}
		if d.Hint != "" {
			fmt.Fprintf(w, "   help: %s\n", d.Hint)
		}
	}
}

// indent is white space as wide as the first n characters of a line.
func indent(line string, n int) string {
	var b strings.Builder
	for _, c := range line {
		if n--; n < 0 {
			break
		}
		if c == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// printable takes out what a terminal could take for a command.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return '?'
		}
		return c
	}, line)
}

// nearestName gives the candidate that is spelled most like a name, or "".
func nearestName(name string, candidates []string) string {
	best, most := "", 1+len(name)/3
	for _, c := range candidates {
		if d := distance(name, c); d <= most && (best == "" || d < distance(name, best)) {
			best = c
		}
	}
	return best
}

// distance is the number of single-byte edits between two short names.
func distance(a, b string) int {
	if len(a) > 128 || len(b) > 128 {
		return 1 << 20
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			c := diag
			if a[i] != b[j] {
				c = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], c
		}
	}
	return row[len(b)]
}

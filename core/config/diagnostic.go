package config

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Diagnostic is one thing that is wrong with a configuration, or doubtful.
type Diagnostic struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // in characters, from 1
	Path    string `json:"path"`   // such as models.chat.deployments[0].provider
	Message string `json:"message"`
	Hint    string `json:"hint"`
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
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
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

// Render prints each finding with its line of the source and the one before, a line under what it is about, and the
// remedy:
//
//	penstock.yaml:17:5: providers.b: unknown member "plugn" (did you mean "plugin"?)
//	   16 |   b:
//	   17 |     plugn: openai
//	      |     ^^^^^
//	   help: known are base_url, config, …
//
// The source is that of the findings; nil leaves the lines out. Secrets that stand in it are printed: it is for the terminal
// of whoever can read the file.
func (l Diagnostics) Render(w io.Writer, source []byte, color bool) error {
	lines := strings.Split(strings.TrimPrefix(string(source), "\ufeff"), "\n")
	if source == nil {
		lines = nil
	}
	var b strings.Builder
	for _, d := range l {
		d.render(&b, lines, color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d Diagnostic) render(b *strings.Builder, lines []string, color bool) {
	bold, mark, off := "", "", ""
	if color {
		bold, mark, off = "\x1b[1m", "\x1b[31m", "\x1b[0m"
		if d.Warning {
			mark = "\x1b[33m"
		}
	}
	fmt.Fprintf(b, "%s%s%s\n", bold, d.Error(), off)
	for n := max(d.Line-1, 1); n <= min(d.Line, len(lines)); n++ {
		line := []rune(strings.TrimRight(lines[n-1], "\r"))
		if n < d.Line && len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		from := 0 // a long line is shown from near the place
		if d.Column > maxShown/2 && len(line) > maxShown {
			from = min(d.Column-maxShown/2, len(line))
		}
		fmt.Fprintf(b, "%5d | %s\n", n, printable(line[from:min(len(line), from+maxShown)]))
		if column := d.Column - 1; n == d.Line && column <= len(line) {
			fmt.Fprintf(b, "      | %s%s%s%s\n", blank(line[from:max(column, from)]), mark, strings.Repeat("^", min(width(line[column:]), maxShown/2)), off)
		}
	}
	if d.Hint != "" {
		fmt.Fprintf(b, "   help: %s\n", d.Hint)
	}
}

// maxShown is how many characters of a line are printed.
const maxShown = 160

// width is the number of characters that the name or value at the beginning of a line takes.
func width(line []rune) int {
	if len(line) == 0 {
		return 1
	}
	if quote := line[0]; quote == '"' || quote == '\'' {
		if end := slices.Index(line[1:], quote); end >= 0 {
			return end + 2
		}
		return 1
	}
	inReference := false
	for i, c := range line {
		last := i+1 == len(line)
		switch {
		case inReference:
			inReference = c != '}'
		case c == '$' && !last && line[i+1] == '{':
			inReference = true
		case c == ':' && (last || line[i+1] == ' '), c == ',' && (last || line[i+1] == ' '), c == '#' && i > 0 && line[i-1] == ' ',
			strings.ContainsRune("{}[]", c):
			return max(len([]rune(strings.TrimRight(string(line[:i]), " "))), 1)
		}
	}
	return len([]rune(strings.TrimRight(string(line), " \t")))
}

// blank is white space as wide as a piece of a line.
func blank(line []rune) string {
	b := slices.Clone(line)
	for i, c := range b {
		if c != '\t' {
			b[i] = ' '
		}
	}
	return string(b)
}

// printable takes out what a terminal could take for a command.
func printable(line []rune) string {
	return strings.Map(func(c rune) rune {
		if c != '\t' && !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, string(line))
}

package main

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// printing keeps the process's output to the commands. A package that has
// something to say takes a *slog.Logger from its caller.
func printing(t *tree) (found []finding) {
	for _, f := range t.code() {
		if within(f.path, "cmd") || f.generated {
			continue
		}
		each(f.syntax, func(sel *ast.SelectorExpr) {
			from, name := f.member(sel)
			switch {
			case from == "fmt" && strings.HasPrefix(name, "Print"):
				found = append(found, t.at(f, sel, "fmt.%s: output belongs to cmd, want a *slog.Logger from the caller", name))
			case from == "log":
				found = append(found, t.at(f, sel, "log.%s: want a *slog.Logger from the caller", name))
			case from == "log/slog" && slices.Contains(defaultLogger, name):
				found = append(found, t.at(f, sel, "slog.%s: uses the logger of the whole process, want one from the caller", name))
			}
		})
	}
	return found
}

// defaultLogger are the functions of log/slog that reach for the logger that the
// whole process shares.
var defaultLogger = []string{
	"Default", "SetDefault", "With", "Log", "LogAttrs",
	"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
}

// emptyOpening opens a message without saying anything: that it is an error is
// known, and what was tried stands in the message of the caller.
const emptyOpening = "failed" + " to"

// errorWords refuses the empty opening in all texts but those of tests, which
// hold what others say.
func errorWords(t *tree) (found []finding) {
	for _, f := range t.code() {
		each(f.syntax, func(lit *ast.BasicLit) {
			if s, ok := literal(lit); ok && strings.Contains(strings.ToLower(s), emptyOpening) {
				found = append(found, t.at(f, lit, "text says %q, want the thing first, then the fact", emptyOpening))
			}
		})
	}
	return found
}

// unfinished are the marks of work that was left undone.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|HACK)\b`)

// leftWork refuses such marks in comments: what is to be done is an issue, where
// somebody sees it.
func leftWork(t *tree) (found []finding) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				if mark := unfinished.FindString(c.Text); mark != "" {
					found = append(found, t.at(f, c, "comment says %s, want the work done or an issue that says so", mark))
				}
			}
		}
	}
	return found
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// exceptionList is where the exceptions stand, one a line: the check, what is
// excepted, and the reason. What is excepted is a file, a function as
// file#Function, a package by its folder, or all files below a folder, as
// folder/.
const exceptionList = "cmd/penstock-check/exceptions.txt"

// reasonWords is how many words a reason has at least. Fewer have said nothing yet.
const reasonWords = 4

// An exception lifts the findings of one check on one subject.
type exception struct {
	line           int
	check, subject string
	used           bool
}

// excepted takes out the findings for which the list has an exception, and adds
// what is wrong with the list: a line that lifts nothing is stale. ran are the
// checks whose findings are here; of others nothing can be said.
func excepted(t *tree, found []finding, ran []string) []finding {
	var exceptions []*exception
	var left []finding
	for _, l := range t.fileLines(exceptionList) {
		words := strings.Fields(l.text)
		if len(words) < 2+reasonWords {
			left = append(left, finding{check: "exceptions", file: exceptionList, line: l.number,
				message: fmt.Sprintf("want a check, a subject and a reason of at least %d words", reasonWords)})
			continue
		}
		exceptions = append(exceptions, &exception{line: l.number, check: words[0], subject: words[1]})
	}
	for _, f := range found {
		i := slices.IndexFunc(exceptions, func(e *exception) bool { return e.lifts(f) })
		if i >= 0 {
			exceptions[i].used = true
			continue
		}
		left = append(left, f)
	}
	for _, e := range exceptions {
		if !e.used && slices.Contains(ran, e.check) {
			left = append(left, finding{check: "exceptions", file: exceptionList, line: e.line,
				message: fmt.Sprintf("%s %s: lifts nothing, want the line removed", e.check, e.subject)})
		}
	}
	return left
}

func (e *exception) lifts(f finding) bool {
	if f.final || f.check != e.check {
		return false
	}
	return f.subject == e.subject || strings.HasSuffix(e.subject, "/") && strings.HasPrefix(f.file, e.subject)
}

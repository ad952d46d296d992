package ollama_test

import "strings"

// archive is a file in the txtar form: a comment, then sections under lines such as "-- name --".
type archive struct {
	comment  string
	sections []section
}

type section struct{ name, text string }

func parseArchive(text string) *archive {
	a := new(archive)
	into := &a.comment
	for line := range strings.Lines(text) {
		name, begins := strings.CutPrefix(line, "-- ")
		name, ends := strings.CutSuffix(strings.TrimRight(name, "\n"), " --")
		if begins && ends {
			a.sections = append(a.sections, section{name: name})
			into = &a.sections[len(a.sections)-1].text
			continue
		}
		*into += line
	}
	return a
}

func (a *archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, s := range a.sections {
		b.WriteString("-- " + s.name + " --\n" + s.text)
	}
	return b.String()
}

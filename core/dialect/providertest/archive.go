package providertest

import "strings"

// Archive is a file in the txtar form: a comment, then sections under lines such as "-- name --".
type Archive struct {
	Comment  string
	Sections []Section
}

// Section is one file of an archive.
type Section struct{ Name, Text string }

// ParseArchive reads an archive.
func ParseArchive(text string) *Archive {
	a := new(Archive)
	into := &a.Comment
	for line := range strings.Lines(text) {
		name, begins := strings.CutPrefix(line, "-- ")
		name, ends := strings.CutSuffix(strings.TrimRight(name, "\n"), " --")
		if begins && ends {
			a.Sections = append(a.Sections, Section{Name: name})
			into = &a.Sections[len(a.Sections)-1].Text
			continue
		}
		*into += line
	}
	return a
}

// String writes it.
func (a *Archive) String() string {
	var b strings.Builder
	b.WriteString(a.Comment)
	for _, s := range a.Sections {
		b.WriteString("-- " + s.Name + " --\n" + s.Text)
	}
	return b.String()
}

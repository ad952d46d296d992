package main

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// top is all that may stand at the top of the repository.
var top = []string{
	"core", "sdk", "plugins", "policies", "schemas", "cmd", "examples",
	"go.mod", "go.sum", "README.md", "LICENSE", "NOTICE",
	".git", ".gitignore", ".gitattributes", ".ci", ".github",
}

// topNeeded must stand there.
var topNeeded = []string{"core", "go.mod", "go.sum", "LICENSE", "NOTICE"}

// topLevel holds the top of the repository to its list. What .gitignore names
// there is built, not kept, and passes.
func topLevel(t *tree) (found []finding) {
	entries, err := fs.ReadDir(t.fsys, ".")
	if err != nil {
		return []finding{{file: ".", message: err.Error(), final: true}}
	}
	ignored := t.fileLines(".gitignore")
	var names []string
	for _, e := range entries {
		name := e.Name()
		names = append(names, name)
		built := slices.ContainsFunc(ignored, func(l textLine) bool {
			ok, _ := path.Match(strings.Trim(l.text, "/"), name)
			return ok
		})
		if !slices.Contains(top, name) && !built {
			found = append(found, finding{file: name, subject: name, message: "stands at the top, where only the agreed entries do"})
		}
	}
	for _, name := range topNeeded {
		if !slices.Contains(names, name) {
			found = append(found, finding{file: name, message: "is missing at the top"})
		}
	}
	return found
}

// dependencyList says which modules ours may import, for what, and why.
const dependencyList = "cmd/penstock-check/dependencies.txt"

// A dependency is one line of that list: a module, its use and the reason. The
// use is "run", or "test" for what must not become part of a program.
type dependency struct {
	line        int
	module, use string
	imported    bool
}

// dependencies holds what the code imports to the list, both ways, and refuses
// replace in go.mod: it does nothing for those who build us as a module.
func dependencies(t *tree) (found []finding) {
	modules, found := t.required()
	var listed []*dependency
	for _, l := range t.fileLines(dependencyList) {
		words := strings.Fields(l.text)
		if len(words) < 5 || words[1] != "run" && words[1] != "test" {
			found = append(found, finding{file: dependencyList, line: l.number, message: "want a module, run or test, and a reason"})
			continue
		}
		listed = append(listed, &dependency{line: l.number, module: words[0], use: words[1]})
	}
	for _, f := range t.files {
		for _, im := range f.syntax.Imports {
			importPath, err := strconv.Unquote(im.Path.Value)
			if err != nil || !external(importPath) {
				continue
			}
			module := longest(modules, importPath)
			i := slices.IndexFunc(listed, func(d *dependency) bool { return d.module == module })
			switch {
			case module == "":
				found = append(found, t.at(f, im, "%s: no module of go.mod holds it", importPath))
			case i < 0:
				found = append(found, t.at(f, im, "%s: its module %s is not in %s", importPath, module, dependencyList))
			case listed[i].use == "test" && !f.test && !strings.HasSuffix(f.pkg.name, "test"):
				found = append(found, t.at(f, im, "%s: is listed for tests only", importPath))
			default:
				listed[i].imported = true
			}
		}
	}
	for _, d := range listed {
		if !d.imported {
			found = append(found, finding{file: dependencyList, line: d.line, message: d.module + ": nothing imports it, want the line removed"})
		}
	}
	return found
}

// required gives the modules that go.mod names, and what is wrong with it.
func (t *tree) required() (modules []string, found []finding) {
	block := ""
	for _, l := range t.fileLines("go.mod") {
		words := strings.Fields(l.text)
		verb := block
		switch {
		case words[0] == ")":
			block = ""
			continue
		case len(words) > 1 && words[1] == "(":
			block = words[0]
			continue
		case block == "":
			verb, words = words[0], words[1:]
		}
		switch verb {
		case "require":
			modules = append(modules, words[0])
		case "replace":
			found = append(found, finding{file: "go.mod", line: l.number, final: true,
				message: fmt.Sprintf("replace %s: is ignored where ours is a dependency, want a released version", words[0])})
		}
	}
	return modules, found
}

// external reports whether an import is neither ours nor the standard library's.
func external(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !within(importPath, modulePath)
}

// longest is the module that holds a package: of those whose path leads to it,
// the one that leads furthest.
func longest(modules []string, importPath string) (module string) {
	for _, m := range modules {
		if within(importPath, m) && len(m) > len(module) {
			module = m
		}
	}
	return module
}

// A textLine is one line of a list: not empty, its comment cut off.
type textLine struct {
	number int
	text   string
}

// fileLines reads a list from the tree. A comment is # or // at the start of a
// line or after a space. A file that is absent has no lines.
func (t *tree) fileLines(name string) (list []textLine) {
	text, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return nil
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = " " + line
		for _, mark := range []string{" #", " //"} {
			line, _, _ = strings.Cut(line, mark)
		}
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, textLine{n, line})
		}
	}
	return list
}

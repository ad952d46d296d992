package main

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// empty are names that say nothing of what they name, so that anything may be
// put under them.
var empty = []string{
	"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "manager", "shared", "stuff", "lib",
}

// platforms are the words that may follow an underscore in a file name: the
// go command reads them as build constraints.
var platforms = []string{
	"linux", "darwin", "windows", "freebsd", "netbsd", "openbsd", "solaris", "wasip1", "js", "unix", "other",
	"amd64", "arm64", "386", "arm", "riscv64", "s390x", "ppc64le", "loong64", "wasm",
}

var (
	plainName   = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	commandName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	emptyEnding = regexp.MustCompile(`[a-z0-9](Manager|Helper|Helpers|Util|Utils|Misc)$`)
)

// names holds packages, files and types to the names that STYLE asks for: the
// noun that a reader would look for.
func names(t *tree) (found []finding) {
	for _, p := range t.packages {
		name := strings.TrimSuffix(p.name, "_test")
		switch {
		case slices.Contains(empty, name):
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: fmt.Sprintf("package %s: its name says nothing, want the noun it is about", p.name)})
		case !plainName.MatchString(name):
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: fmt.Sprintf("package %s: want one lower-case word", p.name)})
		case !folderMatches(p.dir, name):
			found = append(found, finding{file: p.files[0].path, subject: p.dir,
				message: fmt.Sprintf("package %s: stands in folder %s, want one name for both", p.name, p.dir)})
		}
	}
	for _, f := range t.files {
		if why := fileName(path.Base(f.path)); why != "" && !f.generated {
			found = append(found, finding{file: f.path, subject: f.path, message: why})
		}
		each(f.syntax, func(s *ast.TypeSpec) {
			if emptyEnding.MatchString(s.Name.Name) {
				found = append(found, t.at(f, s, "type %s: its ending says nothing, want the noun it is", s.Name.Name))
			}
		})
	}
	return found
}

func folderMatches(dir, name string) bool {
	if name == "main" {
		return commandName.MatchString(path.Base(dir))
	}
	return path.Base(dir) == name
}

// fileName says what is wrong with the name of a Go file, or nothing.
func fileName(name string) string {
	noun, suffixes, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
	for suffix := range strings.SplitSeq(suffixes, "_") {
		if suffix != "" && suffix != "test" && !slices.Contains(platforms, suffix) {
			return fmt.Sprintf("file %s: want no underscore but for _test and the platform's name", name)
		}
	}
	switch {
	case slices.Contains(empty, noun):
		return fmt.Sprintf("file %s: its name says nothing, want the noun it holds", name)
	case !plainName.MatchString(noun):
		return fmt.Sprintf("file %s: want a lower-case noun", name)
	}
	return ""
}

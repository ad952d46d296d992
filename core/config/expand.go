package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// expander puts values in the place of ${NAME}, ${NAME:-default} and ${file:PATH}. It works on single scalars after the
// YAML has been parsed, so a value can be nothing but a value.
type expander struct {
	env   func(name string) (string, bool)
	dir   string // relative paths start here
	root  string // where files may lie; "": anywhere
	spent int    // bytes that references have brought so far
}

const (
	maxReferenced = 64 << 10 // bytes that one reference may bring
	maxExpanded   = 16 << 20 // bytes that all references of a text may bring
)

// variable is a name that may stand in a reference.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand gives the text with its references replaced. $${ stands for ${ as it is. The hint says what helps.
func (e *expander) expand(s string) (out, hint string, err error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), "", nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		ref, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok {
			return "", "$${ stands for ${ as it is", errors.New("a reference has no end: want ${NAME}, ${NAME:-default} or ${file:/path}")
		}
		v, hint, err := e.reference(ref)
		if err != nil {
			return "", hint, err
		}
		if e.spent += len(v); len(v) > maxReferenced || e.spent > maxExpanded {
			return "", "", fmt.Errorf("${%s} is too large: want %d KiB at most, and %d MiB in all", ref, maxReferenced>>10, maxExpanded>>20)
		}
		b.WriteString(v)
		s = rest
	}
}

// reference gives the value of what stands between ${ and }.
func (e *expander) reference(ref string) (value, hint string, err error) {
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		if value, err = e.file(path); err != nil && !filepath.IsAbs(path) {
			return "", "a path is relative to the configuration", err
		}
		return value, "", err
	}
	name, otherwise, has := strings.Cut(ref, ":-")
	if !variable.MatchString(name) {
		return "", "$${ stands for ${ as it is", fmt.Errorf("${%s} is no reference: want ${NAME}, ${NAME:-default} or ${file:/path}", ref)
	}
	ok := false
	if e.env != nil {
		value, ok = e.env(name)
	}
	switch {
	case has && value == "":
		return otherwise, "", nil
	case !ok:
		return "", fmt.Sprintf("set it, or give a default: ${%s:-default}", name), fmt.Errorf("the variable %s is not set", name)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return "", "", fmt.Errorf("the variable %s holds something else than text", name)
	}
	return value, "", nil
}

// file reads what ${file:PATH} names: a regular file, since another could make the reader wait, and never one of the
// kernel's, through which a process can be asked about itself.
func (e *expander) file(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	path = filepath.Clean(path)
	f, err := e.open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReferenced+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	s := strings.TrimRight(string(b), "\r\n")
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%s: not a text", path)
	}
	return s, nil
}

// open opens a file that may be read.
func (e *expander) open(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, unwrapped(path, err)
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if within(real, kernel) {
			return nil, fmt.Errorf("%s: lies in %s, want a file of your own", path, kernel)
		}
	}
	if e.root != "" {
		root, err := filepath.EvalSymlinks(e.root)
		if err != nil {
			return nil, unwrapped(e.root, err)
		}
		if !within(real, root) {
			return nil, fmt.Errorf("%s: lies outside %s", path, e.root)
		}
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, unwrapped(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", path)
	}
	f, err := os.Open(real)
	if err != nil {
		return nil, unwrapped(path, err)
	}
	return f, nil
}

// within says whether a clean path is a folder or lies in it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, filepath.Clean(dir))
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

// unwrapped names the path that was written, not the steps that were taken.
func unwrapped(path string, err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

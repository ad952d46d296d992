package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// programPrefix begins the name of each executable in a plugin folder.
const programPrefix = "penstock-provider-"

// Program is an executable that can be started as a plugin.
type Program struct {
	Name string
	Path string
	// Hash is the SHA-256 of the content in hexadecimal, or "bundled" for a plugin that is part of this executable.
	Hash string

	args []string // of a bundled plugin
}

// Key names what may run as one process: the content and the name.
func (p Program) Key() string { return p.Hash + " " + p.Name }

// bundledHash stands for the content of the running executable, which no reload changes.
const bundledHash = "bundled"

// Find looks up a plugin by its name: first among the bundled ones, then as an executable penstock-provider-NAME in
// dirs, in order. The error lists where it has looked and what was wrong there.
func (h *Host) Find(dirs []string, name string) (Program, error) {
	if err := checkName(name); err != nil {
		return Program{}, err
	}
	if h.opt.Bundled != nil {
		if path, args, ok := h.opt.Bundled(name); ok {
			return Program{Name: name, Path: path, Hash: bundledHash, args: args}, nil
		}
	}
	var looked []string
	for _, dir := range dirs {
		p, err := findIn(dir, name)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Program{}, fmt.Errorf("plugin %q: %v", name, err)
		}
		looked = append(looked, filepath.Join(dir, programPrefix+name))
	}
	if len(looked) == 0 {
		return Program{}, fmt.Errorf("plugin %q: not bundled, and no plugin folder is configured", name)
	}
	return Program{}, fmt.Errorf("plugin %q: not bundled, and not found as %s", name, strings.Join(looked, ", "))
}

// checkName keeps names to what a file's name and a metric's label can be.
func checkName(name string) error {
	for i, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '-') {
			continue
		}
		return fmt.Errorf("plugin %q: want lower-case letters, digits and hyphens", name)
	}
	if name == "" || len(name) > 64 {
		return fmt.Errorf("plugin %q: want 1 to 64 characters", name)
	}
	return nil
}

func findIn(dir, name string) (Program, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Program{}, err
	}
	defer root.Close()
	if err := trusted(root, "."); err != nil {
		return Program{}, fmt.Errorf("folder %s: %w", dir, err)
	}
	base := programPrefix + name
	path := filepath.Join(dir, base)
	if err := trusted(root, base); err != nil {
		return Program{}, fmt.Errorf("%s: %w", path, err)
	}
	f, err := root.Open(base)
	if err != nil {
		return Program{}, err
	}
	defer f.Close()
	sum, err := hashOf(f)
	if err != nil {
		return Program{}, fmt.Errorf("%s: %v", path, err)
	}
	return Program{Name: name, Path: path, Hash: sum}, nil
}

// trusted says why a folder or an executable may not be run: who can write to it could run code as us.
func trusted(root *os.Root, name string) error {
	i, err := root.Lstat(name)
	if err != nil {
		return err
	}
	switch {
	case i.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link: want the file itself")
	case name != "." && !i.Mode().IsRegular():
		return errors.New("is not a regular file")
	case name != "." && i.Mode()&0o111 == 0:
		return errors.New("is not executable: chmod 0755")
	case i.Mode()&0o022 != 0:
		return fmt.Errorf("mode %#o lets others write: chmod go-w", i.Mode().Perm())
	}
	if s, ok := i.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d: want root or the user that runs the gateway", s.Uid)
	}
	return nil
}

func hashOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// open opens what is to be executed, and checks that it is still what was found. It gives the path to execute: on Linux
// that of the opened file, so that a file put in its place after the check is not what runs.
func (p Program) open() (f *os.File, path string, err error) {
	f, err = os.Open(p.Path)
	if err != nil {
		return nil, "", err
	}
	if p.Hash != bundledHash {
		sum, err := hashOf(f)
		if err == nil && sum != p.Hash {
			err = fmt.Errorf("%s: SHA-256 is %s: want %s, as when it was found", p.Path, sum, p.Hash)
		}
		if err != nil {
			f.Close()
			return nil, "", err
		}
	}
	return f, openedPath(f), nil
}

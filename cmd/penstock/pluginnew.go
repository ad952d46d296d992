package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

// newPluginFiles are the files of a new plugin. Those that end in .tmpl are templates for a scaffold.
//
//go:embed newplugin
var newPluginFiles embed.FS

// scaffold is a plugin that is to be written.
type scaffold struct {
	Name    string
	Module  string
	Version string // of our module; "" where this program is of none that can be fetched
	SDK     string // a folder that takes the module's place; "" the module itself
	dir     string
}

func newPluginNew() *cobra.Command {
	var s scaffold
	cmd := &cobra.Command{
		Use:   "new NAME [DIR]",
		Short: "Write a provider plugin to begin with: a Go module that builds and passes its tests",
		Long: "Write a Go module with a provider, its tests and answers for the conformance kit. DIR is penstock-provider-NAME\n" +
			"where it is not given. Nothing that is there already is written over.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name, s.dir = args[0], "penstock-provider-"+args[0]
			if len(args) == 2 {
				s.dir = args[1]
			}
			if err := s.fill(); err != nil {
				return err
			}
			if err := s.write(); err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			s.next(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().StringVar(&s.Module, "module", "", "path of the Go module (default penstock-provider-NAME)")
	cmd.Flags().StringVar(&s.SDK, "sdk", "", "folder of a penstock source tree to build against, in place of a release")
	return cmd
}

// pluginName is what a plugin may be called, as the gateway has it.
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// release is a version that the go command can fetch.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// fill checks what was said and finds out the rest.
func (s *scaffold) fill() error {
	if !pluginName.MatchString(s.Name) {
		return fmt.Errorf("plugin %q: want 1 to 64 lower-case letters, digits and hyphens, a letter first", s.Name)
	}
	if s.Module == "" {
		s.Module = "penstock-provider-" + s.Name
	}
	if v := version(); release.MatchString(v) {
		s.Version = v
	}
	if s.SDK == "" {
		return nil
	}
	abs, err := filepath.Abs(s.SDK)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(abs, "sdk", "sdk.go")); err != nil {
		return fmt.Errorf("--sdk %s: want the folder of penstock's source: %v", s.SDK, err)
	}
	s.SDK, s.Version = abs, "v0.0.0"
	return nil
}

// write writes all files, or none where the folder holds something.
func (s *scaffold) write() error {
	switch entries, err := os.ReadDir(s.dir); {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s: is there already, and not empty", s.dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := fs.WalkDir(newPluginFiles, "newplugin", s.file); err != nil {
		return err
	}
	if s.SDK == "" {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(s.SDK, "go.sum")) // the module stands on what the tree stands on
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "go.sum"), sums, 0o644)
}

// file writes one of the files.
func (s *scaffold) file(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	to := filepath.Join(s.dir, strings.TrimPrefix(path, "newplugin"))
	if d.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	text, err := newPluginFiles.ReadFile(path)
	if err != nil {
		return err
	}
	to, isTemplate := strings.CutSuffix(to, ".tmpl")
	if filepath.Base(to) == "gitignore" { // a name that begins with a dot is not embedded
		to = filepath.Join(s.dir, ".gitignore")
	}
	if !isTemplate {
		return os.WriteFile(to, text, 0o644)
	}
	t, err := template.New(path).Parse(string(text))
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, s); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

// next says what comes after.
func (s *scaffold) next(w io.Writer) {
	fmt.Fprintf(w, "%s: a provider that builds; its README.md says what stands where\n\nnext:\n  cd %s\n", s.dir, s.dir)
	if s.Version == "" {
		fmt.Fprintln(w, "  go get github.com/penstock-gateway/penstock@latest")
	}
	fmt.Fprintf(w, "  go mod tidy && go test ./...\n  go build -o plugins.d/penstock-provider-%s .\n", s.Name)
	fmt.Fprintf(w, "  penstock plugin test plugins.d/penstock-provider-%s --fixtures conformance\n", s.Name)
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-gateway/penstock/core/config"
)

func newPluginPin() *cobra.Command {
	var file string
	var write bool
	cmd := &cobra.Command{
		Use:   "pin NAME",
		Short: "Print the line that holds the configuration to a plugin's executable as it is now",
		Long: "Print the member sha256 of a provider that names the plugin. With it, the gateway refuses any other content of the\n" +
			"executable. --write puts it into the configuration, at every provider that names the plugin, and changes nothing else.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := configPath(file)
			if path == "" {
				return &exitError{exitNotFound, "no configuration: name a file by -c"}
			}
			p, err := newPin(&fileLoader{path: path}, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), p.line())
			if !write {
				return nil
			}
			if err := p.write(); err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s pinned\n", path, strings.Join(p.providers, ", "))
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "the configuration's file")
	cmd.Flags().BoolVar(&write, "write", false, "put the line into the file")
	return cmd
}

// pin is the content of a plugin's executable, and who is to be held to it.
type pin struct {
	file      string
	hash      string
	providers []string // ids of those that name the plugin
}

// newPin finds the executable that a configuration means by a plugin's name.
func newPin(l *fileLoader, name string) (*pin, error) {
	cfg, err := l.Read()
	if list := (config.Diagnostics)(nil); errors.As(err, &list) {
		l.render(os.Stderr, list)
		return nil, &exitError{code: exitInvalid}
	}
	if err != nil {
		return nil, &exitError{exitFailure, err.Error()}
	}
	if bundled(name) != nil {
		return nil, fmt.Errorf("plugin %q: is part of this program: there is nothing to pin", name)
	}
	host := newHost(slog.New(slog.DiscardHandler))
	defer host.Close()
	prog, err := host.Find(cfg.PluginDirs, name)
	if err != nil {
		return nil, &exitError{exitNotFound, err.Error()}
	}
	p := &pin{file: l.path, hash: prog.Hash}
	for _, one := range cfg.Providers {
		if one.Plugin == name {
			p.providers = append(p.providers, one.ID)
		}
	}
	if len(p.providers) == 0 {
		return nil, &exitError{exitNotFound, fmt.Sprintf("%s: no provider names the plugin %q", l.path, name)}
	}
	return p, nil
}

// line is the member as it stands in the file. It is quoted: digits alone would be a number.
func (p *pin) line() string { return fmt.Sprintf("sha256: %q", p.hash) }

// write puts the line into the file.
func (p *pin) write() error {
	path, err := filepath.EvalSymlinks(p.file)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, id := range p.providers {
		if text, err = p.edit(text, id); err != nil {
			return fmt.Errorf("%s: %v", p.file, err)
		}
	}
	return replaceFile(path, text, info.Mode().Perm())
}

// replaceFile replaces a file as a whole, so that nobody reads half of it.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, text, mode); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

// edit gives the text with the line at one provider. The YAML is read for the places of things and never written, so that
// comments, order and spacing stay what they are.
func (p *pin) edit(text []byte, id string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("want one document")
	}
	_, providers := memberOf(doc.Content[0], "providers")
	_, provider := memberOf(providers, id)
	if provider == nil || len(provider.Content) == 0 {
		return nil, fmt.Errorf("providers.%s: not found", id)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if _, old := memberOf(provider, "sha256"); old != nil {
		return replaceScalar(lines, old, fmt.Sprintf("%q", p.hash))
	}
	key, value := memberOf(provider, "plugin")
	if key == nil {
		key, value = provider.Content[0], provider.Content[1]
	}
	line := lines[key.Line-1]
	at := byteAt(line, key.Column)
	if provider.Style&yaml.FlowStyle != 0 {
		member := p.line()
		if key.Style&yaml.DoubleQuotedStyle != 0 { // JSON is to stay JSON
			member = strings.Replace(member, "sha256", `"sha256"`, 1)
		}
		lines[key.Line-1] = line[:at] + member + ", " + line[at:]
		return []byte(strings.Join(lines, "")), nil
	}
	if value.Kind != yaml.ScalarNode || strings.TrimSpace(line[:at]) != "" {
		return nil, fmt.Errorf("line %d: cannot be edited, add the line by hand", key.Line)
	}
	before := &lines[value.Line-1]
	if !strings.HasSuffix(*before, "\n") {
		*before += "\n"
	}
	*before += line[:at] + p.line() + "\n"
	return []byte(strings.Join(lines, "")), nil
}

// replaceScalar puts another value in the place of one that stands on one line.
func replaceScalar(lines []string, old *yaml.Node, value string) ([]byte, error) {
	line := lines[old.Line-1]
	at := byteAt(line, old.Column)
	rest := line[at:]
	end := strings.IndexAny(rest, " \t,}\r\n")
	switch {
	case strings.Contains(old.Value, "${"):
		return nil, fmt.Errorf("line %d: sha256 is a reference: change what it refers to", old.Line)
	case rest[0] == '"' || rest[0] == '\'':
		end = strings.IndexByte(rest[1:], rest[0]) + 2
	case end < 0:
		end = len(rest)
	}
	lines[old.Line-1] = line[:at] + value + rest[end:]
	return []byte(strings.Join(lines, "")), nil
}

// memberOf gives the name and the value of an object's member; nil where there is none.
func memberOf(object *yaml.Node, name string) (key, value *yaml.Node) {
	if object == nil || object.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i], object.Content[i+1]
		}
	}
	return nil, nil
}

// byteAt is the place in a line of a column, which counts characters from 1.
func byteAt(line string, column int) int {
	n := 0
	for at := range line {
		if n++; n == column {
			return at
		}
	}
	return len(line)
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/penstock-gateway/penstock/schemas"
)

func newInit() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a configuration to begin with",
		Long: "Write penstock.yaml, its schema for editors, and .gitignore. Keys that are found in the environment are used by\n" +
			"reference; no secret is ever written. Files that are there already are left as they are.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			s := &starter{in: bufio.NewReader(cmd.InOrStdin()), out: cmd.OutOrStdout(), dir: dir}
			s.ask = !yes && term.IsTerminal(int(os.Stdin.Fd()))
			return s.run()
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: use every key that is found")
	return cmd
}

// starter writes the files of a new configuration.
type starter struct {
	in  *bufio.Reader
	out io.Writer
	dir string
	ask bool
}

func (s *starter) run() error {
	var used []int
	for i, k := range providerKeys {
		if os.Getenv(k.env) != "" && s.agree("Use "+k.env+" for the provider "+k.id+"?") {
			used = append(used, i)
		}
	}
	listen := s.choose("Address to listen on", "127.0.0.1:8080")
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	files := []struct{ name, text string }{
		{"penstock.yaml", configText(used, listen)},
		{"penstock.schema.json", string(schemas.Config)},
		{".gitignore", ".env\n*.db\n"},
	}
	for _, f := range files {
		if err := s.write(f.name, f.text); err != nil {
			return &exitError{exitFailure, err.Error()}
		}
	}
	serve := "penstock serve"
	if filepath.Clean(s.dir) != "." {
		serve += " -c " + filepath.Join(s.dir, "penstock.yaml")
	}
	fmt.Fprintln(s.out, "\nnext: export PENSTOCK_KEY (the key of your programs, any 32 characters) and run: "+serve)
	return nil
}

// write makes a file that is not there yet.
func (s *starter) write(name, text string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		fmt.Fprintf(s.out, "  kept   %s\n", filepath.Join(s.dir, name))
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	fmt.Fprintf(s.out, "  wrote  %s\n", filepath.Join(s.dir, name))
	return err
}

// agree asks a question whose default is yes.
func (s *starter) agree(question string) bool {
	if !s.ask {
		return true
	}
	fmt.Fprintf(s.out, "%s [Y/n] ", question)
	line, _ := s.in.ReadString('\n') // the end of the input agrees to the default
	a := strings.ToLower(strings.TrimSpace(line))
	return a == "" || strings.HasPrefix(a, "y")
}

// choose asks for a text with a default.
func (s *starter) choose(question, otherwise string) string {
	if !s.ask {
		return otherwise
	}
	fmt.Fprintf(s.out, "%s [%s] ", question, otherwise)
	line, _ := s.in.ReadString('\n') // the end of the input takes the default
	if line = strings.TrimSpace(line); line != "" {
		return line
	}
	return otherwise
}

// firstModel is a model to begin with for each provider that init knows.
var firstModel = map[string]string{
	"openai": "gpt-4.1-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash", "groq": "llama-3.3-70b-versatile", "mistral": "mistral-small-latest",
	"deepseek": "deepseek-chat", "xai": "grok-4", "openrouter": "openrouter/auto",
}

// configText writes the configuration for some of providerKeys, or for the demo where there are none.
func configText(used []int, listen string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# yaml-language-server: $schema=./penstock.schema.json\n# Check an edit with `penstock validate`; a running gateway takes it by itself.\nlisten: %s\n\nproviders:\n", listen)
	if len(used) == 0 {
		b.WriteString("  demo: {plugin: demo}   # answers without a key; for real ones: openai, anthropic, …\n")
	}
	for _, i := range used {
		k := providerKeys[i]
		fmt.Fprintf(&b, "  %s:\n    plugin: %s\n", k.id, k.plugin)
		if k.preset != "" {
			fmt.Fprintf(&b, "    preset: %s\n", k.preset)
		}
		fmt.Fprintf(&b, "    credentials: [{name: main, api_key: \"${%s}\"}]\n", k.env)
	}
	b.WriteString("\nmodels:\n  chat:                  # the name that your programs ask for; tried in this order\n    deployments:\n")
	if len(used) == 0 {
		b.WriteString("      - {provider: demo, model: echo}\n")
	}
	for _, i := range used {
		fmt.Fprintf(&b, "      - {provider: %s, model: %s}\n", providerKeys[i].id, firstModel[providerKeys[i].id])
	}
	b.WriteString("\nkeys:\n  - {name: dev, secret: \"${PENSTOCK_KEY}\"}\n")
	return b.String()
}

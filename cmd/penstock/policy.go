package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/policy/policytest"
	"github.com/penstock-gateway/penstock/policies"
)

func newPolicy() *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Router policies: check, test, explain, replay", Args: cobra.NoArgs}
	cmd.AddCommand(newPolicyCheck(), newPolicyTest(), newPolicyFmt(), newPolicyExplain(), newPolicyReplay(), newPolicyBench(), newPolicyShow(), newPolicyDoc())
	return cmd
}

// policyFile is a policy that a command is about.
type policyFile struct {
	shown  string // before the file's own name in messages: its folder, or penstock/
	folder fs.FS
	name   string // in the folder
}

// findPolicies gives the policies that are named, as files or as penstock/NAME; without names those of the configuration.
func findPolicies(args []string) ([]policyFile, error) {
	if len(args) == 0 {
		path := configPath("")
		if path == "" {
			return nil, &exitError{exitNotFound, "no configuration: name the files"}
		}
		cfg, err := config.Load(path, os.LookupEnv)
		if err != nil {
			return nil, &exitError{exitInvalid, err.Error()}
		}
		for _, r := range cfg.Routers {
			args = append(args, r.Policy)
		}
	}
	var list []policyFile
	for _, arg := range args {
		f := policyFile{shown: filepath.Dir(arg), name: filepath.Base(arg)}
		if name, ok := strings.CutPrefix(arg, "penstock/"); ok && filepath.Ext(arg) == "" {
			f = policyFile{shown: "penstock", folder: policies.FS, name: name + ".star"}
		} else {
			f.folder = os.DirFS(f.shown)
		}
		if _, err := fs.Stat(f.folder, f.name); errors.Is(err, fs.ErrNotExist) {
			return nil, &exitError{exitNotFound, arg + ": no such policy"}
		}
		list = append(list, f)
	}
	return list, nil
}

// at puts a policy's folder before a text that opens with the name of a file in it.
func (f *policyFile) at(text string) string {
	if f.shown == "." {
		return text
	}
	return f.shown + string(filepath.Separator) + text
}

func newPolicyCheck() *cobra.Command {
	var bounds policy.Bounds
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Compile policies and look for what is likely to be a mistake",
		Long: "Compile policies and look for what is likely to be a mistake. A policy is a file, or penstock/NAME for one that comes\n" +
			"with the gateway; without any, those of the configuration are checked. The exit code is 3 where one cannot be used.",
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := findPolicies(args)
			if err != nil {
				return err
			}
			bad := false
			for _, f := range list {
				good, err := f.check(cmd.OutOrStdout(), cmd.ErrOrStderr(), bounds)
				if err != nil {
					return err
				}
				bad = bad || !good
			}
			if bad {
				return &exitError{code: exitInvalid}
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&bounds.Steps, "max-steps", policy.DefaultSteps, "bound on the steps of a call")
	cmd.Flags().Uint64Var(&bounds.Memory, "max-alloc", policy.DefaultMemory, "bound on the bytes of a call")
	return cmd
}

// check prints faults and remarks, and what a call takes where there are no faults.
func (f *policyFile) check(out, errs io.Writer, bounds policy.Bounds) (good bool, err error) {
	src, err := fs.ReadFile(f.folder, f.name)
	if err != nil {
		return false, &exitError{exitFailure, err.Error()}
	}
	r := policy.Check(f.name, src, policy.Options{Folder: f.folder, Bounds: bounds})
	for _, e := range r.Faults {
		fmt.Fprintf(errs, "%s (%s)\n", f.at(e.Error()), e.Kind)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(errs, f.at(n.String()))
	}
	if len(r.Faults) > 0 {
		return false, nil
	}
	fmt.Fprintf(out, "%s: valid; steps: route %d over %d models, choose %d and plan %d over %d targets\n",
		f.at(f.name), r.Cost.Route, r.Cost.Models, r.Cost.Choose, r.Cost.Plan, r.Cost.Targets)
	return true, nil
}

func newPolicyTest() *cobra.Command {
	var match string
	var cover bool
	cmd := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Run the tests beside policies",
		Long: "Run the tests beside policies: the functions test_… of NAME_test.star, for NAME.star. The exit code is 4 where one\n" +
			"fails.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o := policytest.Options{Cover: cover}
			if match != "" {
				var err error
				if o.Match, err = regexp.Compile(match); err != nil {
					return fmt.Errorf("--run %q: %v", match, err)
				}
			}
			for i, arg := range args {
				args[i] = strings.Replace(arg, policytest.Suffix, ".star", 1)
			}
			list, err := findPolicies(args)
			if err != nil {
				return err
			}
			return testPolicies(cmd, list, o)
		},
	}
	cmd.Flags().StringVar(&match, "run", "", "run the tests whose name matches a regular expression")
	cmd.Flags().BoolVar(&cover, "cover", false, "print which lines of the policies the tests reach")
	return cmd
}

func testPolicies(cmd *cobra.Command, list []policyFile, o policytest.Options) error {
	out := cmd.OutOrStdout()
	passed, failed := 0, 0
	for _, f := range list {
		report, err := policytest.Run(cmd.Context(), f.folder, strings.TrimSuffix(f.name, ".star")+policytest.Suffix, o)
		if err != nil {
			return &exitError{exitInvalid, f.at(err.Error())}
		}
		for _, t := range report.Tests {
			if t.Err != nil {
				fmt.Fprintf(out, "FAIL %s: %s\n", t.Name, f.at(t.Err.Backtrace()))
			} else {
				fmt.Fprintf(out, "PASS %s (%d steps)\n", t.Name, t.Steps)
			}
			for _, line := range t.Prints {
				fmt.Fprintln(out, "     "+line)
			}
		}
		for _, c := range report.Cover {
			fmt.Fprintf(out, "%s: %d of %d lines reached, not %v\n", f.at(c.File), c.Ran, c.Total, c.Missed)
		}
		failed += report.Failed()
		passed += len(report.Tests) - report.Failed()
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return &exitError{code: exitTests}
	}
	return nil
}

func newPolicyFmt() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "fmt FILE…",
		Short: "Put policies into the one layout",
		Long:  "Put policies into the one layout. Files are rewritten in place, and named; - is standard input to standard output.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			different := false
			for _, arg := range args {
				changed, err := formatPolicy(cmd, arg, check)
				if err != nil {
					return err
				}
				different = different || changed
			}
			if check && different {
				return &exitError{code: exitTests}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "name the files that would change, leave them, and exit with 4")
	return cmd
}

// maxPiped bounds what commands read from their standard input.
const maxPiped = 32 << 20

// formatPolicy formats one file and says whether it was, or would be, another.
func formatPolicy(cmd *cobra.Command, path string, check bool) (changed bool, err error) {
	var src []byte
	if path == "-" {
		src, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxPiped))
	} else {
		src, err = os.ReadFile(path)
	}
	if err != nil {
		return false, &exitError{exitNotFound, err.Error()}
	}
	text, err := policy.Format(path, src)
	if err != nil {
		return false, &exitError{exitInvalid, err.Error()}
	}
	changed = string(text) != string(src)
	switch {
	case check || path != "-":
		if changed {
			fmt.Fprintln(cmd.OutOrStdout(), path)
		}
		if changed && !check {
			err = os.WriteFile(path, text, 0o644) // keeps the mode of the file that is there
		}
	default:
		_, err = cmd.OutOrStdout().Write(text)
	}
	return changed, err
}

func newPolicyShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print a policy that comes with the gateway, to be changed into one of your own",
		Example: "  penstock policy show auto > policies/auto.star\n  penstock policy show lib/needs > policies/lib/needs.star",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := fs.ReadFile(policies.FS, strings.TrimPrefix(args[0], "penstock/")+".star")
			if err != nil {
				return &exitError{exitNotFound, "no policy " + args[0] + " comes with the gateway"}
			}
			_, err = cmd.OutOrStdout().Write(src)
			return err
		},
	}
}

func newPolicyDoc() *cobra.Command {
	return &cobra.Command{
		Use:   "doc",
		Short: "Print the page for authors of policies",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), policies.API)
			return err
		},
	}
}

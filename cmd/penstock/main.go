// Command penstock is an AI gateway: one process between an organisation's programs and the model providers.
//
// It is also the program of the provider plugins that it ships: `penstock plugin serve NAME` is what the gateway starts
// for each of them, so that one binary is a whole gateway and every provider is still a process of its own.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitTests       = 4
	exitAuth        = 5
	exitNotFound    = 6
	exitConflict    = 7
	exitUnreachable = 8
	exitInterrupted = 130
)

// exitError ends the program with a code; an empty text says nothing more.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

func main() { os.Exit(run(os.Args[1:])) }

// run carries a command line out and gives the exit code.
func run(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.text != "" {
			fmt.Fprintln(os.Stderr, "penstock: "+exit.text)
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "penstock: "+err.Error())
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "penstock",
		Short:         "An AI gateway: one process between your programs and the model providers",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		Example:       "  penstock serve                 # a demo that answers, with no key and no file\n  penstock init && penstock serve",
	}
	root.AddCommand(newServe(), newInit(), newValidate(), newReload(), newGenerations(), newModels(), newLedger(), newKeys(), newTeams(), newOrganisations(), newCredentials(), newHealth(), newDrill(), newPlugin(), newPolicy(), newVersion(), newHealthcheck(), newExplain(), newHelpExitCodes())
	for _, c := range append(root.Commands(), root) {
		if !c.Runnable() {
			hold(c)
		}
		for _, below := range append(c.Commands(), c) {
			count(below)
		}
	}
	return root
}

// count makes a command with the wrong number of arguments show what it takes.
func count(cmd *cobra.Command) {
	takes := cmd.Args
	if !cmd.Runnable() || takes == nil || cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if takes(cmd, args) == nil {
			return nil
		}
		got := "nothing"
		if len(args) > 0 {
			got = fmt.Sprintf("%q", args)
		}
		return fmt.Errorf("%s: got %s, want %s", cmd.CommandPath(), got, cmd.UseLine())
	}
}

// hold makes a command that only holds others say which they are; another word behind it is a mistake.
func hold(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			meant = ", did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Errorf("unknown command %q%s\n%s --help lists the commands", args[0], meant, cmd.CommandPath())
	}
}

func newHelpExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), `0    ok
1    failure at run time
2    wrong usage
3    configuration or policy invalid
4    tests failed, or what was to be verified is wrong
5    not authorized
6    not found
7    conflict: the generation has moved
8    unreachable or timed out
130  interrupted
`)
		},
	}
}

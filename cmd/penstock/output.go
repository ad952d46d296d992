package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// outputFlag adds -o with the forms that the command has; the first is the default.
func outputFlag(cmd *cobra.Command, into *string, forms ...string) {
	cmd.Flags().StringVarP(into, "output", "o", forms[0], "form of the output: "+strings.Join(forms, ", "))
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(forms, *into) {
			return fmt.Errorf("-o %s: want %s", *into, strings.Join(forms, " or "))
		}
		if check != nil {
			return check(cmd, args)
		}
		return nil
	}
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp)))
}

// table prints rows under a head.
func table(cmd *cobra.Command, head []string, rows [][]string) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(head, "\t")))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/schemas"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [MEMBER]",
		Short: "What a member of the configuration does: its values, its default, an example",
		Long: "What a member of the configuration does. Any name, or *, stands for an entry of a mapping such as providers or models.\n" +
			"Without a member it lists all at the top.",
		Example: "  penstock explain stream\n  penstock explain models.chat.hedge\n  penstock explain 'providers.*.probe'",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeMember(begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := strings.Join(args, "")
			d, ok := schemas.Explain(path)
			if !ok {
				return &exitError{exitNotFound, noMember(path)}
			}
			return explainMember(cmd.OutOrStdout(), &d)
		},
	}
}

// explainMember prints what is known of a member, and a line for each below it.
func explainMember(w io.Writer, d *schemas.Doc) error {
	if d.Path != "" {
		fmt.Fprintf(w, "%s: %s\n\n%s\n", d.Path, traits(d), d.Description)
		if d.Pending {
			fmt.Fprintln(w, "\nIt is not yet in force: it is checked and does nothing.")
		}
		for _, example := range d.Examples {
			fmt.Fprintf(w, "\nfor example: %s\n", example)
		}
		if len(d.Members) > 0 {
			fmt.Fprintln(w)
		}
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i := range d.Members {
		m := &d.Members[i]
		about, _, _ := strings.Cut(m.Description, ". ")
		about = strings.TrimSuffix(about, ".")
		if m.Pending {
			about += " (not yet in force)"
		}
		fmt.Fprintf(t, "%s%s\t%s\n", d.Below, m.Path, about)
	}
	return t.Flush()
}

// traits says in one line what a member takes.
func traits(d *schemas.Doc) string {
	var said []string
	switch {
	case len(d.Values) > 0:
		said = append(said, strings.Join(d.Values, " | "))
	case d.Type != "":
		said = append(said, d.Type)
	}
	if d.Default == "" {
		said = append(said, "must be given")
	} else {
		said = append(said, "default "+d.Default)
	}
	if d.Restart {
		said = append(said, "read at the start alone")
	}
	if d.Secret {
		said = append(said, "never shown")
	}
	return strings.Join(said, ", ")
}

// noMember says how far a path leads, and where to.
func noMember(path string) string {
	above := path
	for {
		i := strings.LastIndexByte(above, '.')
		above = above[:max(i, 0)]
		d, ok := schemas.Explain(above)
		switch {
		case !ok:
			continue
		case len(d.Members) == 0:
			return fmt.Sprintf("%s: no such member; %s has none", path, above)
		}
		var names []string
		for _, m := range d.Members {
			names = append(names, m.Path)
		}
		if above == "" {
			above = "the configuration"
		}
		return fmt.Sprintf("%s: no such member; %s has %s", path, above, strings.Join(names, ", "))
	}
}

// completeMember gives the paths that go on from what has been typed.
func completeMember(begun string) []string {
	above := begun[:max(strings.LastIndexByte(begun, '.'), 0)]
	d, _ := schemas.Explain(above)
	var paths []string
	for _, m := range d.Members {
		paths = append(paths, strings.TrimPrefix(above+".", ".")+m.Path)
	}
	return paths
}

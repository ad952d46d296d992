package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admit"
)

func newTeams() *cobra.Command {
	cmd := &cobra.Command{Use: "teams", Short: "Teams, whose keys share limits and a budget: list, set, delete", Args: cobra.NoArgs}
	cmd.AddCommand(newTeamsList(), newTeamsSet(), newTeamsDelete())
	return cmd
}

func newTeamsList() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the teams that were made while the gateway ran; those of the configuration stand there",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []admit.TeamInfo
			answer, err := ask(cmd, &to, http.MethodGet, "/admin/v1/teams", nil, &list)
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(answer)
				return err
			}
			var rows [][]string
			for i := range list {
				t := &list[i]
				rows = append(rows, []string{t.Name, orDash(strings.Join(t.Models, ",")), showRates(&t.Limits), showBudget(t.Budget)})
			}
			return table(cmd, []string{"name", "models", "limits", "budget"}, rows)
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func newTeamsSet() *cobra.Command {
	var to adminFlags
	var t admit.TeamInfo
	var allowance allowanceFlags
	cmd := &cobra.Command{
		Use:     "set NAME",
		Short:   "Make a team, or change one: what is not said is not limited",
		Example: "  penstock teams set search --model chat --tpm 200000 --budget 500 --every month",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Name, t.Allowance = args[0], allowance.allowance()
			_, err := ask(cmd, &to, http.MethodPost, "/admin/v1/teams", &t, nil)
			return err
		},
	}
	cmd.Flags().StringSliceVar(&t.Models, "model", nil, "a model, router or deployment that the team's keys may ask for; none: all")
	allowance.add(cmd)
	to.add(cmd)
	return cmd
}

func newTeamsDelete() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a team that has no keys any more",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(cmd, &to, http.MethodDelete, "/admin/v1/teams/"+url.PathEscape(args[0]), nil, nil)
			return err
		},
	}
	to.add(cmd)
	return cmd
}

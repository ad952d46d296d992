package main

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/keyring"
)

// ownFlag says what --own-credentials is.
const ownFlag = "whether the operator's credentials may serve after own ones: only (never) or first; none: only"

func newTeams() *cobra.Command {
	var t keyring.Team
	set := newSet(setting{
		short:   "Make a team, or change one: what is not said is not limited",
		example: "  penstock teams set search --model chat --tpm 200000 --budget 500 --every month",
		path:    "/admin/v1/teams", models: &t.Models, allowance: &t.Allowance,
		body: func(name string) any { t.Name = name; return &t },
	})
	set.Flags().StringVar(&t.Organisation, "organisation", "", "the organisation whose limits and budget the team shares")
	set.Flags().StringVar(&t.OwnCredentials, "own-credentials", "", ownFlag)
	cmd := &cobra.Command{Use: "teams", Short: "Teams, whose keys share limits and a budget: list, set, delete", Args: cobra.NoArgs}
	cmd.AddCommand(set, removal("delete", "Remove a team that has no keys any more", "/admin/v1/teams/"), listing[keyring.Team]{
		short: "List the teams that were made while the gateway ran; those of the configuration stand there",
		path:  at("/admin/v1/teams"), head: []string{"name", "organisation", "models", "limits", "budget"},
		row: func(t *keyring.Team) []string {
			return append([]string{t.Name, orDash(t.Organisation)}, showAllowed(t.Models, &t.Allowance)...)
		},
	}.command())
	return cmd
}

func newOrganisations() *cobra.Command {
	var o keyring.Organisation
	set := newSet(setting{
		short:   "Make an organisation, or change one: what is not said is not limited",
		example: "  penstock organisations set acme --budget 2000 --every month",
		path:    "/admin/v1/organisations", models: &o.Models, allowance: &o.Allowance,
		body: func(name string) any { o.Name = name; return &o },
	})
	cmd := &cobra.Command{Use: "organisations", Short: "Organisations, whose teams share limits and a budget: list, set, delete", Args: cobra.NoArgs}
	cmd.AddCommand(set, removal("delete", "Remove an organisation that has no teams any more", "/admin/v1/organisations/"), listing[keyring.Organisation]{
		short: "List the organisations that were made while the gateway ran; those of the configuration stand there",
		path:  at("/admin/v1/organisations"), head: []string{"name", "models", "limits", "budget"},
		row: func(o *keyring.Organisation) []string {
			return append([]string{o.Name}, showAllowed(o.Models, &o.Allowance)...)
		},
	}.command())
	return cmd
}

// showAllowed shows what may be asked for, and how much.
func showAllowed(models []string, a *admit.Allowance) []string {
	return []string{orDash(strings.Join(models, ",")), showRates(&a.Limits), showBudget(a.Budget)}
}

// setting is a command that puts a team or an organisation.
type setting struct {
	short, example, path string
	models               *[]string
	allowance            *admit.Allowance
	body                 func(name string) any
}

func newSet(s setting) *cobra.Command {
	var to adminFlags
	var allowance allowanceFlags
	cmd := &cobra.Command{
		Use:     "set NAME",
		Short:   s.short,
		Example: s.example,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			*s.allowance = allowance.allowance()
			_, err := ask(cmd, &to, http.MethodPost, s.path, s.body(args[0]), nil)
			return err
		},
	}
	cmd.Flags().StringSliceVar(s.models, "model", nil, "a model, router or deployment that its keys may ask for; none: all")
	allowance.add(cmd)
	to.add(cmd)
	return cmd
}

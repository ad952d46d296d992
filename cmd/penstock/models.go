package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admin"
)

func newModels() *cobra.Command {
	cmd := &cobra.Command{Use: "models", Short: "Models: list, disable, enable", Args: cobra.NoArgs}
	cmd.AddCommand(newModelsList(), newModelsDisable(), newModelsEnable())
	return cmd
}

func newModelsList() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the models of a running gateway and what serves them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := to.call(cmd.Context(), http.MethodGet, "/admin/v1/models")
			if err != nil {
				return err
			}
			if got.status != http.StatusOK {
				return &exitError{exitFailure, problemOf(got)}
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(got.body)
				return err
			}
			var list []admin.Model
			if err := json.Unmarshal(got.body, &list); err != nil {
				return &exitError{exitFailure, "the gateway's answer: " + err.Error()}
			}
			return table(cmd, []string{"model", "deployment", "context", "input $/M", "output $/M", "disabled"}, modelRows(list))
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func modelRows(list []admin.Model) [][]string {
	var rows [][]string
	for i := range list {
		m := &list[i]
		if len(m.Deployments) == 0 {
			rows = append(rows, []string{m.Name, "-", "-", "-", "-", showDisabled(m.Disabled)})
		}
		for _, d := range m.Deployments {
			row := []string{m.Name, d.ID, "-", "-", "-", showDisabled(m.Disabled)}
			if d.ContextWindow > 0 {
				row[2] = strconv.Itoa(d.ContextWindow)
			}
			if d.Price != nil {
				row[3], row[4] = showUSD(d.Price.Input), showUSD(d.Price.Output)
			}
			if m.Disabled == nil {
				row[5] = showDisabled(d.Disabled)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func showUSD(nano int64) string { return strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64) }

func showDisabled(d *admin.Disabled) string {
	switch {
	case d == nil:
		return ""
	case d.Reason == "":
		return "by " + d.By
	}
	return "by " + d.By + ": " + d.Reason
}

func newModelsDisable() *cobra.Command {
	var to adminFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "disable NAME",
		Short: "Take a model, or one deployment, out of service",
		Long: "Take a model, or one deployment by its id, out of service. Requests from then on pass it over; it stays so after a\n" +
			"restart, until it is enabled. The reason is told to clients whose request nothing else can serve.",
		Example: "  penstock models disable chat --reason 'maintenance until noon'\n  penstock models disable chat/openai",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := json.Marshal(map[string]string{"reason": reason})
			if err != nil {
				return err
			}
			return switchModel(cmd.Context(), &to, args[0], "disable", body)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown in lists and to clients")
	to.add(cmd)
	return cmd
}

func newModelsEnable() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Put a disabled model back into service",
		Long:  "Put a model or deployment that was disabled back into service. One that the configuration disables stays so.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return switchModel(cmd.Context(), &to, args[0], "enable", nil)
		},
	}
	to.add(cmd)
	return cmd
}

func switchModel(ctx context.Context, to *adminFlags, name, verb string, body []byte) error {
	got, err := to.send(ctx, http.MethodPost, "/admin/v1/models/"+url.PathEscape(name)+"/"+verb, body)
	switch {
	case err != nil:
		return err
	case got.status == http.StatusNoContent:
		return nil
	case got.status == http.StatusNotFound:
		return &exitError{exitNotFound, problemOf(got)}
	}
	return &exitError{exitFailure, fmt.Sprintf("%s %s: %s", verb, name, problemOf(got))}
}

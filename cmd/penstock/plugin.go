package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

func newPlugin() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Provider plugins", Args: cobra.NoArgs}
	cmd.AddCommand(newPluginServe(), newPluginList(), newPluginDescribe(), newPluginNew(), newPluginTest(), newPluginPin())
	return cmd
}

func newPluginServe() *cobra.Command {
	return &cobra.Command{
		Use:       "serve NAME",
		Short:     "Be the process of a plugin that penstock ships; the gateway starts this",
		Args:      cobra.ExactArgs(1),
		ValidArgs: bundledNames[:],
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := bundledProvider(args[0])
			if err != nil {
				return err
			}
			return sdk.ServePlugin(p)
		},
	}
}

func newPluginDescribe() *cobra.Command {
	return &cobra.Command{
		Use:       "describe NAME",
		Short:     "Print the manifest of a plugin that penstock ships",
		Args:      cobra.ExactArgs(1),
		ValidArgs: bundledNames[:],
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := bundledProvider(args[0])
			if err != nil {
				return err
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			e.SetEscapeHTML(false)
			return e.Encode(p.Manifest())
		},
	}
}

func bundledProvider(name string) (sdk.Provider, error) {
	make := bundled(name)
	if make == nil {
		return nil, &exitError{exitNotFound, fmt.Sprintf("plugin %q: penstock ships %s", name, strings.Join(bundledNames[:], ", "))}
	}
	return make(), nil
}

func newPluginList() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugin processes of a running gateway",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := to.call(cmd.Context(), http.MethodGet, "/admin/v1/plugins")
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(got.body)
				return err
			}
			var list []pluginhost.Status
			if err := json.Unmarshal(got.body, &list); err != nil {
				return fmt.Errorf("the gateway's answer: %v", err)
			}
			var rows [][]string
			for _, s := range list {
				rows = append(rows, []string{s.Name, s.Version, strconv.Itoa(s.PID), s.State, strconv.Itoa(s.Restarts)})
			}
			return table(cmd, []string{"name", "version", "pid", "state", "restarts"}, rows)
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

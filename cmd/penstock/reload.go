package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/config"
)

func newReload() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have a running gateway judge its configuration as it stands now",
		Long: "Have a running gateway judge its configuration as it stands now. The number of the generation in force is printed;\n" +
			"where the configuration is refused its errors are printed, the exit code is 3, and the running generation serves on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := to.call(cmd.Context(), http.MethodPost, "/admin/v1/reload")
			if err != nil {
				return err
			}
			if got.status == http.StatusUnprocessableEntity {
				var list config.Diagnostics
				if err := json.Unmarshal(got.body, &list); err != nil {
					return fmt.Errorf("the gateway's answer: %v", err)
				}
				for _, d := range list {
					fmt.Fprintln(cmd.ErrOrStderr(), d.Error())
				}
				return &exitError{code: exitInvalid}
			}
			var ok struct{ Generation int64 }
			if err := json.Unmarshal(got.body, &ok); err != nil || got.status != http.StatusOK {
				return &exitError{exitFailure, fmt.Sprintf("the gateway answered %d", got.status)}
			}
			fmt.Fprintln(cmd.OutOrStdout(), ok.Generation)
			return nil
		},
	}
	to.add(cmd)
	return cmd
}

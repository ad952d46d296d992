package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/generation"
)

func newGenerations() *cobra.Command {
	cmd := &cobra.Command{Use: "generations", Short: "What has been in force", Args: cobra.NoArgs}
	cmd.AddCommand(newGenerationsList())
	return cmd
}

func newGenerationsList() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the generations of a running gateway, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := to.call(cmd.Context(), http.MethodGet, "/admin/v1/generations")
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(got.body)
				return err
			}
			var list []generation.Record
			if err := json.Unmarshal(got.body, &list); err != nil {
				return fmt.Errorf("the gateway's answer: %v", err)
			}
			var rows [][]string
			for _, r := range list {
				n := strconv.FormatInt(r.Generation, 10)
				if r.Generation == 0 {
					n = "-"
				}
				rows = append(rows, []string{n, r.Status, r.Source, r.Created.Local().Format(time.DateTime), r.Hash, strconv.FormatInt(r.Requests, 10)})
			}
			return table(cmd, []string{"generation", "status", "source", "created", "hash", "requests"}, rows)
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

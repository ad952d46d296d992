package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newHealthcheck() *cobra.Command {
	var url string
	var ready bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a gateway whether it lives; for containers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			path := "/livez"
			if ready {
				path = "/readyz"
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+path, nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				return &exitError{exitFailure, "no answer: " + err.Error()}
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return &exitError{exitFailure, path + " answers " + resp.Status}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "api", "http://127.0.0.1:8080", "URL of the data listener")
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it takes requests, not only whether it lives")
	return cmd
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admin"
)

func newHealth() *cobra.Command {
	list := newHealthList()
	cmd := &cobra.Command{
		Use:   "health",
		Short: "How backends are: list, history, release",
		Long: "How backends are, that is deployments by their providers' models, credentials, and the addresses of providers that\n" +
			"have several: which a running gateway leaves alone, why and for how long, and what it has measured of them.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return list.RunE(cmd, args) },
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.PreRunE = list.PreRunE
	cmd.AddCommand(list, newHealthHistory(), newHealthRelease())
	return cmd
}

func newHealthList() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the backends of a running gateway and how they are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, body, err := to.backends(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(body)
				return err
			}
			var rows [][]string
			for i := range list {
				rows = append(rows, backendRow(&list[i], time.Now()))
			}
			return table(cmd, []string{"backend", "phase", "again in", "in flight", "errors", "p50", "first", "tokens/s", "why"}, rows)
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

// backends asks a gateway for its backends.
func (f *adminFlags) backends(ctx context.Context) (list []admin.Backend, body []byte, err error) {
	got, err := f.call(ctx, http.MethodGet, "/admin/v1/health")
	if err != nil {
		return nil, nil, err
	}
	if got.status != http.StatusOK {
		return nil, nil, &exitError{exitFailure, problemOf(got)}
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		return nil, nil, &exitError{exitFailure, "the gateway's answer: " + err.Error()}
	}
	return list, got.body, nil
}

func backendRow(b *admin.Backend, now time.Time) []string {
	again := "-"
	if !b.OK {
		again = b.Until.Sub(now).Round(time.Second).String()
	}
	if b.Address != nil {
		return []string{b.Name, string(b.Phase), again, "-", "-", "-", "-", "-", addressNote(b)}
	}
	return []string{b.Name, string(b.Phase), again, strconv.FormatInt(b.InFlight, 10), fmt.Sprintf("%.0f%%", 100*b.ErrorRate),
		measured(b.P50, "ms"), measured(b.FirstContent, "ms"), measured(b.TokensPerSecond, ""), b.Reason}
}

// addressNote words what is known of an address.
func addressNote(b *admin.Backend) string {
	a := b.Address
	note := "not measured yet"
	switch {
	case !b.OK:
		note = b.Reason
	case a.TLS > 0:
		note = fmt.Sprintf("connects in %.1fms, TLS in %.1fms", a.Connect, a.TLS)
	case a.Connect > 0:
		note = fmt.Sprintf("connects in %.1fms", a.Connect)
	}
	if a.Chosen {
		note = "in use; " + note
	}
	return note
}

// measured shows what was measured, and that it was not.
func measured(v float64, unit string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%s", v, unit)
}

func newHealthHistory() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "List when backends were set aside and came back, and why",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, _, err := to.backends(cmd.Context())
			if err != nil {
				return err
			}
			var rows [][]string
			found := len(args) == 0
			for i := range list {
				if b := &list[i]; len(args) == 0 || b.Name == args[0] {
					found = true
					for _, e := range b.History {
						rows = append(rows, []string{e.At.Local().Format(time.DateTime), b.Name, string(e.Phase), e.Reason})
					}
				}
			}
			if !found {
				return &exitError{exitNotFound, "no backend is called " + args[0]}
			}
			return table(cmd, []string{"when", "backend", "phase", "why"}, rows)
		},
	}
	to.add(cmd)
	return cmd
}

func newHealthRelease() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "release NAME",
		Short: "Bring a backend back at once that was set aside",
		Long: "Bring a backend back at once that was set aside, whatever for. NAME is a backend as listed, or its beginning: a provider\n" +
			"stands for all its models and credentials. What was released is printed, one a line.",
		Example: "  penstock health release openai\n  penstock health release openai/gpt-4.1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := json.Marshal(map[string]string{"backend": args[0]})
			if err != nil {
				return err
			}
			got, err := to.send(cmd.Context(), http.MethodPost, "/admin/v1/health/release", body)
			switch {
			case err != nil:
				return err
			case got.status == http.StatusNotFound:
				return &exitError{exitNotFound, problemOf(got)}
			case got.status != http.StatusOK:
				return &exitError{exitFailure, problemOf(got)}
			}
			var done struct{ Released []string }
			if err := json.Unmarshal(got.body, &done); err != nil {
				return &exitError{exitFailure, "the gateway's answer: " + err.Error()}
			}
			for _, name := range done.Released {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return nil
		},
	}
	to.add(cmd)
	return cmd
}

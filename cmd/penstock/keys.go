package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/admit"
)

func newKeys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Keys of clients: create, list, rotate, revoke", Args: cobra.NoArgs}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysRotate(), newKeysRevoke())
	return cmd
}

// allowanceFlags are the flags that say how much may be used.
type allowanceFlags struct {
	rates      admit.Rates
	usd, every string
}

func (f *allowanceFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Int64Var(&f.rates.RPM, "rpm", 0, "requests a minute; 0: no limit")
	fl.Int64Var(&f.rates.TPM, "tpm", 0, "tokens a minute, in and out together; 0: no limit")
	fl.Int64Var(&f.rates.Concurrency, "concurrency", 0, "requests at the same time; 0: no limit")
	fl.StringVar(&f.usd, "budget", "", "USD that may be spent in a period, such as 20 or 0.50")
	fl.StringVar(&f.every, "every", "month", "period of the budget: day, week, month or total")
}

func (f *allowanceFlags) allowance() admit.Allowance {
	a := admit.Allowance{Limits: f.rates}
	if f.usd != "" {
		a.Budget = &admit.Budget{USD: json.Number(f.usd), Every: f.every}
	}
	return a
}

func newKeysCreate() *cobra.Command {
	var to adminFlags
	var k admit.NewKey
	var allowance allowanceFlags
	var expires, output string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key; its secret is printed this once",
		Example: "  penstock keys create ci --model chat --rpm 600 --budget 20 --every month\n" +
			"  export OPENAI_API_KEY=$(penstock keys create laptop)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.Name, k.Allowance = args[0], allowance.allowance()
			if err := setExpiry(&k, expires); err != nil {
				return err
			}
			var made admin.NewKey
			answer, err := ask(cmd, &to, http.MethodPost, "/admin/v1/keys", &k, &made)
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(answer)
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), made.Secret)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&k.Models, "model", nil, "a model, router or deployment that the key may ask for; none: all")
	fl.StringSliceVar(&k.Dialects, "dialect", nil, "a dialect that the key may speak; none: all")
	fl.StringSliceVar(&k.Tags, "tag", nil, "a word that policies select keys by")
	fl.StringVar(&k.Team, "team", "", "the team whose limits and budget the key shares")
	fl.StringVar(&k.Priority, "priority", "", "interactive, default or batch")
	fl.StringVar(&k.OnDisconnect, "on-disconnect", "", "what becomes of an upstream call when the client leaves: drain or cancel; none: as the model says")
	fl.BoolVar(&k.ZDR, "zdr", false, "only deployments that are tagged zdr may serve it")
	fl.StringVar(&expires, "expires", "", "a date or RFC 3339 time from which on the key is refused")
	allowance.add(cmd)
	to.add(cmd)
	outputFlag(cmd, &output, "secret", "json")
	return cmd
}

// setExpiry reads a date (midnight UTC) or a time.
func setExpiry(k *admit.NewKey, s string) (err error) {
	if s == "" {
		return nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if k.Expires, err = time.Parse(form, s); err == nil {
			return nil
		}
	}
	return fmt.Errorf("--expires %q: want a date such as 2027-01-31, or an RFC 3339 time", s)
}

func newKeysList() *cobra.Command {
	var to adminFlags
	var output string
	var revoked bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys of a running gateway",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/admin/v1/keys"
			if revoked {
				path += "?revoked=1"
			}
			var list []admin.Key
			answer, err := ask(cmd, &to, http.MethodGet, path, nil, &list)
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(answer)
				return err
			}
			var rows [][]string
			for i := range list {
				rows = append(rows, keyRow(&list[i]))
			}
			return table(cmd, []string{"name", "prefix", "source", "team", "models", "limits", "budget", "until"}, rows)
		},
	}
	cmd.Flags().BoolVar(&revoked, "revoked", false, "list revoked keys too")
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func keyRow(k *admin.Key) []string {
	until := "-"
	switch {
	case !k.RevokedAt.IsZero():
		until = "revoked " + k.RevokedAt.Local().Format(time.DateTime)
	case !k.Expires.IsZero():
		until = k.Expires.Local().Format(time.DateTime)
	}
	return []string{k.Name, orDash(k.Prefix), k.Source, orDash(k.Team), orDash(strings.Join(k.Models, ",")), showRates(&k.Limits), showBudget(k.Budget), until}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func showRates(r *admit.Rates) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		unit string
	}{{r.RPM, "rpm"}, {r.TPM, "tpm"}, {r.Concurrency, "at once"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.unit))
		}
	}
	return orDash(strings.Join(parts, ", "))
}

func showBudget(b *admit.Budget) string {
	if b == nil {
		return "-"
	}
	switch b.Every {
	case "total":
		return b.USD.String() + " USD in all"
	case "":
		return b.USD.String() + " USD a month"
	}
	return b.USD.String() + " USD a " + b.Every
}

func newKeysRotate() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Give a key another secret, printed this once; the old one ends at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var made admin.NewKey
			if _, err := ask(cmd, &to, http.MethodPost, "/admin/v1/keys/rotate", map[string]string{"name": args[0]}, &made); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), made.Secret)
			return nil
		},
	}
	to.add(cmd)
	return cmd
}

func newKeysRevoke() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "End a key for good",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(cmd, &to, http.MethodDelete, "/admin/v1/keys/"+url.PathEscape(args[0]), nil, nil)
			return err
		},
	}
	to.add(cmd)
	return cmd
}

// ask asks the admin API and reads its answer; what it refuses is an error with the exit code of its kind.
func ask(cmd *cobra.Command, to *adminFlags, method, path string, body, into any) ([]byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	got, err := to.send(cmd.Context(), method, path, text)
	switch {
	case err != nil:
		return nil, err
	case got.status == http.StatusNotFound:
		return nil, &exitError{exitNotFound, problemOf(got)}
	case got.status == http.StatusConflict:
		return nil, &exitError{exitConflict, problemOf(got)}
	case got.status == http.StatusUnprocessableEntity || got.status == http.StatusBadRequest:
		return nil, &exitError{exitUsage, problemOf(got)}
	case got.status/100 != 2:
		return nil, &exitError{exitFailure, problemOf(got)}
	}
	if into == nil {
		return got.body, nil
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return nil, &exitError{exitFailure, "the gateway's answer: " + err.Error()}
	}
	return got.body, nil
}

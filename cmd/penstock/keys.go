package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/keyring"
)

func newKeys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Keys of clients: create, list, rotate, revoke", Args: cobra.NoArgs}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysRotate(), removal("revoke", "End a key for good", "/admin/v1/keys/"))
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
	fl.Int64Var(&f.rates.ITPM, "itpm", 0, "input tokens a minute; 0: no limit")
	fl.Int64Var(&f.rates.OTPM, "otpm", 0, "output tokens a minute; 0: no limit")
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
	var k keyring.NewKey
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
	fl.StringVar(&k.OwnCredentials, "own-credentials", "", ownFlag)
	fl.StringVar(&expires, "expires", "", "a date or RFC 3339 time from which on the key is refused")
	allowance.add(cmd)
	to.add(cmd)
	outputFlag(cmd, &output, "secret", "json")
	return cmd
}

// setExpiry reads a date (midnight UTC) or a time.
func setExpiry(k *keyring.NewKey, s string) (err error) {
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
	var revoked bool
	cmd := listing[admin.Key]{short: "List the keys of a running gateway", path: func() string {
		if revoked {
			return "/admin/v1/keys?revoked=1"
		}
		return "/admin/v1/keys"
	}, head: []string{"name", "prefix", "source", "team", "models", "limits", "budget", "until"}, row: keyRow}.command()
	cmd.Flags().BoolVar(&revoked, "revoked", false, "list revoked keys too")
	return cmd
}

func keyRow(k *admin.Key) []string {
	until := "-"
	switch {
	case !k.RevokedAt.IsZero():
		until = "revoked " + k.RevokedAt.Local().Format(time.DateTime)
	case !k.PreviousUntil.IsZero():
		until = "old secret " + k.PreviousUntil.Local().Format(time.DateTime)
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
	}{{r.RPM, "rpm"}, {r.TPM, "tpm"}, {r.ITPM, "itpm"}, {r.OTPM, "otpm"}, {r.Concurrency, "at once"}} {
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
	var grace time.Duration
	cmd := &cobra.Command{
		Use:     "rotate NAME",
		Short:   "Give a key another secret, printed this once; the old one ends at once, or after --grace",
		Example: "  penstock keys rotate ci --grace 24h   # both secrets work until tomorrow",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var made admin.NewKey
			rotation := admin.Rotation{Name: args[0], Grace: grace.String()}
			if _, err := ask(cmd, &to, http.MethodPost, "/admin/v1/keys/rotate", &rotation, &made); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), made.Secret)
			return nil
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the old secret works beside the new one, 720h at most")
	to.add(cmd)
	return cmd
}

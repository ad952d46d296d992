package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/store"
)

func newLedger() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "What upstream calls cost: list, export, verify, repair, reconcile",
		Long: "What upstream calls cost. These commands read the store and the journal themselves, beside a gateway that runs or\n" +
			"without one; only repair writes.",
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newLedgerList(), newLedgerExport(), newLedgerVerify(), newLedgerRepair(), newLedgerReconcile())
	return cmd
}

// storeFlags say whose store is meant.
type storeFlags struct{ state, url, config string }

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.state, "state", "", "state folder of the gateway (PENSTOCK_STATE)")
	cmd.Flags().StringVar(&f.url, "store", "", "URL of the store; default: what the configuration says, else SQLite in the state folder")
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration that names the store; default: the one that penstock serve finds")
}

// open opens the store, and gives the state folder.
func (f *storeFlags) open(ctx context.Context, readOnly bool) (*store.Store, string, error) {
	dir, err := stateDir(f.state)
	if err != nil {
		return nil, "", &exitError{exitFailure, err.Error()}
	}
	url := f.url
	if path := configPath(f.config); url == "" && path != "" {
		cfg, err := config.Load(path, os.LookupEnv)
		if err != nil {
			return nil, "", &exitError{exitInvalid, err.Error()}
		}
		url = cfg.StoreURL
	}
	s, err := store.Open(ctx, store.Options{URL: url, Dir: dir, ReadOnly: readOnly})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", &exitError{exitNotFound, err.Error() + "; name the gateway's by --state, --store or -c"}
	case err != nil:
		return nil, "", &exitError{exitFailure, err.Error()}
	}
	return s, dir, nil
}

// arriving is how long commands wait for rows that a gateway is about to write.
const arriving = 5 * time.Second

// rowFlags choose rows.
type rowFlags struct {
	store        storeFlags
	filter       store.Filter
	since, until string
}

func (f *rowFlags) add(cmd *cobra.Command) {
	f.store.add(cmd)
	cmd.Flags().StringVar(&f.filter.RequestID, "request-id", "", "rows of one request")
	cmd.Flags().StringVar(&f.filter.Key, "key", "", "rows of a key, by its name")
	cmd.Flags().StringVar(&f.filter.Model, "model", "", "rows of a model")
	cmd.Flags().StringVar(&f.since, "since", "", "calls that began at this time or later: 2026-11-29, 2026-11-29T12:00:00Z, or 24h for as long ago")
	cmd.Flags().StringVar(&f.until, "until", "", "calls that began before this time")
}

// rows gives the rows that are chosen, once those have arrived that a gateway is about to write.
func (f *rowFlags) rows(ctx context.Context, s *store.Store, dir string) (iter.Seq2[store.Row, error], error) {
	var err error
	if f.filter.Since, err = moment(f.since, time.Now()); err != nil {
		return nil, fmt.Errorf("--since %w", err)
	}
	if f.filter.Until, err = moment(f.until, time.Now()); err != nil {
		return nil, fmt.Errorf("--until %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, arriving)
	defer cancel()
	left, err := ledger.Await(wait, dir)
	if err != nil {
		return nil, &exitError{exitFailure, err.Error()}
	}
	if left > 0 {
		fmt.Fprintf(os.Stderr, "penstock: %d rows are missing: the gateway's store does not take them\n", left)
	}
	return s.Rows(ctx, f.filter), nil
}

// moment reads a point in time; nothing is the zero time.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want 2026-11-29, 2026-11-29T12:00:00Z or 24h", text)
}

func newLedgerList() *cobra.Command {
	var f rowFlags
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List upstream calls, the oldest first",
		Example: "  penstock ledger list --since 24h\n  penstock ledger list -o jsonl --key ci",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.print(cmd.Context(), func(rows iter.Seq2[store.Row, error]) error { return listRows(cmd, output, rows) })
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.filter.Limit, "limit", 0, "the newest so many; default: all")
	outputFlag(cmd, &output, "table", "json", "jsonl", "csv")
	return cmd
}

// print has rows printed.
func (f *rowFlags) print(ctx context.Context, to func(iter.Seq2[store.Row, error]) error) error {
	s, dir, err := f.store.open(ctx, true)
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := f.rows(ctx, s, dir)
	if err != nil {
		return err
	}
	return to(rows)
}

// listRows prints rows in one of the forms.
func listRows(cmd *cobra.Command, form string, rows iter.Seq2[store.Row, error]) error {
	out := cmd.OutOrStdout()
	switch form {
	case "jsonl":
		return writeJSONL(out, rows)
	case "csv":
		return writeCSV(out, rows)
	case "json":
		return writeJSONArray(out, rows)
	}
	var cells [][]string
	for r, err := range rows {
		if err != nil {
			return &exitError{exitFailure, err.Error()}
		}
		cost := dollars(r.CostNanoUSD)
		if r.Estimated {
			cost = "~" + cost
		}
		cells = append(cells, []string{r.StartedAt.Local().Format(time.DateTime), r.RequestID, strconv.Itoa(r.Attempt), r.Key, r.Deployment, r.Status, r.Outcome,
			strconv.FormatInt(r.InputTokens, 10), strconv.FormatInt(r.OutputTokens, 10), cost})
	}
	return table(cmd, []string{"started", "request", "attempt", "key", "deployment", "status", "outcome", "input", "output", "usd"}, cells)
}

// dollars writes nano-USD exactly, without zeros at the end.
func dollars(nano int64) string {
	s := fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9)
	for s[len(s)-1] == '0' && s[len(s)-3] != '.' {
		s = s[:len(s)-1]
	}
	return s
}

func newLedgerVerify() *cobra.Command {
	var f storeFlags
	var output string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look whether every call is closed exactly once and the sums agree",
		Long: "Look whether every call is closed exactly once and the sums agree. Calls in flight of a gateway that runs are no\n" +
			"finding. Exit code 4 where there is one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, dir, err := f.open(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer s.Close()
			found, err := ledger.Verify(cmd.Context(), dir, s, arriving)
			if err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			return reportFindings(cmd.OutOrStdout(), output, found)
		},
	}
	f.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func reportFindings(out io.Writer, form string, found []ledger.Finding) error {
	if form == "json" {
		if found == nil {
			found = []ledger.Finding{}
		}
		if err := json.NewEncoder(out).Encode(found); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintf(out, "%s: %s\n", f.Subject, f.Problem)
		}
		if len(found) == 0 {
			fmt.Fprintln(out, "every call is closed exactly once, and the sums agree")
		}
	}
	if len(found) > 0 {
		return &exitError{code: exitTests}
	}
	return nil
}

func newLedgerRepair() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Write the rows that a gateway which died left in its journal",
		Long: "Write the rows that a gateway which died left in its journal: what it had settled as it was, what it may have sent at\n" +
			"the estimate, what it had not sent refunded. `penstock serve` does the same when it starts.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, dir, err := f.open(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer s.Close()
			done, err := ledger.Recover(cmd.Context(), dir, s, slog.New(newTerminalHandler(os.Stderr, slog.LevelWarn)))
			if err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			out := cmd.OutOrStdout()
			if done == (ledger.Recovery{}) {
				fmt.Fprintln(out, "nothing to repair")
				return nil
			}
			fmt.Fprintf(out, "%d rows written: %d as they had been settled, %d charged at their estimate, %d refunded\n",
				done.Rows(), done.Settled, done.Charged, done.Refunded)
			if done.Damaged > 0 {
				fmt.Fprintf(out, "%d damaged: nothing is known of these calls; the journal is kept beside, as *.damaged\n", done.Damaged)
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

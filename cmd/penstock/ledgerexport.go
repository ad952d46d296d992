package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/store"
)

func newLedgerExport() *cobra.Command {
	var f rowFlags
	var form, file string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Write upstream calls to a file, for spreadsheets and other programs",
		Example: "  penstock ledger export --since 2026-11-01 --until 2026-12-01 --file november.csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.print(cmd.Context(), func(rows iter.Seq2[store.Row, error]) error {
				write := writeCSV
				if form == "jsonl" {
					write = writeJSONL
				}
				if file == "" {
					return write(cmd.OutOrStdout(), rows)
				}
				return writeWhole(file, func(w io.Writer) error { return write(w, rows) })
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&file, "file", "", "where to; default: standard output")
	outputFlag(cmd, &form, "csv", "jsonl")
	return cmd
}

// writeWhole writes a file for its owner alone, whole or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return &exitError{exitFailure, err.Error()}
	}
	return nil
}

func writeJSONL(out io.Writer, rows iter.Seq2[store.Row, error]) error {
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	for r, err := range rows {
		if err != nil {
			return &exitError{exitFailure, err.Error()}
		}
		if err := e.Encode(&r); err != nil {
			return err
		}
	}
	return w.Flush()
}

func writeJSONArray(out io.Writer, rows iter.Seq2[store.Row, error]) error {
	w := bufio.NewWriter(out)
	before := "["
	for r, err := range rows {
		if err != nil {
			return &exitError{exitFailure, err.Error()}
		}
		b, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		w.WriteString(before)
		w.Write(b)
		before = ",\n"
	}
	if before == "[" {
		w.WriteString("[")
	}
	w.WriteString("]\n")
	return w.Flush()
}

// rowColumns are the head of a CSV: the members of a row's JSON, in their order.
var rowColumns = [...]string{"request_id", "attempt", "generation", "key", "team", "organisation", "model", "provider", "deployment", "upstream_model",
	"credential", "started_at", "ended_at",
	"status", "outcome", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_nano_usd", "estimated", "possible_cost",
	"cache_write_1h_tokens", "audio_input_tokens", "image_input_tokens", "audio_output_tokens", "image_output_tokens", "web_searches"}

func writeCSV(out io.Writer, rows iter.Seq2[store.Row, error]) error {
	w := csv.NewWriter(out)
	w.Write(rowColumns[:])
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	for r, err := range rows {
		if err != nil {
			return &exitError{exitFailure, err.Error()}
		}
		w.Write([]string{cell(r.RequestID), strconv.Itoa(r.Attempt), n(r.Generation), cell(r.Key), cell(r.Team), cell(r.Organisation), cell(r.Model),
			cell(r.Provider), cell(r.Deployment), cell(r.UpstreamModel), cell(r.Credential), r.StartedAt.Format(time.RFC3339Nano), r.EndedAt.Format(time.RFC3339Nano), r.Status, r.Outcome, n(r.InputTokens), n(r.CacheReadTokens),
			n(r.CacheWriteTokens), n(r.OutputTokens), n(r.ReasoningTokens), n(r.CostNanoUSD), strconv.FormatBool(r.Estimated), strconv.FormatBool(r.PossibleCost),
			n(r.CacheWriteHourTokens), n(r.AudioInputTokens), n(r.ImageInputTokens), n(r.AudioOutputTokens), n(r.ImageOutputTokens), n(r.WebSearches)})
	}
	w.Flush()
	return w.Error()
}

// cell is a text that no spreadsheet takes for a formula (https://owasp.org/www-community/attacks/CSV_Injection): one that
// starts like one gets an apostrophe before it.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}

package main

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// listing is a command that lists what the admin API has: as a table, or as the API's own JSON.
type listing[T any] struct {
	short string
	path  func() string
	head  []string
	row   func(*T) []string
}

func (l listing[T]) command() *cobra.Command {
	var to adminFlags
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: l.short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []T
			answer, err := ask(cmd, &to, http.MethodGet, l.path(), nil, &list)
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(answer)
				return err
			}
			var rows [][]string
			for i := range list {
				rows = append(rows, l.row(&list[i]))
			}
			return table(cmd, l.head, rows)
		},
	}
	to.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

// at is a listing's path that is always the same.
func at(path string) func() string { return func() string { return path } }

// removal is a command that ends what has a name at a path of the admin API.
func removal(verb, short, path string) *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(cmd, &to, http.MethodDelete, path+url.PathEscape(args[0]), nil, nil)
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

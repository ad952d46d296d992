package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/policies"
)

func newValidate() *cobra.Command {
	var output string
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration: its schema, its references, its plugins",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var flag string
			if len(args) == 1 {
				flag = args[0]
			}
			path := configPath(flag)
			if path == "" {
				return &exitError{exitNotFound, "no configuration: name a file, or write one with `penstock init`"}
			}
			l := &fileLoader{path: path}
			list, err := judge(cmd.Context(), l)
			if err != nil {
				return err
			}
			return report(cmd, l, list, output, strict)
		},
	}
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings are errors")
	return cmd
}

// judge compiles a configuration as a gateway would, and lets it go again.
func judge(ctx context.Context, l *fileLoader) (config.Diagnostics, error) {
	log := slog.New(slog.DiscardHandler)
	host := newHost(log)
	defer host.Close()
	speak := dialects()
	b := &generation.Builder{Host: host, Dialects: speak.Names(), Policies: policies.FS, Bundled: bundledNames[:], Log: log}
	cfg, err := l.Read()
	if err == nil {
		err = b.Check(ctx, cfg)
	}
	if err == nil {
		_, err = certificate(cfg)
	}
	var list config.Diagnostics
	switch {
	case err == nil:
		return cfg.Warnings, nil
	case errors.As(err, &list):
		if cfg != nil {
			list = append(list, cfg.Warnings...)
		}
		return list, nil
	}
	return nil, &exitError{exitFailure, err.Error()}
}

// report prints what was found, and makes the exit code.
func report(cmd *cobra.Command, l *fileLoader, list config.Diagnostics, output string, strict bool) error {
	bad := 0
	for _, d := range list {
		if strict || !d.Warning {
			bad++
		}
	}
	switch {
	case output == "json":
		if list == nil {
			list = config.Diagnostics{}
		}
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(list); err != nil {
			return err
		}
	default:
		if len(list) > 0 {
			l.render(cmd.ErrOrStderr(), list)
		}
		if bad == 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: valid\n", l.path)
		}
	}
	if bad > 0 {
		return &exitError{code: exitInvalid}
	}
	return nil
}

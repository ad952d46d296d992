package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/gateway"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/policies"
	"github.com/penstock-gateway/penstock/sdk"
)

// explainFlags are the flags of `penstock policy explain`.
type explainFlags struct {
	config, request, output string
	requestID               string
	live                    bool
	headers                 []string
	to                      adminFlags
	question                route.Question
}

func newPolicyExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Tell what routing would do with a request, and why",
		Long: "Tell what routing would do with a request, and why: the branches, the candidates in their order, and what was passed\n" +
			"over. The configuration is the file's, or that of a running gateway with --live. No provider is called. With\n" +
			"--request-id it tells what was decided about a request that was served.",
		Example: "  penstock policy explain --request-id req_06f…\n  penstock policy explain --model auto\n  penstock policy explain --live --key ci --request body.json -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration file (PENSTOCK_CONFIG)")
	fl.StringVar(&f.question.Model, "model", "", "model or router that is asked for; default: the request's")
	fl.StringVar(&f.question.Key, "key", "", "name of the key that asks; default: one that may use everything")
	fl.StringVar(&f.question.Dialect, "dialect", "", "dialect of the request; default: openai-chat")
	fl.StringVar(&f.request, "request", "", "file with the body of the request, or - for standard input; default: a short text")
	fl.StringArrayVarP(&f.headers, "header", "H", nil, "header of the request, \"name: value\"")
	fl.StringVar(&f.requestID, "request-id", "", "tell what was decided about a request that was served, as its gateway has kept it")
	fl.BoolVar(&f.live, "live", false, "ask a running gateway")
	f.to.add(cmd)
	outputFlag(cmd, &f.output, "table", "json")
	return cmd
}

func (f *explainFlags) run(cmd *cobra.Command) error {
	var e *route.Explanation
	err := f.read(cmd.InOrStdin())
	switch {
	case err != nil:
	case f.requestID != "":
		e, err = f.kept(cmd.Context())
	case f.live:
		e, err = f.ask(cmd.Context())
	default:
		e, err = f.compile(cmd.Context())
	}
	if err != nil {
		return err
	}
	if f.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
	}
	return showExplanation(cmd, e)
}

// read completes the question.
func (f *explainFlags) read(stdin io.Reader) error {
	q := &f.question
	if q.Model == "" && f.request == "" && f.requestID == "" {
		return errors.New("name a --model, a --request that does, or a --request-id")
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return fmt.Errorf("--header %q: want \"name: value\"", h)
		}
		if q.Headers == nil {
			q.Headers = map[string]string{}
		}
		q.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var err error
	switch f.request {
	case "":
	case "-":
		q.Request, err = io.ReadAll(io.LimitReader(stdin, maxPiped))
	default:
		q.Request, err = os.ReadFile(f.request)
	}
	if err != nil {
		return &exitError{exitNotFound, err.Error()}
	}
	if q.Request != nil && !json.Valid(q.Request) {
		return &exitError{exitInvalid, "--request " + f.request + ": not valid JSON"}
	}
	return nil
}

// compile answers the question from the configuration file, as a gateway would that serves it.
func (f *explainFlags) compile(ctx context.Context) (*route.Explanation, error) {
	path := configPath(f.config)
	if path == "" {
		return nil, &exitError{exitNotFound, "no configuration: name one with -c, or ask a running gateway with --live"}
	}
	l := &fileLoader{path: path}
	log := slog.New(slog.DiscardHandler)
	host := newHost(log)
	defer host.Close()
	dialects := dialects()
	b := &generation.Builder{Host: host, Dialects: dialects.Names(), Policies: policies.FS, Bundled: bundledNames[:], Log: log}
	cfg, err := l.Read()
	if err != nil {
		return nil, (&process{loader: l}).refused(err)
	}
	gen, err := b.Build(ctx, cfg)
	if err != nil {
		return nil, (&process{loader: l}).refused(err)
	}
	defer gen.Release()
	admission := admit.New(admit.Options{Log: log}) // without a store: keys are the file's alone
	defer admission.Close()
	e, err := (&gateway.Gateway{Generations: gen, Dialects: dialects, Admission: admission, Log: log}).Explain(ctx, &f.question)
	var failed *sdk.Failure
	if errors.As(err, &failed) {
		code := exitInvalid
		if failed.Kind == sdk.UnknownModel || failed.Kind == sdk.BadKey {
			code = exitNotFound
		}
		return nil, &exitError{code, failed.Message}
	}
	return e, err
}

// ask puts the question to a running gateway.
func (f *explainFlags) ask(ctx context.Context) (*route.Explanation, error) {
	body, err := json.Marshal(&f.question)
	if err != nil {
		return nil, err
	}
	got, err := f.to.send(ctx, http.MethodPost, "/admin/v1/explain", body)
	if err != nil {
		return nil, err
	}
	switch got.status {
	case http.StatusOK:
		var e route.Explanation
		if err := json.Unmarshal(got.body, &e); err != nil {
			return nil, &exitError{exitFailure, "the gateway's answer: " + err.Error()}
		}
		return &e, nil
	case http.StatusNotFound:
		return nil, &exitError{exitNotFound, problemOf(got)}
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return nil, &exitError{exitInvalid, problemOf(got)}
	}
	return nil, &exitError{exitFailure, problemOf(got)}
}

// problemOf gives the text of an error answer.
func problemOf(a adminAnswer) string {
	var p struct{ Error string }
	if json.Unmarshal(a.body, &p) != nil || p.Error == "" {
		return "the gateway answered " + strconv.Itoa(a.status)
	}
	return p.Error
}

// showExplanation prints what is tried, in its order, then what was passed over.
func showExplanation(cmd *cobra.Command, e *route.Explanation) error {
	out := cmd.OutOrStdout()
	if e.Router != "" {
		fmt.Fprintf(out, "router %s, generation %d: %d steps, %d µs\n", e.Router, e.Generation, e.Steps, e.Micros)
		for i, name := range e.Branches {
			fmt.Fprintf(out, "  batch %d  branch %d  %s\n", route.Batch(i), i, name)
		}
	}
	for _, line := range e.Failures {
		fmt.Fprintln(out, "failed, on_error takes its place: "+line)
	}
	if e.Failed != "" {
		fmt.Fprintln(out, "failed: "+e.Failed)
	}
	for _, line := range e.Prints {
		fmt.Fprintln(out, "print: "+line)
	}
	var rows [][]string
	for i, c := range e.Candidates {
		rows = append(rows, []string{strconv.Itoa(i + 1), c.Deployment, c.Model, c.Provider, c.Plan})
	}
	for _, s := range e.Skips {
		rows = append(rows, []string{"-", s.Deployment, "branch " + strconv.Itoa(s.Branch), s.Stage, s.Reason})
	}
	return table(cmd, []string{"try", "deployment", "model", "provider", "plan, or why not"}, rows)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/plugins/demo"
)

// drillFlags are the flags of `penstock drill`.
type drillFlags struct {
	config, model, only, output string
}

func newDrill() *cobra.Command {
	var f drillFlags
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Let a provider fail in every way, and see what clients get",
		Long: "Start a gateway of its own with the configuration, put a provider that misbehaves before the healthy ones, and ask,\n" +
			"streamed and whole, in two dialects. No provider is called and nothing is charged: all of them are played by the demo\n" +
			"plugin. Models, routers, policies, retries and commit rules are the configuration's; time limits are the drill's own.\n" +
			"Then clients misbehave: they leave at every stage, or read slowly.\n\n" +
			"  pass     the right answer was served\n" +
			"  safe     a clear error, and nothing wrong was shown\n" +
			"  partial  content, then an error, where another candidate could still have served\n" +
			"  fail     no answer in time, a failure that looks like success, or wrong bytes\n\n" +
			"An answer that takes over 100 ms more than its limit fails. The exit code is 4 where anything is partial or failed.\n\n" +
			"The faults are the demo provider's, for other uses too: a deployment {provider: demo, model: fault-NAME} plays one, and a\n" +
			"chat completion to any of the demo's models may ask for one by the header x-demo-fault: NAME.",
		Example: "  penstock drill                       # the built-in demo\n  penstock drill -c penstock.yaml --only 'stall|reset'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration file (PENSTOCK_CONFIG); none: the built-in demo")
	fl.StringVar(&f.model, "model", "", "model or router that is asked; default: the first model with several deployments")
	fl.StringVar(&f.only, "only", "", "regular expression: only faults whose names match")
	outputFlag(cmd, &f.output, "table", "json")
	return cmd
}

// drillReport is the outcome of a drill.
type drillReport struct {
	Pass    int           `json:"pass"`
	Partial int           `json:"partial"`
	Safe    int           `json:"safe"`
	Fail    int           `json:"fail"`
	Faults  []drillResult `json:"faults"`
}

// drillResult is what became of one fault.
type drillResult struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	Saw     string  `json:"saw"`
	Millis  int64   `json:"ms"`
	says    string
}

func (r *drillReport) add(d drillResult) {
	r.Faults = append(r.Faults, d)
	switch d.Verdict {
	case passed:
		r.Pass++
	case safe:
		r.Safe++
	case partial:
		r.Partial++
	default:
		r.Fail++
	}
}

func (f *drillFlags) run(cmd *cobra.Command) error {
	only, err := regexp.Compile(f.only)
	if err != nil {
		return fmt.Errorf("--only %q: %v", f.only, err)
	}
	plan, err := f.plan()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	d, err := startDrill(ctx, plan)
	if err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	report, err := d.all(ctx, only)
	if end := d.close(); err == nil {
		err = end
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted"}
	case err != nil:
		return &exitError{exitFailure, err.Error()}
	case len(report.Faults) == 0:
		return fmt.Errorf("--only %q: matches no fault", f.only)
	}
	if err := f.print(cmd, plan, report); err != nil {
		return err
	}
	if report.Fail+report.Partial > 0 {
		return &exitError{code: exitTests}
	}
	return nil
}

// plan reads the configuration that is to be drilled. One that is not valid is reported as validate does.
func (f *drillFlags) plan() (*drillPlan, error) {
	l := newLoader(&serveFlags{config: f.config})
	if l.demo {
		l.key = newSecret("psk_")
	}
	cfg, err := l.Read()
	if err != nil {
		return nil, (&process{loader: l}).refused(err)
	}
	text := demoText
	if !l.demo {
		if text, err = os.ReadFile(l.path); err != nil {
			return nil, &exitError{exitFailure, err.Error()}
		}
	}
	p, err := newDrillPlan(cfg, text, f.model)
	var absent *noModelError
	if errors.As(err, &absent) {
		return nil, &exitError{exitNotFound, err.Error()}
	}
	return p, err
}

// print writes the scorecard.
func (f *drillFlags) print(cmd *cobra.Command, p *drillPlan, r *drillReport) error {
	out := cmd.OutOrStdout()
	if f.output == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	fmt.Fprintf(out, "%s, model %s\n\n", p.source, p.model)
	var rows [][]string
	for _, d := range r.Faults {
		rows = append(rows, []string{d.Name, string(d.Verdict), strconv.FormatInt(d.Millis, 10), d.Saw, d.says})
	}
	if err := table(cmd, []string{"fault", "verdict", "ms", "the client saw", "what went wrong"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d pass, %d safe, %d partial, %d fail\n", r.Pass, r.Safe, r.Partial, r.Fail)
	return err
}

// drill is a drill under way.
type drill struct {
	plan    *drillPlan
	gateway *drilled
	usual   time.Duration // that an answer takes where nothing is wrong
}

// all plays every fault in turn, so that none disturbs another.
func (d *drill) all(ctx context.Context, only *regexp.Regexp) (*drillReport, error) {
	r := &drillReport{Faults: []drillResult{}}
	for _, f := range demo.Faults() {
		if !only.MatchString(f.Name) {
			continue
		}
		play := d.play
		if f.Storm {
			play = d.storm
		}
		got, err := play(ctx, &f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		r.add(got)
	}
	for _, c := range clientFaults() {
		if !only.MatchString(c.name) {
			continue
		}
		got, err := d.leave(ctx, &c, tongues())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		r.add(got)
	}
	return r, nil
}

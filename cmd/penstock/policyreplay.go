package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/replay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

// replayFlags are the flags of `penstock policy replay`.
type replayFlags struct {
	store          storeFlags
	router, output string
	since          time.Duration
	limit          int
}

func newPolicyReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [FILE]",
		Short: "Make the decisions of the last hours again, by another policy or the same",
		Long: "Make the decisions that a gateway has kept again, from what was seen then, and tell which requests would go elsewhere,\n" +
			"with what that would cost and how much longer it would take. The policy is a file, or penstock/NAME, in the place of\n" +
			"a router's; without one the configured policies decide. Decisions are kept for " + replay.DefaultKeep.String() + ", and at most 350 MB a day.",
		Example: "  penstock policy replay policies/auto.star --since 2h\n  penstock policy replay new.star --router auto -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	f.store.add(cmd)
	cmd.Flags().StringVar(&f.router, "router", "", "router whose decisions are made again; default: the one that has the policy, or all")
	cmd.Flags().DurationVar(&f.since, "since", replay.DefaultKeep, "how far back to go")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "differences that are listed; all are counted")
	outputFlag(cmd, &f.output, "table", "json")
	return cmd
}

// replayed is what `penstock policy replay -o json` prints.
type replayed struct {
	*replay.Summary
	Differences []*replay.Difference `json:"differences"`
}

func (f *replayFlags) run(cmd *cobra.Command, name string) error {
	path := configPath(f.store.config)
	if path == "" {
		return &exitError{exitNotFound, "no configuration: name one with -c"}
	}
	f.store.config = path
	cfg, err := config.Load(path, os.LookupEnv)
	if err != nil {
		return &exitError{exitInvalid, err.Error()}
	}
	routers, err := f.routers(generation.Routers(cfg), name)
	if err != nil {
		return err
	}
	st, _, err := f.store.open(cmd.Context(), true)
	if err != nil {
		return err
	}
	defer st.Close()
	out := replayed{Differences: []*replay.Difference{}}
	out.Summary, err = replay.Again(cmd.Context(), st, routers, f.router, time.Now().Add(-f.since), func(d *replay.Difference) {
		if len(out.Differences) < f.limit {
			out.Differences = append(out.Differences, d)
		}
	})
	if err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	if f.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	return out.show(cmd)
}

// routers compiles the routers of a configuration, with a policy in the place of one's where it is named.
func (f *replayFlags) routers(list []config.Router, name string) ([]*route.Router, error) {
	if err := f.choose(list, name); err != nil {
		return nil, err
	}
	var out []*route.Router
	for _, conf := range list {
		if name != "" && conf.Name == f.router {
			conf.Policy = name
		}
		found, err := findPolicies([]string{conf.Policy})
		if err != nil {
			return nil, err
		}
		p, err := found[0].compile()
		if err != nil {
			return nil, err
		}
		out = append(out, &route.Router{Name: conf.Name, Policy: p, MinCandidates: conf.MinCandidates, OnError: conf.OnError})
	}
	return out, nil
}

// choose finds out whose place a policy takes.
func (f *replayFlags) choose(list []config.Router, name string) error {
	if f.router != "" {
		if !slices.ContainsFunc(list, func(r config.Router) bool { return r.Name == f.router }) {
			return &exitError{exitNotFound, "no router is called " + f.router}
		}
		return nil
	}
	if name == "" {
		return nil
	}
	for _, r := range list {
		if samePolicy(r.Policy, name) {
			f.router = r.Name
			return nil
		}
	}
	if len(list) != 1 {
		return fmt.Errorf("no router has the policy %s: name the --router whose place it takes", name)
	}
	f.router = list[0].Name
	return nil
}

// samePolicy says whether two names are of one policy.
func samePolicy(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return a == b || errX == nil && errY == nil && x == y
}

// replayTime bounds a call of a policy where no request waits for it, so that a busy machine changes nothing.
const replayTime = time.Second

// compile compiles a policy that nobody waits for.
func (f *policyFile) compile() (*policy.Program, error) {
	src, err := fs.ReadFile(f.folder, f.name)
	if err != nil {
		return nil, &exitError{exitFailure, err.Error()}
	}
	p, err := policy.Compile(f.name, src, policy.Options{Folder: f.folder, Bounds: policy.Bounds{Time: replayTime}})
	var bad *policy.Error
	if errors.As(err, &bad) {
		return nil, &exitError{exitInvalid, f.at(bad.Error())}
	}
	return p, err
}

func (r *replayed) show(cmd *cobra.Command) error {
	var rows [][]string
	for _, d := range r.Differences {
		rows = append(rows, []string{d.RequestID, d.At.Local().Format(time.DateTime), d.Router, cmp.Or(d.Was, "none"), cmp.Or(d.Now, "none"), signed(d.USD), signed(d.Seconds), d.Error})
	}
	if len(rows) > 0 {
		if err := table(cmd, []string{"request", "at", "router", "was", "now", "usd", "seconds", ""}, rows); err != nil {
			return err
		}
	}
	s := r.Summary
	fmt.Fprintf(cmd.OutOrStdout(), "%d decisions: %d the same, %d in another order, %d elsewhere (%d without a decision), %d not made again\n",
		s.Decisions, s.Same, s.Reordered, s.Moved, s.Failed, s.NotReplayed)
	if s.Priced > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "cost: %s USD over %d requests, at their largest output\n", signed(&s.USD), s.Priced)
	}
	if s.Measured > 0 {
		mean := s.Seconds / float64(s.Measured)
		fmt.Fprintf(cmd.OutOrStdout(), "latency: %s s a request, over %d requests\n", signed(&mean), s.Measured)
	}
	return nil
}

// signed shows a difference; "-" where it is not known.
func signed(f *float64) string {
	if f == nil {
		return "-"
	}
	text := strconv.FormatFloat(*f, 'g', 4, 64)
	if *f > 0 {
		text = "+" + text
	}
	return text
}

// kept gives the decision that was made about a request, which a gateway may be about to write.
func (f *explainFlags) kept(ctx context.Context) (*route.Explanation, error) {
	where := storeFlags{state: f.to.state, config: configPath(f.config)}
	st, _, err := where.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	list, err := awaitDecision(ctx, st, f.requestID)
	switch {
	case err != nil:
		return nil, &exitError{exitFailure, err.Error()}
	case len(list) == 0:
		return nil, &exitError{exitNotFound, "no decision is kept of the request " + f.requestID}
	}
	e := new(route.Explanation)
	if err := json.Unmarshal(list[0].Outcome, e); err != nil {
		return nil, &exitError{exitFailure, "the decision about " + f.requestID + ": " + err.Error()}
	}
	return e, nil
}

func awaitDecision(ctx context.Context, st *store.Store, id string) ([]store.Decision, error) {
	late := time.NewTimer(arriving)
	defer late.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := st.DecisionsOf(ctx, id)
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

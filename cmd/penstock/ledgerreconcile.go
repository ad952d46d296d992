package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/store"
)

// comparison is one model on one day, by the provider's books and by ours.
type comparison struct {
	Day       string `json:"day"`
	Model     string `json:"model"`
	Kind      string `json:"kind"` // of what is compared: see kinds
	Theirs    int64  `json:"theirs"`
	Ours      int64  `json:"ours"`
	Estimated int64  `json:"estimated"` // calls of ours whose figures are estimates
}

func newLedgerReconcile() *cobra.Command {
	var f storeFlags
	var provider, output string
	var tolerance float64
	cmd := &cobra.Command{
		Use:   "reconcile FILE",
		Short: "Compare the ledger with a provider's export of usage or of costs",
		Long: "Compare the ledger with a provider's export of usage or of costs, by day of UTC and model: CSV as the consoles of\n" +
			"OpenAI and Anthropic give it, or JSON of their APIs (usage grouped by model, costs by line item or description, in\n" +
			"buckets of a day). The dates at the ends of models' names do not count. Without --provider only the models that the\n" +
			"file names are compared. Costs that are not told by model are compared by the day alone, which needs --provider.\n" +
			"Exit code 4 where they differ.",
		Example: "  penstock ledger reconcile --provider openai completions_usage.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			theirs, err := readUsage(data)
			if err == nil && provider == "" && !theirs.named() {
				err = errors.New("costs without models: want --provider, whose costs these are")
			}
			if err != nil {
				return &exitError{exitInvalid, args[0] + ": " + err.Error()}
			}
			s, _, err := f.open(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer s.Close()
			list, err := reconcile(cmd.Context(), s, theirs, provider)
			if err != nil {
				return &exitError{exitFailure, err.Error()}
			}
			return printComparisons(cmd, output, list, tolerance)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&provider, "provider", "", "compare all calls of this provider of the configuration, also of models that the file does not name")
	cmd.Flags().Float64Var(&tolerance, "tolerance", 0, "difference in percent that is none")
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

// ownUsage is our side of a model's day.
type ownUsage struct {
	usage
	estimated int64
}

// reconcile gives both sides for each kind of tokens of each model and day that either names.
func reconcile(ctx context.Context, s *store.Store, theirs usageFile, provider string) ([]comparison, error) {
	if len(theirs) == 0 {
		return nil, nil
	}
	models, first, last := map[string]bool{}, "", ""
	for k := range theirs {
		models[k.model] = true
		if first == "" || k.day < first {
			first = k.day
		}
		last = max(last, k.day)
	}
	since, _ := time.Parse(time.DateOnly, first) // as add wrote it
	until, _ := time.Parse(time.DateOnly, last)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // millions of rows
	defer cancel()
	rows, err := s.UpstreamUsage(ctx, since, until.AddDate(0, 0, 1))
	if err != nil {
		return nil, err
	}
	ours := map[modelDay]ownUsage{}
	for _, r := range rows {
		k := modelDay{r.Day.Format(time.DateOnly), undated(r.Model)}
		if !theirs.named() {
			k.model = ""
		}
		if provider != "" && r.Provider != provider || provider == "" && !models[k.model] {
			continue
		}
		sum := ours[k]
		sum.add(usage{input: r.InputTokens, cacheRead: r.CacheReadTokens, cacheWrite: r.CacheWriteTokens, output: r.OutputTokens,
			cacheWriteHour: r.CacheWriteHourTokens, searches: r.WebSearches, audioInput: r.AudioInputTokens, audioOutput: r.AudioOutputTokens,
			cost: r.CostNanoUSD})
		sum.estimated += r.Estimated
		ours[k] = sum
	}
	return beside(theirs, ours), nil
}

// kind is one of the figures that are compared.
type kind struct {
	name string
	of   func(*usage) int64
}

// kindCost is the kind of what is money.
const kindCost = "cost_nano_usd"

// kinds are those that an export has.
func kinds(has *usage) []kind {
	if has.paid {
		return []kind{{kindCost, func(u *usage) int64 { return u.cost }}}
	}
	list := []kind{
		{"input", func(u *usage) int64 { return u.input }},
		{"cache_read", func(u *usage) int64 { return u.cacheRead }},
		{"cache_write", func(u *usage) int64 { return u.cacheWrite }},
		{"output", func(u *usage) int64 { return u.output }},
	}
	if has.fine {
		list = append(list, kind{"cache_write_1h", func(u *usage) int64 { return u.cacheWriteHour }}, kind{"web_searches", func(u *usage) int64 { return u.searches }})
	}
	if has.sound {
		list = append(list, kind{"audio_input", func(u *usage) int64 { return u.audioInput }}, kind{"audio_output", func(u *usage) int64 { return u.audioOutput }})
	}
	return list
}

// beside sets both sides beside each other, by day and model.
func beside(theirs usageFile, ours map[modelDay]ownUsage) (list []comparison) {
	keys := map[modelDay]bool{}
	var has usage // which parts the books have
	for k, u := range theirs {
		keys[k] = true
		has.add(u)
	}
	for k := range ours {
		keys[k] = true
	}
	byDay := func(a, b modelDay) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.model, b.model)) }
	for _, k := range slices.SortedFunc(maps.Keys(keys), byDay) {
		t, o := theirs[k], ours[k]
		for _, kind := range kinds(&has) {
			list = append(list, comparison{k.day, k.model, kind.name, kind.of(&t), kind.of(&o.usage), o.estimated})
		}
	}
	return list
}

// byRounding is how far apart two sums of money are that differ by rounding alone, in nano-USD: each call is byRounding on our
// side, each line on theirs.
const byRounding = 100_000

// differs says whether both sides are further apart than a number of percent of theirs.
func (c *comparison) differs(percent float64) bool {
	apart := max(c.Ours-c.Theirs, c.Theirs-c.Ours)
	if c.Kind == kindCost && apart <= byRounding {
		return false
	}
	return float64(apart) > float64(c.Theirs)*percent/100
}

func printComparisons(cmd *cobra.Command, form string, list []comparison, tolerance float64) error {
	different := slices.DeleteFunc(slices.Clone(list), func(c comparison) bool { return !c.differs(tolerance) })
	if form == "json" {
		if list == nil {
			list = []comparison{}
		}
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(list); err != nil {
			return err
		}
	} else if len(different) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "no difference in %d sums\n", len(list))
	} else {
		var rows [][]string
		for _, c := range different {
			rows = append(rows, []string{c.Day, orDash(c.Model), c.Kind, strconv.FormatInt(c.Theirs, 10), strconv.FormatInt(c.Ours, 10), fmt.Sprintf("%+d", c.Ours-c.Theirs), strconv.FormatInt(c.Estimated, 10)})
		}
		if err := table(cmd, []string{"day", "model", "what", "theirs", "ours", "difference", "estimated calls"}, rows); err != nil {
			return err
		}
	}
	if len(different) > 0 {
		return &exitError{code: exitTests}
	}
	return nil
}

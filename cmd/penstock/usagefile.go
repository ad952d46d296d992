package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usage is tokens by a provider's books. Input includes what was read from a cache and written to one.
type usage struct {
	input, cacheRead, cacheWrite, output int64
	cacheWriteHour                       int64 // of cacheWrite
	searches                             int64 // of the web
	fine                                 bool  // the books have the last two
	audioInput, audioOutput              int64 // of input and output
	sound                                bool  // the books have them
	cost                                 int64 // nano-USD
	paid                                 bool  // the books have costs, and nothing else
}

func (u *usage) add(o usage) {
	u.input += o.input
	u.cacheRead += o.cacheRead
	u.cacheWrite += o.cacheWrite
	u.output += o.output
	u.cacheWriteHour += o.cacheWriteHour
	u.searches += o.searches
	u.fine = u.fine || o.fine
	u.audioInput += o.audioInput
	u.audioOutput += o.audioOutput
	u.sound = u.sound || o.sound
	u.cost += o.cost
	u.paid = u.paid || o.paid
}

// modelDay is one model on one day of UTC.
type modelDay struct{ day, model string }

// usageFile is a provider's export, by day and model.
type usageFile map[modelDay]usage

// maxTokens is more than any line of an export can mean; it keeps sums from overflowing.
const maxTokens = 1 << 40

func (f usageFile) add(at time.Time, model string, u usage) error {
	if model == "" {
		return errors.New("a line without a model: want an export that is grouped by model")
	}
	for _, n := range []int64{u.input, u.cacheRead, u.cacheWrite, u.output, u.cacheWriteHour, u.searches, u.audioInput, u.audioOutput} {
		if n < 0 || n > maxTokens {
			return fmt.Errorf("%s of %s: %d tokens: want a count", model, at.Format(time.DateOnly), n)
		}
	}
	at = at.UTC()
	k := modelDay{at.Format(time.DateOnly), undated(model)}
	sum := f[k]
	sum.add(u)
	f[k] = sum
	return nil
}

// dateSuffix is the date of a model's release at the end of its name. Exports name the release where calls may name the
// model alone.
var dateSuffix = regexp.MustCompile(`-(20\d\d-\d\d-\d\d|20\d{6})$`)

func undated(model string) string { return dateSuffix.ReplaceAllString(model, "") }

// readUsage reads a provider's export of usage or of costs: CSV as its console gives it, or JSON as its API does, one page or
// several, one after the other.
func readUsage(data []byte) (usageFile, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // spreadsheets put it there
	read := readUsageCSV
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		data, read = trimmed, readUsageJSON
	}
	f, err := read(data)
	f.byDay()
	return f, err
}

// usagePage is a page of either API:
// https://platform.openai.com/docs/api-reference/usage/completions, whose input includes what was cached and whose sound
// stands beside the text, and
// https://docs.claude.com/en/api/admin-api/usage-cost/get-messages-usage-report, whose parts stand beside each other.
// OpenAI's pages of embeddings and moderations have the same form.
type usagePage struct {
	Data []struct {
		StartTime  int64     `json:"start_time"`
		StartingAt time.Time `json:"starting_at"`
		Results    []struct {
			Model       string `json:"model"`
			Input       int64  `json:"input_tokens"`
			InputCached int64  `json:"input_cached_tokens"`
			InputWrite  int64  `json:"input_cache_write_tokens"`
			Output      int64  `json:"output_tokens"`
			AudioInput  int64  `json:"input_audio_tokens"`
			AudioOutput int64  `json:"output_audio_tokens"`

			Amount   paid   `json:"amount"`
			Currency string `json:"currency"`
			Item     string `json:"line_item"`

			Uncached  *int64 `json:"uncached_input_tokens"`
			CacheRead int64  `json:"cache_read_input_tokens"`
			Creation  struct {
				Hour    int64 `json:"ephemeral_1h_input_tokens"`
				Minutes int64 `json:"ephemeral_5m_input_tokens"`
			} `json:"cache_creation"`
			Tools struct {
				Searches int64 `json:"web_search_requests"`
			} `json:"server_tool_use"`
		} `json:"results"`
	} `json:"data"`
}

func readUsageJSON(data []byte) (usageFile, error) {
	f := usageFile{}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var page usagePage
		err := d.Decode(&page)
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		if page.Data == nil {
			return nil, errors.New("JSON without data: want a page of a provider's usage API")
		}
		for _, bucket := range page.Data {
			at := bucket.StartingAt
			if bucket.StartTime != 0 {
				at = time.Unix(bucket.StartTime, 0)
			}
			for _, r := range bucket.Results {
				if r.Amount.there {
					if err := inUSD(r.Currency); err != nil {
						return nil, err
					}
					f.addCost(at, cmp.Or(r.Model, itemModel(r.Item)), r.Amount.nano)
					continue
				}
				u := usage{input: r.Input + r.AudioInput, cacheRead: r.InputCached, cacheWrite: r.InputWrite, output: r.Output + r.AudioOutput,
					audioInput: r.AudioInput, audioOutput: r.AudioOutput, sound: r.AudioInput+r.AudioOutput > 0}
				if r.Uncached != nil {
					u = usage{cacheRead: r.CacheRead, cacheWrite: r.Creation.Hour + r.Creation.Minutes, output: r.Output,
						cacheWriteHour: r.Creation.Hour, searches: r.Tools.Searches, fine: true}
					u.input = *r.Uncached + u.cacheRead + u.cacheWrite
				}
				if err := f.add(at, r.Model, u); err != nil {
					return nil, err
				}
			}
		}
	}
}

// The columns of the consoles' CSV.
var (
	timeColumns  = []string{"usage_date_utc", "start_time_iso", "start_time"}
	modelColumns = []string{"model_version", "model"}
)

func readUsageCSV(data []byte) (usageFile, error) {
	r := csv.NewReader(bytes.NewReader(data))
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("want CSV with a head, or JSON: %w", err)
	}
	if column(head, "amount_value", "cost_usd") >= 0 {
		lines, err := r.ReadAll()
		if err != nil {
			return nil, err
		}
		return readCostCSV(head, lines)
	}
	when, model := column(head, timeColumns...), column(head, modelColumns...)
	beside := column(head, "usage_input_tokens_no_cache") >= 0
	if when < 0 || model < 0 || !beside && column(head, "input_tokens") < 0 {
		return nil, fmt.Errorf("columns %s: want an export of usage by day and model", strings.Join(head, ", "))
	}
	f := usageFile{}
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		at, err := exportTime(line[when])
		if err != nil {
			return nil, err
		}
		n := counts{head: head, line: line}
		u := usage{cacheRead: n.of("input_cached_tokens"), audioInput: n.of("input_audio_tokens"), audioOutput: n.of("output_audio_tokens")}
		u.input, u.output, u.sound = n.of("input_tokens")+u.audioInput, n.of("output_tokens")+u.audioOutput, u.audioInput+u.audioOutput > 0
		if beside {
			u = usage{cacheRead: n.of("usage_input_tokens_cache_read"), cacheWrite: n.of("usage_input_tokens_cache_write_5m") + n.of("usage_input_tokens_cache_write_1h"),
				output: n.of("usage_output_tokens"), cacheWriteHour: n.of("usage_input_tokens_cache_write_1h"), searches: n.of("web_search_count"),
				fine: column(head, "web_search_count") >= 0}
			u.input = n.of("usage_input_tokens_no_cache") + u.cacheRead + u.cacheWrite
		}
		if n.err != nil {
			return nil, n.err
		}
		if err := f.add(at, line[model], u); err != nil {
			return nil, err
		}
	}
}

// column is the place of the first of some names in a head, -1 where there is none.
func column(head []string, names ...string) int {
	for _, name := range names {
		if i := slices.Index(head, name); i >= 0 {
			return i
		}
	}
	return -1
}

// counts reads the counts of a line and keeps the first error.
type counts struct {
	head, line []string
	err        error
}

// of is the count in a column; one that is missing or empty is 0.
func (c *counts) of(name string) int64 {
	i := column(c.head, name)
	if i < 0 || c.line[i] == "" {
		return 0
	}
	n, err := strconv.ParseInt(c.line[i], 10, 64)
	if err == nil && (n < 0 || n > maxTokens) {
		err = errors.New("out of range")
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%s %q: want a count", name, c.line[i])
	}
	return n
}

// exportTime reads the start of a line's time: a date, a time, or seconds since 1970. Anthropic's console has hours without
// seconds where it is asked for hours.
func exportTime(text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(n, 0), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: want a date or seconds", text)
}

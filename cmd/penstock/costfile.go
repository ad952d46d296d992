package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// paid is an amount of a page of costs. OpenAI's is an object in USD
// (https://platform.openai.com/docs/api-reference/usage/costs_object); Anthropic's is a text in cents, with the currency
// beside it (https://platform.claude.com/docs/en/api/admin/cost_report).
type paid struct {
	there bool
	nano  int64
}

// UnmarshalJSON reads either.
func (p *paid) UnmarshalJSON(b []byte) error {
	var usd struct {
		Value    json.RawMessage `json:"value"`
		Currency string          `json:"currency"`
	}
	var cents string
	switch {
	case string(b) == "null":
		return nil
	case json.Unmarshal(b, &cents) == nil:
		n, err := money(cents, 1e7)
		*p = paid{true, n}
		return err
	}
	if err := json.Unmarshal(b, &usd); err != nil {
		return err
	}
	if err := inUSD(usd.Currency); err != nil {
		return err
	}
	n, err := money(strings.Trim(string(usd.Value), `"`), 1e9)
	*p = paid{true, n}
	return err
}

func inUSD(currency string) error {
	if currency != "" && !strings.EqualFold(currency, "usd") {
		return fmt.Errorf("currency %q: want USD", currency)
	}
	return nil
}

// mostPaid is more USD than any line of an export can mean; it keeps sums from overflowing.
const mostPaid = 1e6

// money reads an amount in a unit of so many nano-USD. Exports have more digits than a nano-USD, and may have exponents.
func money(text string, unit float64) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if nano := v * unit; err == nil && math.Abs(nano) <= mostPaid*1e9 {
		return int64(math.Round(nano)), nil
	}
	return 0, fmt.Errorf("amount %q: want a sum of money", text)
}

// itemModel is the model in the name of a line of OpenAI's costs: "gpt-5-nano, input_tokens".
func itemModel(item string) string {
	model, _, _ := strings.Cut(item, ",")
	return strings.TrimSpace(model)
}

// addCost adds what was paid; "" is a model that the export does not tell.
func (f usageFile) addCost(at time.Time, model string, nano int64) {
	k := modelDay{at.UTC().Format(time.DateOnly), undated(model)}
	sum := f[k]
	sum.add(usage{cost: nano, paid: true})
	f[k] = sum
}

// named says whether a file tells the models.
func (f usageFile) named() bool {
	for k := range f {
		if k.model == "" {
			return false
		}
	}
	return true
}

// byDay puts the costs of a day together where some are of no model: they cannot be told apart on our side.
func (f usageFile) byDay() {
	if f.named() {
		return
	}
	for k, u := range f {
		if k.model != "" {
			day := modelDay{day: k.day}
			sum := f[day]
			sum.add(u)
			f[day] = sum
			delete(f, k)
		}
	}
}

// readCostCSV reads the consoles' CSV of costs. OpenAI's tells the model with what was paid for; Anthropic's has a name for
// people there. Lines without an amount are days without costs.
func readCostCSV(head []string, lines [][]string) (usageFile, error) {
	when, amount, currency, item := column(head, timeColumns...), column(head, "amount_value", "cost_usd"), column(head, "amount_currency"), column(head, "line_item")
	if when < 0 {
		return nil, errors.New("costs without a time: want an export by day")
	}
	f := usageFile{}
	for _, line := range lines {
		at, err := exportTime(line[when])
		if err != nil {
			return nil, err
		}
		if line[amount] == "" {
			continue
		}
		if currency >= 0 {
			if err := inUSD(line[currency]); err != nil {
				return nil, err
			}
		}
		nano, err := money(line[amount], 1e9)
		if err != nil {
			return nil, err
		}
		model := ""
		if item >= 0 {
			model = itemModel(line[item])
		}
		f.addCost(at, model, nano)
	}
	return f, nil
}

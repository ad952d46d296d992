package admit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/limits"
)

// Settings are what a key may do, as they stand in the store and in the admin API.
type Settings struct {
	Models   []string `json:"models,omitempty"`   // models, routers, deployments; none: all
	Dialects []string `json:"dialects,omitempty"` // none: all
	Tags     []string `json:"tags,omitempty"`
	Priority string   `json:"priority,omitempty"` // interactive, default, batch
	ZDR      bool     `json:"zdr,omitempty"`
	// OnDisconnect is drain or cancel: what becomes of an upstream call when the client leaves; none: as the model says.
	OnDisconnect string    `json:"on_disconnect,omitempty"`
	Expires      time.Time `json:"expires,omitzero"`
	// OwnCredentials is only or first: whether the operator's credentials may serve after the key's own; none: only.
	OwnCredentials string `json:"own_credentials,omitempty"`
	Allowance
}

// OwnFirst has the operator's credentials serve where a tenant's own are refused or limited.
const OwnFirst = "first"

// Allowance is how much a key or a team may use.
type Allowance struct {
	Limits Rates   `json:"limits,omitzero"`
	Budget *Budget `json:"budget,omitempty"` // nil: none
}

// Rates are the limits that a configuration states; 0 is none.
type Rates struct {
	RPM         int64 `json:"rpm,omitempty"`
	TPM         int64 `json:"tpm,omitempty"`  // tokens in and out together
	ITPM        int64 `json:"itpm,omitempty"` // tokens in
	OTPM        int64 `json:"otpm,omitempty"` // tokens out
	Concurrency int64 `json:"concurrency,omitempty"`
}

// Budget is how much may be spent in a period.
type Budget struct {
	USD   json.Number `json:"usd"`             // decimal, as number or text
	Every string      `json:"every,omitempty"` // day, week, month, total; "": month
}

// TeamSettings are what a team's keys may do.
type TeamSettings struct {
	Models         []string `json:"models,omitempty"`
	Organisation   string   `json:"organisation,omitempty"`
	OwnCredentials string   `json:"own_credentials,omitempty"` // as Settings'
	Allowance
}

// OrganisationSettings are what the keys of an organisation's teams may do.
type OrganisationSettings struct {
	Models []string `json:"models,omitempty"`
	Allowance
}

// Counted gives the allowance as it is counted; the error says what cannot be.
func (a *Allowance) Counted() (l limits.Limits, err error) {
	r := a.Limits
	if min(r.RPM, r.TPM, r.ITPM, r.OTPM, r.Concurrency) < 0 {
		return l, fmt.Errorf("limits: want numbers above 0")
	}
	l.PerMinute[limits.Requests], l.PerMinute[limits.Tokens], l.AtOnce = r.RPM, r.TPM, r.Concurrency
	l.PerMinute[limits.Input], l.PerMinute[limits.Output] = r.ITPM, r.OTPM
	if b := a.Budget; b != nil {
		usd, err := config.ParseUSD(b.USD.String())
		if err != nil {
			return l, fmt.Errorf("budget.usd: %v", err)
		}
		l.Budget = limits.Budget{Set: true, Nano: int64(usd), Each: limits.Month}
		if b.Every != "" {
			if l.Budget.Each, err = limits.ParsePeriod(b.Every); err != nil {
				return l, fmt.Errorf("budget.every: %v", err)
			}
		}
	}
	return l, nil
}

// allowanceOf gives a configured allowance.
func allowanceOf(a *config.Allowance) (l limits.Limits) {
	l.PerMinute[limits.Requests], l.PerMinute[limits.Tokens], l.AtOnce = a.RPM, a.TPM, a.AtOnce
	l.PerMinute[limits.Input], l.PerMinute[limits.Output] = a.ITPM, a.OTPM
	if a.Capped {
		each, _ := limits.ParsePeriod(a.Every) // the schema lets no other pass
		l.Budget = limits.Budget{Set: true, Nano: int64(a.Budget), Each: each}
	}
	return l
}

// stored reads settings that were written by this program, and gives the allowance among them as it is counted.
func stored(settings json.RawMessage, into any, a *Allowance) (limits.Limits, error) {
	if err := json.Unmarshal(settings, into); err != nil {
		return limits.Limits{}, err
	}
	return a.Counted()
}

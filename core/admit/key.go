package admit

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
)

// Settings are what a key may do, as they stand in the store and in the admin API.
type Settings struct {
	Models   []string  `json:"models,omitempty"`   // models, routers, deployments; none: all
	Dialects []string  `json:"dialects,omitempty"` // none: all
	Tags     []string  `json:"tags,omitempty"`
	Priority string    `json:"priority,omitempty"` // interactive, default, batch
	ZDR      bool      `json:"zdr,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Allowance
}

// Allowance is how much a key or a team may use.
type Allowance struct {
	Limits Rates   `json:"limits,omitzero"`
	Budget *Budget `json:"budget,omitempty"` // nil: none
}

// Rates are the limits of CONTRACTS' configuration; 0 is none.
type Rates struct {
	RPM         int64 `json:"rpm,omitempty"`
	TPM         int64 `json:"tpm,omitempty"`
	Concurrency int64 `json:"concurrency,omitempty"`
}

// Budget is how much may be spent in a period.
type Budget struct {
	USD   json.Number `json:"usd"`             // decimal, as number or text
	Every string      `json:"every,omitempty"` // day, week, month, total; "": month
}

// TeamSettings are what a team's keys may do.
type TeamSettings struct {
	Models []string `json:"models,omitempty"`
	Allowance
}

// limits gives the allowance as it is counted; the error says what cannot be.
func (a *Allowance) limits() (l limits.Limits, err error) {
	r := a.Limits
	if min(r.RPM, r.TPM, r.Concurrency) < 0 {
		return l, fmt.Errorf("limits: want numbers above 0")
	}
	l.PerMinute[limits.Requests], l.PerMinute[limits.Tokens], l.AtOnce = r.RPM, r.TPM, r.Concurrency
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
	if a.Capped {
		each, _ := limits.ParsePeriod(a.Every) // the schema lets no other pass
		l.Budget = limits.Budget{Set: true, Nano: int64(a.Budget), Each: each}
	}
	return l
}

// Team is what several keys share. It does not change.
type Team struct {
	Name   string
	Limits limits.Limits
	models names
}

// ConfiguredTeam makes a team of the configuration.
func ConfiguredTeam(t *config.Team) *Team {
	return &Team{Name: t.Name, Limits: allowanceOf(&t.Allowance), models: namesOf(t.Models)}
}

// StoredTeam makes a team of the store.
func StoredTeam(row *store.Team) (*Team, error) {
	var s TeamSettings
	if err := json.Unmarshal(row.Settings, &s); err != nil {
		return nil, fmt.Errorf("team %q: %v", row.ID, err)
	}
	l, err := s.limits()
	if err != nil {
		return nil, fmt.Errorf("team %q: %v", row.ID, err)
	}
	return &Team{Name: row.ID, Limits: l, models: namesOf(s.Models)}, nil
}

// Key is who may ask for what. It does not change. The zero Key may ask for everything.
type Key struct {
	ID       string // in the store; "": configured
	Name     string
	Team     string
	Tags     []string
	Priority string
	Expires  time.Time // zero: never
	ZDR      bool      // its requests go only where nothing is kept
	Dialects []string  // nil: all
	Prefix   string    // of the secret, where it is known
	Account  *limits.Account

	models names
	team   names // the models that the key's team may ask for
	sum    [32]byte
}

// ConfiguredKey makes a key of the configuration. Its team may be nil.
func ConfiguredKey(k *config.Key, team *Team) *Key {
	key := &Key{Name: k.Name, Tags: k.Tags, Priority: k.Priority, Expires: k.Expires, ZDR: k.ZDR, Dialects: k.Dialects,
		models: namesOf(k.Models), sum: k.SHA256}
	key.join(allowanceOf(&k.Allowance), team)
	return key
}

// StoredKey makes a key of the store. Its team may be nil.
func StoredKey(row *store.Key, team *Team) (*Key, error) {
	var s Settings
	if err := json.Unmarshal(row.Settings, &s); err != nil {
		return nil, fmt.Errorf("key %q: %v", row.Name, err)
	}
	l, err := s.limits()
	if err != nil {
		return nil, fmt.Errorf("key %q: %v", row.Name, err)
	}
	key := &Key{ID: row.ID, Name: row.Name, Tags: s.Tags, Priority: s.Priority, Expires: s.Expires, ZDR: s.ZDR,
		Dialects: s.Dialects, Prefix: row.Prefix, models: namesOf(s.Models), sum: row.SHA256}
	key.join(l, team)
	return key, nil
}

// join puts the key into its team.
func (k *Key) join(own limits.Limits, team *Team) {
	levels := []limits.Level{{Kind: "key", Name: k.Name, Limits: own}}
	if team != nil {
		k.Team, k.team = team.Name, team.models
		levels = append(levels, limits.Level{Kind: "team", Name: team.Name, Limits: team.Limits})
	}
	k.Account = limits.NewAccount(levels...)
}

// Allows says whether the key may use a model.
func (k *Key) Allows(model string) bool { return k.models.has(model) && k.team.has(model) }

// Unrestricted says whether the key may use every model.
func (k *Key) Unrestricted() bool { return k.models == nil && k.team == nil }

// Speaks says whether the key may speak a dialect. Embeddings in Gemini's form are a part of Gemini's dialect.
func (k *Key) Speaks(dialect string) bool {
	if dialect == "gemini-embeddings" {
		dialect = "gemini"
	}
	return k.Dialects == nil || slices.Contains(k.Dialects, dialect)
}

// names is a set; nil holds every name.
type names map[string]bool

func namesOf(list []string) names {
	if list == nil {
		return nil
	}
	n := make(names, len(list))
	for _, s := range list {
		n[s] = true
	}
	return n
}

func (n names) has(s string) bool { return n == nil || n[s] }

// ConfiguredInfo shows a key of the configuration as one of the store is shown.
func ConfiguredInfo(k *config.Key) KeyInfo {
	a := Allowance{Limits: Rates{RPM: k.RPM, TPM: k.TPM, Concurrency: k.AtOnce}}
	if k.Capped {
		a.Budget = &Budget{USD: json.Number(k.Budget.String()), Every: k.Every}
	}
	return KeyInfo{NewKey: NewKey{Name: k.Name, Team: k.Team, Settings: Settings{Models: k.Models, Dialects: k.Dialects, Tags: k.Tags,
		Priority: k.Priority, ZDR: k.ZDR, Expires: k.Expires, Allowance: a}}}
}

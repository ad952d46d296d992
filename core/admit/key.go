package admit

import (
	"fmt"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
)

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
	if err := decode(row.Settings, &s); err != nil {
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
	// OnDisconnect is drain or cancel: what becomes of an upstream call when the client leaves; "": as the model says.
	OnDisconnect string
	Account      *limits.Account

	models names
	team   names // the models that the key's team may ask for
	sum    [32]byte
}

// ConfiguredKey makes a key of the configuration. Its team may be nil.
func ConfiguredKey(k *config.Key, team *Team) *Key {
	key := &Key{Name: k.Name, Tags: k.Tags, Priority: k.Priority, Expires: k.Expires, ZDR: k.ZDR, Dialects: k.Dialects,
		OnDisconnect: k.OnDisconnect, models: namesOf(k.Models), sum: k.SHA256}
	key.join(allowanceOf(&k.Allowance), team)
	return key
}

// StoredKey makes a key of the store. Its team may be nil.
func StoredKey(row *store.Key, team *Team) (*Key, error) {
	var s Settings
	if err := decode(row.Settings, &s); err != nil {
		return nil, fmt.Errorf("key %q: %v", row.Name, err)
	}
	l, err := s.limits()
	if err != nil {
		return nil, fmt.Errorf("key %q: %v", row.Name, err)
	}
	key := &Key{ID: row.ID, Name: row.Name, Tags: s.Tags, Priority: s.Priority, Expires: s.Expires, ZDR: s.ZDR,
		Dialects: s.Dialects, Prefix: row.Prefix, OnDisconnect: s.OnDisconnect, models: namesOf(s.Models), sum: row.SHA256}
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

// Speaks says whether the key may speak a dialect. Embeddings in Gemini's form are a part of Gemini's dialect, and may be
// allowed alone.
func (k *Key) Speaks(dialect string) bool {
	return k.Dialects == nil || slices.Contains(k.Dialects, dialect) ||
		dialect == "gemini-embeddings" && slices.Contains(k.Dialects, "gemini")
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

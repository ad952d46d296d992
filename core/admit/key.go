package admit

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
)

// Organisation is what the keys of several teams share. It does not change.
type Organisation struct {
	Name   string
	Limits limits.Limits
	models names
}

// ConfiguredOrganisation makes an organisation of the configuration.
func ConfiguredOrganisation(o *config.Organisation) *Organisation {
	return &Organisation{Name: o.Name, Limits: allowanceOf(&o.Allowance), models: namesOf(o.Models)}
}

// StoredOrganisation makes an organisation of the store.
func StoredOrganisation(row *store.Organisation) (*Organisation, error) {
	var s OrganisationSettings
	l, err := stored(row.Settings, &s, &s.Allowance)
	if err != nil {
		return nil, fmt.Errorf("organisation %q: %v", row.ID, err)
	}
	return &Organisation{Name: row.ID, Limits: l, models: namesOf(s.Models)}, nil
}

// Team is what several keys share. It does not change.
type Team struct {
	Name         string
	Organisation string // its name; "": none
	Limits       limits.Limits
	models       names
	brings       purse // credentials of its own
	ownFirst     bool
}

// ConfiguredTeam makes a team of the configuration.
func ConfiguredTeam(t *config.Team) *Team {
	return &Team{Name: t.Name, Organisation: t.Organisation, Limits: allowanceOf(&t.Allowance), models: namesOf(t.Models),
		brings: purseOf(store.OwnedByTeam, t.Own.Credentials), ownFirst: t.Own.First}
}

// StoredTeam makes a team of the store.
func StoredTeam(row *store.Team) (*Team, error) {
	var s TeamSettings
	l, err := stored(row.Settings, &s, &s.Allowance)
	if err != nil {
		return nil, fmt.Errorf("team %q: %v", row.ID, err)
	}
	return &Team{Name: row.ID, Organisation: s.Organisation, Limits: l, models: namesOf(s.Models), ownFirst: s.OwnCredentials == OwnFirst}, nil
}

// Key is who may ask for what. It does not change. The zero Key may ask for everything.
type Key struct {
	ID           string // in the store; "": configured
	Name         string
	Team         string
	Organisation string // its team's
	Tags         []string
	Priority     string
	Expires      time.Time // zero: never
	ZDR          bool      // its requests go only where nothing is kept
	Dialects     []string  // nil: all
	Prefix       string    // of the secret, where it is known
	// OnDisconnect is drain or cancel: what becomes of an upstream call when the client leaves; "": as the model says.
	OnDisconnect string
	Account      *limits.Account

	models       names
	team         names // the models that the key's team may ask for
	organisation names // and those of its organisation
	brings       purse // credentials of its own
	ownFirst     bool
	teamBrings   purse
	teamFirst    bool
	sum          [sha256.Size]byte
	previous     [sha256.Size]byte // of the secret before the last rotation
	until        time.Time         // when that ends; zero: there is none
}

// ConfiguredKey makes a key of the configuration. Its team and that team's organisation may be nil.
func ConfiguredKey(k *config.Key, team *Team, of *Organisation) *Key {
	key := &Key{Name: k.Name, Tags: k.Tags, Priority: k.Priority, Expires: k.Expires, ZDR: k.ZDR, Dialects: k.Dialects,
		OnDisconnect: k.OnDisconnect, models: namesOf(k.Models), sum: k.SHA256,
		brings: purseOf(store.OwnedByKey, k.Own.Credentials), ownFirst: k.Own.First}
	key.join(allowanceOf(&k.Allowance), team, of)
	return key
}

// StoredKey makes a key of the store. Its team and that team's organisation may be nil.
func StoredKey(row *store.Key, team *Team, of *Organisation) (*Key, error) {
	var s Settings
	l, err := stored(row.Settings, &s, &s.Allowance)
	if err != nil {
		return nil, fmt.Errorf("key %q: %v", row.Name, err)
	}
	key := &Key{ID: row.ID, Name: row.Name, Tags: s.Tags, Priority: s.Priority, Expires: s.Expires, ZDR: s.ZDR,
		Dialects: s.Dialects, Prefix: row.Prefix, OnDisconnect: s.OnDisconnect, models: namesOf(s.Models), sum: row.SHA256,
		previous: row.PreviousSHA256, until: row.PreviousUntil, ownFirst: s.OwnCredentials == OwnFirst}
	key.join(l, team, of)
	return key, nil
}

// join puts the key into its team, and with it into the team's organisation.
func (k *Key) join(own limits.Limits, team *Team, of *Organisation) {
	levels := []limits.Level{{Kind: "key", Name: k.Name, Limits: own}}
	if team != nil {
		k.Team, k.team, k.teamBrings, k.teamFirst = team.Name, team.models, team.brings, team.ownFirst
		levels = append(levels, limits.Level{Kind: "team", Name: team.Name, Limits: team.Limits})
	}
	if of != nil {
		k.Organisation, k.organisation = of.Name, of.models
		levels = append(levels, limits.Level{Kind: "organisation", Name: of.Name, Limits: of.Limits})
	}
	k.Account = limits.NewAccount(levels...)
}

// bears says whether a SHA-256 is that of a secret of the key which is good now.
func (k *Key) bears(sum *[sha256.Size]byte, now time.Time) bool {
	is := subtle.ConstantTimeCompare(k.sum[:], sum[:])
	if now.Before(k.until) {
		is |= subtle.ConstantTimeCompare(k.previous[:], sum[:])
	}
	return is == 1
}

// Allows says whether the key may use a model.
func (k *Key) Allows(model string) bool {
	return k.models.has(model) && k.team.has(model) && k.organisation.has(model)
}

// Unrestricted says whether the key may use every model.
func (k *Key) Unrestricted() bool {
	return k.models == nil && k.team == nil && k.organisation == nil
}

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

package admit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// KeyStore is what keys and teams are kept in.
type KeyStore interface {
	Keys(ctx context.Context) ([]store.Key, error)
	PutKey(ctx context.Context, by store.Actor, k store.Key) error
	RotateKey(ctx context.Context, by store.Actor, r store.Rotation) error
	RevokeKey(ctx context.Context, by store.Actor, id string, at time.Time) error
	Teams(ctx context.Context) ([]store.Team, error)
	PutTeam(ctx context.Context, by store.Actor, t store.Team) error
	DeleteTeam(ctx context.Context, by store.Actor, id string) error
}

// Names says what stands in the configuration in force.
type Names interface {
	KeyNames() []string
	TeamNames() []string
	// HasModel says whether a key may be given a model, router or deployment of this name.
	HasModel(name string) bool
}

// What a change of keys or teams is refused with. The text of an ErrInvalid says what is wrong.
var (
	ErrTaken   = errors.New("the name is taken")
	ErrInvalid = errors.New("not valid")
)

// invalid is an ErrInvalid with a text of its own.
type invalid string

func (e invalid) Error() string { return string(e) }

// Is makes it an ErrInvalid.
func (invalid) Is(target error) bool { return target == ErrInvalid }

// Keyring makes, lists and ends the keys and teams of the store. The store notes who made a change.
type Keyring struct {
	Store KeyStore

	mu sync.Mutex // held while a name is checked and taken
}

// NewKey is a key that is to be made.
type NewKey struct {
	Name string `json:"name"`
	Team string `json:"team,omitempty"`
	Settings
}

// KeyInfo is a key of the store as it is shown.
type KeyInfo struct {
	ID        string    `json:"id,omitempty"`     // "" of a key of the configuration
	Prefix    string    `json:"prefix,omitempty"` // of the secret, where it is known
	CreatedAt time.Time `json:"created_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	NewKey
}

// TeamInfo is a team of the store as it is shown, and as it is put.
type TeamInfo struct {
	Name string `json:"name"`
	TeamSettings
}

// nameForm is that of names in the configuration.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$`)

// Create makes a key and gives its secret, which is not kept.
func (r *Keyring) Create(ctx context.Context, by store.Actor, in Names, k NewKey, now time.Time) (secret string, info KeyInfo, err error) {
	if err := r.check(ctx, in, &k, now); err != nil {
		return "", info, err
	}
	settings, err := json.Marshal(k.Settings)
	if err != nil {
		return "", info, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	others, err := r.Store.Keys(ctx)
	if err != nil {
		return "", info, err
	}
	inForce := func(o store.Key) bool { return o.Name == k.Name && o.RevokedAt.IsZero() }
	if slices.Contains(in.KeyNames(), k.Name) || slices.ContainsFunc(others, inForce) {
		return "", info, fmt.Errorf("key %q: %w", k.Name, ErrTaken)
	}
	secret = NewSecret()
	row := store.Key{ID: "key_" + strings.ToLower(rand.Text()), Prefix: Shown(secret), SHA256: sha256.Sum256([]byte(secret)), Name: k.Name,
		Team: k.Team, Settings: settings, CreatedAt: now.UTC().Truncate(time.Microsecond)}
	if err := r.Store.PutKey(ctx, by, row); err != nil {
		return "", info, err
	}
	return secret, KeyInfo{ID: row.ID, Prefix: row.Prefix, CreatedAt: row.CreatedAt, NewKey: k}, nil
}

// check says what is wrong with a key that is to be made.
func (r *Keyring) check(ctx context.Context, in Names, k *NewKey, now time.Time) error {
	switch {
	case !nameForm.MatchString(k.Name):
		return invalid(fmt.Sprintf("name %q: want letters, digits and . _ / : -, 128 at most", k.Name))
	case !k.Expires.IsZero() && !k.Expires.After(now):
		return invalid("expires: want a moment to come")
	case !slices.Contains([]string{"", "interactive", "default", "batch"}, k.Priority):
		return invalid(fmt.Sprintf("priority %q: want interactive, default or batch", k.Priority))
	case !slices.Contains([]string{"", "drain", "cancel"}, k.OnDisconnect):
		return invalid(fmt.Sprintf("on_disconnect %q: want drain or cancel", k.OnDisconnect))
	}
	for _, d := range k.Dialects {
		if !slices.Contains([]string{"openai-chat", "openai-responses", "anthropic", "gemini", "openai-embeddings", "gemini-embeddings"}, d) {
			return invalid(fmt.Sprintf("dialect %q: want openai-chat, openai-responses, anthropic, gemini, openai-embeddings or gemini-embeddings", d))
		}
	}
	if err := known(in, k.Models); err != nil {
		return err
	}
	if _, err := k.limits(); err != nil {
		return invalid(err.Error())
	}
	if k.Team == "" || slices.Contains(in.TeamNames(), k.Team) {
		return nil
	}
	teams, err := r.Store.Teams(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(teams, func(t store.Team) bool { return t.ID == k.Team }) {
		return invalid(fmt.Sprintf("team %q: there is none", k.Team))
	}
	return nil
}

func known(in Names, models []string) error {
	for _, m := range models {
		if !in.HasModel(m) {
			return invalid(fmt.Sprintf("model %q: not configured", m))
		}
	}
	return nil
}

// List gives the keys of the store, the oldest first; revoked ones where they are asked for.
func (r *Keyring) List(ctx context.Context, revoked bool) ([]KeyInfo, error) {
	rows, err := r.Store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	list := []KeyInfo{}
	for _, row := range rows {
		if !revoked && !row.RevokedAt.IsZero() {
			continue
		}
		info := KeyInfo{ID: row.ID, Prefix: row.Prefix, CreatedAt: row.CreatedAt, RevokedAt: row.RevokedAt, NewKey: NewKey{Name: row.Name, Team: row.Team}}
		if err := decode(row.Settings, &info.Settings); err != nil {
			return nil, fmt.Errorf("key %q: %v", row.Name, err)
		}
		list = append(list, info)
	}
	return list, nil
}

// Revoke ends a key, by its id or its name, for good. store.ErrNotFound where there is none in force.
func (r *Keyring) Revoke(ctx context.Context, by store.Actor, name string, now time.Time) error {
	id, err := r.idOf(ctx, name)
	if err != nil {
		return err
	}
	return r.Store.RevokeKey(ctx, by, id, now)
}

// Rotate gives a key, by its id or its name, another secret; the old one ends at once. store.ErrNotFound where there is none
// in force.
func (r *Keyring) Rotate(ctx context.Context, by store.Actor, name string) (secret string, err error) {
	id, err := r.idOf(ctx, name)
	if err != nil {
		return "", err
	}
	secret = NewSecret()
	return secret, r.Store.RotateKey(ctx, by, store.Rotation{ID: id, Prefix: Shown(secret), SHA256: sha256.Sum256([]byte(secret))})
}

// idOf finds a key in force by its id or its name.
func (r *Keyring) idOf(ctx context.Context, name string) (string, error) {
	rows, err := r.Store.Keys(ctx)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if row.RevokedAt.IsZero() && (row.ID == name || row.Name == name) {
			return row.ID, nil
		}
	}
	return "", store.ErrNotFound
}

// Teams gives the teams of the store.
func (r *Keyring) Teams(ctx context.Context) ([]TeamInfo, error) {
	rows, err := r.Store.Teams(ctx)
	if err != nil {
		return nil, err
	}
	list := []TeamInfo{}
	for _, row := range rows {
		t := TeamInfo{Name: row.ID}
		if err := decode(row.Settings, &t.TeamSettings); err != nil {
			return nil, fmt.Errorf("team %q: %v", row.ID, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// PutTeam makes a team, or changes one.
func (r *Keyring) PutTeam(ctx context.Context, by store.Actor, in Names, t TeamInfo, now time.Time) error {
	if !nameForm.MatchString(t.Name) {
		return invalid(fmt.Sprintf("name %q: want letters, digits and . _ / : -, 128 at most", t.Name))
	}
	if slices.Contains(in.TeamNames(), t.Name) {
		return fmt.Errorf("team %q: %w by the configuration", t.Name, ErrTaken)
	}
	if err := known(in, t.Models); err != nil {
		return err
	}
	if _, err := t.limits(); err != nil {
		return invalid(err.Error())
	}
	settings, err := json.Marshal(t.TeamSettings)
	if err != nil {
		return err
	}
	return r.Store.PutTeam(ctx, by, store.Team{ID: t.Name, Settings: settings, CreatedAt: now})
}

// DeleteTeam removes a team that no key in force belongs to. store.ErrNotFound where there is none.
func (r *Keyring) DeleteTeam(ctx context.Context, by store.Actor, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, err := r.Store.Keys(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.RevokedAt.IsZero() && row.Team == name {
			return fmt.Errorf("team %q: %w by the key %q, which is in it", name, ErrTaken, row.Name)
		}
	}
	return r.Store.DeleteTeam(ctx, by, name)
}

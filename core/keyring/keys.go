package keyring

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/store"
)

// NewKey is a key that is to be made.
type NewKey struct {
	Name string `json:"name"`
	Team string `json:"team,omitempty"`
	admit.Settings
}

// Key is a key as it is shown.
type Key struct {
	ID        string    `json:"id,omitempty"`     // "" of a key of the configuration
	Prefix    string    `json:"prefix,omitempty"` // of the secret, where it is known
	CreatedAt time.Time `json:"created_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// PreviousUntil is how long the secret before the last rotation works; zero: not any more.
	PreviousUntil time.Time `json:"previous_until,omitzero"`
	NewKey
}

// Configured shows a key of the configuration as one of the store is shown.
func Configured(k *config.Key) Key {
	a := admit.Allowance{Limits: admit.Rates{RPM: k.RPM, TPM: k.TPM, ITPM: k.ITPM, OTPM: k.OTPM, Concurrency: k.AtOnce}}
	if k.Capped {
		a.Budget = &admit.Budget{USD: json.Number(k.Budget.String()), Every: k.Every}
	}
	s := admit.Settings{Models: k.Models, Dialects: k.Dialects, Tags: k.Tags, Priority: k.Priority, ZDR: k.ZDR, OnDisconnect: k.OnDisconnect,
		Expires: k.Expires, Allowance: a}
	if k.Own.First {
		s.OwnCredentials = admit.OwnFirst
	}
	return Key{NewKey: NewKey{Name: k.Name, Team: k.Team, Settings: s}}
}

// taken is the refusal of a name.
func taken(name string) error {
	return fmt.Errorf("key %q: %w: choose another, or end that key with `penstock keys revoke`", name, ErrTaken)
}

// Create makes a key and gives its secret, which is not kept. ErrTaken where a key in force has the name, also where
// another gateway has given it at this moment.
func (r *Keyring) Create(ctx context.Context, by store.Actor, in Configuration, k NewKey, now time.Time) (secret string, made Key, err error) {
	if err := r.check(ctx, in, &k, now); err != nil {
		return "", made, err
	}
	settings, err := json.Marshal(k.Settings)
	if err != nil {
		return "", made, err
	}
	if slices.Contains(in.KeyNames(), k.Name) {
		return "", made, fmt.Errorf("key %q: %w by the configuration: choose another", k.Name, ErrTaken)
	}
	secret = admit.NewSecret()
	row := store.Key{ID: "key_" + strings.ToLower(rand.Text()), Prefix: admit.Shown(secret), SHA256: sha256.Sum256([]byte(secret)), Name: k.Name,
		Team: k.Team, Settings: settings, CreatedAt: now.UTC().Truncate(time.Microsecond)}
	switch err := r.Store.PutKey(ctx, by, row); {
	case errors.Is(err, store.ErrTaken):
		return "", made, taken(k.Name)
	case err != nil:
		return "", made, err
	}
	return secret, Key{ID: row.ID, Prefix: row.Prefix, CreatedAt: row.CreatedAt, NewKey: k}, nil
}

// check says what is wrong with a key that is to be made.
func (r *Keyring) check(ctx context.Context, in Configuration, k *NewKey, now time.Time) error {
	if err := errors.Join(checkName(k.Name), checkOwn(k.OwnCredentials)); err != nil {
		return err
	}
	switch {
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
	if _, err := k.Counted(); err != nil {
		return invalid(err.Error())
	}
	if k.Team == "" {
		return nil
	}
	there, err := r.hasTeam(ctx, in, k.Team)
	if err == nil && !there {
		err = invalid(fmt.Sprintf("team %q: there is none", k.Team))
	}
	return err
}

// List gives the keys of the store, the oldest first; revoked ones where they are asked for.
func (r *Keyring) List(ctx context.Context, revoked bool, now time.Time) ([]Key, error) {
	rows, err := r.Store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	list := []Key{}
	for _, row := range rows {
		if !revoked && !row.RevokedAt.IsZero() {
			continue
		}
		k := Key{ID: row.ID, Prefix: row.Prefix, CreatedAt: row.CreatedAt, RevokedAt: row.RevokedAt, NewKey: NewKey{Name: row.Name, Team: row.Team}}
		if row.PreviousUntil.After(now) {
			k.PreviousUntil = row.PreviousUntil
		}
		if err := json.Unmarshal(row.Settings, &k.Settings); err != nil {
			return nil, fmt.Errorf("key %q: %v", row.Name, err)
		}
		list = append(list, k)
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

// maxGrace bounds how long two secrets of a key work beside each other.
const maxGrace = 30 * 24 * time.Hour

// Rotate gives a key, by its id or its name, another secret. The old one works on for as long as grace says, and ends at
// once where that is 0. store.ErrNotFound where there is none in force.
func (r *Keyring) Rotate(ctx context.Context, by store.Actor, name string, grace time.Duration, now time.Time) (secret string, err error) {
	if grace < 0 || grace > maxGrace {
		return "", invalid(fmt.Sprintf("grace %s: want 30 days at most", grace))
	}
	id, err := r.idOf(ctx, name)
	if err != nil {
		return "", err
	}
	secret = admit.NewSecret()
	to := store.Rotation{ID: id, Prefix: admit.Shown(secret), SHA256: sha256.Sum256([]byte(secret))}
	if grace > 0 {
		to.Until = now.Add(grace)
	}
	return secret, r.Store.RotateKey(ctx, by, to)
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

package keyring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/store"
)

// CredentialName says which credential is meant: of a key or of a team, for a provider.
type CredentialName struct {
	Key      string `json:"key,omitempty"`
	Team     string `json:"team,omitempty"`
	Provider string `json:"provider"`
	Name     string `json:"name,omitempty"` // "": main
}

// NewCredential is a credential that is to be put.
type NewCredential struct {
	CredentialName
	Values map[string]string `json:"values"` // by the names that the plugin's authentication uses
}

// Credential is one as it is shown: its secret never is.
type Credential struct {
	CredentialName
	Prefix    string    `json:"prefix,omitempty"` // of the secret, where it has one that tells nothing
	SealedBy  string    `json:"sealed_by"`        // the id of the encryption key
	CreatedAt time.Time `json:"created_at"`
}

const (
	usualName      = "main"
	mostForOne     = 16       // credentials of an owner for a provider
	maxCredential  = 64 << 10 // bytes of its members
	shownOfSecret  = 6        // characters, of one that is much longer
	leastForPrefix = 24
)

// PutCredential encrypts a credential and keeps it, in the place of the one of its name.
func (r *Keyring) PutCredential(ctx context.Context, by store.Actor, in Configuration, c NewCredential, now time.Time) error {
	if err := r.checkCredential(in, &c); err != nil {
		return err
	}
	owner, err := r.owner(ctx, in, &c.CredentialName)
	if err != nil {
		return err
	}
	if in.OwnCredentials(owner, c.Provider) {
		return fmt.Errorf("credential for %q: %w by the configuration, which has one for this %s", c.Provider, ErrTaken, owner.Kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, err := r.Store.Credentials(ctx)
	if err != nil {
		return err
	}
	others := 0
	for _, row := range rows {
		if row.Owner == owner && row.Provider == c.Provider && row.Name != c.Name {
			others++
		}
	}
	if others >= mostForOne {
		return invalid(fmt.Sprintf("provider %q: want %d credentials of one owner at most", c.Provider, mostForOne))
	}
	row := store.Credential{Owner: owner, Provider: c.Provider, Name: c.Name, Prefix: prefixOf(c.Values), CreatedAt: now.UTC().Truncate(time.Microsecond)}
	if row.SealedBy, row.Sealed, err = in.Seals().Seal(binding(&row), c.Values); err != nil {
		return err
	}
	return r.Store.PutCredential(ctx, by, row)
}

// checkCredential says what is wrong with a credential that is to be put, whoever it is for.
func (r *Keyring) checkCredential(in Configuration, c *NewCredential) error {
	if in.Seals().By() == "" {
		return invalid("no encryption key is configured: set store.encryption.key, of which `openssl rand -base64 32` makes one, and reload")
	}
	c.Name = cmp.Or(c.Name, usualName)
	if err := checkName(c.Name); err != nil {
		return err
	}
	size := 0
	for name, v := range c.Values {
		size += len(name) + len(v)
		if v == "" || strings.TrimSpace(v) != v {
			return invalid(fmt.Sprintf("member %q: want a text without spaces around it", name))
		}
	}
	if size == 0 || size > maxCredential {
		return invalid(fmt.Sprintf("values: want %d KiB at most, and something", maxCredential>>10))
	}
	if err := in.TakesCredential(c.Provider, c.Values); err != nil {
		return invalid(fmt.Sprintf("provider %q: %v", c.Provider, err))
	}
	return nil
}

// owner finds whose a credential is. A key of the store is known by its id: another that has its name later inherits nothing.
func (r *Keyring) owner(ctx context.Context, in Configuration, c *CredentialName) (store.Owner, error) {
	switch {
	case (c.Key == "") == (c.Team == ""):
		return store.Owner{}, invalid("want exactly one of key and team")
	case c.Team != "":
		there, err := r.hasTeam(ctx, in, c.Team)
		if err == nil && !there {
			err = invalid(fmt.Sprintf("team %q: there is none", c.Team))
		}
		return store.Owner{Kind: store.OwnedByTeam, ID: c.Team}, err
	case slices.Contains(in.KeyNames(), c.Key):
		return store.Owner{Kind: store.OwnedByKey, ID: c.Key}, nil
	}
	id, err := r.idOf(ctx, c.Key)
	if errors.Is(err, store.ErrNotFound) {
		err = invalid(fmt.Sprintf("key %q: there is none", c.Key))
	}
	return store.Owner{Kind: store.OwnedByKey, ID: id}, err
}

// prefixOf gives the part of an API key that may be shown: of one that is short it would tell too much.
func prefixOf(values map[string]string) string {
	if key := values["api_key"]; len(key) >= leastForPrefix {
		return key[:shownOfSecret]
	}
	return ""
}

func binding(c *store.Credential) credential.Binding {
	return credential.Binding{Kind: c.Owner.Kind, Owner: c.Owner.ID, Provider: c.Provider, Name: c.Name}
}

// Credentials gives the credentials of the store.
func (r *Keyring) Credentials(ctx context.Context) ([]Credential, error) {
	rows, err := r.Store.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := r.Store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	list := make([]Credential, len(rows))
	for i, row := range rows {
		name := CredentialName{Team: row.Owner.ID, Provider: row.Provider, Name: row.Name}
		if row.Owner.Kind == store.OwnedByKey {
			name.Team, name.Key = "", cmp.Or(names[row.Owner.ID], row.Owner.ID)
		}
		list[i] = Credential{name, row.Prefix, row.SealedBy, row.CreatedAt}
	}
	return list, nil
}

// DeleteCredential removes a credential. store.ErrNotFound where there is none of the name.
func (r *Keyring) DeleteCredential(ctx context.Context, by store.Actor, in Configuration, c CredentialName) error {
	owner, err := r.owner(ctx, in, &c)
	if err != nil {
		return err
	}
	return r.Store.DeleteCredential(ctx, by, store.Credential{Owner: owner, Provider: c.Provider, Name: cmp.Or(c.Name, usualName)})
}

// Resealed is what became of credentials that were to be encrypted anew.
type Resealed struct {
	Done   int      `json:"resealed"`
	By     string   `json:"sealed_by"` // the id of the newest key
	Before int      `json:"already"`   // that it had encrypted before
	Failed []string `json:"failed"`    // that cannot be decrypted by any key, by owner, provider and name
}

// resealAtOnce is how many credentials one transaction encrypts anew.
const resealAtOnce = 500

// Reseal encrypts anew, with the newest key, what other keys have encrypted.
func (r *Keyring) Reseal(ctx context.Context, by store.Actor, in Configuration) (done Resealed, err error) {
	seals := in.Seals()
	if done.By = seals.By(); done.By == "" {
		return done, invalid("no encryption key is configured: set store.encryption.key")
	}
	done.Failed = []string{}
	rows, err := r.Store.Credentials(ctx)
	if err != nil {
		return done, err
	}
	var list []store.Resealed
	for i := range rows {
		row := &rows[i]
		if row.SealedBy == done.By {
			done.Before++
			continue
		}
		values, err := seals.Open(binding(row), row.SealedBy, row.Sealed)
		if err != nil {
			done.Failed = append(done.Failed, fmt.Sprintf("%s %s: %s/%s: %v", row.Owner.Kind, row.Owner.ID, row.Provider, row.Name, err))
			continue
		}
		sealedBy, text, err := seals.Seal(binding(row), values)
		if err != nil {
			return done, err
		}
		list = append(list, store.Resealed{Credential: *row, By: sealedBy, Text: text})
	}
	for some := range slices.Chunk(list, resealAtOnce) {
		n, err := r.Store.ResealCredentials(ctx, by, some)
		if done.Done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// Package keyring makes, lists and ends what is kept in the store of those who may ask: keys, teams, organisations, and the
// providers' credentials that keys and teams bring themselves. It checks what it is given against the configuration in
// force; what may be asked with a key is core/admit's.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/store"
)

// Store is where it is all kept.
type Store interface {
	Keys(ctx context.Context) ([]store.Key, error)
	PutKey(ctx context.Context, by store.Actor, k store.Key) error
	RotateKey(ctx context.Context, by store.Actor, r store.Rotation) error
	RevokeKey(ctx context.Context, by store.Actor, id string, at time.Time) error
	Teams(ctx context.Context) ([]store.Team, error)
	PutTeam(ctx context.Context, by store.Actor, t store.Team) error
	DeleteTeam(ctx context.Context, by store.Actor, id string) error
	Organisations(ctx context.Context) ([]store.Organisation, error)
	PutOrganisation(ctx context.Context, by store.Actor, o store.Organisation) error
	DeleteOrganisation(ctx context.Context, by store.Actor, id string) error
	Credentials(ctx context.Context) ([]store.Credential, error)
	PutCredential(ctx context.Context, by store.Actor, c store.Credential) error
	DeleteCredential(ctx context.Context, by store.Actor, c store.Credential) error
	ResealCredentials(ctx context.Context, by store.Actor, list []store.Resealed) (int, error)
}

// Configuration is the one in force.
type Configuration interface {
	KeyNames() []string
	TeamNames() []string
	OrganisationNames() []string
	// HasModel says whether a key may be given a model, router or deployment of this name.
	HasModel(name string) bool
	// TakesCredential says what is wrong with a credential for a provider; nil: nothing.
	TakesCredential(provider string, values map[string]string) error
	// Seals gives the encryption keys of what the store keeps encrypted; nil: credentials cannot be put.
	Seals() *credential.Seals
	// OwnCredentials says whether the configuration itself has credentials for a provider that a key or a team brings.
	OwnCredentials(owner store.Owner, provider string) bool
}

// What a change is refused with. The text of an ErrInvalid says what is wrong.
var (
	ErrTaken   = errors.New("the name is taken")
	ErrInvalid = errors.New("not valid")
)

// invalid is an ErrInvalid with a text of its own.
type invalid string

func (e invalid) Error() string { return string(e) }

// Is makes it an ErrInvalid.
func (invalid) Is(target error) bool { return target == ErrInvalid }

// Keyring is the keys and whom they belong to. The store notes who made a change.
type Keyring struct {
	Store Store

	mu sync.Mutex // held while a name is checked and taken
}

// nameForm is that of names in the configuration.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$`)

// checkName says what is wrong with a name.
func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return invalid(fmt.Sprintf("name %q: want letters, digits and . _ / : -, 128 at most", name))
	}
	return nil
}

// checkGroup says what is wrong with a team or an organisation that is to be put.
func checkGroup(in Configuration, name string, configured, models []string, a *admit.Allowance) error {
	if err := checkName(name); err != nil {
		return err
	}
	if slices.Contains(configured, name) {
		return fmt.Errorf("%q: %w by the configuration", name, ErrTaken)
	}
	if err := known(in, models); err != nil {
		return err
	}
	if _, err := a.Counted(); err != nil {
		return invalid(err.Error())
	}
	return nil
}

// checkOwn says what is wrong with a choice of credentials.
func checkOwn(choice string) error {
	if !slices.Contains([]string{"", "only", admit.OwnFirst}, choice) {
		return invalid(fmt.Sprintf("own_credentials %q: want only or first", choice))
	}
	return nil
}

func known(in Configuration, models []string) error {
	for _, m := range models {
		if !in.HasModel(m) {
			return invalid(fmt.Sprintf("model %q: not configured", m))
		}
	}
	return nil
}

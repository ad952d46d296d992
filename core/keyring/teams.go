package keyring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/store"
)

// Team is a team of the store as it is shown, and as it is put.
type Team struct {
	Name string `json:"name"`
	admit.TeamSettings
}

// Organisation is an organisation of the store as it is shown, and as it is put.
type Organisation struct {
	Name string `json:"name"`
	admit.OrganisationSettings
}

// Teams gives the teams of the store.
func (r *Keyring) Teams(ctx context.Context) ([]Team, error) {
	rows, err := r.Store.Teams(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Team, len(rows))
	for i, row := range rows {
		list[i].Name = row.ID
		if err := json.Unmarshal(row.Settings, &list[i].TeamSettings); err != nil {
			return nil, fmt.Errorf("team %q: %v", row.ID, err)
		}
	}
	return list, nil
}

// PutTeam makes a team, or changes one.
func (r *Keyring) PutTeam(ctx context.Context, by store.Actor, in Configuration, t Team, now time.Time) error {
	if err := errors.Join(checkGroup(in, t.Name, in.TeamNames(), t.Models, &t.Allowance), checkOwn(t.OwnCredentials)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := t.Organisation; of != "" && !slices.Contains(in.OrganisationNames(), of) {
		rows, err := r.Store.Organisations(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(rows, func(o store.Organisation) bool { return o.ID == of }) {
			return invalid(fmt.Sprintf("organisation %q: there is none", of))
		}
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

// hasTeam says whether there is a team of a name, configured or in the store.
func (r *Keyring) hasTeam(ctx context.Context, in Configuration, name string) (bool, error) {
	if slices.Contains(in.TeamNames(), name) {
		return true, nil
	}
	rows, err := r.Store.Teams(ctx)
	return slices.ContainsFunc(rows, func(t store.Team) bool { return t.ID == name }), err
}

// Organisations gives the organisations of the store.
func (r *Keyring) Organisations(ctx context.Context) ([]Organisation, error) {
	rows, err := r.Store.Organisations(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Organisation, len(rows))
	for i, row := range rows {
		list[i].Name = row.ID
		if err := json.Unmarshal(row.Settings, &list[i].OrganisationSettings); err != nil {
			return nil, fmt.Errorf("organisation %q: %v", row.ID, err)
		}
	}
	return list, nil
}

// PutOrganisation makes an organisation, or changes one.
func (r *Keyring) PutOrganisation(ctx context.Context, by store.Actor, in Configuration, o Organisation, now time.Time) error {
	if err := checkGroup(in, o.Name, in.OrganisationNames(), o.Models, &o.Allowance); err != nil {
		return err
	}
	settings, err := json.Marshal(o.OrganisationSettings)
	if err != nil {
		return err
	}
	return r.Store.PutOrganisation(ctx, by, store.Organisation{ID: o.Name, Settings: settings, CreatedAt: now})
}

// DeleteOrganisation removes an organisation that no team of the store is in. store.ErrNotFound where there is none.
func (r *Keyring) DeleteOrganisation(ctx context.Context, by store.Actor, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	teams, err := r.Teams(ctx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		if t.Organisation == name {
			return fmt.Errorf("organisation %q: %w by the team %q, which is in it", name, ErrTaken, t.Name)
		}
	}
	return r.Store.DeleteOrganisation(ctx, by, name)
}

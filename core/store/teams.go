package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Team is keys with limits and a budget in common.
type Team struct {
	ID        string          `json:"id"`
	Settings  json.RawMessage `json:"settings"` // core/admit's
	CreatedAt time.Time       `json:"created_at"`
}

// Organisation is teams with limits and a budget in common.
type Organisation Team

// PutTeam adds a team or changes the settings of the one with its ID.
func (s *Store) PutTeam(ctx context.Context, by Actor, t Team) error {
	return s.change(ctx, by, Event{Teams, t.ID}, "team.put", &t, exec(`INSERT INTO teams (id, settings, created_at) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET settings = excluded.settings`, plain(t.ID), object(t.Settings), micros(t.CreatedAt)))
}

// DeleteTeam removes a team and the providers' credentials that it brought; what was spent stays in the ledger. ErrNotFound
// where there is none.
func (s *Store) DeleteTeam(ctx context.Context, by Actor, id string) error {
	return s.change(ctx, by, Event{Teams, id}, "team.delete", nil, both(
		execOne(`DELETE FROM teams WHERE id = $1`, plain(id)), disown(Owner{OwnedByTeam, id})))
}

// Teams gives all teams by name.
func (s *Store) Teams(ctx context.Context) ([]Team, error) {
	return all(ctx, s, scanTeam, `SELECT id, settings, created_at FROM teams ORDER BY id`)
}

// PutOrganisation adds an organisation or changes the settings of the one with its ID.
func (s *Store) PutOrganisation(ctx context.Context, by Actor, o Organisation) error {
	return s.change(ctx, by, Event{Organisations, o.ID}, "organisation.put", &o, exec(`INSERT INTO organisations (id, settings, created_at) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET settings = excluded.settings`, plain(o.ID), object(o.Settings), micros(o.CreatedAt)))
}

// DeleteOrganisation removes an organisation; what was spent stays in the ledger. ErrNotFound where there is none.
func (s *Store) DeleteOrganisation(ctx context.Context, by Actor, id string) error {
	return s.change(ctx, by, Event{Organisations, id}, "organisation.delete", nil, execOne(`DELETE FROM organisations WHERE id = $1`, plain(id)))
}

// Organisations gives all organisations by name.
func (s *Store) Organisations(ctx context.Context) ([]Organisation, error) {
	return all(ctx, s, func(rows *sql.Rows) (Organisation, error) {
		t, err := scanTeam(rows)
		return Organisation(t), err
	}, `SELECT id, settings, created_at FROM organisations ORDER BY id`)
}

func scanTeam(rows *sql.Rows) (Team, error) {
	var t Team
	var settings string
	var created int64
	err := rows.Scan(&t.ID, &settings, &created)
	t.Settings, t.CreatedAt = json.RawMessage(settings), fromMicros(created)
	return t, err
}

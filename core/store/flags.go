package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// DisabledModel is a model that is not to be used, until it is enabled again.
type DisabledModel struct {
	Name   string    `json:"name"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// DisableModel notes that a model is disabled; By is the actor's name. Doing so again changes the reason.
func (s *Store) DisableModel(ctx context.Context, by Actor, m DisabledModel) error {
	m.By = by.Name
	return s.change(ctx, by, Event{DisabledModels, m.Name}, "model.disable", map[string]string{"reason": m.Reason},
		exec(`INSERT INTO disabled_models (name, actor, at, reason) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET actor = excluded.actor, at = excluded.at, reason = excluded.reason`, plain(m.Name), plain(m.By), micros(m.At), plain(m.Reason)))
}

// EnableModel takes that back. ErrNotFound where the model was not disabled.
func (s *Store) EnableModel(ctx context.Context, by Actor, name string) error {
	return s.change(ctx, by, Event{DisabledModels, name}, "model.enable", nil, execOne(`DELETE FROM disabled_models WHERE name = $1`, plain(name)))
}

// DisabledModels gives what is disabled, by name.
func (s *Store) DisabledModels(ctx context.Context) ([]DisabledModel, error) {
	return all(ctx, s, func(rows *sql.Rows) (DisabledModel, error) {
		var m DisabledModel
		var at int64
		err := rows.Scan(&m.Name, &m.By, &at, &m.Reason)
		m.At = fromMicros(at)
		return m, err
	}, `SELECT name, actor, at, reason FROM disabled_models ORDER BY name`)
}

// HealthFlag is what gateways tell each other, and their successors, of a backend's health.
type HealthFlag struct {
	Backend string          `json:"backend"`
	State   json.RawMessage `json:"state"` // core/health's
	At      time.Time       `json:"at"`
}

// PutHealthFlag notes the state of a backend. It is no change by a person, so it is not in the audit log.
func (s *Store) PutHealthFlag(ctx context.Context, f HealthFlag) error {
	return s.write(ctx, Event{HealthFlags, f.Backend}, exec(`INSERT INTO health_flags (backend, state, at) VALUES ($1, $2, $3)
ON CONFLICT (backend) DO UPDATE SET state = excluded.state, at = excluded.at`, plain(f.Backend), object(f.State), micros(f.At)))
}

// DeleteHealthFlag forgets a backend, known or not.
func (s *Store) DeleteHealthFlag(ctx context.Context, backend string) error {
	return s.write(ctx, Event{HealthFlags, backend}, exec(`DELETE FROM health_flags WHERE backend = $1`, plain(backend)))
}

// HealthFlags gives the flags of all backends, by name.
func (s *Store) HealthFlags(ctx context.Context) ([]HealthFlag, error) {
	return all(ctx, s, func(rows *sql.Rows) (HealthFlag, error) {
		var f HealthFlag
		var state string
		var at int64
		err := rows.Scan(&f.Backend, &state, &at)
		f.State, f.At = json.RawMessage(state), fromMicros(at)
		return f, err
	}, `SELECT backend, state, at FROM health_flags ORDER BY backend`)
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Key is a key that clients bear. Its secret is not kept.
type Key struct {
	ID        string          `json:"id"`
	Prefix    string          `json:"prefix"` // the start of the secret, by which people know it again
	SHA256    [32]byte        `json:"-"`      // of the whole secret
	Name      string          `json:"name"`   // of keys in force no other has it
	Team      string          `json:"team,omitempty"`
	Settings  json.RawMessage `json:"settings"` // core/admit's: limits, budget, models
	CreatedAt time.Time       `json:"created_at"`
	RevokedAt time.Time       `json:"revoked_at,omitzero"` // zero: in force

	PreviousSHA256 [32]byte  `json:"-"` // of the secret before the last rotation
	PreviousUntil  time.Time `json:"previous_until,omitzero"`
}

// PutKey adds a key, or changes name, team and settings of the one with its ID. ErrTaken where another key in force has the
// name, or another key the secret.
func (s *Store) PutKey(ctx context.Context, by Actor, k Key) error {
	return s.change(ctx, by, Event{Keys, k.ID}, "key.put", &k, exec(`INSERT INTO keys (id, prefix, sha256, name, team, settings, created_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, team = excluded.team, settings = excluded.settings`,
		plain(k.ID), plain(k.Prefix), k.SHA256[:], plain(k.Name), plain(k.Team), object(k.Settings), micros(k.CreatedAt)))
}

// Rotation is another secret for a key.
type Rotation struct {
	ID     string // of the key
	Prefix string // of the secret
	SHA256 [32]byte
	// Until is how long the secret that was in force still works beside it; zero: not any more. One that was before that
	// ends in any case.
	Until time.Time
}

const rotateKey = `UPDATE keys SET prefix = $2, sha256 = $3, previous_until = CAST($4 AS BIGINT),
	previous_sha256 = CASE WHEN CAST($4 AS BIGINT) > 0 THEN sha256 ELSE NULL END
WHERE id = $1 AND revoked_at = 0`

// RotateKey gives a key another secret. ErrNotFound where there is no such key in force.
func (s *Store) RotateKey(ctx context.Context, by Actor, r Rotation) error {
	detail := struct {
		Prefix        string    `json:"prefix"`
		PreviousUntil time.Time `json:"previous_until,omitzero"`
	}{r.Prefix, r.Until}
	return s.change(ctx, by, Event{Keys, r.ID}, "key.rotate", detail, execOne(rotateKey, plain(r.ID), plain(r.Prefix), r.SHA256[:], micros(r.Until)))
}

// RevokeKey ends a key for good; the providers' credentials that it brought are forgotten. ErrNotFound where there is no
// such key in force.
func (s *Store) RevokeKey(ctx context.Context, by Actor, id string, at time.Time) error {
	return s.change(ctx, by, Event{Keys, id}, "key.revoke", nil, both(
		execOne(`UPDATE keys SET revoked_at = $2, previous_until = 0, previous_sha256 = NULL WHERE id = $1 AND revoked_at = 0`, plain(id), micros(at)),
		disown(Owner{OwnedByKey, id})))
}

const selectKey = `SELECT id, prefix, sha256, name, team, settings, created_at, revoked_at, previous_sha256, previous_until FROM keys
WHERE sha256 = $1 OR previous_sha256 = $1`

const selectKeys = `SELECT id, prefix, sha256, name, team, settings, created_at, revoked_at, previous_sha256, previous_until FROM keys
ORDER BY created_at, id`

// Key finds a key by the hash of its secret, or of the secret before the last rotation; revoked or not, and whether that
// secret still works or not.
func (s *Store) Key(ctx context.Context, sha256 [32]byte) (Key, error) {
	return one(ctx, s, scanKey, selectKey, sha256[:])
}

// Keys gives all keys, revoked ones included, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) { return all(ctx, s, scanKey, selectKeys) }

func scanKey(rows *sql.Rows) (Key, error) {
	var k Key
	var hash, previous []byte
	var settings string
	var created, revoked, until int64
	err := rows.Scan(&k.ID, &k.Prefix, &hash, &k.Name, &k.Team, &settings, &created, &revoked, &previous, &until)
	copy(k.SHA256[:], hash)
	copy(k.PreviousSHA256[:], previous)
	k.Settings, k.CreatedAt, k.RevokedAt, k.PreviousUntil = json.RawMessage(settings), fromMicros(created), fromMicros(revoked), fromMicros(until)
	return k, err
}

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

// object is JSON for a column; nothing is an empty object.
func object(b json.RawMessage) string {
	if len(b) == 0 {
		return "{}"
	}
	return string(b)
}

// execOne is a write of one statement that must change a row.
func execOne(statement string, args ...any) func(ctx context.Context, tx *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrNotFound
	}
}

// both is a write of two parts.
func both(one, two func(ctx context.Context, tx *sql.Tx) error) func(ctx context.Context, tx *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		if err := one(ctx, tx); err != nil {
			return err
		}
		return two(ctx, tx)
	}
}

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
	Name      string          `json:"name"`
	Team      string          `json:"team,omitempty"`
	Settings  json.RawMessage `json:"settings"` // core/admit's: limits, budget, models
	CreatedAt time.Time       `json:"created_at"`
	RevokedAt time.Time       `json:"revoked_at,omitzero"` // zero: in force
}

// Team is keys with limits and a budget in common.
type Team struct {
	ID        string          `json:"id"`
	Settings  json.RawMessage `json:"settings"` // core/admit's
	CreatedAt time.Time       `json:"created_at"`
}

// PutKey adds a key, or changes name, team and settings of the one with its ID. A secret that another key has is an error.
func (s *Store) PutKey(ctx context.Context, by Actor, k Key) error {
	return s.change(ctx, by, Event{Keys, k.ID}, "key.put", &k, exec(`INSERT INTO keys (id, prefix, sha256, name, team, settings, created_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, team = excluded.team, settings = excluded.settings`,
		plain(k.ID), plain(k.Prefix), k.SHA256[:], plain(k.Name), plain(k.Team), object(k.Settings), micros(k.CreatedAt)))
}

// RotateKey gives a key another secret; the old one is not valid any more. ErrNotFound where there is no such key in force.
func (s *Store) RotateKey(ctx context.Context, by Actor, id, prefix string, sha256 [32]byte) error {
	return s.change(ctx, by, Event{Keys, id}, "key.rotate", map[string]string{"prefix": prefix},
		execOne(`UPDATE keys SET prefix = $2, sha256 = $3 WHERE id = $1 AND revoked_at = 0`, plain(id), plain(prefix), sha256[:]))
}

// RevokeKey ends a key for good. ErrNotFound where there is no such key in force.
func (s *Store) RevokeKey(ctx context.Context, by Actor, id string, at time.Time) error {
	return s.change(ctx, by, Event{Keys, id}, "key.revoke", nil,
		execOne(`UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at = 0`, plain(id), micros(at)))
}

// Key finds a key by the hash of its secret, revoked or not.
func (s *Store) Key(ctx context.Context, sha256 [32]byte) (Key, error) {
	return one(ctx, s, scanKey, `SELECT id, prefix, sha256, name, team, settings, created_at, revoked_at FROM keys WHERE sha256 = $1`, sha256[:])
}

// Keys gives all keys, revoked ones included, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	return all(ctx, s, scanKey, `SELECT id, prefix, sha256, name, team, settings, created_at, revoked_at FROM keys ORDER BY created_at, id`)
}

func scanKey(rows *sql.Rows) (Key, error) {
	var k Key
	var hash []byte
	var settings string
	var created, revoked int64
	err := rows.Scan(&k.ID, &k.Prefix, &hash, &k.Name, &k.Team, &settings, &created, &revoked)
	copy(k.SHA256[:], hash)
	k.Settings, k.CreatedAt, k.RevokedAt = json.RawMessage(settings), fromMicros(created), fromMicros(revoked)
	return k, err
}

// PutTeam adds a team or changes the settings of the one with its ID.
func (s *Store) PutTeam(ctx context.Context, by Actor, t Team) error {
	return s.change(ctx, by, Event{Teams, t.ID}, "team.put", &t, exec(`INSERT INTO teams (id, settings, created_at) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET settings = excluded.settings`, plain(t.ID), object(t.Settings), micros(t.CreatedAt)))
}

// DeleteTeam removes a team; what was spent stays in the ledger. ErrNotFound where there is none.
func (s *Store) DeleteTeam(ctx context.Context, by Actor, id string) error {
	return s.change(ctx, by, Event{Teams, id}, "team.delete", nil, execOne(`DELETE FROM teams WHERE id = $1`, plain(id)))
}

// Teams gives all teams by name.
func (s *Store) Teams(ctx context.Context) ([]Team, error) {
	return all(ctx, s, func(rows *sql.Rows) (Team, error) {
		var t Team
		var settings string
		var created int64
		err := rows.Scan(&t.ID, &settings, &created)
		t.Settings, t.CreatedAt = json.RawMessage(settings), fromMicros(created)
		return t, err
	}, `SELECT id, settings, created_at FROM teams ORDER BY id`)
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

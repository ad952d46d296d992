package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Actor is who makes a change, and from where.
type Actor struct {
	Name   string // such as "admin", or a user's
	Origin string // such as an address, or "cli"
}

// Change is a row of the audit log.
type Change struct {
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"`
	Origin  string          `json:"origin"`
	Action  string          `json:"action"`  // such as key.revoke
	Subject string          `json:"subject"` // what was changed
	Detail  json.RawMessage `json:"detail"`  // without secrets
}

const insertChange = `INSERT INTO audit (at, actor, origin, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)`

// Audit notes a change of something that the store does not keep itself. Changes of keys, teams, models and flags are noted
// with the change, in its transaction.
func (s *Store) Audit(ctx context.Context, c Change) error {
	return s.write(ctx, Event{}, noted(&c))
}

func noted(c *Change) func(ctx context.Context, tx *sql.Tx) error {
	return exec(insertChange, micros(c.At), plain(c.Actor), plain(c.Origin), plain(c.Action), plain(c.Subject), object(c.Detail))
}

// change makes a change, notes it and tells of it.
func (s *Store) change(ctx context.Context, by Actor, e Event, action string, detail any, fn func(ctx context.Context, tx *sql.Tx) error) error {
	c := Change{At: time.Now(), Actor: by.Name, Origin: by.Origin, Action: action, Subject: e.ID}
	if detail != nil {
		b, err := json.Marshal(detail)
		if err != nil {
			return s.failed(err)
		}
		c.Detail = b
	}
	note := noted(&c)
	return s.write(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return note(ctx, tx)
	})
}

// Changes gives the newest rows of the audit log, the newest first.
func (s *Store) Changes(ctx context.Context, limit int) ([]Change, error) {
	return all(ctx, s, func(rows *sql.Rows) (Change, error) {
		var c Change
		var at int64
		var detail string
		err := rows.Scan(&at, &c.Actor, &c.Origin, &c.Action, &c.Subject, &detail)
		c.At, c.Detail = fromMicros(at), json.RawMessage(detail)
		return c, err
	}, `SELECT at, actor, origin, action, subject, detail FROM audit ORDER BY seq DESC LIMIT $1`, limit)
}

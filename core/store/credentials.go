package store

import (
	"context"
	"database/sql"
	"time"
)

// Owner is whose a credential is.
type Owner struct {
	Kind string // OwnedByKey, OwnedByTeam
	ID   string // of a key of the store; else the name
}

// The kinds of owners.
const (
	OwnedByKey  = "key"
	OwnedByTeam = "team"
)

// Credential is a provider's credential that a key or a team brings itself. What it consists of is encrypted:
// core/credential seals and opens it.
type Credential struct {
	Owner     Owner     `json:"owner"`
	Provider  string    `json:"provider"`
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix"`    // of the secret, by which people know it again
	SealedBy  string    `json:"sealed_by"` // the id of the encryption key
	Sealed    []byte    `json:"-"`
	CreatedAt time.Time `json:"created_at"`
}

// subject names the credential in the audit log.
func (c *Credential) subject() string {
	return c.Owner.Kind + " " + c.Owner.ID + ": " + c.Provider + "/" + c.Name
}

const putCredential = `INSERT INTO credentials (owner_kind, owner, provider, name, prefix, sealed_by, sealed, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (owner_kind, owner, provider, name) DO UPDATE SET
	prefix = excluded.prefix, sealed_by = excluded.sealed_by, sealed = excluded.sealed, created_at = excluded.created_at`

// PutCredential adds a credential, or puts it into the place of the one with its owner, provider and name.
func (s *Store) PutCredential(ctx context.Context, by Actor, c Credential) error {
	return s.change(ctx, by, Event{Credentials, c.subject()}, "credential.put", &c, exec(putCredential, plain(c.Owner.Kind), plain(c.Owner.ID),
		plain(c.Provider), plain(c.Name), plain(c.Prefix), plain(c.SealedBy), c.Sealed, micros(c.CreatedAt)))
}

// DeleteCredential removes the credential with the owner, provider and name of c. ErrNotFound where there is none.
func (s *Store) DeleteCredential(ctx context.Context, by Actor, c Credential) error {
	return s.change(ctx, by, Event{Credentials, c.subject()}, "credential.delete", nil,
		execOne(`DELETE FROM credentials WHERE owner_kind = $1 AND owner = $2 AND provider = $3 AND name = $4`,
			plain(c.Owner.Kind), plain(c.Owner.ID), plain(c.Provider), plain(c.Name)))
}

// Resealed is a credential that was encrypted anew.
type Resealed struct {
	Credential        // as it was read
	By         string // the id of the key
	Text       []byte
}

const resealCredential = `UPDATE credentials SET sealed_by = $5, sealed = $6
WHERE owner_kind = $1 AND owner = $2 AND provider = $3 AND name = $4 AND sealed = $7`

// ResealCredentials puts what was encrypted anew into the place of what was read. A credential that was changed meanwhile is
// left as it is; the number is that of the others.
func (s *Store) ResealCredentials(ctx context.Context, by Actor, list []Resealed) (done int, err error) {
	err = s.change(ctx, by, Event{Kind: Credentials}, "credential.reseal", map[string]int{"credentials": len(list)}, func(ctx context.Context, tx *sql.Tx) error {
		done = 0
		for i := range list {
			c := &list[i]
			r, err := tx.ExecContext(ctx, resealCredential, plain(c.Owner.Kind), plain(c.Owner.ID), plain(c.Provider), plain(c.Name), plain(c.By), c.Text, c.Sealed)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			if err != nil {
				return err
			}
			done += int(n)
		}
		return nil
	})
	return done, err
}

// Credentials gives all credentials, those of an owner for a provider in the order in which they were put.
func (s *Store) Credentials(ctx context.Context) ([]Credential, error) {
	return all(ctx, s, func(rows *sql.Rows) (Credential, error) {
		var c Credential
		var created int64
		err := rows.Scan(&c.Owner.Kind, &c.Owner.ID, &c.Provider, &c.Name, &c.Prefix, &c.SealedBy, &c.Sealed, &created)
		c.CreatedAt = fromMicros(created)
		return c, err
	}, `SELECT owner_kind, owner, provider, name, prefix, sealed_by, sealed, created_at FROM credentials
ORDER BY owner_kind, owner, provider, created_at, name`)
}

// disown is the write by which an owner that ends takes its credentials with it.
func disown(o Owner) func(ctx context.Context, tx *sql.Tx) error {
	return exec(`DELETE FROM credentials WHERE owner_kind = $1 AND owner = $2`, o.Kind, plain(o.ID))
}

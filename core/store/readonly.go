package store

import (
	"context"
	"database/sql"
	"errors"
)

// errReadOnly is what a write gets on a store that was opened for reading.
var errReadOnly = errors.New("opened for reading only")

// readOnly is the backend of a store that was opened for reading.
type readOnly struct{ check func(context.Context) error }

func (readOnly) write(context.Context, func(context.Context, *sql.Tx) error) error {
	return errReadOnly
}
func (readOnly) insertRows(context.Context, []Row) (int, error) { return 0, errReadOnly }
func (readOnly) announce(context.Context, *sql.Tx, Event) error { return errReadOnly }
func (readOnly) taken(error) bool                               { return false }
func (r readOnly) intact(ctx context.Context) error             { return r.check(ctx) }
func (readOnly) close()                                         {}

// Package store keeps the rows that must survive: the ledger's (Row), what was changed by whom (Change), keys, teams
// and organisations (Key, Team, Organisation), the providers' credentials that these bring themselves (Credential),
// models that were disabled (DisabledModel), what is known of backends' health (HealthFlag), the inputs of routing
// decisions (Decision), and what each day cost (Spend). SQLite is the default; PostgreSQL is for several gateways that
// share one store.
//
// Every call waits for the store and is bounded by its context, and by a limit of the store's own where that has none: none
// of them belongs on the path of a request. What is asked on that path is cached by its owners, who are told of changes by
// Subscribe: core/admit for keys, teams and credentials, core/route for models, core/health for flags. Counters of limits and budgets
// are core/limits'; exactly-once and the time before a row is written are core/ledger's. Settings and states are JSON that
// the store does not read.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotFound is what a look-up gives that found nothing.
var ErrNotFound = errors.New("not found")

// ErrTaken is the cause where a row cannot be because another has what only one may have, such as a name.
var ErrTaken = errors.New("taken by another")

// ErrBehind is the cause where a store was opened for reading that an older penstock wrote: the next gateway that serves on
// it brings it up to date.
var ErrBehind = errors.New("the store is older than this penstock")

// Options say which store is opened and how.
type Options struct {
	URL      string // sqlite:// or sqlite://PATH, postgres://…; "": sqlite://
	Dir      string // where penstock.db lies for a URL without a path
	Durable  bool   // SQLite: a write is on disk when it returns; else a power cut may lose the last ones. PostgreSQL decides itself
	ReadOnly bool   // nothing is written, migrations included; a store that is not there is an error
	Log      *slog.Logger
}

// Store is an open store. It is for use by many at once.
type Store struct {
	name    string // for errors: no password
	read    *sql.DB
	backend backend
	feed    feed
	log     *slog.Logger
}

// backend is what differs between the databases.
type backend interface {
	// write runs fn in a transaction, which is committed where fn gives no error.
	write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error
	// insertRows inserts those rows that are not there, and counts them.
	insertRows(ctx context.Context, rows []Row) (int, error)
	// announce tells other processes, in the transaction of a change, what it changed.
	announce(ctx context.Context, tx *sql.Tx, e Event) error
	// taken says whether an error is that of a row which would have what another has already.
	taken(err error) bool
	// intact looks for damage in the files of the database.
	intact(ctx context.Context) error
	close()
}

// patience bounds a call whose context has no end.
const patience = 10 * time.Second

// opening bounds what Open waits for: others that migrate, and its own migrations.
const opening = 5 * time.Minute

// Open opens a store and brings its tables up to date. Only one process migrates at a time; the others wait for it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	scheme, path, ok := strings.Cut(o.URL, "://")
	if o.URL == "" {
		scheme, ok = "sqlite", true
	}
	switch {
	case ok && scheme == "sqlite":
		if path == "" {
			path = filepath.Join(o.Dir, "penstock.db")
		}
		return openSQLite(ctx, path, &o)
	case ok && scheme == "postgres":
		return openPostgres(ctx, &o)
	}
	return nil, fmt.Errorf("store %q: want sqlite:// or postgres://", scheme)
}

// Close ends what runs for the store. Writes that wait are carried out first.
func (s *Store) Close() {
	s.backend.close()
	s.read.Close()
}

// Name says which store it is, without any secret.
func (s *Store) Name() string { return s.name }

// Intact looks for damage in the files of the database, as far as the database can tell. It reads all of it.
func (s *Store) Intact(ctx context.Context) error { return s.failed(s.backend.intact(ctx)) }

// write runs fn in a transaction and then tells subscribers of what it changed.
func (s *Store) write(ctx context.Context, e Event, fn func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := s.backend.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := fn(ctx, tx); err != nil || e.Kind == 0 {
			return err
		}
		return s.backend.announce(ctx, tx, e)
	})
	if err != nil {
		return s.failed(err)
	}
	if e.Kind != 0 {
		s.feed.tell(e)
	}
	return nil
}

// failed names the store in an error.
func (s *Store) failed(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrNotFound):
		return err
	case s.backend != nil && s.backend.taken(err):
		return fmt.Errorf("%s: %w", s.name, ErrTaken)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// exec is a write of one statement.
func exec(statement string, args ...any) func(ctx context.Context, tx *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
}

// all reads the rows of a query, each with scan.
func all[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, s.failed(err)
		}
		list = append(list, v)
	}
	return list, s.failed(rows.Err())
}

// one reads the only row of a query; none is ErrNotFound.
func one[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), query string, args ...any) (T, error) {
	list, err := all(ctx, s, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// micros is how a time stands in a table; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// plain makes a text what every database takes: UTF-8 without NUL.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

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

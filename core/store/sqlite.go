package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteBackend is a database in a file. SQLite takes one writer at a time, so there is one: a goroutine that carries out
// what waits together in one transaction.
type sqliteBackend struct {
	db      *sql.DB // one connection
	inserts [len(rowsAtOnce)]*sql.Stmt
	queue   chan *job
	quit    chan struct{}
	done    chan struct{}
	ending  sync.Once
}

// job is a write that waits for its transaction.
type job struct {
	fn    func(ctx context.Context, tx *sql.Tx) error
	taken atomic.Bool // by the writer, or by its owner, who waits no longer
	done  chan error
}

const (
	maxWaiting = 256 // writes that wait for the writer
	maxGroup   = 64  // writes of one transaction
	readers    = 4   // connections that read
)

// rowsAtOnce are the numbers of rows that one statement inserts, the largest that fits first: half of what a statement costs
// is for beginning and ending it.
var rowsAtOnce = [...]int{32, 8, 1}

// errClosed is what a write gets after Close.
var errClosed = errors.New("closed")

func openSQLite(ctx context.Context, file string, o *Options) (*Store, error) {
	s := &Store{name: "store " + file, log: o.Log}
	var err error
	if o.ReadOnly {
		_, err = os.Stat(file)
	} else {
		err = makeFile(file)
	}
	if err != nil {
		if at := new(os.PathError); errors.As(err, &at) && at.Path == file {
			err = at.Err // the store's name has the path
		}
		return nil, s.failed(err)
	}
	read, err := openFile(file, "", readers)
	if err != nil {
		return nil, s.failed(err)
	}
	if s.read = read; o.ReadOnly {
		s.backend = readOnly{func(ctx context.Context) error { return intactSQLite(ctx, read) }}
		if err := migrateSQLite(ctx, read, true); err != nil {
			read.Close()
			return nil, s.failed(err)
		}
		return s, nil
	}
	b := &sqliteBackend{queue: make(chan *job, maxWaiting), quit: make(chan struct{}), done: make(chan struct{})}
	synchronous := "NORMAL"
	if o.Durable {
		synchronous = "FULL"
	}
	if b.db, err = openFile(file, synchronous, 1); err == nil {
		if err = migrateSQLite(ctx, b.db, false); err == nil {
			err = b.prepare(ctx)
		}
		if err == nil {
			s.backend = b
			go b.run()
			return s, nil
		}
		b.db.Close()
	}
	read.Close()
	return nil, s.failed(err)
}

// makeFile makes the database's file where there is none: for its owner alone, as are then the files that SQLite puts beside.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openFile opens a pool of connections: for reading alone where synchronous is empty. With NORMAL a commit is written to the
// log and not flushed: it survives the process and not a power cut, which damages nothing. With FULL it survives both.
func openFile(file, synchronous string, connections int) (*sql.DB, error) {
	q := url.Values{"_busy_timeout": {"5000"}, "_defensive": {"1"}, "_dqs": {"0"}}
	if synchronous == "" {
		q.Set("mode", "ro")
		q.Set("_query_only", "1")
	} else {
		q.Set("mode", "rwc")
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", synchronous)
		q.Set("_pragma", "temp_store(MEMORY)") // what takes a statement back is kept for each of them: in a file it costs half the time
		q.Set("_txlock", "immediate")          // a read lock that is upgraded fails at once where another process writes
	}
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// migrateSQLite brings the tables up to date, in one transaction that holds the write lock.
func migrateSQLite(ctx context.Context, db *sql.DB, readOnly bool) error {
	list, err := migrations("sqlite")
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var have int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have >= len(list) || readOnly {
		return upToDate(have, len(list))
	}
	for i := have; i < len(list); i++ { // each ends with the number that it brings the schema to
		if _, err := tx.ExecContext(ctx, list[i]); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
	}
	return tx.Commit()
}

func (b *sqliteBackend) write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil { // a select takes any that is ready: the queue too
		return err
	}
	select {
	case <-b.quit:
		return errClosed
	default:
	}
	j := &job{fn: fn, done: make(chan error, 1)}
	select {
	case b.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.quit:
		return errClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-b.done:
		if j.taken.CompareAndSwap(false, true) {
			return errClosed
		}
	}
	return <-j.done // what is being carried out is over within the writer's patience
}

// run carries writes out until the end, and then what still waits.
func (b *sqliteBackend) run() {
	defer close(b.done)
	for {
		select {
		case j := <-b.queue:
			b.commit(b.group(j))
		case <-b.quit:
			for len(b.queue) > 0 {
				b.commit(b.group(<-b.queue))
			}
			return
		}
	}
}

// group takes what waits behind the first.
func (b *sqliteBackend) group(first *job) []*job {
	list := []*job{first}
	for len(list) < maxGroup {
		select {
		case j := <-b.queue:
			list = append(list, j)
		default:
			return list
		}
	}
	return list
}

// commit carries a group out. Each write stands in a savepoint, so that one that fails takes none of the others with it.
func (b *sqliteBackend) commit(list []*job) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results := make([]error, len(list))
	list = slices.DeleteFunc(list, func(j *job) bool { return !j.taken.CompareAndSwap(false, true) })
	err := inTransaction(ctx, b.db, func(tx *sql.Tx) error {
		for i, j := range list {
			var fatal error
			if results[i], fatal = inSavepoint(ctx, tx, j); fatal != nil {
				return fatal
			}
		}
		return nil
	})
	for i, j := range list {
		if results[i] == nil {
			results[i] = err
		}
		j.done <- results[i]
	}
}

// inSavepoint gives what became of a write, and an error where the transaction cannot go on. The context is the group's:
// where one of its own ended in the middle of a statement, SQLite would take back what the whole group has written
// (https://www.sqlite.org/c3ref/interrupt.html).
func inSavepoint(ctx context.Context, tx *sql.Tx, j *job) (result, fatal error) {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return err, err
	}
	if result = j.fn(ctx, tx); result != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return result, err
		}
	}
	_, fatal = tx.ExecContext(ctx, "RELEASE one")
	return result, fatal
}

func inTransaction(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// prepare has the statements parsed that insert rows, for as long as the store is open.
func (b *sqliteBackend) prepare(ctx context.Context) (err error) {
	for i, statement := range []string{insertMany, insertEight, insertOne} {
		if b.inserts[i], err = b.db.PrepareContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (b *sqliteBackend) insertRows(ctx context.Context, rows []Row) (inserted int, err error) {
	err = b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var args []any
		for left := rows; len(left) > 0; {
			i := slices.IndexFunc(rowsAtOnce[:], func(n int) bool { return n <= len(left) })
			some := left[:rowsAtOnce[i]]
			left = left[len(some):]
			args = args[:0]
			for j := range some {
				args = some[j].appendValues(args)
			}
			r, err := tx.StmtContext(ctx, b.inserts[i]).ExecContext(ctx, args...)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			if err != nil {
				return err
			}
			inserted += int(n)
		}
		return nil
	})
	return inserted, err
}

// announce has nobody to tell: a file has one gateway.
func (b *sqliteBackend) announce(context.Context, *sql.Tx, Event) error { return nil }

func (b *sqliteBackend) taken(err error) bool {
	var refused *sqlite.Error
	if !errors.As(err, &refused) {
		return false
	}
	code := refused.Code()
	return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

func (b *sqliteBackend) intact(ctx context.Context) error { return intactSQLite(ctx, b.db) }

func intactSQLite(ctx context.Context, db *sql.DB) error {
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("damaged: %s", said)
	}
	return nil
}

func (b *sqliteBackend) close() {
	b.ending.Do(func() { close(b.quit) })
	<-b.done
	b.db.Close()
}

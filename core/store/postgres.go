package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresBackend is a database that several gateways share.
type postgresBackend struct {
	pool *pgxpool.Pool
	db   *sql.DB
	node string // tells our own notifications from others'
	stop context.CancelFunc
	done sync.WaitGroup
}

const (
	// channel is what changes are told on.
	channel = "penstock"
	// migrating is the advisory lock of whoever migrates; the number is arbitrary.
	migrating = 0x70656e73746f636b
	// dialing bounds a connection's beginning.
	dialing = 5 * time.Second
	// listening is how long nothing may come from a connection that listens, before it is asked whether it lives.
	listening = 15 * time.Second
)

func openPostgres(ctx context.Context, o *Options) (*Store, error) {
	conf, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err) // its text leaves the password out
	}
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = dialing
	}
	s := &Store{name: "store postgres://" + conf.ConnConfig.Host + "/" + conf.ConnConfig.Database, log: o.Log}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, s.failed(err)
	}
	b := &postgresBackend{pool: pool, db: stdlib.OpenDBFromPool(pool), node: rand.Text()}
	s.read = b.db
	if err := b.migrate(ctx, o.ReadOnly); err != nil {
		b.db.Close()
		pool.Close()
		return nil, s.failed(err)
	}
	s.backend = b
	if b.stop = func() {}; !o.ReadOnly {
		var listen context.Context
		listen, b.stop = context.WithCancel(context.WithoutCancel(ctx))
		b.done.Go(func() { s.listen(listen, conf.ConnConfig, b.node) })
	}
	return s, nil
}

const versionTable = `CREATE TABLE IF NOT EXISTS penstock_schema (version BIGINT NOT NULL)`

// migrate brings the tables up to date, in one transaction that holds a lock which nobody else takes.
func (b *postgresBackend) migrate(ctx context.Context, readOnly bool) error {
	list, err := migrations("postgres")
	if err != nil {
		return err
	}
	if readOnly {
		have, err := b.version(ctx)
		if err != nil {
			return err
		}
		return upToDate(have, len(list))
	}
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrating)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, versionTable); err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(version), 0) FROM penstock_schema`).Scan(&have); err != nil {
			return err
		}
		for i := have; i < len(list); i++ {
			if _, err := tx.Exec(ctx, list[i]); err != nil {
				return fmt.Errorf("migration %d: %w", i+1, err)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO penstock_schema (version) VALUES ($1)`, i+1); err != nil {
				return err
			}
		}
		return upToDate(max(have, len(list)), len(list))
	})
}

// version is that of the tables; 0 where there are none.
func (b *postgresBackend) version(ctx context.Context) (n int, err error) {
	var table *string
	if err := b.pool.QueryRow(ctx, `SELECT CAST(to_regclass('penstock_schema') AS TEXT)`).Scan(&table); err != nil || table == nil {
		return 0, err
	}
	return n, b.pool.QueryRow(ctx, `SELECT COALESCE(MAX(version), 0) FROM penstock_schema`).Scan(&n)
}

func (b *postgresBackend) write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	return inTransaction(ctx, b.db, func(tx *sql.Tx) error { return fn(ctx, tx) })
}

const insertRecords = `INSERT INTO ledger (` + rowColumns + `)
SELECT ` + rowColumns + `
FROM json_populate_recordset(NULL::ledger, $1) ON CONFLICT (request_id, attempt) DO NOTHING`

// record is a row as the table has it.
type record struct {
	Row
	StartedAt int64 `json:"started_at"`
	EndedAt   int64 `json:"ended_at"`
}

// insertRows sends all rows in one statement, so that many cost one round trip.
func (b *postgresBackend) insertRows(ctx context.Context, rows []Row) (int, error) {
	records := make([]record, len(rows))
	for i := range rows {
		r := rows[i]
		for _, text := range []*string{&r.RequestID, &r.Key, &r.Team, &r.Organisation, &r.Model, &r.Provider, &r.Deployment, &r.UpstreamModel, &r.Credential, &r.Status, &r.Outcome} {
			*text = plain(*text)
		}
		r.CostNanoUSD = min(r.CostNanoUSD, MaxCost)
		records[i] = record{r, micros(r.StartedAt), micros(r.EndedAt)}
	}
	text, err := json.Marshal(records)
	if err != nil {
		return 0, err
	}
	tag, err := b.pool.Exec(ctx, insertRecords, string(text))
	return int(tag.RowsAffected()), err
}

// announce tells the other gateways: node, kind and id.
func (b *postgresBackend) announce(ctx context.Context, tx *sql.Tx, e Event) error {
	payload := b.node + " " + strconv.Itoa(int(e.Kind)) + " " + plain(e.ID)
	_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, $2)`, channel, payload)
	return err
}

func (b *postgresBackend) taken(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "23505" // unique_violation
}

// intact asks nothing: the server looks after its own files.
func (b *postgresBackend) intact(ctx context.Context) error { return b.pool.Ping(ctx) }

func (b *postgresBackend) close() {
	b.stop()
	b.done.Wait()
	b.db.Close()
	b.pool.Close()
}

// listen tells of the changes of other gateways until ctx ends. What may have been missed while there was no connection is
// told as a change of everything.
func (s *Store) listen(ctx context.Context, conf *pgx.ConnConfig, node string) {
	const first, most = 100 * time.Millisecond, 5 * time.Second
	for wait, missed := first, false; ctx.Err() == nil; missed = true {
		began := time.Now()
		err := s.hear(ctx, conf.Copy(), node, missed)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > most {
			wait = first
		}
		s.log.Warn("store: changes of other gateways are not heard", "error", err, "retry_in", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, most)
	}
}

// hear tells of changes for as long as its connection lives.
func (s *Store) hear(ctx context.Context, conf *pgx.ConnConfig, node string, missed bool) error {
	dial, cancel := context.WithTimeout(ctx, dialing)
	defer cancel()
	c, err := pgx.ConnectConfig(dial, conf)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(end)
	}()
	if _, err := c.Exec(dial, "LISTEN "+channel); err != nil {
		return err
	}
	if missed {
		s.feed.tellAll()
	}
	for {
		wait, cancel := context.WithTimeout(ctx, listening)
		n, err := c.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			s.heard(n.Payload, node)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			ping, cancel := context.WithTimeout(ctx, dialing)
			err := c.Ping(ping)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// heard tells of one change, unless it is our own, of which has been told.
func (s *Store) heard(payload, node string) {
	parts := strings.SplitN(payload, " ", 3)
	if len(parts) != 3 || parts[0] == node {
		return
	}
	if n, err := strconv.Atoi(parts[1]); err == nil && Keys <= Kind(n) && Kind(n) < kinds {
		s.feed.tell(Event{Kind(n), parts[2]})
	}
}

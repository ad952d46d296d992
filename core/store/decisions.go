package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"
)

// Decision is what a router decided for one request, with what is needed to decide it again. What it saw of its targets is
// kept apart, by its hash, since many decisions saw the same.
type Decision struct {
	RequestID string
	Router    string
	At        time.Time
	Facts     [32]byte // of PutDecisionFacts
	Input     []byte   // core/policy's own form, as all that follows
	Outcome   []byte
}

// PutDecisions adds decisions; one that is there already is left as it is.
func (s *Store) PutDecisions(ctx context.Context, list []Decision) error {
	return s.write(ctx, Event{}, func(ctx context.Context, tx *sql.Tx) error {
		st, err := tx.PrepareContext(ctx, `INSERT INTO decisions (request_id, router, at, facts, input, outcome) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (request_id, router) DO NOTHING`)
		if err != nil {
			return err
		}
		defer st.Close()
		for i := range list {
			d := &list[i]
			if _, err := st.ExecContext(ctx, plain(d.RequestID), plain(d.Router), micros(d.At), d.Facts[:], blob(d.Input), blob(d.Outcome)); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutDecisionFacts keeps what decisions saw, under its hash. Doing so again keeps it longer.
func (s *Store) PutDecisionFacts(ctx context.Context, hash [32]byte, at time.Time, data []byte) error {
	return s.write(ctx, Event{}, exec(`INSERT INTO decision_facts (hash, at, data) VALUES ($1, $2, $3)
ON CONFLICT (hash) DO UPDATE SET at = excluded.at`, hash[:], micros(at), blob(data)))
}

// DecisionFacts gives what was kept under a hash.
func (s *Store) DecisionFacts(ctx context.Context, hash [32]byte) ([]byte, error) {
	return one(ctx, s, func(rows *sql.Rows) (b []byte, err error) { return b, rows.Scan(&b) }, `SELECT data FROM decision_facts WHERE hash = $1`, hash[:])
}

// DecisionsOf gives the decisions of one request, one for each router that was asked.
func (s *Store) DecisionsOf(ctx context.Context, requestID string) ([]Decision, error) {
	return all(ctx, s, scanDecision, `SELECT request_id, router, at, facts, input, outcome FROM decisions WHERE request_id = $1 ORDER BY at, router`, plain(requestID))
}

// Decisions gives a router's decisions since a time, the oldest first; an empty name stands for all routers. After an error
// there are no more.
func (s *Store) Decisions(ctx context.Context, router string, since time.Time) iter.Seq2[Decision, error] {
	return func(yield func(Decision, error) bool) {
		rows, err := s.read.QueryContext(ctx, `SELECT request_id, router, at, facts, input, outcome FROM decisions
WHERE at >= $1 AND (CAST($2 AS TEXT) = '' OR router = $2) ORDER BY at, request_id`, micros(since), plain(router))
		if err != nil {
			yield(Decision{}, s.failed(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			d, err := scanDecision(rows)
			if !yield(d, s.failed(err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Decision{}, s.failed(err))
		}
	}
}

func scanDecision(rows *sql.Rows) (Decision, error) {
	var d Decision
	var at int64
	var facts []byte
	err := rows.Scan(&d.RequestID, &d.Router, &at, &facts, &d.Input, &d.Outcome)
	if err == nil && len(facts) != len(d.Facts) {
		err = errors.New("decision " + d.RequestID + ": its facts have no hash")
	}
	copy(d.Facts[:], facts)
	d.At = fromMicros(at)
	return d, err
}

// ForgetDecisions removes the decisions from before a time, and the facts that were last kept before it.
func (s *Store) ForgetDecisions(ctx context.Context, before time.Time) error {
	return s.write(ctx, Event{}, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE at < $1`, micros(before)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM decision_facts WHERE at < $1 AND NOT EXISTS (SELECT 1 FROM decisions WHERE facts = hash)`, micros(before))
		return err
	})
}

// blob is bytes for a column that is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

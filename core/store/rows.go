package store

import (
	"context"
	"database/sql"
	"iter"
	"time"
)

// Row is one upstream call in the ledger, or one answer out of the cache (attempt 0). Its JSON is what `penstock ledger list`
// and the admin API print. InputTokens includes what was read from a cache and written to one, OutputTokens includes
// reasoning.
type Row struct {
	Seq              int64     `json:"-"` // the order of insertion; given by the store
	RequestID        string    `json:"request_id"`
	Attempt          int       `json:"attempt"`
	Generation       int64     `json:"generation"`
	Key              string    `json:"key"`
	Team             string    `json:"team"`
	Organisation     string    `json:"organisation"`
	Model            string    `json:"model"`
	Provider         string    `json:"provider"`
	Deployment       string    `json:"deployment"`
	UpstreamModel    string    `json:"upstream_model"` // as the provider calls it
	Credential       string    `json:"credential"`
	StartedAt        time.Time `json:"started_at"`
	EndedAt          time.Time `json:"ended_at"`
	Status           string    `json:"status"`
	Outcome          string    `json:"outcome"`
	InputTokens      int64     `json:"input_tokens"`
	CacheReadTokens  int64     `json:"cache_read_tokens"`
	CacheWriteTokens int64     `json:"cache_write_tokens"`
	OutputTokens     int64     `json:"output_tokens"`
	ReasoningTokens  int64     `json:"reasoning_tokens"`
	CostNanoUSD      int64     `json:"cost_nano_usd"`
	Estimated        bool      `json:"estimated"`
	PossibleCost     bool      `json:"possible_cost"` // refunded, and yet the provider may charge for it

	CacheWriteHourTokens int64 `json:"cache_write_1h_tokens"` // of those written to a cache
	AudioInputTokens     int64 `json:"audio_input_tokens"`    // of the input that was not cached, as are images
	ImageInputTokens     int64 `json:"image_input_tokens"`
	AudioOutputTokens    int64 `json:"audio_output_tokens"`
	ImageOutputTokens    int64 `json:"image_output_tokens"`
	WebSearches          int64 `json:"web_searches"` // by the provider's own tools, as far as it tells
}

// MaxCost is more than one call can cost, in nano-USD: a million USD. Costs beyond it are kept as it, so that no sum of
// them overflows.
const MaxCost = 1_000_000 * 1_000_000_000

// rowColumns are the columns of a row but for its seq, which the store gives.
const rowColumns = `request_id, attempt, generation, key, team, organisation, model, provider, deployment, upstream_model, credential, started_at, ended_at,
	status, outcome, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nano_usd, estimated, possible_cost,
	cache_write_1h_tokens, audio_input_tokens, image_input_tokens, audio_output_tokens, image_output_tokens, web_searches`

// The statements that insert one row, and several at once.
const (
	oneRow    = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	eightRows = oneRow + ", " + oneRow + ", " + oneRow + ", " + oneRow + ", " + oneRow + ", " + oneRow + ", " + oneRow + ", " + oneRow

	insertInto  = "INSERT INTO ledger (" + rowColumns + ") VALUES "
	onlyNew     = " ON CONFLICT (request_id, attempt) DO NOTHING"
	insertOne   = insertInto + oneRow + onlyNew
	insertEight = insertInto + eightRows + onlyNew
	insertMany  = insertInto + eightRows + ", " + eightRows + ", " + eightRows + ", " + eightRows + onlyNew
)

// appendValues appends a row's values, in the order of rowColumns.
func (r *Row) appendValues(dst []any) []any {
	return append(dst, plain(r.RequestID), r.Attempt, r.Generation, plain(r.Key), plain(r.Team), plain(r.Organisation), plain(r.Model), plain(r.Provider), plain(r.Deployment),
		plain(r.UpstreamModel), plain(r.Credential), micros(r.StartedAt), micros(r.EndedAt), plain(r.Status), plain(r.Outcome), r.InputTokens, r.CacheReadTokens, r.CacheWriteTokens,
		r.OutputTokens, r.ReasoningTokens, min(r.CostNanoUSD, MaxCost), r.Estimated, r.PossibleCost,
		r.CacheWriteHourTokens, r.AudioInputTokens, r.ImageInputTokens, r.AudioOutputTokens, r.ImageOutputTokens, r.WebSearches)
}

// InsertRows adds rows to the ledger, all of them or none. One whose request and attempt are there already changes nothing,
// so that whoever does not know whether rows arrived sends them again; the number is that of the others.
func (s *Store) InsertRows(ctx context.Context, rows []Row) (inserted int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	inserted, err = s.backend.insertRows(ctx, rows)
	return inserted, s.failed(err)
}

// Filter chooses rows of the ledger. What is empty chooses all.
type Filter struct {
	RequestID  string
	Key, Model string
	Since      time.Time // of the call's start
	Until      time.Time // the first moment that is no longer wanted
	Limit      int       // the newest so many
}

// Rows gives the rows that a filter chooses, in the order in which they were written. After an error there are no more. It
// reads as it goes: the store is busy with it until the end, for which there is no limit but the context's.
func (s *Store) Rows(ctx context.Context, f Filter) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := s.query(ctx, &f)
		if err != nil {
			yield(Row{}, s.failed(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRow(rows)
			if !yield(r, s.failed(err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Row{}, s.failed(err))
		}
	}
}

func (s *Store) query(ctx context.Context, f *Filter) (*sql.Rows, error) {
	if f.RequestID != "" { // by the index of the table's own
		return s.read.QueryContext(ctx, selectRequest, plain(f.RequestID))
	}
	until, limit := int64(1)<<62, int64(1)<<62
	if !f.Until.IsZero() {
		until = micros(f.Until)
	}
	if f.Limit > 0 {
		limit = int64(f.Limit)
	}
	return s.read.QueryContext(ctx, selectRows, micros(f.Since), until, plain(f.Key), plain(f.Model), limit)
}

const selectRequest = `SELECT seq, ` + rowColumns + ` FROM ledger WHERE request_id = $1 ORDER BY seq`

const selectRows = `SELECT * FROM (
	SELECT seq, ` + rowColumns + ` FROM ledger
	WHERE started_at >= $1 AND started_at < $2 AND (CAST($3 AS TEXT) = '' OR key = $3) AND (CAST($4 AS TEXT) = '' OR model = $4)
	ORDER BY seq DESC LIMIT $5
) AS newest ORDER BY seq`

func scanRow(rows *sql.Rows) (Row, error) {
	var r Row
	var started, ended int64
	err := rows.Scan(&r.Seq, &r.RequestID, &r.Attempt, &r.Generation, &r.Key, &r.Team, &r.Organisation, &r.Model, &r.Provider, &r.Deployment, &r.UpstreamModel, &r.Credential, &started, &ended,
		&r.Status, &r.Outcome, &r.InputTokens, &r.CacheReadTokens, &r.CacheWriteTokens, &r.OutputTokens, &r.ReasoningTokens, &r.CostNanoUSD, &r.Estimated, &r.PossibleCost,
		&r.CacheWriteHourTokens, &r.AudioInputTokens, &r.ImageInputTokens, &r.AudioOutputTokens, &r.ImageOutputTokens, &r.WebSearches)
	r.StartedAt, r.EndedAt = fromMicros(started), fromMicros(ended)
	return r, err
}

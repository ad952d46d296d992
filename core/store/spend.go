package store

import (
	"context"
	"database/sql"
	"time"
)

// Spend is what one key, team, organisation and model cost on one day of UTC.
type Spend struct {
	Day          time.Time `json:"day"` // its first moment
	Key          string    `json:"key"`
	Team         string    `json:"team"`
	Organisation string    `json:"organisation"`
	Model        string    `json:"model"`
	Calls        int64     `json:"calls"`
	InputTokens  int64     `json:"input_tokens"`
	OutputTokens int64     `json:"output_tokens"`
	CostNanoUSD  int64     `json:"cost_nano_usd"`
}

const day = 24 * time.Hour

const selectSpend = `SELECT day, key, team, organisation, model, calls, input_tokens, output_tokens, cost_nano_usd FROM spend
WHERE day >= $1 AND day < $2 ORDER BY day, key, team, organisation, model`

// Spend gives what was spent on the days from since up to until, which is not included; times of day do not count. A zero
// until is without end.
func (s *Store) Spend(ctx context.Context, since, until time.Time) ([]Spend, error) {
	return all(ctx, s, scanSpend, selectSpend, dayOf(since), endDay(until))
}

// SpentByKey is what a key's calls cost from the day of since on, in nano-USD.
func (s *Store) SpentByKey(ctx context.Context, key string, since time.Time) (int64, error) {
	return one(ctx, s, scanInt, `SELECT CAST(COALESCE(SUM(cost_nano_usd), 0) AS BIGINT) FROM spend WHERE day >= $1 AND key = $2`, dayOf(since), plain(key))
}

// SpentByTeam is what the calls of a team's keys cost from the day of since on, in nano-USD.
func (s *Store) SpentByTeam(ctx context.Context, team string, since time.Time) (int64, error) {
	return one(ctx, s, scanInt, `SELECT CAST(COALESCE(SUM(cost_nano_usd), 0) AS BIGINT) FROM spend WHERE day >= $1 AND team = $2`, dayOf(since), plain(team))
}

// SpentByOrganisation is what the calls of the keys of an organisation's teams cost from the day of since on, in nano-USD.
func (s *Store) SpentByOrganisation(ctx context.Context, organisation string, since time.Time) (int64, error) {
	return one(ctx, s, scanInt, `SELECT CAST(COALESCE(SUM(cost_nano_usd), 0) AS BIGINT) FROM spend WHERE day >= $1 AND organisation = $2`,
		dayOf(since), plain(organisation))
}

const selectAstray = `SELECT day, key, team, organisation, model, CAST(SUM(calls) AS BIGINT), CAST(SUM(input) AS BIGINT), CAST(SUM(output) AS BIGINT), CAST(SUM(cost) AS BIGINT) FROM (
	SELECT day, key, team, organisation, model, calls, input_tokens AS input, output_tokens AS output, cost_nano_usd AS cost FROM spend
	UNION ALL
	SELECT started_at / 86400000000, key, team, organisation, model, -1, -input_tokens, -output_tokens, -cost_nano_usd FROM ledger
) AS both_sides GROUP BY day, key, team, organisation, model
HAVING SUM(calls) <> 0 OR SUM(input) <> 0 OR SUM(output) <> 0 OR SUM(cost) <> 0 ORDER BY day, key, team, organisation, model`

// Astray gives those sums by which the days and the ledger's rows differ; there are none unless something else than penstock
// has written. It reads the whole ledger.
func (s *Store) Astray(ctx context.Context) ([]Spend, error) {
	return all(ctx, s, scanSpend, selectAstray)
}

func scanSpend(rows *sql.Rows) (Spend, error) {
	var v Spend
	var n int64
	err := rows.Scan(&n, &v.Key, &v.Team, &v.Organisation, &v.Model, &v.Calls, &v.InputTokens, &v.OutputTokens, &v.CostNanoUSD)
	v.Day = time.UnixMicro(n * day.Microseconds()).UTC()
	return v, err
}

func scanInt(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }

// dayOf counts days since 1970, as the tables do.
func dayOf(t time.Time) int64 { return micros(t) / day.Microseconds() }

func endDay(until time.Time) int64 {
	if until.IsZero() {
		return 1 << 40
	}
	return dayOf(until)
}

// UpstreamUsage is what calls of one model of a provider used on one day of UTC, as the ledger has it.
type UpstreamUsage struct {
	Day              time.Time
	Provider         string
	Model            string // as the provider calls it
	InputTokens      int64
	CacheReadTokens  int64
	CacheWriteTokens int64
	OutputTokens     int64
	CostNanoUSD      int64
	Estimated        int64 // calls whose figures are not the provider's

	CacheWriteHourTokens int64 // of CacheWriteTokens
	AudioInputTokens     int64 // of InputTokens
	AudioOutputTokens    int64 // of OutputTokens
	WebSearches          int64
}

const selectUpstream = `SELECT started_at / 86400000000 AS started_on, provider, upstream_model, CAST(SUM(input_tokens) AS BIGINT), CAST(SUM(cache_read_tokens) AS BIGINT),
	CAST(SUM(cache_write_tokens) AS BIGINT), CAST(SUM(output_tokens) AS BIGINT), CAST(SUM(cost_nano_usd) AS BIGINT),
	CAST(SUM(CASE WHEN status = 'estimated' THEN 1 ELSE 0 END) AS BIGINT), CAST(SUM(cache_write_1h_tokens) AS BIGINT), CAST(SUM(web_searches) AS BIGINT),
	CAST(SUM(audio_input_tokens) AS BIGINT), CAST(SUM(audio_output_tokens) AS BIGINT)
FROM ledger WHERE started_at >= $1 AND started_at < $2 AND attempt > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

// UpstreamUsage sums the calls that began from since up to until, which is not included, by day, provider and model. It
// reads all rows of the time.
func (s *Store) UpstreamUsage(ctx context.Context, since, until time.Time) ([]UpstreamUsage, error) {
	return all(ctx, s, func(rows *sql.Rows) (UpstreamUsage, error) {
		var v UpstreamUsage
		var n int64
		err := rows.Scan(&n, &v.Provider, &v.Model, &v.InputTokens, &v.CacheReadTokens, &v.CacheWriteTokens, &v.OutputTokens, &v.CostNanoUSD, &v.Estimated,
			&v.CacheWriteHourTokens, &v.WebSearches, &v.AudioInputTokens, &v.AudioOutputTokens)
		v.Day = time.UnixMicro(n * day.Microseconds()).UTC()
		return v, err
	}, selectUpstream, micros(since), micros(until))
}

package ledger

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // what was written past the store is what is to be found

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestVerifyRows holds what is found in rows and sums that are wrong.
func TestVerifyRows(t *testing.T) {
	good := func() store.Row {
		c := call("r", 1)
		e := settle(c, Success, sdk.Usage{Input: 1, CacheRead: 2, CacheWrite: 2, CacheWriteHour: 1, AudioInput: 6, ImageInput: 7, Output: 4, Reasoning: 5, AudioOutput: 8, ImageOutput: 9, Known: true}, true)
		e.ended = c.Started.UnixMicro()
		return c.row(&e)
	}
	f := func(want string, change func(r *store.Row)) {
		t.Helper()
		r := good()
		change(&r)
		if got := strings.Join(judge(&r), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("", func(*store.Row) {})
	f(`status "open": want settled, estimated or refunded`, func(r *store.Row) { r.Status = "open" })
	f(`outcome "": want one of the list`, func(r *store.Row) { r.Outcome = "" })
	f("tokens below zero", func(r *store.Row) { r.CacheReadTokens = -1 })
	f("a cost that cannot be", func(r *store.Row) { r.CostNanoUSD = -1 })
	f("more parts of the input than input", func(r *store.Row) { r.InputTokens = 17 })
	f("more parts of the input than input", func(r *store.Row) { r.AudioInputTokens = 8 })
	f("more parts of the output than output", func(r *store.Row) { r.ReasoningTokens = 10 })
	f("more parts of the output than output", func(r *store.Row) { r.ImageOutputTokens = 14 })
	f("more written to a cache for an hour than was written", func(r *store.Row) { r.CacheWriteHourTokens = 4 })
	f("an end before its start", func(r *store.Row) { r.EndedAt = r.StartedAt.Add(-time.Microsecond) })
	f("an attempt below zero", func(r *store.Row) { r.Attempt = -1 })
	f("refunded, with tokens or a cost", func(r *store.Row) { r.Status = "refunded" })
	f("a possible cost beside a charge", func(r *store.Row) { r.PossibleCost = true })
	f("charged by estimate, and not marked so", func(r *store.Row) { r.Status = "estimated" })
	f("an answer out of the cache, with a cost or an attempt", func(r *store.Row) { r.Outcome = "cached" })
}

// verified gives what Verify finds, one line each, without the folder's path.
func verified(t *testing.T, dir string, s *store.Store) string {
	t.Helper()
	found, err := Verify(t.Context(), dir, s, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintln(&b, strings.ReplaceAll(f.Subject, dir+"/", ""), "·", f.Problem)
	}
	return b.String()
}

// TestVerifyJournals holds what is found beside a process that lives, and beside one that has died.
func TestVerifyJournals(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	out := &outage{Rows: s, out: true}
	l := openLedger(t, Options{Dir: dir, Store: out})
	f := func(when, want string) {
		t.Helper()
		if got := verified(t, dir, s); got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	begin := func(n int) Slot {
		slot, err := l.Begin(call("r", n))
		if err != nil {
			t.Fatal(err)
		}
		slot.Sent()
		return slot
	}
	begin(1)
	f("a call in flight", "")
	begin(2).Settle(Success, sdk.Usage{Input: 1, Known: true}, began)
	f("a store that is out", "journal inflight-0.journal · 1 call ended and without a row: the store does not take them\n")
	out.set(false)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := Await(t.Context(), dir); left != 0 || err != nil {
		t.Errorf("await: got %d, %v", left, err)
	}
	f("after the outage", "")
	torn := begin(3)
	l.journal.cells[torn.i].text[0] ^= 1
	l.Close(t.Context())
	f("a process that ended with calls open", "journal inflight-0.journal · 1 call of a process that ended without closing it: run `penstock ledger repair`, or serve\n"+
		"journal inflight-0.journal · 1 cell damaged: nothing is known of what was called\n")
	if done, err := Recover(t.Context(), dir, s, l.log); err != nil || done != (Recovery{Charged: 1, Damaged: 1}) {
		t.Errorf("recovered: got %+v, %v", done, err)
	}
	f("after the recovery", "")

	db, err := sql.Open("sqlite", filepath.Join(dir, "penstock.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`DELETE FROM ledger WHERE attempt = 2; UPDATE ledger SET status = 'refunded'`); err != nil {
		t.Fatal(err)
	}
	f("rows that somebody changed", "row r/1 · refunded, with tokens or a cost\n"+`sum of 2026-11-29, key "k", team "t", organisation "o", model "m" · has +1 calls, +3000 nano-USD beside the rows`+"\n")
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == killedArg {
		killed(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

// openStore opens a real store in a folder.
func openStore(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func openLedger(t testing.TB, o Options) *Ledger {
	t.Helper()
	if o.Slots == 0 {
		o.Slots = 64
	}
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	l, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

func allRows(t testing.TB, s *store.Store) []store.Row {
	t.Helper()
	var list []store.Row
	for r, err := range s.Rows(t.Context(), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

var (
	began = time.Date(2026, 11, 29, 12, 0, 0, 123000, time.UTC)
	cents = &price.Period{Rates: price.Rates{Input: 3e9, Output: 15e9, Reasoning: 15e9, CacheRead: 3e8, CacheWrite: 3_750_000_000}}
)

func call(id string, attempt int) *Call {
	return &Call{RequestID: id, Attempt: attempt, Generation: 7, Key: "k", Team: "t", Organisation: "o", Model: "m", Provider: "p", Deployment: "m/p", Upstream: "m-1", Credential: "c",
		Started: began, Price: cents, Estimate: Estimate{Input: 100, Output: 200}}
}

// TestSettle holds what each end of a call is charged.
func TestSettle(t *testing.T) {
	used := sdk.Usage{Input: 10, CacheRead: 20, CacheWrite: 30, Output: 40, Reasoning: 50, Known: true}
	disputed, seen := used, sdk.Usage{Output: 7}
	disputed.Disputed = true
	const cost = 10*3000 + 20*300 + 30*3750 + 90*15000
	const guess = 100*3000 + 200*15000
	f := func(o Outcome, sent bool, u sdk.Usage, want string) {
		t.Helper()
		c := call("r", 1)
		e := settle(c, o, u, sent)
		r := c.row(&e)
		got := fmt.Sprintf("%s in %d out %d cost %d", r.Status, r.InputTokens, r.OutputTokens, r.CostNanoUSD)
		if r.Estimated {
			got += " estimated"
		}
		if r.PossibleCost {
			got += " possible"
		}
		if got != want {
			t.Errorf("%s, sent %t, %+v: got %q, want %q", o, sent, u, got, want)
		}
	}
	whole := fmt.Sprintf("settled in 60 out 90 cost %d", cost)
	estimate := fmt.Sprintf("estimated in 100 out 200 cost %d estimated", guess)
	for o := range Outcome(len(outcomes)) {
		if o != Cached {
			f(o, true, used, whole)
			f(o, true, disputed, whole+" estimated")
			f(o, false, sdk.Usage{}, "refunded in 0 out 0 cost 0")
		}
	}
	f(Cached, false, used, "settled in 60 out 90 cost 0")
	f(Cached, false, sdk.Usage{}, "settled in 0 out 0 cost 0")
	for _, o := range []Outcome{Success, ClientClosed, ClientStalled, UpstreamTruncated, ErrorAfterCommit, GuardBlocked, Crashed} {
		f(o, true, sdk.Usage{}, estimate)
		f(o, true, seen, fmt.Sprintf("estimated in 100 out 7 cost %d estimated", 100*3000+7*15000))
	}
	f(UpstreamError, true, sdk.Usage{}, "refunded in 0 out 0 cost 0")
	f(Timeout, true, seen, "refunded in 0 out 0 cost 0 possible")
	f(HedgeLost, true, sdk.Usage{}, "refunded in 0 out 0 cost 0 possible")
}

func TestUnknownPrice(t *testing.T) {
	c := call("r", 1)
	c.Price = nil
	e := settle(c, Success, sdk.Usage{Input: 1, Known: true}, true)
	if r := c.row(&e); r.CostNanoUSD != 0 || !r.Estimated || r.Status != "settled" {
		t.Errorf("got %+v", r)
	}
}

// TestOnce holds that a call has one row, whoever settles it and how often.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLedger(t, Options{Dir: dir, Store: s})
	slot, err := l.Begin(call("r", 1))
	if err != nil {
		t.Fatal(err)
	}
	slot.Sent()
	var wg sync.WaitGroup
	costs := make([]int64, 8)
	for i := range costs {
		wg.Go(func() {
			used := sdk.Usage{Input: 1, Output: int64(i), Known: true}
			told := slot.Cost(Success, used)
			if costs[i] = slot.Settle(Success, used, began.Add(time.Second)); costs[i] != 0 && (told != costs[i] || slot.Cost(Success, used) != 0) {
				t.Errorf("told that it would cost %d, cost %d", told, costs[i])
			}
		})
	}
	wg.Wait()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := l.Begin(call("r", 2)) // takes the same cell
	if err != nil {
		t.Fatal(err)
	}
	if next.i != slot.i {
		t.Fatalf("cell %d: want %d again", next.i, slot.i)
	}
	slot.Sent()
	if c := slot.Settle(Success, sdk.Usage{Input: 99, Known: true}, began); c != 0 {
		t.Errorf("settled again: cost %d, want 0", c)
	}
	next.Settle(Success, sdk.Usage{}, began.Add(-time.Hour))
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := allRows(t, s)
	if len(rows) != 2 {
		t.Fatalf("got %d rows, want 2: %+v", len(rows), rows)
	}
	var sum int64
	for _, c := range costs {
		sum += c
	}
	if rows[0].CostNanoUSD != sum {
		t.Errorf("cost: the row has %d, callers were told %d", rows[0].CostNanoUSD, sum)
	}
	if rows[1].Status != "refunded" || rows[1].EndedAt.Before(rows[1].StartedAt) {
		t.Errorf("a call that was not sent: got %+v", rows[1])
	}
	if _, err := l.Begin(call("r", 3)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
	var none Slot
	none.Sent()
	none.Settle(Success, sdk.Usage{}, began)
}

// outage is a store that fails for as long as it is told to.
type outage struct {
	Rows
	tried chan struct{} // gets one for each try, where somebody waits

	mu  sync.Mutex
	out bool // guarded by mu
}

func (o *outage) set(out bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = out
}

func (o *outage) InsertRows(ctx context.Context, rows []store.Row) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out {
		select {
		case o.tried <- struct{}{}:
		default:
		}
		return 0, errors.New("the store is out")
	}
	return o.Rows.InsertRows(ctx, rows)
}

// TestOutage holds that rows wait for a store that is out, that calls are refused when no more can wait, and that all is
// well again afterwards.
func TestOutage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	out := &outage{Rows: s, out: true, tried: make(chan struct{}, 1)}
	l := openLedger(t, Options{Dir: dir, Store: out, Slots: 5, Wait: 10 * time.Millisecond})
	begin := func(n int) error {
		slot, err := l.Begin(call("r", n))
		slot.Sent()
		slot.Settle(Success, sdk.Usage{Input: 1, Known: true}, began)
		return err
	}
	for n := range 5 {
		if err := begin(n + 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(6); !errors.Is(err, ErrFull) {
		t.Errorf("full: got %v", err)
	}
	<-out.tried
	<-out.tried // the first try is over, and what became of it is known
	if l.Outage() == nil {
		t.Error("outage: not told")
	}
	out.set(false)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Outage(); err != nil {
		t.Errorf("after the outage: got %v", err)
	}
	out.set(true) // before there is a row that could be written
	if err := begin(6); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var left *LeftError
	if err := l.Close(ctx); !errors.As(err, &left) || left.Rows != 1 {
		t.Errorf("closed in an outage: got %v", err)
	}
	if n := len(allRows(t, s)); n != 5 {
		t.Errorf("rows: got %d, want 5", n)
	}
	l2, done, err := Open(t.Context(), Options{Dir: dir, Store: s, Slots: 5})
	if err != nil {
		t.Fatal(err)
	}
	l2.Close(t.Context())
	if done != (Recovery{Settled: 1}) {
		t.Errorf("recovered: got %+v", done)
	}
	if n := len(allRows(t, s)); n != 6 {
		t.Errorf("rows: got %d, want 6", n)
	}
}

// TestWaiting holds that those who wait for a slot get one each as slots come free.
func TestWaiting(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLedger(t, Options{Dir: dir, Store: s, Slots: 3, Wait: time.Minute})
	var wg sync.WaitGroup
	for n := range 60 {
		wg.Go(func() {
			slot, err := l.Begin(call("r", n+1))
			if err != nil {
				t.Error(err)
			}
			slot.Settle(Success, sdk.Usage{}, began)
		})
	}
	wg.Wait()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(allRows(t, s)); n != 60 {
		t.Errorf("rows: got %d, want 60", n)
	}
}

// TestTwice holds that calls which share a request and an attempt, a fault elsewhere, are told of.
func TestTwice(t *testing.T) {
	dir := t.TempDir()
	var logged strings.Builder
	s := openStore(t, dir)
	l, _, err := Open(t.Context(), Options{Dir: dir, Store: s, Slots: 4, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		slot, err := l.Begin(call("same", 1))
		if err != nil {
			t.Fatal(err)
		}
		slot.Settle(Success, sdk.Usage{}, began)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logged.String(), "calls=1 request_id=same") {
		t.Errorf("log: got %q", logged.String())
	}
}

// TestRecovery holds what becomes of the cells of a process that died, in each state.
func TestRecovery(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	dead := openLedger(t, Options{Dir: dir, Store: &outage{Rows: s, out: true}, Slots: 16})
	long := leaveOpen(t, dead)
	live := openLedger(t, Options{Dir: dir, Store: s}) // the other lives still: nothing of it is touched
	if n := len(allRows(t, s)); n != 0 {
		t.Fatalf("rows of a process that lives: got %d", n)
	}
	live.Close(t.Context())
	dead.cutOff()
	dead.journal.release() // as the kernel does where a process dies

	before := time.Now()
	next, done, err := Open(t.Context(), Options{Dir: dir, Store: s, Slots: 8})
	if err != nil {
		t.Fatal(err)
	}
	next.Close(t.Context())
	if want := (Recovery{Settled: 1, Charged: 2, Refunded: 2, Damaged: 2}); done != want {
		t.Errorf("recovered: got %+v, want %+v", done, want)
	}
	want := func(c *Call, status, outcome string, in, out int64) store.Row {
		r := c.row(&ending{input: in, output: out})
		r.Status, r.Outcome, r.CostNanoUSD, r.Estimated = status, outcome, in*3000+out*15000, status == "estimated"
		return r
	}
	long.Model = long.Model[:len(cell{}.text)-100-3] // key, team and organisation stand before it, and what follows finds no place
	long.Provider, long.Deployment, long.Upstream, long.Credential = "", "", "", ""
	wants := []store.Row{want(call("reserved", 1), "refunded", "crashed", 0, 0), want(call("sent", 1), "estimated", "crashed", 100, 200),
		want(call("ended", 2), "settled", "client_closed", 5, 6), want(long, "refunded", "crashed", 0, 0), want(call("intended", 1), "estimated", "crashed", 100, 200)}
	rows := allRows(t, s)
	if d := cmp.Diff(wants, rows, cmpopts.IgnoreFields(store.Row{}, "Seq", "EndedAt")); d != "" {
		t.Fatalf("rows (-want +got):\n%s", d)
	}
	if rows[2].EndedAt != began.Add(time.Minute) || rows[0].EndedAt.Before(before.Truncate(time.Microsecond)) {
		t.Errorf("ends: got %v and %v", rows[0].EndedAt, rows[2].EndedAt)
	}
	if kept, err := os.ReadFile(journalPath(dir, 0) + ".damaged"); err != nil || len(kept) != headSize+16*cellSize {
		t.Errorf("the damaged journal: got %d bytes, %v", len(kept), err)
	}
	if again, err := Recover(t.Context(), dir, s, slog.New(slog.DiscardHandler)); err != nil || again != (Recovery{}) {
		t.Errorf("recovered again: got %+v, %v", again, err)
	}
}

// leaveOpen begins calls and leaves one in each state; it gives that whose texts are too long.
func leaveOpen(t *testing.T, l *Ledger) *Call {
	begin := func(c *Call) Slot {
		slot, err := l.Begin(c)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}
	begin(call("reserved", 1))
	begin(call("sent", 1)).Sent()
	slot := begin(call("ended", 2))
	slot.Sent()
	slot.Settle(ClientClosed, sdk.Usage{Input: 5, Output: 6, Known: true}, began.Add(time.Minute))
	long := call(strings.Repeat("r", 100), 1)
	long.Model = strings.Repeat("m", cellSize)
	begin(long)
	torn := begin(call("torn", 1))
	l.journal.cells[torn.i].text[0] ^= 1
	half := begin(call("half", 1))
	half.Sent()
	half.Settle(Success, sdk.Usage{Input: 1, Known: true}, began)
	l.journal.cells[half.i].end.input = 2
	power := begin(call("intended", 1))
	l.journal.cells[power.i].word.Store(put(power.seq, intended))
	return long
}

// TestStoreFails holds, for each n, that a store whose n-th commit fails costs no row and doubles none.
func TestStoreFails(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		for n := 1; n <= 6; n++ {
			dir := t.TempDir()
			s := openStore(t, dir)
			l := openLedger(t, Options{Dir: dir, Store: &failing{s, n, carriedOut}})
			for i := range 6 {
				slot, err := l.Begin(call("r", i+1))
				if err != nil {
					t.Fatal(err)
				}
				slot.Settle(Success, sdk.Usage{}, began)
				if err := l.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(allRows(t, s)); got != 6 {
				t.Errorf("failure of commit %d: got %d rows, want 6", n, got)
			}
		}
	}
}

// failing is a store whose n-th commit gives an error, carried out or not.
type failing struct {
	Rows
	n          int
	carriedOut bool
}

func (f *failing) InsertRows(ctx context.Context, rows []store.Row) (int, error) {
	f.n--
	if f.n != 0 {
		return f.Rows.InsertRows(ctx, rows)
	}
	if f.carriedOut {
		if _, err := f.Rows.InsertRows(ctx, rows); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("connection reset")
}

// discard is a store that keeps nothing.
type discard struct{}

func (discard) InsertRows(_ context.Context, rows []store.Row) (int, error) { return len(rows), nil }

// BenchmarkCall is what the ledger costs on a request's path (P16): a call's three steps, without the writer behind it.
func BenchmarkCall(b *testing.B) {
	l := openLedger(b, Options{Dir: b.TempDir(), Store: discard{}, Slots: usualSlots, Wait: time.Minute})
	u, ended, n := sdk.Usage{Input: 1000, Output: 200, Known: true}, began.Add(time.Second), 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%(usualSlots/2) == 0 {
			b.StopTimer()
			l.Flush(b.Context())
			b.StartTimer()
		}
		slot, err := l.Begin(benchCall)
		if err != nil {
			b.Fatal(err)
		}
		slot.Sent()
		slot.Settle(Success, u, ended)
	}
}

// BenchmarkRow is a call with all that stands behind it: its share of a commit of SQLite.
func BenchmarkRow(b *testing.B) {
	dir := b.TempDir()
	l := openLedger(b, Options{Dir: dir, Store: openStore(b, dir), Slots: usualSlots, Wait: time.Minute})
	c := *benchCall
	for b.Loop() {
		c.Attempt++
		slot, err := l.Begin(&c)
		if err != nil {
			b.Fatal(err)
		}
		slot.Sent()
		slot.Settle(Success, sdk.Usage{Input: 1000, Output: 200, Known: true}, began)
	}
	if err := l.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

var benchCall = &Call{RequestID: "req_01jdv4z0k5m8n9p2q3r4s5t6v7", Attempt: 1, Generation: 12, Key: "production", Team: "search", Model: "claude-sonnet-4-5",
	Provider: "anthropic", Deployment: "claude-sonnet-4-5/anthropic", Upstream: "claude-sonnet-4-5-20250929", Credential: "main", Started: began, Price: cents, Estimate: Estimate{Input: 1000, Output: 4096}}

// TestOlderJournal holds that the journal of an older version is taken where it has no calls, and refused where it has.
func TestOlderJournal(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLedger(t, Options{Dir: dir, Store: s})
	if _, err := l.Begin(call("open", 1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	age := func() {
		f, err := os.OpenFile(journalPath(dir, 0), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte{1}, int64(unsafe.Offsetof(head{}.version))); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(journalPath(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	age()
	if _, err := Recover(t.Context(), dir, s, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "version 1: want 2") {
		t.Errorf("with a call: got %v", err)
	}
	if err := os.WriteFile(journalPath(dir, 0), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := Recover(t.Context(), dir, s, slog.New(slog.DiscardHandler)); err != nil || done.Rows() != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	age()
	if done, err := Recover(t.Context(), dir, s, slog.New(slog.DiscardHandler)); err != nil || done.Rows() != 0 {
		t.Errorf("without calls: got %+v, %v", done, err)
	}
}

// TestAbsurdUsage holds that a figure which no provider can mean is none: the call is charged at its estimate.
func TestAbsurdUsage(t *testing.T) {
	price := price.Flat(price.Usual(1_000_000_000, 2_000_000_000))
	c := Call{Price: price.At(time.Time{}), Estimate: Estimate{Input: 10, Output: 5}}
	for _, u := range []sdk.Usage{sdk.UsageWithin(sdk.Counts{Input: 1 << 62, Output: 1}), sdk.UsageBeside(sdk.Counts{Input: 1, Output: 1 << 50})} {
		if end := settle(&c, Success, u, true); end.cost != 20_000 || status(end.status) != estimated || end.flags&isEstimated == 0 {
			t.Errorf("%+v: %+v, want the estimate", u, end)
		}
	}
	if end := settle(&c, Success, sdk.UsageWithin(sdk.Counts{Input: 1 << 30, Output: 1}), true); status(end.status) != settled {
		t.Errorf("much, but possible: %+v", end)
	}
}

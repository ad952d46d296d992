package ledger

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestPower holds that a call stands on disk before Begin returns, so that whenever the power is cut a row is made of it.
// The disk is a copy of the journal, taken at each flush.
func TestPower(t *testing.T) {
	dir := t.TempDir()
	l := openLedger(t, Options{Dir: dir, Store: openStore(t, dir), Power: true, Slots: 512})
	var mu sync.Mutex
	var disk []byte // guarded by mu
	flush := l.flusher.do
	l.flusher.do = func() error {
		mu.Lock()
		defer mu.Unlock()
		disk = bytes.Clone(l.journal.mem)
		return flush()
	}
	onDisk := func() []store.Row {
		mu.Lock()
		copied := bytes.Clone(disk)
		mu.Unlock()
		cells, err := readJournal(bytes.NewReader(copied), int64(len(copied)))
		if err != nil {
			t.Error(err)
		}
		rows, _ := leftOver(cells, time.Now())
		return rows
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := range 20 {
				id := "w" + strconv.Itoa(worker)
				slot, err := l.Begin(call(id, n+1))
				if err != nil {
					t.Error(err)
					return
				}
				made := func(r store.Row) bool {
					return r.RequestID == id && r.Attempt == n+1 && r.Status == "estimated" && r.Outcome == "crashed"
				}
				if !slices.ContainsFunc(onDisk(), made) {
					t.Errorf("%s/%d: is about to be sent, and is not on disk", id, n+1)
				}
				slot.Sent()
				slot.Settle(Success, sdk.Usage{Input: 1, Known: true}, began)
			}
		})
	}
	wg.Wait()
}

// TestFlushFails holds that a call is refused which the disk does not take, and that its row says that it was not sent.
func TestFlushFails(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLedger(t, Options{Dir: dir, Store: s, Power: true})
	broken := errors.New("input/output error")
	l.flusher.do = func() error { return broken }
	if _, err := l.Begin(call("r", 1)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := allRows(t, s); len(rows) != 1 || rows[0].Status != "refunded" {
		t.Errorf("rows: got %+v", rows)
	}
}

// TestFlusherJoins holds that none returns on a flush that had begun before it came: what it wrote may not be part of it.
func TestFlusherJoins(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	flushes := 0
	f := newFlusher(func() error {
		if flushes++; flushes == 1 {
			close(began)
			<-goOn
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { f.flush() })
	<-began
	var come sync.WaitGroup
	for range 10 {
		come.Add(1)
		wg.Go(func() {
			come.Done()
			f.flush()
		})
	}
	come.Wait()
	close(goOn)
	wg.Wait()
	if flushes < 2 || flushes > 11 {
		t.Errorf("got %d flushes, want another for those who came later, and at most one each", flushes)
	}
}

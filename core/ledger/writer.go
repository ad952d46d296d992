package ledger

import (
	"context"
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

const (
	writeEvery = 50 * time.Millisecond // how long rows wait for others; nobody is woken for one
	groupRows  = 512                   // rows of one commit
	firstPause = 50 * time.Millisecond // after a commit that failed; doubled up to lastPause
	lastPause  = 2 * time.Second
	oneTry     = 10 * time.Second // a commit's limit
)

// write makes rows of settled slots until Close, and then of those that are left. When run ends it gives up.
func (l *Ledger) write(run context.Context) {
	defer close(l.done)
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	w := writer{Ledger: l}
	for open := true; open && run.Err() == nil; {
		var flushed chan struct{}
		select {
		case <-tick.C:
		case flushed = <-l.flush:
		case <-l.quit:
			open = false
		}
		w.drain(run)
		if flushed != nil && run.Err() == nil {
			close(flushed)
		}
	}
}

// writer is what the writing goroutine uses again and again.
type writer struct {
	*Ledger
	took []uint32
	rows []store.Row
}

// drain writes the rows of all that has been settled, in groups.
func (w *writer) drain(run context.Context) {
	w.mu.Lock()
	w.took, w.settled = w.settled, w.took[:0]
	w.mu.Unlock()
	for done := 0; done < len(w.took); {
		group := w.took[done:min(done+groupRows, len(w.took))]
		if !w.commit(run, group) {
			w.mu.Lock()
			w.settled = append(w.settled, w.took[done:]...) // Close counts them
			w.mu.Unlock()
			return
		}
		w.release(group)
		done += len(group)
	}
}

// commit writes the rows of a group, as often as it takes; false where it was told to end.
func (w *writer) commit(run context.Context, group []uint32) bool {
	w.rows = w.rows[:0]
	for _, i := range group {
		e := &w.entries[i]
		w.rows = append(w.rows, e.call.row(&e.end))
	}
	for pause, tries := firstPause, 1; ; pause, tries = min(2*pause, lastPause), tries+1 {
		ctx, cancel := context.WithTimeout(run, oneTry)
		n, err := w.store.InsertRows(ctx, w.rows)
		cancel()
		if err == nil {
			w.committed(n, tries)
			return true
		}
		if w.outage.Swap(&err) == nil {
			w.log.Error("ledger: the store does not take rows: they wait in the journal", "error", err)
		}
		select {
		case <-run.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// committed notes what became of a group.
func (w *writer) committed(inserted, tries int) {
	if tries > 1 {
		w.outage.Store(nil)
		w.full.Store(false)
		w.log.Info("ledger: the store takes rows again")
		return // rows may have been there: an earlier try may have been carried out
	}
	if twice := len(w.rows) - inserted; twice > 0 {
		w.log.Error("ledger: calls under a request and attempt that have a row already: they are not written", "calls", twice, "request_id", w.rows[0].RequestID)
	}
}

// release gives the slots of a group back.
func (w *writer) release(group []uint32) {
	for _, i := range group {
		e := &w.entries[i]
		w.journal.cells[i].release(e.end.seq)
		e.call = Call{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = append(w.free, group...)
	if w.waiting > 0 {
		w.wake()
	}
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

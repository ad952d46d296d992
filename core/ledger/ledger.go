// Package ledger writes down each upstream call exactly once, whatever becomes of the call or of the process.
//
// A call takes a slot in the journal before anything is sent (Begin), says when bytes may have reached the upstream (Sent)
// and ends once (Settle). The journal is a file that is mapped into memory: a slot costs no system call and outlives the
// process, and a power cut where Options.Power is set. Behind the response, settled slots become rows of the store, many in one commit; a slot
// is free again only when its row is committed. What a dead process left open becomes rows by rule at the next Open: charged
// at the estimate where the call had been sent, refunded otherwise. A row that is written twice changes
// nothing, so no crash between commit and release counts twice.
//
// It leaves limits and budgets to core/limits, the order of attempts to core/relay, and whether a request is served while
// the store is out to who admits it: Outage tells, and Begin gives ErrFull when the journal cannot take more.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// Rows is where the ledger's rows end up: a core/store.
type Rows interface {
	// InsertRows adds rows, all or none, and tells how many were not there.
	InsertRows(ctx context.Context, rows []store.Row) (inserted int, err error)
}

// ErrFull is what Begin gives where the journal has no free slot and none came free in time.
var ErrFull = errors.New("ledger: the journal is full: the store does not take its rows")

// ErrClosed is what Begin gives after Close.
var ErrClosed = errors.New("ledger: closed")

// Options say where a ledger keeps its journal and where its rows go.
type Options struct {
	Dir   string // of the journal; it must be on a local disk
	Store Rows
	Log   *slog.Logger
	// Power has each call on disk before Begin returns, so that a power cut loses none: Store must keep its rows as well. A
	// flush takes up to milliseconds; calls that begin at once share one.
	Power bool
	Slots int           // calls that are open or not yet in the store; 0: 24,576, which are 24 MiB
	Wait  time.Duration // how long Begin waits for a slot; 0: 250 ms
}

const (
	usualSlots = 24576
	usualWait  = 250 * time.Millisecond
)

// Ledger is an open ledger. It is for use by many at once.
type Ledger struct {
	Tokens Estimator // for calls of which nobody says what they used

	tokensPath string // keeps what Tokens has learned

	store   Rows
	log     *slog.Logger
	wait    time.Duration
	journal *journal
	entries []entry  // beside each cell of the journal, what its row needs
	flusher *flusher // nil: nothing is flushed
	outage  atomic.Pointer[error]
	full    atomic.Bool // in the present outage

	mu      sync.Mutex // guards what follows, and the ends of cells
	free    []uint32   // the last that came free is the first to be used: few pages of the journal are touched
	settled []uint32   // wait for their rows
	seq     uint64
	waiting int
	closed  bool

	freed  chan struct{} // wakes one who waits for a slot
	flush  chan chan struct{}
	quit   chan struct{}
	cutOff context.CancelFunc // ends the writer's tries
	done   chan struct{}
}

// entry is the memory of a slot beside its cell: names in full, where the cell may have cut them.
type entry struct {
	open atomic.Uint64 // the number of the call whose slot it is; 0: ended, or free
	call Call
	end  ending
}

// Open takes a journal in the folder, after it has made rows of what dead processes left in theirs: the store must take
// them, or Open fails. Other processes that live have journals of their own beside it.
func Open(ctx context.Context, o Options) (*Ledger, Recovery, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Slots <= 0 {
		o.Slots = usualSlots
	}
	if o.Wait <= 0 {
		o.Wait = usualWait
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, Recovery{}, errors.New("ledger: " + err.Error())
	}
	done, err := Recover(ctx, o.Dir, o.Store, o.Log)
	if err != nil {
		return nil, done, err
	}
	j, err := takeJournal(o.Dir, o.Slots)
	if err != nil {
		return nil, done, err
	}
	l := &Ledger{store: o.Store, log: o.Log, wait: o.Wait, journal: j, entries: make([]entry, len(j.cells)), free: make([]uint32, 0, len(j.cells)),
		seq: uint64(time.Now().UnixMicro()), freed: make(chan struct{}, 1), flush: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{})}
	if o.Power {
		l.flusher = newFlusher(j.flush)
	}
	for i := len(j.cells) - 1; i >= 0; i-- {
		l.free = append(l.free, uint32(i))
	}
	l.tokensPath = filepath.Join(o.Dir, "tokens.json")
	l.Tokens.load(l.tokensPath)
	runtime.AddCleanup(l, func(mem []byte) { unmap(mem) }, j.mem) // not by Close: calls that outlive it still touch their slots
	var run context.Context
	run, l.cutOff = context.WithCancel(context.Background())
	go l.write(run)
	return l, done, nil
}

// Begin takes a slot for a call that is about to be made. It keeps the call's texts. Where the journal is full it waits, for
// Options.Wait at most, and then gives ErrFull. Nothing of a call may be sent that has no slot.
func (l *Ledger) Begin(c *Call) (Slot, error) {
	i, seq, err := l.take()
	if err != nil {
		return Slot{}, err
	}
	e := &l.entries[i]
	e.call = *c
	e.open.Store(seq)
	slot := Slot{l, i, seq}
	if l.flusher == nil {
		l.journal.cells[i].reserve(seq, c, reserved)
		return slot, nil
	}
	l.journal.cells[i].reserve(seq, c, intended)
	if err := l.flusher.flush(); err != nil {
		slot.Settle(UpstreamError, sdk.Usage{}, c.Started) // nothing is sent
		return Slot{}, fmt.Errorf("ledger: %w", err)
	}
	return slot, nil
}

// take gives a free cell and the call's number. The numbers grow from start to start, with the clock, so that a slot of an
// earlier process, or of an earlier call, fits no cell of a later one.
func (l *Ledger) take() (i uint32, seq uint64, err error) {
	l.mu.Lock()
	if len(l.free) == 0 && !l.closed {
		l.await()
	}
	defer l.mu.Unlock()
	switch n := len(l.free); {
	case l.closed:
		return 0, 0, ErrClosed
	case n == 0:
		if l.full.CompareAndSwap(false, true) {
			l.log.Error("ledger: the journal is full: until the store takes rows again, further calls have no row or are not made")
		}
		return 0, 0, ErrFull
	default:
		i, l.free = l.free[n-1], l.free[:n-1]
		l.seq++
		return i, l.seq, nil
	}
}

// await waits for a free cell, with mu held before and after.
func (l *Ledger) await() {
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	l.waiting++
	for late := false; len(l.free) == 0 && !l.closed && !late; {
		l.mu.Unlock()
		select {
		case <-l.freed:
		case <-timer.C:
			late = true
		}
		l.mu.Lock()
	}
	l.waiting--
	if l.waiting > 0 && (len(l.free) > 1 || l.closed) {
		l.wake()
	}
}

// wake lets one go on who waits for a slot; it in turn wakes the next.
func (l *Ledger) wake() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// Outage is why rows do not reach the store at the moment, nil where they do.
func (l *Ledger) Outage() error {
	if p := l.outage.Load(); p != nil {
		return *p
	}
	return nil
}

// Flush waits until what has been settled before it stands in the store.
func (l *Ledger) Flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case l.flush <- done:
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes the rows of what has been settled, until ctx ends, and gives the journal up. Calls that are still open, and
// rows that could not be written, stay in the journal: the next Open makes rows of them. The error tells how many rows
// those are.
func (l *Ledger) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		<-l.done
		return nil
	}
	l.closed = true
	l.wake()
	l.mu.Unlock()
	close(l.quit)
	stop := context.AfterFunc(ctx, l.cutOff)
	defer stop()
	<-l.done
	l.cutOff()
	if err := l.Tokens.save(l.tokensPath); err != nil {
		l.log.Warn("ledger: what was learned of tokens is not kept", "error", err)
	}
	l.mu.Lock()
	left := len(l.settled)
	l.mu.Unlock()
	if err := l.journal.release(); err != nil {
		return errors.New("ledger: " + err.Error())
	}
	if left > 0 {
		return &LeftError{left}
	}
	return nil
}

// LeftError says that rows stayed in the journal.
type LeftError struct{ Rows int }

func (e *LeftError) Error() string {
	return "ledger: " + count(e.Rows, "row") + " stayed in the journal: the store did not take them; they are written at the next start"
}

// journalPath names the journals of a folder.
func journalPath(dir string, n int) string {
	return filepath.Join(dir, "inflight-"+digits(n)+".journal")
}

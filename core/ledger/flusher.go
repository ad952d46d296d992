package ledger

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// flusher has what was written before it on disk. Those who come while one flushes share the next flush.
type flusher struct {
	do   func() error
	busy sync.Mutex // held by whoever flushes

	mu   sync.Mutex
	next *round // guarded by mu: the flush that has not begun
}

// round is one flush and those who share it.
type round struct {
	once sync.Once
	err  error
}

func newFlusher(do func() error) *flusher { return &flusher{do: do, next: new(round)} }

func (f *flusher) flush() error {
	f.mu.Lock()
	r := f.next
	f.mu.Unlock()
	f.busy.Lock()
	defer f.busy.Unlock()
	r.once.Do(func() {
		f.mu.Lock()
		f.next = new(round) // who comes from now on may have written too late for this one
		f.mu.Unlock()
		r.err = f.do()
	})
	return r.err
}

// flush waits until the journal is on disk as it stands.
func (j *journal) flush() error {
	if err := unix.Msync(j.mem, unix.MS_SYNC); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// Package bytequeue is the queue between an upstream's reader and a client's writer: bounded in bytes, not in messages.
// A full queue makes the producer wait, so that the upstream is not read and TCP pushes back; the consumer takes all that
// is queued at once.
//
// It starts no goroutine. PushUntil bounds the producer's wait; how long the consumer may wait is for the caller's
// connections to bound: Close and Abort wake whoever waits.
package bytequeue

import (
	"io"
	"os"
	"sync"
	"time"
)

// chunkSize is the size of the pieces that bytes are kept in, so that an empty queue holds none.
const chunkSize = 16 << 10

// chunks is one for the process: queues come and go with streams, and their memory is all of one size.
var chunks = sync.Pool{New: func() any { b := make([]byte, 0, chunkSize); return &b }}

// Queue is a bounded queue of bytes for one producer and one consumer.
type Queue struct {
	mu      sync.Mutex // guards what follows
	room    sync.Cond  // the producer waits here
	some    sync.Cond  // the consumer waits here
	limit   int
	size    int
	full    []*[]byte
	closed  bool
	aborted bool
	err     error
	alarm   *time.Timer // wakes the producer at its deadline; made by the first wait that has one
}

// New makes a queue that holds limit bytes, at least one. Its memory is the bytes queued, in chunks of which the last may
// be partly filled.
func New(limit int) *Queue {
	q := &Queue{limit: max(limit, 1)}
	q.room.L, q.some.L = &q.mu, &q.mu
	return q
}

// Push copies p into the queue. It waits until there is room for all of it; a p larger than the limit passes alone, when
// the queue is empty. The error is what the queue was aborted with, or io.ErrClosedPipe.
func (q *Queue) Push(p []byte) error { return q.PushUntil(p, time.Time{}) }

// PushUntil is Push that waits no longer than the deadline, and then gives os.ErrDeadlineExceeded with nothing of p
// queued. Where there is room p is taken whatever the time is. The zero deadline is none.
func (q *Queue) PushUntil(p []byte, deadline time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fits(p) && !q.ended() && !deadline.IsZero() {
		d := time.Until(deadline)
		deadline = time.Now().Add(d) // monotonic: a step of the wall clock must not outlast the alarm
		q.setAlarm(d)
		defer q.alarm.Stop()
	}
	for !q.fits(p) && !q.ended() {
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			return os.ErrDeadlineExceeded
		}
		q.room.Wait()
	}
	switch {
	case q.aborted:
		return q.err
	case q.closed:
		return io.ErrClosedPipe
	}
	q.append(p)
	q.some.Signal()
	return nil
}

// TryPush is Push that does not wait: false where it would have to, or where the queue has ended.
func (q *Queue) TryPush(p []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended() || !q.fits(p) {
		return false
	}
	q.append(p)
	q.some.Signal()
	return true
}

// fits says whether p may be queued now.
func (q *Queue) fits(p []byte) bool { return q.size == 0 || len(p) <= q.limit-q.size }

func (q *Queue) ended() bool { return q.closed || q.aborted }

// setAlarm has the producer woken after d. An alarm that rings late, for a wait that is over, wakes nobody or makes a
// waiting producer look again, which does no harm.
func (q *Queue) setAlarm(d time.Duration) {
	if q.alarm != nil {
		q.alarm.Reset(d)
		return
	}
	q.alarm = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.room.Signal()
	})
}

// append copies p behind what is queued.
func (q *Queue) append(p []byte) {
	q.size += len(p)
	for len(p) > 0 {
		if n := len(q.full); n == 0 || len(*q.full[n-1]) == cap(*q.full[n-1]) {
			q.full = append(q.full, chunks.Get().(*[]byte))
		}
		last := q.full[len(q.full)-1]
		n := min(cap(*last)-len(*last), len(p))
		*last = append(*last, p[:n]...)
		p = p[n:]
	}
}

// Batch is bytes that were taken; they are valid until Release. The zero Batch is ready for Take, and one that is used
// again and again stops allocating.
type Batch struct {
	Bufs [][]byte
	held []*[]byte
}

// Take moves all that is queued into b, which has been released. It waits while the queue is empty; when the queue has
// been closed and all is taken, the error is the one it was closed with, or io.EOF. After Abort it is Abort's.
func (q *Queue) Take(b *Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.full) == 0 && !q.closed && !q.aborted {
		q.some.Wait()
	}
	switch {
	case q.aborted:
		return q.err
	case len(q.full) == 0:
		if q.err != nil {
			return q.err
		}
		return io.EOF
	}
	b.Bufs, b.held = b.Bufs[:0], append(b.held[:0], q.full...)
	for _, c := range q.full {
		b.Bufs = append(b.Bufs, *c)
	}
	clear(q.full)
	q.full, q.size = q.full[:0], 0
	q.room.Signal()
	return nil
}

// Release gives the batch's memory back.
func (b *Batch) Release() {
	release(b.held)
	clear(b.Bufs)
	b.Bufs, b.held = b.Bufs[:0], b.held[:0]
}

func release(list []*[]byte) {
	for i, c := range list {
		*c = (*c)[:0]
		chunks.Put(c)
		list[i] = nil
	}
}

// Close says that no more will be pushed. The consumer still gets what is queued, and then err, or io.EOF where err is
// nil.
func (q *Queue) Close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && !q.aborted {
		q.closed, q.err = true, err
	}
	q.some.Signal()
	q.room.Signal()
}

// Abort drops what is queued and wakes both sides with err.
func (q *Queue) Abort(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.aborted {
		return
	}
	if err == nil {
		err = io.ErrClosedPipe
	}
	q.aborted, q.err = true, err
	release(q.full)
	q.full, q.size = nil, 0
	q.some.Signal()
	q.room.Signal()
}

// Len is the number of bytes queued.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

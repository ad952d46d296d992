// Package bytequeue is the queue between an upstream's reader and a client's writer: bounded in bytes, not in messages.
// A producer waits for room before it reads, so that the upstream of a full queue is not read and TCP pushes back; the
// consumer takes many messages at once.
//
// It starts no goroutine. Await bounds the producer's wait; how long the consumer may wait is for the caller's
// connections to bound: Close and Abort wake whoever waits.
package bytequeue

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// chunkSize is the size of the pieces that bytes are kept in, so that an empty queue holds none.
const chunkSize = 4 << 10

// chunks is one for the process: queues come and go with streams, and their memory is all of one size.
var chunks = sync.Pool{New: func() any { b := make([]byte, 0, chunkSize); return &b }}

// Limit bounds a queue.
type Limit struct {
	Own   int   // bytes of this queue, at least one
	Total int64 // bytes of all queues of the share
	Share *Share
}

// Share is what many queues hold together. As it fills up each may hold less of its own: all of it while less than half of
// the total is in use, and nothing when all is (after A. Choudhury and E. Hahne, Dynamic queue length thresholds, 1998). A
// queue that is empty still takes one message, so that every stream moves.
type Share struct{ used atomic.Int64 }

// Used is how many bytes the queues hold, and what is kept beside them.
func (s *Share) Used() int64 { return s.used.Load() }

// bytes is what a queue may hold now.
func (l *Limit) bytes() int {
	if l.Share == nil {
		return l.Own
	}
	free, half := max(l.Total-l.Share.Used(), 0), l.Total/2
	if free >= half {
		return l.Own
	}
	return int(float64(l.Own) * float64(free) / float64(half))
}

// Queue is a bounded queue of bytes for one producer and one consumer. What the consumer has taken counts until it is
// released.
type Queue struct {
	mu      sync.Mutex // guards what follows
	room    sync.Cond  // the producer waits here
	some    sync.Cond  // the consumer waits here
	limit   Limit
	size    int   // queued, or taken and not released
	beside  int   // kept for the consumer elsewhere
	passed  int64 // released
	full    []*[]byte
	closed  bool
	aborted bool
	err     error
	alarm   *time.Timer // wakes the producer at its deadline; made by the first wait that has one
}

// New makes a queue. Its memory is the bytes queued, in chunks of which the last may
// be partly filled.
func New(l Limit) *Queue {
	l.Own = max(l.Own, 1)
	q := &Queue{limit: l}
	q.room.L, q.some.L = &q.mu, &q.mu
	return q
}

// Await waits until there is room for n bytes; where n is over the limit, until the queue is empty. It waits no longer than
// stall for anything to be released, zero: for ever, and then gives os.ErrDeadlineExceeded. Another error is what the queue
// was aborted with, or io.ErrClosedPipe.
func (q *Queue) Await(n int, stall time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	begun, seen := time.Now(), q.passed
	if stall > 0 && !q.fits(n) && !q.ended() {
		q.setAlarm(stall)
		defer q.alarm.Stop()
	}
	for !q.fits(n) && !q.ended() {
		switch {
		case stall <= 0:
		case q.passed != seen:
			begun, seen = time.Now(), q.passed
			q.alarm.Reset(stall)
		case time.Since(begun) >= stall:
			return os.ErrDeadlineExceeded
		}
		q.room.Wait()
	}
	return q.refusal()
}

// Fits says whether Await would not wait.
func (q *Queue) Fits(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fits(n) || q.ended()
}

// Push copies segs into the queue, whatever its limit: who minds it has waited for room. The error is what the queue was
// aborted with, or io.ErrClosedPipe.
func (q *Queue) Push(segs ...[]byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refusal(); err != nil {
		return err
	}
	for _, p := range segs {
		q.append(p)
	}
	q.some.Signal()
	return nil
}

// Beside tells how many bytes of what the consumer is to have are kept elsewhere, such as a message that has begun to come.
// They count for the limit and the share, as if they were queued, until another number is told or the queue is closed.
func (q *Queue) Beside(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended() {
		q.setBeside(n)
	}
}

func (q *Queue) setBeside(n int) {
	q.share(n - q.beside)
	q.beside = n
}

// fits says whether n bytes may be queued now.
func (q *Queue) fits(n int) bool { return q.size == 0 || n <= q.limit.bytes()-q.size-q.beside }

// resize takes note of n bytes more.
func (q *Queue) resize(n int) {
	q.size += n
	q.share(n)
}

// share tells the share of n bytes more.
func (q *Queue) share(n int) {
	if s := q.limit.Share; s != nil {
		s.used.Add(int64(n))
	}
}

func (q *Queue) ended() bool { return q.closed || q.aborted }

// refusal is the error of a queue that takes no more.
func (q *Queue) refusal() error {
	switch {
	case q.aborted:
		return q.err
	case q.closed:
		return io.ErrClosedPipe
	}
	return nil
}

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
	q.resize(len(p))
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
	from *Queue
	size int
}

// batchChunks bounds what is taken at once: the rest of the queue is filled while that is written.
const batchChunks = 8

// Take moves what is queued into b, which has been released, up to a bound. It waits while the queue is empty; when the
// queue has been closed and all is taken, the error is the one it was closed with, or io.EOF. After Abort it is Abort's.
func (q *Queue) Take(b *Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.full) == 0 && !q.ended() {
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
	n := min(len(q.full), batchChunks)
	b.from, b.Bufs, b.held = q, b.Bufs[:0], append(b.held[:0], q.full[:n]...)
	for _, c := range b.held {
		b.Bufs = append(b.Bufs, *c)
		b.size += len(*c)
	}
	left := copy(q.full, q.full[n:])
	clear(q.full[left:])
	q.full = q.full[:left]
	return nil
}

// Release gives the batch's memory back, and the room for it.
func (b *Batch) Release() {
	release(b.held)
	clear(b.Bufs)
	if q := b.from; q != nil {
		q.mu.Lock()
		q.resize(-b.size)
		q.passed += int64(b.size)
		q.room.Signal()
		q.mu.Unlock()
	}
	b.Bufs, b.held, b.from, b.size = b.Bufs[:0], b.held[:0], nil, 0
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
		q.setBeside(0)
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
	q.setBeside(0)
	for _, c := range q.full {
		q.resize(-len(*c))
	}
	release(q.full)
	q.full = nil
	q.some.Signal()
	q.room.Signal()
}

// Len is the number of bytes queued, or taken and not released.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

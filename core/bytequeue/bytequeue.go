// Package bytequeue is the queue between an upstream's reader and a client's writer: bounded in bytes, not in messages.
// A full queue makes the producer wait, so that the upstream is not read and TCP pushes back; the consumer takes all that
// is queued at once.
//
// It starts no goroutine. How long either side may wait for the other in all is for the caller's connections to bound:
// Abort and Close wake whoever waits.
package bytequeue

import (
	"io"
	"sync"
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
}

// New makes a queue that holds limit bytes.
func New(limit int) *Queue {
	q := &Queue{limit: max(limit, 1)}
	q.room.L, q.some.L = &q.mu, &q.mu
	return q
}

// Push copies p into the queue. It waits until there is room for all of it; a p larger than the limit passes alone, when
// the queue is empty. The error is what the queue was aborted with, or io.ErrClosedPipe.
func (q *Queue) Push(p []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > 0 && q.size+len(p) > q.limit && !q.aborted && !q.closed {
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

// Batch is bytes that were taken; they are valid until Release.
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

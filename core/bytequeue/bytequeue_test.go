package bytequeue

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// push queues p when there is room for it.
func push(q *Queue, p []byte) error {
	if err := q.Await(len(p), 0); err != nil {
		return err
	}
	return q.Push(p)
}

// take gives all that is queued as one text.
func take(t *testing.T, q *Queue) (string, error) {
	t.Helper()
	var b Batch
	defer b.Release()
	err := q.Take(&b)
	return string(bytes.Join(b.Bufs, nil)), err
}

func TestTakeGivesAllAtOnce(t *testing.T) {
	q := New(Limit{Own: 100})
	for _, s := range []string{"a", "", "bc", "d"} {
		if err := q.Push([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := take(t, q); got != "abcd" || err != nil || q.Len() != 0 {
		t.Errorf("took %q, %v, %d left; want abcd and none", got, err, q.Len())
	}
}

func TestFullQueueMakesTheProducerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limit{Own: 10})
		pushed := make(chan int, 3)
		go func() {
			for i := range 3 {
				if push(q, []byte("123456")) != nil {
					return
				}
				pushed <- i
			}
			q.Close(nil)
		}()
		synctest.Wait()
		if len(pushed) != 1 || q.Len() != 6 {
			t.Fatalf("%d pushes with %d bytes queued, want one: a second does not fit", len(pushed), q.Len())
		}
		for i := range 3 {
			if got, err := take(t, q); got != "123456" || err != nil {
				t.Fatalf("take %d: %q, %v", i, got, err)
			}
			synctest.Wait()
		}
		if _, err := take(t, q); err != io.EOF {
			t.Errorf("after the end: %v, want io.EOF", err)
		}
	})
}

func TestLargePushPassesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limit{Own: 4})
		q.Push([]byte("ab"))
		done := make(chan error, 1)
		go func() { done <- push(q, make([]byte, 50<<10)) }()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("a push over the limit passed while the queue was not empty")
		}
		take(t, q)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{32 << 10, 18 << 10} {
			if got, err := take(t, q); len(got) != want || err != nil {
				t.Errorf("took %d bytes, %v, want %d", len(got), err, want)
			}
		}
	})
}

func TestCloseGivesWhatIsLeftFirst(t *testing.T) {
	q, broken := New(Limit{Own: 10}), errors.New("broken")
	q.Push([]byte("x"))
	q.Close(broken)
	if err := q.Push([]byte("y")); err != io.ErrClosedPipe {
		t.Errorf("push after the close: %v", err)
	}
	if got, err := take(t, q); got != "x" || err != nil {
		t.Errorf("took %q, %v", got, err)
	}
	if _, err := take(t, q); err != broken {
		t.Errorf("then %v, want what it was closed with", err)
	}
}

func TestAbortWakesBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		full, empty := New(Limit{Own: 1}), New(Limit{Own: 1})
		full.Push([]byte("x"))
		pushed, taken := make(chan error, 1), make(chan error, 1)
		go func() { pushed <- push(full, []byte("y")) }()
		go func() { _, err := take(t, empty); taken <- err }()
		synctest.Wait()
		full.Abort(gone)
		empty.Abort(gone)
		if err := <-pushed; err != gone {
			t.Errorf("push: %v", err)
		}
		if err := <-taken; err != gone {
			t.Errorf("take: %v", err)
		}
		if full.Len() != 0 {
			t.Errorf("%d bytes left after an abort", full.Len())
		}
	})
}

func TestBytesComeInOrderAndBounded(t *testing.T) {
	const limit, total = 1000, 200_000
	q := New(Limit{Own: limit})
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, total)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(1+r.IntN(400), len(rest))
			push(q, rest[:n])
			rest = rest[n:]
		}
		q.Close(nil)
	}()
	var got []byte
	var b Batch
	for q.Take(&b) == nil {
		n := 0
		for _, s := range b.Bufs {
			got, n = append(got, s...), n+len(s)
		}
		if n > limit {
			t.Fatalf("%d bytes were queued, over the limit of %d", n, limit)
		}
		b.Release()
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %d bytes that are not those pushed", len(got))
	}
}

func TestAwaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limit{Own: 4})
		q.Push([]byte("abc"))
		for i := range 3 { // the alarm is used again
			begun := time.Now()
			if err := q.Await(2, time.Second); err != os.ErrDeadlineExceeded {
				t.Fatalf("wait %d: %v, want os.ErrDeadlineExceeded", i, err)
			}
			if d := time.Since(begun); d != time.Second {
				t.Errorf("wait %d took %v, want 1s", i, d)
			}
		}
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { take(t, q) })
		if err := q.Await(2, time.Hour); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("with room after a minute: %v after %v", err, time.Since(begun))
		}
	})
}

// A consumer that is slow is not one that takes nothing.
func TestAwaitGoesOnWithProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const batch = batchChunks * chunkSize
		q := New(Limit{Own: 8 * batch})
		q.Push(make([]byte, 8*batch))
		go func() {
			var b Batch
			for range 5 {
				time.Sleep(50 * time.Second)
				q.Take(&b)
				b.Release()
			}
		}()
		begun := time.Now()
		if err := q.Await(4*batch, time.Minute); err != nil || time.Since(begun) != 200*time.Second {
			t.Errorf("room for four of the batches: %v after %v, want none after 200s", err, time.Since(begun))
		}
		begun = time.Now()
		if err := q.Await(8*batch, time.Minute); err != os.ErrDeadlineExceeded || time.Since(begun) != 110*time.Second {
			t.Errorf("once nothing is taken any more: %v after %v, want os.ErrDeadlineExceeded after 110s", err, time.Since(begun))
		}
	})
}

// An alarm that was set for an earlier wait must not end a later one that has no limit.
func TestLimitIsOfOneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limit{Own: 1})
		q.Push([]byte("a"))
		time.AfterFunc(time.Second, func() { take(t, q) })
		if err := q.Await(1, time.Hour); err != nil {
			t.Fatal(err)
		}
		q.Push([]byte("b"))
		begun := time.Now()
		time.AfterFunc(2*time.Hour, func() { q.Abort(io.ErrUnexpectedEOF) })
		if err := q.Await(1, 0); err != io.ErrUnexpectedEOF || time.Since(begun) != 2*time.Hour {
			t.Errorf("a wait without a limit: %v after %v", err, time.Since(begun))
		}
	})
}

// What has been taken is held until it is released, and counts.
func TestTakenBytesCount(t *testing.T) {
	q := New(Limit{Own: 3})
	q.Push([]byte("ab"), []byte("c"))
	var b Batch
	if err := q.Take(&b); err != nil || q.Len() != 3 || q.Fits(1) {
		t.Errorf("taken: %v, %d bytes count, room for more: %v; want 3 and none", err, q.Len(), q.Fits(1))
	}
	b.Release()
	if q.Len() != 0 || !q.Fits(1) || !q.Fits(100) {
		t.Errorf("released: %d bytes count", q.Len())
	}
	q.Push([]byte("x"))
	q.Abort(nil)
	if q.Len() != 0 || !q.Fits(100) || q.Push([]byte("y")) != io.ErrClosedPipe {
		t.Errorf("aborted: %d bytes count, or more was taken", q.Len())
	}
}

// What is kept beside a queue counts as what is in it, and no longer than the queue is open.
func TestBytesBesideCount(t *testing.T) {
	for _, end := range []func(*Queue){func(q *Queue) { q.Close(nil) }, func(q *Queue) { q.Abort(nil) }} {
		var share Share
		f := func(q *Queue, n int, fits bool, used int64) {
			t.Helper()
			if q.Fits(n) != fits || share.Used() != used {
				t.Errorf("%d bytes fit: %v, with %d in the share; want %v and %d", n, q.Fits(n), share.Used(), fits, used)
			}
		}
		q := New(Limit{Own: 8, Total: 100, Share: &share})
		q.Push([]byte("ab"))
		q.Beside(4)
		f(q, 2, true, 6)
		f(q, 3, false, 6)
		q.Beside(9)
		f(q, 0, false, 11)
		take(t, q)
		f(q, 100, true, 9) // nothing is queued: whatever it is may come
		q.Beside(3)
		end(q)
		q.Beside(3) // too late
		f(q, 1, true, 0)
	}
}

// As the share fills up each queue may hold less, but every one takes a message when it is empty.
func TestShareIsDividedAsItFillsUp(t *testing.T) {
	const own, total, message = 64, 1024, 4
	var share Share
	var list []*Queue
	f := func(queues int, most int64, last int) {
		t.Helper()
		for len(list) < queues {
			q := New(Limit{Own: own, Total: total, Share: &share})
			for q.Fits(message) && q.Len() < own {
				q.Push(make([]byte, message))
			}
			list = append(list, q)
		}
		if got, n := share.Used(), list[queues-1].Len(); got > most || n != last {
			t.Errorf("%d queues hold %d bytes, the last of them %d; want at most %d, and %d", queues, got, n, most, last)
		}
	}
	f(8, 8*own, own)   // half of the total: all have what is their own
	f(9, 8*own+56, 56) // less is left for each
	f(100, total+100*message, message)
	f(200, total+200*message, message)
	for _, q := range list {
		for q.Len() > 0 {
			take(t, q)
		}
	}
	if share.Used() != 0 {
		t.Errorf("%d bytes are held by empty queues", share.Used())
	}
}

// What a queue holds beyond the bytes in it is less than a chunk, and nothing when it is empty.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 64 << 10
	q := New(Limit{Own: limit})
	var b Batch
	for _, n := range []int{1, 100, chunkSize - 1, chunkSize, chunkSize + 1} {
		for q.Fits(n) && q.Len() < limit {
			q.Push(make([]byte, n))
			held := 0
			for _, c := range q.full {
				held += cap(*c)
			}
			if held >= q.size+chunkSize || q.size > limit {
				t.Fatalf("pushes of %d: %d bytes of memory for %d queued", n, held, q.size)
			}
		}
		for q.Len() > 0 {
			if err := q.Take(&b); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if len(q.full) != 0 {
			t.Fatalf("%d chunks held by an empty queue", len(q.full))
		}
	}
}

func BenchmarkPushTake(b *testing.B) {
	q := New(Limit{Own: 64 << 10})
	p := make([]byte, 200)
	var batch Batch
	b.ReportAllocs()
	for b.Loop() {
		for range 8 {
			q.Push(p)
		}
		q.Take(&batch)
		batch.Release()
	}
}

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

// take gives all that is queued as one text.
func take(t *testing.T, q *Queue) (string, error) {
	t.Helper()
	var b Batch
	defer b.Release()
	err := q.Take(&b)
	return string(bytes.Join(b.Bufs, nil)), err
}

func TestTakeGivesAllAtOnce(t *testing.T) {
	q := New(100)
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
		q := New(10)
		pushed := make(chan int, 3)
		go func() {
			for i := range 3 {
				if q.Push([]byte("123456")) != nil {
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
		q := New(4)
		q.Push([]byte("ab"))
		done := make(chan error, 1)
		go func() { done <- q.Push(make([]byte, 50<<10)) }()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("a push over the limit passed while the queue was not empty")
		}
		take(t, q)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got, err := take(t, q); len(got) != 50<<10 || err != nil {
			t.Errorf("took %d bytes, %v", len(got), err)
		}
	})
}

func TestCloseGivesWhatIsLeftFirst(t *testing.T) {
	q, broken := New(10), errors.New("broken")
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
		full, empty := New(1), New(1)
		full.Push([]byte("x"))
		pushed, taken := make(chan error, 1), make(chan error, 1)
		go func() { pushed <- full.Push([]byte("y")) }()
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
	q := New(limit)
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, total)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(1+r.IntN(400), len(rest))
			q.Push(rest[:n])
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

func TestPushUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(4)
		start := time.Now()
		if err := q.PushUntil([]byte("abc"), start.Add(-time.Second)); err != nil {
			t.Fatalf("with room, past the deadline: %v", err)
		}
		for i := range 3 { // the alarm is used again
			begun := time.Now()
			if err := q.PushUntil([]byte("de"), begun.Add(time.Second)); err != os.ErrDeadlineExceeded {
				t.Fatalf("wait %d: %v, want os.ErrDeadlineExceeded", i, err)
			}
			if d := time.Since(begun); d != time.Second {
				t.Errorf("wait %d took %v, want 1s", i, d)
			}
		}
		begun := time.Now()
		if err := q.PushUntil([]byte("de"), begun); err != os.ErrDeadlineExceeded || time.Since(begun) != 0 {
			t.Errorf("at the deadline: %v after %v", err, time.Since(begun))
		}
		time.AfterFunc(time.Minute, func() { take(t, q) })
		if err := q.PushUntil([]byte("de"), time.Now().Add(time.Hour)); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("with room after a minute: %v after %v", err, time.Since(begun))
		}
		if got, err := take(t, q); got != "de" || err != nil {
			t.Errorf("took %q, %v; want only what was pushed in time", got, err)
		}
	})
}

// An alarm that was set for an earlier push must not end a later one that has no deadline.
func TestDeadlineIsOfOnePush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		q.Push([]byte("a"))
		time.AfterFunc(time.Second, func() { take(t, q) })
		if err := q.PushUntil([]byte("b"), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		time.AfterFunc(2*time.Hour, func() { q.Abort(io.ErrUnexpectedEOF) })
		if err := q.Push([]byte("c")); err != io.ErrUnexpectedEOF || time.Since(begun) != 2*time.Hour {
			t.Errorf("push without a deadline: %v after %v", err, time.Since(begun))
		}
	})
}

func TestTryPush(t *testing.T) {
	q := New(3)
	f := func(p string, want bool) {
		t.Helper()
		if got := q.TryPush([]byte(p)); got != want {
			t.Errorf("TryPush(%q) = %v with %d of 3 queued", p, got, q.Len())
		}
	}
	f("ab", true)
	f("cd", false)
	f("c", true)
	f("", true)
	f("d", false)
	if got, _ := take(t, q); got != "abc" {
		t.Errorf("took %q, want abc", got)
	}
	f("larger than the limit", true)
	f("x", false)
	take(t, q)
	q.Close(nil)
	f("x", false)
}

// What a queue holds beyond the bytes in it is less than a chunk, and nothing when it is empty.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 64 << 10
	q := New(limit)
	var b Batch
	for _, n := range []int{1, 100, chunkSize - 1, chunkSize, chunkSize + 1} {
		for q.TryPush(make([]byte, n)) {
			held := 0
			for _, c := range q.full {
				held += cap(*c)
			}
			if held >= q.size+chunkSize || q.size > limit {
				t.Fatalf("pushes of %d: %d bytes of memory for %d queued", n, held, q.size)
			}
		}
		if err := q.Take(&b); err != nil || len(q.full) != 0 {
			t.Fatalf("after Take: %v, %d chunks held", err, len(q.full))
		}
		b.Release()
	}
}

func BenchmarkPushTake(b *testing.B) {
	q := New(64 << 10)
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

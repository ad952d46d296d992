package bytequeue

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

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

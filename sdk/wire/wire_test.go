package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair gives two ends of a socket.
func pair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// echo answers each call with its body, as a plugin does: from the goroutine that reads.
func echo(t testing.TB, nc net.Conn) {
	conn := NewConn(nc, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := conn.Serve(func(f *Frame) error {
			reply := *f
			switch f.Op {
			case Encode:
				reply.Op = Plan
			case Ping:
				reply.Op, reply.Body = Pong, nil
			default:
				return nil
			}
			return conn.Queue(&reply)
		})
		if err != nil {
			t.Errorf("echo: %v", err)
		}
	})
	t.Cleanup(func() { wg.Wait(); conn.Close() })
}

func newAsker(t testing.TB, nc net.Conn) *Caller {
	c := NewCaller(nc, 5*time.Second)
	t.Cleanup(c.Close)
	return c
}

func TestCalls(t *testing.T) {
	a, b := pair(t)
	echo(t, b)
	c := newAsker(t, a)
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			var reply []byte
			for i := range 40 {
				size := (n*37 + i*911) % 3000
				if i%10 == n%10 {
					size = copyBytes - 1 + i*n*97 // around the bound, and far over it
				}
				body := bytes.Repeat([]byte{byte(n), byte(i)}, size/2+1)
				var op Op
				var err error
				op, reply, err = c.Call(Frame{Op: Encode, Body: body}, reply, 10*time.Second)
				if err != nil || op != Plan || !bytes.Equal(reply, body) {
					t.Errorf("caller %d, call %d: op %d, %d bytes, %v", n, i, op, len(reply), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestLargestBody(t *testing.T) {
	a, b := pair(t)
	echo(t, b)
	c := newAsker(t, a)
	body := bytes.Repeat([]byte("0123456789abcdef"), MaxBody/16)
	_, reply, err := c.Call(Frame{Op: Encode, Body: body}, nil, 10*time.Second)
	if err != nil || !bytes.Equal(reply, body) {
		t.Fatalf("%d bytes, %v", len(reply), err)
	}
	if _, _, err := c.Call(Frame{Op: Encode, Body: append(body, 0)}, nil, time.Second); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	if err := c.Ping(10 * time.Second); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestQueueIsBounded lets many large calls wait for one that reads nothing at first.
func TestQueueIsBounded(t *testing.T) {
	a, b := pair(t)
	c := NewCaller(a, 5*time.Second)
	defer c.Close()
	body := make([]byte, MaxBody)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, _, err := c.Call(Frame{Op: Encode, Body: body}, nil, 30*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
	var one [1]byte
	if _, err := io.ReadFull(b, one[:]); err != nil { // somebody has begun to write
		t.Fatal(err)
	}
	conn := c.conn.(*Conn)
	conn.mu.Lock()
	waiting := conn.queued - conn.written
	conn.mu.Unlock()
	if waiting > MaxQueued+2*HeadBytes {
		t.Errorf("%d bytes wait", waiting)
	}
	echo(t, &pushedBack{Conn: b, first: one[:]})
	wg.Wait()
}

// pushedBack is a connection of which something has been read before.
type pushedBack struct {
	net.Conn
	first []byte
}

func (p *pushedBack) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

func TestNoAnswerInTime(t *testing.T) {
	a, b := pair(t)
	c := NewCaller(a, 5*time.Second)
	defer c.Close()
	if _, _, err := c.Call(Frame{Op: Encode}, nil, time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	// The answer comes late, and must not be taken for the next call's.
	late := head(0, Plan, 1)
	if _, err := b.Write(late); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, make([]byte, HeadBytes)); err != nil {
		t.Fatal(err)
	}
	echo(t, b)
	if _, reply, err := c.Call(Frame{Op: Encode, Body: []byte("x")}, nil, 10*time.Second); err != nil || string(reply) != "x" {
		t.Errorf("got %q, %v", reply, err)
	}
}

// TestStalledWrite has the other side read nothing: the plane ends, whoever was writing.
func TestStalledWrite(t *testing.T) {
	a, _ := pair(t)
	c := NewCaller(a, 20*time.Millisecond)
	defer c.Close()
	_, _, err := c.Call(Frame{Op: Encode, Body: make([]byte, MaxBody)}, nil, time.Minute)
	if !errors.Is(err, ErrGone) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
}

// TestFullSocket flushes more at once than a socket takes: the write waits, and all arrives.
func TestFullSocket(t *testing.T) {
	a, b := pair(t)
	a.(*net.UnixConn).SetWriteBuffer(4 << 10)
	sender, receiver := NewConn(a, time.Minute), NewConn(b, 0)
	const frames = 12
	body := bytes.Repeat([]byte("0123456789abcde\n"), copyBytes/16)
	for i := range uint64(frames) {
		if err := sender.Queue(&Frame{Op: Encode, Call: i, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	sent := make(chan error, 1)
	go func() {
		sent <- sender.Flush()
		sender.Close() // after which the other side gets the end
	}()
	got := uint64(0)
	err := receiver.Receive(func(f *Frame) error {
		if f.Call != got || !bytes.Equal(f.Body, body) {
			return fmt.Errorf("frame %d is call %d with %d bytes", got, f.Call, len(f.Body))
		}
		got++
		return nil
	})
	if flushed := <-sent; flushed != nil || err != nil || got != frames {
		t.Errorf("%d frames, %v, flushed %v", got, err, flushed)
	}
}

func TestBusy(t *testing.T) {
	a, b := pair(t)
	c := newAsker(t, a)
	var wg sync.WaitGroup
	for range MaxCalls {
		wg.Go(func() {
			if _, _, err := c.Call(Frame{Op: Encode}, nil, time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	sent := make([]byte, MaxCalls*HeadBytes)
	if _, err := io.ReadFull(b, sent); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(time.Minute); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	var answers []byte
	for i := range MaxCalls {
		answers = append(answers, head(0, Plan, uint64(MaxCalls-i))...)
	}
	if _, err := b.Write(answers); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

func head(length uint32, op Op, call uint64) []byte {
	b := appendHead(nil, &Frame{Op: op, Call: call})
	binary.LittleEndian.PutUint32(b, length)
	return b
}

// TestBrokenPlane has the other side send what it must not: calls in flight fail, and the plane is closed.
func TestBrokenPlane(t *testing.T) {
	for _, tt := range []struct {
		name string
		send []byte
		want string
	}{
		{"nothing", nil, "closed by the other side"},
		{"text", []byte("panic: runtime error: index out of range"), "want 4194304 at most"},
		{"too large", head(MaxBody+1, Plan, 1), "frame of 4194305 bytes"},
		{"op 0", head(0, 0, 1), "op 0"},
		{"unknown op", head(0, Pong+1, 1), "op 10"},
		{"question", head(0, Encode, 1), errAnswer.Error()},
		{"other answer", head(0, Events, 1), errAnswer.Error()},
		{"no such call", head(0, Plan, 99), errAnswer.Error()},
		{"call 0", head(0, Plan, 0), errAnswer.Error()},
		{"inside a head", head(0, Plan, 1)[:7], "ended inside a frame"},
		{"inside a body", head(5, Plan, 1), "ended inside a frame"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := pair(t)
			c := newAsker(t, a)
			failed := make(chan error, 3)
			for range cap(failed) {
				go func() {
					_, _, err := c.Call(Frame{Op: Encode}, nil, time.Minute)
					failed <- err
				}()
			}
			if _, err := io.ReadFull(b, make([]byte, cap(failed)*HeadBytes)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Write(tt.send); err != nil {
				t.Fatal(err)
			}
			b.Close()
			for range cap(failed) {
				if err := <-failed; !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("call: %v, want %q", err, tt.want)
				}
			}
			<-c.Done()
			if err := c.Err(); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("plane: %v, want %q", err, tt.want)
			}
			if err := c.Ping(time.Minute); !errors.Is(err, ErrGone) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestCloseFailsCalls(t *testing.T) {
	a, b := pair(t)
	c := NewCaller(a, 0)
	failed := make(chan error, 1)
	go func() {
		_, _, err := c.Call(Frame{Op: Encode}, nil, time.Minute)
		failed <- err
	}()
	if _, err := io.ReadFull(b, make([]byte, HeadBytes)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-failed; !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
	c.Close()
}

// TestReceiveInPieces cuts a stream of frames at every place.
func TestReceiveInPieces(t *testing.T) {
	var all []byte
	bodies := []string{"", "a", strings.Repeat("b", 100), ""}
	for i, body := range bodies {
		f := Frame{Op: Encode, Flags: Opens, Call: uint64(i), Stream: 7, Body: []byte(body)}
		all = append(appendHead(all, &f), f.Body...)
	}
	for at := range all {
		got := 0
		handle := func(f *Frame) error {
			if f.Call != uint64(got) || f.Flags != Opens || f.Stream != 7 || string(f.Body) != bodies[got] {
				return fmt.Errorf("cut at %d, frame %d: %+v", at, got, f)
			}
			got++
			return nil
		}
		used, want, err := drain(all[:at], handle)
		if err != nil {
			t.Fatal(err)
		}
		buf, have := rest(append([]byte(nil), all[:at]...), all[used:at], want)
		if _, _, err := drain(append(buf[:have:have], all[at:]...), handle); err != nil || got != len(bodies) {
			t.Fatalf("cut at %d: %d frames, %v", at, got, err)
		}
	}
}

func FuzzDrain(f *testing.F) {
	f.Add(head(3, Plan, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		bytes := 0
		used, want, err := drain(b, func(f *Frame) error { bytes += HeadBytes + len(f.Body); return nil })
		if used != bytes || used > len(b) || err == nil && want <= len(b)-used {
			t.Errorf("used %d of %d, %d in frames, want %d", used, len(b), bytes, want)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	for _, bb := range []struct {
		name string
		size int
	}{{"1KB", 1 << 10}, {"100KB", 100 << 10}} {
		b.Run(bb.name, func(b *testing.B) {
			x, y := pair(b)
			echo(b, y)
			c := newAsker(b, x)
			body := make([]byte, bb.size)
			b.ReportAllocs()
			b.SetBytes(int64(bb.size))
			b.RunParallel(func(pb *testing.PB) {
				var reply []byte
				for pb.Next() {
					var err error
					if _, reply, err = c.Call(Frame{Op: Encode, Body: body}, reply, time.Minute); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

package wire

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	copyBytes  = 16 << 10  // larger bodies are written from where they stand
	chunkBytes = 64 << 10  // of the reader's buffer
	keptBytes  = 256 << 10 // what a buffer may keep after a burst
	flushTurns = 4         // how often a caller writes for others before it hands the work on
)

// Conn is one side of a data plane on a socket. The caller that finds nobody writing becomes the writer for all: it
// yields once, so that others who are about to send can add their frames, and writes what has come together with one
// system call.
type Conn struct {
	nc    net.Conn
	brief brief // past nc, where it can be reached
	stall time.Duration
	until time.Time // the write deadline; the writer's

	mu       sync.Mutex // guards what follows
	room     *sync.Cond // written has grown, or err is set
	out      outbox     // to be written
	spare    outbox     // memory of the batch before
	queued   int64      // bytes given to the plane since it began
	written  int64      // bytes of them that are done with
	flushing bool
	err      error
	handed   sync.WaitGroup // writers that were handed the work
}

// outbox is a batch of frames: their bytes in one piece, with the large bodies to be put between.
type outbox struct {
	chunk []byte
	cuts  []cut
	bufs  net.Buffers
}

// cut says that a large body follows the first at bytes of the chunk.
type cut struct {
	at   int
	body []byte
}

// NewConn makes a side of a plane. A write that is not done within stall, or three quarters of it, closes the plane; 0 is
// no limit.
func NewConn(nc net.Conn, stall time.Duration) *Conn {
	c := &Conn{nc: nc, stall: stall}
	c.brief.open(nc)
	c.room = sync.NewCond(&c.mu)
	return c
}

// Send writes a frame, or leaves it to the goroutine that is writing. The body is the caller's again when it returns.
func (c *Conn) Send(f *Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mark, err := c.add(f)
	if err != nil {
		return err
	}
	if !c.flushing {
		c.flush(true)
	}
	if len(f.Body) > copyBytes {
		for c.written < mark && (c.err == nil || c.flushing) {
			c.room.Wait()
		}
	}
	return c.err
}

// Queue takes a frame for the next Flush. The body is the caller's again when it returns. It is for the handle of
// Serve, which answers many frames before they are flushed together.
func (c *Conn) Queue(f *Frame) error {
	if len(f.Body) > copyBytes {
		return c.Send(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.add(f)
	return err
}

// Flush writes what has been queued.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.flushing && c.queued > c.written {
		c.flush(false)
	}
	return c.err
}

// add puts a frame into the outbox, waiting for room there, and gives the count at which it will have been written.
func (c *Conn) add(f *Frame) (mark int64, err error) {
	if len(f.Body) > MaxBody {
		return 0, ErrTooLarge
	}
	for c.queued-c.written > MaxQueued-MaxBody && c.err == nil {
		if !c.flushing {
			c.flush(false)
			continue
		}
		c.room.Wait()
	}
	if c.err != nil {
		return 0, c.err
	}
	c.out.chunk = appendHead(c.out.chunk, f)
	if len(f.Body) > copyBytes {
		c.out.cuts = append(c.out.cuts, cut{len(c.out.chunk), f.Body})
	} else {
		c.out.chunk = append(c.out.chunk, f.Body...)
	}
	c.queued += int64(HeadBytes + len(f.Body))
	return c.queued, nil
}

// flush writes until the outbox is empty; a caller who has written for others long enough hands the rest on. It is
// called, and returns, with mu held and nobody else writing.
func (c *Conn) flush(yield bool) {
	c.flushing = true
	for turn := 0; c.queued > c.written && c.err == nil; turn++ {
		if turn == flushTurns {
			c.handed.Go(c.flushOn)
			return
		}
		c.batch(yield)
	}
	c.stopped()
}

// flushOn writes until the outbox is empty.
func (c *Conn) flushOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queued > c.written && c.err == nil {
		c.batch(true)
	}
	c.stopped()
}

// stopped ends the turn of a writer; who waits for bytes of its own learns it.
func (c *Conn) stopped() {
	c.flushing = false
	c.room.Broadcast()
}

// batch writes what stands in the outbox.
func (c *Conn) batch(yield bool) {
	if yield {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	batch, mark := c.out, c.queued
	c.out, c.spare = c.spare, outbox{}
	c.mu.Unlock()
	err := c.write(&batch)
	batch.forget()
	c.mu.Lock()
	c.spare, c.written = batch, mark
	if err != nil {
		c.breakOff(err)
	}
	c.room.Broadcast()
}

// write writes a batch, with one system call where there are no more than 1024 pieces.
func (c *Conn) write(o *outbox) error {
	if err := c.extend(); err != nil {
		return err
	}
	if len(o.cuts) == 0 {
		return c.writeChunk(o.chunk)
	}
	from := 0
	for _, k := range o.cuts {
		o.bufs = append(o.bufs, o.chunk[from:k.at], k.body)
		from = k.at
	}
	if from < len(o.chunk) {
		o.bufs = append(o.bufs, o.chunk[from:])
	}
	pieces := o.bufs
	_, err := pieces.WriteTo(c.nc)
	return err
}

func (c *Conn) writeChunk(b []byte) (err error) {
	if c.brief.ok() && len(b) <= keptBytes {
		_, err = c.brief.write(b)
	} else {
		_, err = c.nc.Write(b)
	}
	return err
}

func (c *Conn) read(b []byte) (int, error) {
	if c.brief.ok() && len(b) <= keptBytes {
		return c.brief.read(b)
	}
	return c.nc.Read(b)
}

// extend moves the write deadline on, where no more than three quarters of it are left: to set one costs more than to
// look at the clock.
func (c *Conn) extend() error {
	if c.stall <= 0 {
		return nil
	}
	now := time.Now()
	if c.until.Sub(now) > c.stall-c.stall/4 {
		return nil
	}
	c.until = now.Add(c.stall)
	return c.nc.SetWriteDeadline(c.until)
}

// forget empties the outbox, and lets go of memory that only a burst needed.
func (o *outbox) forget() {
	clear(o.cuts)
	clear(o.bufs)
	o.chunk, o.cuts, o.bufs = o.chunk[:0], o.cuts[:0], o.bufs[:0]
	if cap(o.chunk) > keptBytes {
		o.chunk = nil
	}
}

// breakOff closes the plane for a reason; the first one counts. It is called with mu held.
func (c *Conn) breakOff(reason error) {
	if c.err == nil {
		c.err = &gone{reason}
		c.nc.Close()
		c.room.Broadcast()
	}
}

// Fail closes the plane for a reason, which later calls return.
func (c *Conn) Fail(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakOff(reason)
}

// Close closes the plane and waits for what is writing on behalf of others. Receive returns.
func (c *Conn) Close() {
	c.Fail(errClosed)
	c.handed.Wait()
}

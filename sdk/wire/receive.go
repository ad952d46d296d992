package wire

import (
	"errors"
	"io"
)

// Receive reads the plane until it ends, and gives each frame to handle, which must not write to the plane: two sides that
// write and do not read would wait for each other. It returns nil when the other side has closed the plane between two
// frames; otherwise the reason of a Fail or Close on this side, the error of handle, or what is wrong with the bytes. The
// plane is closed then.
func (c *Conn) Receive(handle func(*Frame) error) error {
	return c.ended(c.receive(handle, func() error { return nil }))
}

// Serve is Receive for the side that answers: handle queues answers, which are flushed after the last whole frame that
// one read brought. It may write because the side that asks always reads.
func (c *Conn) Serve(handle func(*Frame) error) error {
	return c.ended(c.receive(handle, c.Flush))
}

// ended closes the plane for the error that reading it has ended with.
func (c *Conn) ended(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case errors.Is(err, io.EOF):
		c.breakOff(errOtherSide)
		return nil
	}
	c.breakOff(err)
	return c.err
}

// receive reads until something goes wrong, the end included.
func (c *Conn) receive(handle func(*Frame) error, drained func() error) error {
	buf := make([]byte, chunkBytes)
	have := 0
	for {
		n, err := c.read(buf[have:])
		have += n
		used, want, bad := drain(buf[:have], handle)
		if bad != nil {
			return bad
		}
		if bad := drained(); bad != nil {
			return bad
		}
		if err != nil {
			if have > used && errors.Is(err, io.EOF) {
				return errInsideFrame
			}
			return err
		}
		buf, have = rest(buf, buf[used:have], want)
	}
}

// drain handles the whole frames at the beginning of b. It gives the bytes that it used, and how many the frame behind
// them takes, as far as that is known.
func drain(b []byte, handle func(*Frame) error) (used, want int, err error) {
	for {
		if len(b)-used < HeadBytes {
			return used, HeadBytes, nil
		}
		f, n, err := parseHead(b[used:])
		if err != nil {
			return used, 0, err
		}
		if len(b)-used < HeadBytes+n {
			return used, HeadBytes + n, nil
		}
		f.Body = b[used+HeadBytes : used+HeadBytes+n : used+HeadBytes+n]
		used += HeadBytes + n
		if err := handle(&f); err != nil {
			return used, 0, err
		}
	}
}

// rest moves the beginning of a frame to the front of a buffer that has room for all of it. A buffer that only one large
// frame needed is let go.
func rest(buf, part []byte, want int) ([]byte, int) {
	if want > len(buf) || want <= chunkBytes && len(buf) > keptBytes {
		bigger := make([]byte, max(want, chunkBytes))
		return bigger, copy(bigger, part)
	}
	return buf, copy(buf, part)
}

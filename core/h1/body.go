package h1

import (
	"errors"
	"io"
	"os"
	"time"
)

// bodyReader holds a request's body.
type bodyReader struct {
	buf  []byte // kept between requests where it is small
	read bool
}

// keptBody is the largest body buffer that a connection keeps for its next request.
const keptBody = 32 << 10

// release lets a large buffer go.
func (b *bodyReader) release() {
	if cap(b.buf) > keptBody {
		b.buf = nil
	}
}

func (x *exchange) Body(limit int64) ([]byte, error) {
	switch {
	case x.body.read:
		return nil, errors.New("body: read twice")
	case x.head.Length == 0:
		x.bodyDone, x.body.read = true, true
		return nil, nil
	case x.head.Length > limit:
		return nil, ErrBodyTooLarge
	}
	x.body.read = true
	if x.head.expect && x.c.r == x.c.w {
		if err := x.c.write([][]byte{[]byte("HTTP/1.1 100 Continue\r\n\r\n")}); err != nil {
			return nil, err
		}
	}
	pace := pace{start: time.Now(), c: x.c}
	var body []byte
	var err error
	if x.head.Length > 0 {
		body, err = x.sized(&pace)
	} else {
		body, err = x.chunks(limit, &pace)
	}
	if err != nil {
		x.broken = true
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = &RequestError{Status: 408, Msg: "body: came too slowly"}
		} else if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	x.bodyDone = true
	return body, nil
}

// sized reads a body of known length. One that has come with the head is not copied.
func (x *exchange) sized(p *pace) ([]byte, error) {
	c, n := x.c, int(x.head.Length)
	if c.w-c.r >= n {
		body := c.buf[c.r : c.r+n : c.r+n]
		c.r += n
		return body, nil
	}
	if cap(x.body.buf) < n {
		// What is announced is believed up to a bound; beyond that the buffer grows with what comes.
		x.body.buf = make([]byte, 0, min(n, 1<<20))
	}
	b := append(x.body.buf[:0], c.buf[c.r:c.w]...)
	c.r = c.w
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		got, err := p.read(b[len(b):min(n, cap(b))])
		if b = b[:len(b)+got]; err != nil && len(b) < n {
			x.body.buf = b
			return nil, err
		}
	}
	x.body.buf = b
	return b, nil
}

// chunks reads a chunked body.
func (x *exchange) chunks(limit int64, p *pace) ([]byte, error) {
	c := x.c
	x.body.buf = x.body.buf[:0]
	var d chunkDecoder
	for {
		for c.r < c.w {
			data, n, err := d.next(c.buf[c.r:c.w])
			c.r += n
			if err != nil {
				return nil, err
			}
			if int64(len(x.body.buf)+len(data)) > limit {
				return nil, ErrBodyTooLarge
			}
			x.body.buf = append(x.body.buf, data...)
			if d.done() {
				return x.body.buf, nil
			}
		}
		c.r, c.w = c.headEnd(), c.headEnd()
		n, err := p.read(c.buf[c.w:])
		if c.w += n; n == 0 && err != nil {
			return nil, err
		}
	}
}

// headEnd is where a body may be read into buf without spoiling the head: its second half, or the start of a buffer
// that the head does not use.
func (c *conn) headEnd() int {
	if c.bodyAt == 0 {
		c.bodyAt = c.r
		if len(c.buf)-c.bodyAt < 1<<10 {
			bigger := make([]byte, len(c.buf)+bufferSize)
			copy(bigger, c.buf[:c.bodyAt])
			c.buf = bigger
		}
	}
	return c.bodyAt
}

// pace reads a body at no less than its rate.
type pace struct {
	c     *conn
	start time.Time
	total int64
	armed bool
}

func (p *pace) read(b []byte) (int, error) {
	c, s := p.c, p.c.srv
	due := p.start.Add(or(s.BodyGrace, 10*time.Second) + time.Duration(p.total/or(s.BodyRate, 1<<10))*time.Second)
	if !p.armed || due.Sub(c.deadline) > time.Second {
		c.setReadDeadline(due)
		p.armed = true
	}
	n, err := c.nc.Read(b)
	p.total += int64(n)
	return n, err
}

package h1

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// maxInterim bounds the 1xx answers before the real one.
const maxInterim = 8

// maxAnswerFields bounds the fields of an answer.
const maxAnswerFields = 512

// ReadHead reads the answer's status and fields. Where a pooled connection turns out to have been closed before the request
// came, the request is sent again on a new one.
func (c *Call) ReadHead() error {
	if c.far != nil {
		return c.readFarHead()
	}
	if c.up == nil {
		return c.fault("head", errNotSent, true)
	}
	err := c.readFinalHead()
	if err == nil || c.heard || c.aborted.Load() || !c.up.used || !c.up.untaken(err) {
		return c.headFault(err)
	}
	c.letGo(false)
	if err := c.sendAnew(); err != nil {
		return err
	}
	return c.headFault(c.readFinalHead())
}

var errNotSent = errors.New("no request has been sent")

// headFault is fault for an answer's head, which must come.
func (c *Call) headFault(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return c.fault("head", err, false)
}

// readFinalHead reads heads up to one that is not interim.
func (c *Call) readFinalHead() error {
	for range maxInterim {
		text, err := c.readHead()
		if err != nil {
			return err
		}
		if err := c.parseHead(text); err != nil {
			return err
		}
		if c.status >= 200 {
			return nil
		}
		if c.status == 101 {
			break
		}
		c.status, c.length, c.fields = 0, 0, c.fields[:0]
	}
	return errors.New("interim answers without end, or a switch of protocol that nobody asked for")
}

// readHead reads up to the blank line and gives the head without it; it stays in buf.
func (c *Call) readHead() ([]byte, error) {
	scanned := 0
	limit := c.pool.opt.HeadBytes
	for {
		text := c.buf[c.r:c.w]
		from := max(0, scanned-2)
		if last, end := headEnd(text[from:]); end > 0 {
			c.r += from + end
			return text[:from+last], nil
		}
		if scanned = len(text); scanned >= limit {
			return nil, errors.New("head larger than its limit")
		}
		if c.buf != nil && c.w == len(c.buf) {
			bigger := getBlock(2 * len(c.buf))
			c.w = copy(bigger.b, text)
			putBlock(c.block)
			c.block, c.buf, c.r = bigger, bigger.b, 0
		}
		if err := c.fill(c.until(time.Now())); err != nil {
			return nil, err
		}
	}
}

// parseHead reads the status line and the fields, and works out the body's framing.
func (c *Call) parseHead(text []byte) error {
	line, rest, plain, ok := answerLine(text, false)
	if !ok || len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errors.New("status line: want HTTP/1.1 and a status")
	}
	minor := line[7]
	for _, d := range line[9:12] {
		if d < '0' || d > '9' {
			return errors.New("status line: want a status of three digits")
		}
		c.status = c.status*10 + int(d-'0')
	}
	if minor != '0' && minor != '1' || c.status < 100 || c.status > 599 {
		return errors.New("status line: want HTTP/1.1 and a status from 100 to 599")
	}
	for len(rest) > 0 {
		var asUsual bool
		if line, rest, asUsual, ok = answerLine(rest, true); !ok || len(c.fields) == maxAnswerFields {
			return errors.New("head: a carriage return within a line, or too many fields")
		}
		short := unspaced(line)
		plain = plain && asUsual && len(short) == len(line)
		f, msg := parseField(short)
		if msg != "" {
			return errors.New("head field: " + msg)
		}
		c.fields = append(c.fields, f)
	}
	err := c.framing(minor)
	c.reuse = c.reuse && plain // other readers may see other lines
	return err
}

// framing works out where the body ends (RFC 9112 6.3). One length may stand several times, as RFC 9110 8.6 allows; chunks
// count before a length, and the connection that had both is not used again.
func (c *Call) framing(minor byte) error {
	lengths, coded := 0, false
	closes, keeps := false, false
	for i := range c.fields {
		switch f := &c.fields[i]; {
		case is(f.Name, "connection"):
			cl, ke := connectionOptions(f.Value)
			closes, keeps = closes || cl, keeps || ke
		case is(f.Name, "content-length"):
			for v := range bytes.SplitSeq(f.Value, []byte{','}) {
				n, ok := parseLength(trim(v))
				if !ok || lengths > 0 && n != c.length {
					return errors.New("content-length: want digits alone, and one length")
				}
				c.length = n
				lengths++
			}
		case is(f.Name, "transfer-encoding"):
			if coded || !is(f.Value, "chunked") {
				return errors.New("transfer-encoding: want chunked alone")
			}
			coded = true
		}
	}
	c.reuse = !closes && (minor == '1' || keeps) && !(coded && lengths > 0)
	switch {
	case coded && minor == '0':
		return errors.New("transfer-encoding: not in HTTP/1.0")
	case c.status < 200 || c.status == 204 || c.status == 304 || c.out.Method == "HEAD":
		c.framed, c.ended = noBody, c.status >= 200
	case coded:
		c.framed, c.length = chunkedBody, -1
	case lengths > 0:
		c.framed, c.left = sizedBody, c.length
		c.ended = c.length == 0
	default:
		c.framed, c.length, c.reuse = untilClose, -1, false
	}
	return nil
}

// Lean is for an answer that is passed on as it comes: from now on its head is gone, and the request's segments, what one
// read brings is bounded, and there is no buffer to read into while nothing comes. What Next gave last is still valid.
func (c *Call) Lean() {
	c.lean, c.fields = true, c.fields[:0]
	clear(c.segs[:cap(c.segs)])
	putBlock(c.headOf)
	c.headOf = nil
}

// narrowWindow is the receive buffer of an upstream whose answer is passed to a slow client. At a round trip of 50 ms some
// 640 KB a second still come through it. The kernel takes twice as much memory for it.
const narrowWindow = 32 << 10

// Narrow is for a lean answer whose reader is slow: the kernel's receive buffer, or the stream's window, no longer grows with
// the upstream's speed.
func (c *Call) Narrow() {
	if c.far != nil {
		c.far.Narrow()
	}
	if c.up != nil && !c.narrow {
		c.narrow = true
		c.up.peer().narrow(narrowWindow)
	}
}

// Ahead is how many bytes of a lean answer Next may give, and how many may be held here before it is called.
func (c *Call) Ahead() (next, held int) {
	if c.far != nil {
		return c.far.Ahead()
	}
	return upstreamBuffer, 0
}

// Spare gives the read buffer of a lean answer back until more is asked for. What Next gave last is no longer valid.
func (c *Call) Spare() {
	if c.far != nil {
		c.far.Spare()
	}
	if c.lean && c.r == c.w {
		c.dropBlock()
	}
}

// dropBlock gives the buffer back, which holds nothing.
func (c *Call) dropBlock() {
	putBlock(c.block)
	c.block, c.buf, c.r, c.w, c.bodyAt = nil, nil, 0, 0, 0
}

// behindHead makes buf free for the next part of the body. The head is still needed: the body is read behind it, or to a
// block of its own where there is little room or the body has filled it.
func (c *Call) behindHead() {
	switch {
	case c.lean && len(c.buf) > upstreamBuffer:
		c.dropBlock()
	case c.lean:
		c.bodyAt = 0
	case c.bodyAt < 0:
		if c.bodyAt = c.r; len(c.buf)-c.bodyAt < upstreamBuffer/4 {
			c.moveBody(upstreamBuffer)
		}
	case c.brimful && c.headOf == nil:
		c.moveBody(largeBuffer)
	}
	c.r, c.w = c.bodyAt, c.bodyAt
}

// moveBody has the body read to a block without the head.
func (c *Call) moveBody(size int) {
	c.headOf, c.block = c.block, getBlock(size)
	c.buf, c.bodyAt = c.block.b, 0
}

// Next gives the next bytes of the body, as many as have come, valid until the next call of Next or Wait; io.EOF at its complete
// end, ErrTruncated where it ended early.
func (c *Call) Next() ([]byte, error) {
	if c.far != nil {
		return c.nextFar()
	}
	for {
		switch {
		case c.ended:
			return nil, io.EOF
		case c.up == nil:
			return nil, c.fault("body", errNotSent, false)
		}
		if c.broken != nil {
			return nil, c.fault("body", c.broken, false)
		}
		if c.r < c.w {
			data, err := c.unframe()
			if err != nil {
				return nil, c.fault("body", err, false)
			}
			if len(data) > 0 {
				return data, nil
			}
			continue
		}
		c.behindHead()
		switch err := c.fill(c.until(time.Now())); {
		case err == nil:
		case err == io.EOF && c.framed == untilClose && !c.aborted.Load():
			c.ended = true
		case err == io.EOF && !c.aborted.Load():
			return nil, ErrTruncated
		default:
			return nil, c.fault("body", err, false)
		}
	}
}

// unframe takes data off the buffer.
func (c *Call) unframe() ([]byte, error) {
	p := c.buf[c.r:c.w]
	switch c.framed {
	case sizedBody:
		data := p[:min(int64(len(p)), c.left)]
		c.r += len(data)
		if c.left -= int64(len(data)); c.left == 0 {
			c.ended = true
		}
		return data, nil
	case chunkedBody:
		return c.unchunk()
	}
	c.r = c.w
	return p, nil
}

// unchunk takes the data of all chunks that have come off the buffer. That of the first stays where it is; that of later
// ones moves up to it, over the framing: a small copy, and one write less for each in whoever passes the data on.
func (c *Call) unchunk() (data []byte, err error) {
	for c.r < c.w && !c.ended {
		more, n, err := c.chunks.next(c.buf[c.r:c.w])
		c.r += n
		if err != nil {
			c.broken = err // not before what came before it
			break
		}
		if data == nil {
			data = more
		} else {
			data = append(data, more...) // within buf, before c.r
		}
		c.ended = c.chunks.done()
	}
	if len(data) == 0 {
		return nil, c.broken
	}
	return data, nil
}

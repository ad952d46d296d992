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

// ReadHead reads the answer's status and fields.
func (c *Call) ReadHead() error {
	for range maxInterim {
		text, err := c.readHead()
		if err != nil {
			return c.fault("head", err)
		}
		if err := c.parseHead(text); err != nil {
			return &CallError{Phase: "head", Err: err}
		}
		if c.status >= 200 {
			return nil
		}
		if c.status == 101 {
			break
		}
		c.status, c.fields = 0, c.fields[:0]
	}
	return &CallError{Phase: "head", Err: errors.New("interim answers without end, or a switch of protocol that nobody asked for")}
}

// readHead reads up to the blank line and gives the head without it; it stays in buf.
func (c *Call) readHead() ([]byte, error) {
	scanned := 0
	limit := c.up.pool.opt.HeadBytes
	for {
		text := c.buf[c.r:c.w]
		if i := bytes.Index(text[max(0, scanned-3):], []byte("\r\n\r\n")); i >= 0 {
			i += max(0, scanned-3)
			c.r += i + 4
			return text[:i+2], nil
		}
		if scanned = len(text); scanned >= limit {
			return nil, errors.New("head larger than its limit")
		}
		if c.buf != nil && c.w == len(c.buf) {
			bigger := make([]byte, 2*len(c.buf))
			c.w = copy(bigger, text)
			c.buf, c.r = bigger, 0
		}
		limit, from := c.current(time.Now())
		c.arm(limit, from)
		if err := c.fill(); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// parseHead reads the status line and the fields, and works out the body's framing.
func (c *Call) parseHead(text []byte) error {
	line, rest, ok := cutLine(text)
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
		if line, rest, ok = cutLine(rest); !ok || len(c.fields) == maxAnswerFields {
			return errors.New("head: bare line feed, or too many fields")
		}
		f, msg := parseField(line)
		if msg != "" {
			return errors.New("head field: " + msg)
		}
		c.fields = append(c.fields, f)
	}
	return c.framing(minor)
}

// framing works out where the body ends (RFC 9112 6.3).
func (c *Call) framing(minor byte) error {
	lengths, coded := 0, false
	c.reuse = minor == '1'
	for i := range c.fields {
		f := &c.fields[i]
		switch len(f.Name) {
		case 10:
			if equalFold(f.Name, "connection") {
				switch {
				case bytes.Contains(bytes.ToLower(f.Value), []byte("close")):
					c.reuse = false
				case bytes.EqualFold(f.Value, []byte("keep-alive")):
					c.reuse = true
				}
			}
		case 14:
			if equalFold(f.Name, "content-length") {
				n, ok := parseLength(f.Value)
				if !ok || lengths > 0 && n != c.length {
					return errors.New("content-length: want digits alone, once")
				}
				c.length = n
				lengths++
			}
		case 17:
			if equalFold(f.Name, "transfer-encoding") {
				if coded || !bytes.EqualFold(f.Value, []byte("chunked")) {
					return errors.New("transfer-encoding: want chunked alone")
				}
				coded = true
			}
		}
	}
	switch {
	case c.status < 200 || c.status == 204 || c.status == 304:
		c.framed, c.length, c.ended = noBody, 0, c.status >= 200
	case coded && lengths > 0:
		return errors.New("transfer-encoding: stands beside content-length")
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

// bodyStart is where bytes of the body may be read to: behind the head, whose fields are still needed.
func (c *Call) bodyStart() int {
	if c.bodyAt == 0 {
		c.bodyAt = c.r
		if len(c.buf)-c.bodyAt < 4<<10 {
			bigger := make([]byte, c.bodyAt+upstreamBuffer)
			copy(bigger, c.buf[:c.w])
			c.buf = bigger
		}
	}
	return c.bodyAt
}

// Next gives the next bytes of the body as they came, valid until the next call of Next or Wait; io.EOF at its complete
// end, ErrTruncated where it ended early.
func (c *Call) Next() ([]byte, error) {
	for {
		if c.ended || c.up == nil {
			return nil, io.EOF
		}
		if c.r < c.w {
			data, err := c.unframe()
			if err != nil {
				return nil, &CallError{Phase: "body", Err: err}
			}
			if len(data) > 0 {
				return data, nil
			}
			continue
		}
		c.r, c.w = c.bodyStart(), c.bodyStart()
		limit, from := c.current(time.Now())
		c.arm(limit, from)
		switch err := c.fill(); {
		case err == nil:
		case err == io.EOF && c.framed == untilClose && !c.isAborted():
			c.ended = true
		case err == io.EOF && !c.isAborted():
			return nil, ErrTruncated
		default:
			return nil, c.fault("body", err)
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
		data, n, err := c.chunks.next(p)
		c.r += n
		if c.chunks.done() {
			c.ended = true
		}
		return data, err
	}
	c.r = c.w
	return p, nil
}

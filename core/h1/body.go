package h1

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

func (x *exchange) Body(limit int64) ([]byte, error) {
	switch {
	case x.bodyRead:
		return nil, errTwice
	case x.head.Length > limit:
		return nil, ErrBodyTooLarge
	}
	x.bodyRead = true
	if x.head.Length == 0 {
		return nil, nil
	}
	c := x.c
	if x.head.expect && c.r == c.w && !x.sentHead {
		if err := c.write([][]byte{[]byte("HTTP/1.1 100 Continue\r\n\r\n")}); err != nil {
			return nil, err
		}
	}
	p := pace{c: c, start: time.Now(), grace: or(c.srv.BodyGrace, 10*time.Second), rate: or(c.srv.BodyRate, 1<<10)}
	var body []byte
	var err error
	if x.head.Length > 0 {
		body, err = x.sized(&p)
	} else {
		body, err = x.chunks(limit, &p)
	}
	c.into.b = nil // or the connection keeps it
	switch {
	case err == nil:
		x.bodyDone = true
		return body, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &RequestError{Status: 408, Msg: "body: came too slowly"}
	case errors.Is(err, io.EOF):
		err = ErrTruncated
	}
	x.broken = true
	return nil, err
}

// ForgetBody leaves a large body to the collector, whoever looks at it still. Others go back to their pool with the exchange.
func (x *exchange) ForgetBody() {
	x.bodyGone = true
	if x.body != nil && len(x.body.b) > largeBlock {
		x.body = nil
	}
}

// Spare moves the head to memory of its own, and leaves all that the request was read to to the collector: whoever still looks
// at the head as it was sees what was there.
func (x *exchange) Spare() {
	c := x.c
	if x.spared || !x.bodyGone || x.broken || !x.bodyDone && x.head.Length != 0 || c.r < c.w {
		return
	}
	x.spared = true
	x.head.move()
	c.work.fields = x.head.Fields // which may have outgrown them
	x.body, c.big, c.prev = nil, nil, nil
	c.work.buf, c.buf, c.r, c.w, c.headEnd = nil, nil, 0, 0, 0
}

// pace reads a body that must come at no less than its rate, once its grace is over.
type pace struct {
	c     *conn
	start time.Time
	grace time.Duration
	rate  int64 // bytes a second
	total int64
}

func (p *pace) read(b []byte) (int, error) {
	earned := time.Duration(float64(p.total) / float64(p.rate) * float64(time.Second))
	n, err := p.c.fill(b, p.start.Add(p.grace+earned))
	p.total += int64(n)
	return n, err
}

// firstBody and growBody bound what is set aside for a body beyond what has come of it: an announced length costs its
// sender nothing.
const (
	firstBody = 64 << 10
	growBody  = 8
)

// sized reads a body of known length. One that has come with the head is not copied.
func (x *exchange) sized(p *pace) ([]byte, error) {
	c, n := x.c, int(x.head.Length)
	if c.w-c.r >= n {
		body := c.buf[c.r : c.r+n : c.r+n]
		c.r += n
		return body, nil
	}
	x.body = getBlock(min(n, firstBody))
	have := copy(x.body.b, c.buf[c.r:c.w])
	c.r = c.w
	for have < n {
		if have == len(x.body.b) {
			x.growBody(min(n, have*growBody))
		}
		got, err := p.read(x.body.b[have:min(n, len(x.body.b))])
		if have += got; err != nil {
			return nil, err
		}
	}
	return x.body.b[:n:n], nil
}

// growBody moves the body to a larger block.
func (x *exchange) growBody(size int) {
	old := x.body
	x.body = getBlock(size)
	copy(x.body.b, old.b)
	putBlock(old)
}

// chunks reads a chunked body. It is read behind the head, whose bytes are still needed, and its data moved to a block.
func (x *exchange) chunks(limit int64, p *pace) ([]byte, error) {
	c := x.c
	x.body = getBlock(smallBlock)
	have := 0
	var d chunkDecoder
	for {
		for c.r < c.w {
			data, n, err := d.next(c.buf[c.r:c.w])
			c.r += n
			if err != nil {
				return nil, err
			}
			if int64(have+len(data)) > limit {
				return nil, ErrBodyTooLarge
			}
			if have+len(data) > len(x.body.b) {
				x.growBody(2 * (have + len(data)))
			}
			have += copy(x.body.b[have:], data)
			if d.done() {
				return x.body.b[:have:have], nil
			}
		}
		c.behindHead()
		n, err := p.read(c.buf[c.w:])
		if c.w += n; err != nil {
			return nil, err
		}
	}
}

// behindHead makes the rest of buf free for a body, without spoiling the head before it.
func (c *conn) behindHead() {
	if len(c.buf)-c.headEnd < 1<<10 {
		bigger := getBlock(len(c.buf) + smallBlock)
		copy(bigger.b, c.buf[:c.headEnd])
		c.retire(bigger) // the head's fields still point into the old one
	}
	c.r, c.w = c.headEnd, c.headEnd
}

// chunkDecoder undoes chunked framing (RFC 9112 7.1) without copying. It holds to the grammar: CRLF ends each line, a
// size is hexadecimal digits alone, extensions and trailers are read over within a bound.
//
// An upstream's answer is read with less rigour, since nobody but its sender says where it ends: white space behind a size
// is passed over (RFC 9112 7.1.1 has it before an extension, and some servers pad sizes with it), and a line feed alone
// ends a line (2.2).
type chunkDecoder struct {
	state   chunkState
	left    uint64 // of the chunk's data
	digits  int
	skipped int // bytes of padding, extensions and trailers
	trailer []byte
	answer  bool // it is an upstream's: read with less rigour, its trailer's lines collected
}

type chunkState uint8

const (
	atSize chunkState = iota
	behindSize
	inExtension
	atSizeLF
	inData
	atDataCR
	atDataLF
	atTrailer
	inTrailer
	atTrailerLF
	atEndLF
	chunksDone
)

// maxSkipped bounds extensions and trailers of one body.
const maxSkipped = 8 << 10

// reset makes the decoder ready for another body, whose trailer it keeps.
func (d *chunkDecoder) reset() { *d = chunkDecoder{answer: true, trailer: d.trailer[:0]} }

func (d *chunkDecoder) done() bool { return d.state == chunksDone }

// next takes bytes off p and gives the data in them, if any, as a slice of p.
func (d *chunkDecoder) next(p []byte) (data []byte, n int, err error) {
	for n < len(p) && d.state != chunksDone {
		if d.state == inData {
			take := min(uint64(len(p)-n), d.left)
			data = p[n : n+int(take)]
			n += int(take)
			if d.left -= take; d.left == 0 {
				d.state = atDataCR
			}
			return data, n, nil
		}
		if e := d.step(p[n]); e != nil {
			return nil, n, e
		}
		n++
	}
	return nil, n, nil
}

// step takes one byte of framing.
func (d *chunkDecoder) step(c byte) error {
	switch d.state {
	case atSize, behindSize:
		return d.size(c)
	case inExtension:
		switch {
		case c == '\r':
			d.state = atSizeLF
		case d.lone(c):
			d.chunk()
		case c == '\n' || c < 0x20 && c != '\t' || c == 0x7f:
			return bad("chunk: control byte in an extension")
		default:
			return d.skip()
		}
	case atSizeLF:
		if c != '\n' {
			return bad("chunk: size not followed by CRLF")
		}
		d.chunk()
	case atDataCR, atDataLF:
		switch {
		case d.state == atDataCR && c == '\r':
			d.state = atDataLF
		case d.state == atDataLF && c == '\n', d.lone(c):
			d.state = atSize
		default:
			return bad("chunk: data not followed by CRLF")
		}
	default:
		return d.trailerByte(c)
	}
	return nil
}

// lone says whether a byte ends a line without a carriage return before it.
func (d *chunkDecoder) lone(c byte) bool { return d.answer && c == '\n' }

// chunk begins the chunk whose size has been read.
func (d *chunkDecoder) chunk() {
	d.digits = 0
	if d.state = inData; d.left == 0 {
		d.state = atTrailer
	}
}

// size takes a byte of a chunk's size line.
func (d *chunkDecoder) size(c byte) error {
	v := unhex[c]
	switch {
	case v < 16 && d.state == atSize:
		if d.digits++; d.digits > 15 {
			return bad("chunk: size too long")
		}
		d.left = d.left<<4 | uint64(v)
	case d.digits == 0:
		return bad("chunk: want a size in hexadecimal")
	case c == ';':
		d.state = inExtension
	case c == '\r':
		d.state = atSizeLF
	case d.lone(c):
		d.chunk()
	case d.answer && (c == ' ' || c == '\t'):
		d.state = behindSize
		return d.skip()
	default:
		return bad("chunk: want CRLF behind the size")
	}
	return nil
}

// trailerByte takes a byte behind the last chunk.
func (d *chunkDecoder) trailerByte(c byte) error {
	switch d.state {
	case atTrailer:
		if c == '\r' {
			d.state = atEndLF
			return nil
		}
		if d.lone(c) {
			d.state = chunksDone
			return nil
		}
		if c == '\n' || c == ' ' || c == '\t' {
			return bad("chunk: bad trailer")
		}
		d.state = inTrailer
		return d.collect(c)
	case inTrailer:
		switch {
		case c == '\r':
			d.state = atTrailerLF
		case d.lone(c):
			d.endTrailerLine()
		case c == '\n' || c < 0x20 && c != '\t' || c == 0x7f:
			return bad("chunk: control byte in a trailer")
		default:
			return d.collect(c)
		}
	case atTrailerLF:
		if c != '\n' {
			return bad("chunk: trailer not ended by CRLF")
		}
		d.endTrailerLine()
	case atEndLF:
		if c != '\n' {
			return bad("chunk: body not ended by CRLF")
		}
		d.state = chunksDone
	}
	return nil
}

func (d *chunkDecoder) endTrailerLine() {
	if d.answer {
		d.trailer = append(d.trailer, '\n')
	}
	d.state = atTrailer
}

func (d *chunkDecoder) collect(c byte) error {
	if d.answer {
		d.trailer = append(d.trailer, c)
	}
	return d.skip()
}

func (d *chunkDecoder) skip() error {
	if d.skipped++; d.skipped > maxSkipped {
		return bad("chunk: padding, extensions or trailers over their bound")
	}
	return nil
}

// fields gives the trailer's fields.
func (d *chunkDecoder) fields() []Field {
	var list []Field
	for line := range bytes.Lines(d.trailer) {
		if f, msg := parseField(bytes.TrimSuffix(line, []byte{'\n'})); msg == "" {
			list = append(list, f)
		}
	}
	return list
}

// unhex gives the value of a hexadecimal digit; 16 and more: none.
var unhex = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return
}()

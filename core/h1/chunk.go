package h1

import "bytes"

// chunkDecoder undoes chunked framing (RFC 9112 7.1) without copying. It holds to the grammar: CRLF ends each line, a
// size is hexadecimal digits alone, extensions and trailers are read over within a bound.
type chunkDecoder struct {
	state   chunkState
	left    uint64 // of the chunk's data
	digits  int
	skipped int // bytes of extensions and trailers
	trailer []byte
	keep    bool // collect the trailer's lines
	prev    byte
}

type chunkState uint8

const (
	atSize chunkState = iota
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
	case atSize:
		return d.size(c)
	case inExtension:
		switch {
		case c == '\r':
			d.state = atSizeLF
		case c == '\n' || c < 0x20 && c != '\t' || c == 0x7f:
			return bad("chunk: control byte in an extension")
		default:
			return d.skip()
		}
	case atSizeLF:
		if c != '\n' {
			return bad("chunk: size not followed by CRLF")
		}
		d.digits = 0
		if d.state = inData; d.left == 0 {
			d.state = atTrailer
		}
	case atDataCR, atDataLF:
		want := byte('\r')
		if d.state == atDataLF {
			want = '\n'
		}
		if c != want {
			return bad("chunk: data not followed by CRLF")
		}
		if d.state++; d.state == atTrailer {
			d.state = atSize
		}
	default:
		return d.trailerByte(c)
	}
	return nil
}

// size takes a byte of a chunk's size line.
func (d *chunkDecoder) size(c byte) error {
	v := unhex[c]
	switch {
	case v < 16:
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
		if c == '\n' || c == ' ' || c == '\t' {
			return bad("chunk: bad trailer")
		}
		d.state = inTrailer
		return d.collect(c)
	case inTrailer:
		switch {
		case c == '\r':
			d.state = atTrailerLF
		case c == '\n' || c < 0x20 && c != '\t' || c == 0x7f:
			return bad("chunk: control byte in a trailer")
		default:
			return d.collect(c)
		}
	case atTrailerLF:
		if c != '\n' {
			return bad("chunk: trailer not ended by CRLF")
		}
		if d.keep {
			d.trailer = append(d.trailer, '\n')
		}
		d.state = atTrailer
	case atEndLF:
		if c != '\n' {
			return bad("chunk: body not ended by CRLF")
		}
		d.state = chunksDone
	}
	return nil
}

func (d *chunkDecoder) collect(c byte) error {
	if d.keep {
		d.trailer = append(d.trailer, c)
	}
	return d.skip()
}

func (d *chunkDecoder) skip() error {
	if d.skipped++; d.skipped > maxSkipped {
		return bad("chunk: extensions or trailers over their bound")
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

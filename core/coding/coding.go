// Package coding undoes HTTP content codings (RFC 9110 8.4.1): gzip, deflate, br and zstd, by decoders that count what
// they give, so that a small body cannot become a large one.
//
// Which bodies are decoded and what their bounds are is the caller's to say; nothing here encodes.
package coding

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// ErrUnknown says that a coding is none of those understood.
var ErrUnknown = errors.New("content coding unknown")

// ErrTooLarge says that what comes out is over the bound.
var ErrTooLarge = errors.New("decoded body over its bound")

// Identity says whether a Content-Encoding value leaves the body as it is. Servers of streams write "none" to keep proxies
// from compressing them, and some name the character set there.
func Identity(value []byte) bool {
	v := bytes.TrimSpace(value)
	for _, word := range [...]string{"", "identity", "none", "utf-8"} {
		if len(v) == len(word) && strings.EqualFold(string(v), word) {
			return true
		}
	}
	return false
}

// NewReader decodes r, which has the coding that value names, and gives at most limit bytes; then ErrTooLarge. A list of
// codings is unknown: nobody sends one to good ends. Close lets the decoder go; it does not close r.
func NewReader(value string, r io.Reader, limit int64) (io.ReadCloser, error) {
	b := &bounded{left: limit}
	var err error
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "gzip", "x-gzip":
		b.r, err = gzip.NewReader(r)
	case "deflate":
		b.r, err = inflate(r)
	case "br":
		b.r = brotli.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		// One goroutine's work and a window of 8 MiB (RFC 9659) bound what a frame's header can ask for.
		d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err == nil {
			b.r, b.close = d, d.Close
		}
	default:
		return nil, fmt.Errorf("%w: %q, want gzip, deflate, br or zstd", ErrUnknown, value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s body: %w", value, err)
	}
	return b, nil
}

// NewAnswerReader is NewReader for an answer, which some proxies have decoded without saying so: what does not begin as gzip
// does is given as it is.
func NewAnswerReader(value string, r io.Reader, limit int64) (io.ReadCloser, error) {
	if v := strings.ToLower(strings.TrimSpace(value)); v != "gzip" && v != "x-gzip" {
		return NewReader(value, r, limit)
	}
	b := bufio.NewReader(r)
	if head, err := b.Peek(2); err != nil || head[0] == 0x1f && head[1] == 0x8b {
		return NewReader(value, b, limit)
	}
	return &bounded{r: b, left: limit}, nil
}

// inflate reads deflate as RFC 9110 has it, in zlib's wrapping, and as many send it, without.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// bounded counts what a decoder gives.
type bounded struct {
	r     io.Reader
	left  int64
	close func()
}

// Read gives decoded bytes.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

// Close lets the decoder go.
func (b *bounded) Close() error {
	if b.close != nil {
		b.close()
	}
	return nil
}

// Decode decodes a whole body, as NewReader does.
func Decode(value string, body []byte, limit int64) ([]byte, error) {
	return decode(NewReader, value, body, limit)
}

// DecodeAnswer decodes a whole answer, as NewAnswerReader does.
func DecodeAnswer(value string, body []byte, limit int64) ([]byte, error) {
	return decode(NewAnswerReader, value, body, limit)
}

func decode(open func(string, io.Reader, int64) (io.ReadCloser, error), value string, body []byte, limit int64) ([]byte, error) {
	r, err := open(value, bytes.NewReader(body), limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

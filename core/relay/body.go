package relay

import (
	"io"

	"github.com/penstock-gateway/penstock/core/coding"
	"github.com/penstock-gateway/penstock/sdk"
)

// answerBody gives the pieces of an upstream's answer. A content coding that nobody asked for is undone on the way.
type answerBody struct {
	a       *active
	decoder io.ReadCloser // nil: the bytes are plain
	buf     []byte
}

// maxDecoded bounds what a compressed answer may become.
const maxDecoded = 64 << 20

// openBody begins to read the answer.
func (a *active) openBody() (*answerBody, *sdk.Failure) {
	b := &answerBody{a: a}
	value := a.call.Get("content-encoding")
	if coding.Identity(value) {
		return b, nil
	}
	r, err := coding.NewReader(string(value), &callReader{a: a}, maxDecoded)
	if err != nil {
		return nil, sdk.Fail(sdk.UpstreamError, "the provider's answer has a content coding that cannot be undone")
	}
	b.decoder, b.buf = r, make([]byte, 32<<10)
	return b, nil
}

// next gives the next bytes, valid until the next call; io.EOF at the complete end.
func (b *answerBody) next() ([]byte, error) {
	if b.decoder != nil {
		n, err := b.decoder.Read(b.buf)
		if n > 0 {
			return b.buf[:n], nil
		}
		return nil, err
	}
	if err := b.a.await(); err != nil {
		return nil, err
	}
	return b.a.call.Next()
}

func (b *answerBody) close() {
	if b.decoder != nil {
		b.decoder.Close()
	}
}

// callReader is the undecoded answer as a Reader.
type callReader struct {
	a    *active
	left []byte
}

// Read gives the next bytes of the answer.
func (c *callReader) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if err := c.a.await(); err != nil {
			return 0, err
		}
		next, err := c.a.call.Next()
		if err != nil {
			return 0, err
		}
		c.left = next
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoders make a body in each coding.
var encoders = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
}

func encode(t *testing.T, coding string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := encoders[coding](&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecode(t *testing.T) {
	text := []byte(strings.Repeat(`{"model":"m"}`, 1000))
	for coding := range encoders {
		body := encode(t, coding, text)
		got, err := Decode(strings.ToUpper(coding), body, int64(len(text)))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, error %v; want %d bytes", coding, len(got), err, len(text))
		}
		if _, err := Decode(coding, body, int64(len(text))-1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s one byte over the bound: error %v, want ErrTooLarge", coding, err)
		}
		if _, err := Decode(coding, body[:len(body)/2], 1<<20); err == nil {
			t.Errorf("%s cut in half: no error", coding)
		}
		if _, err := Decode(coding, []byte("not compressed at all"), 1<<20); err == nil {
			t.Errorf("%s of plain text: no error", coding)
		}
	}
}

func TestIdentity(t *testing.T) {
	for value, want := range map[string]bool{"": true, " ": true, "identity": true, "Identity": true, "none": true, "UTF-8": true, "gzip": false, "no": false} {
		if got := Identity([]byte(value)); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestDecodeAnswer(t *testing.T) {
	text := []byte(`{"model":"m"}`)
	for coding := range encoders {
		if got, err := DecodeAnswer(coding, encode(t, coding, text), 1<<20); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, error %v", coding, got, err)
		}
		if got, err := DecodeAnswer(coding, text, 1<<20); coding == "gzip" && (err != nil || !bytes.Equal(got, text)) || coding != "gzip" && err == nil {
			t.Errorf("%s that is none: %q, error %v", coding, got, err)
		}
	}
	if _, err := DecodeAnswer("gzip", text, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the bound: error %v, want ErrTooLarge", err)
	}
	if _, err := DecodeAnswer("gzip", nil, 3); err == nil {
		t.Error("no body: no error")
	}
}

func TestRawDeflate(t *testing.T) {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 6)
	io.WriteString(w, "hello")
	w.Close()
	if got, err := Decode("deflate", b.Bytes(), 10); string(got) != "hello" || err != nil {
		t.Errorf("raw deflate: %q, %v", got, err)
	}
}

func TestBombIsCut(t *testing.T) {
	const limit = 1 << 16
	for coding := range encoders {
		bomb := encode(t, coding, make([]byte, 8<<20))
		got, err := Decode(coding, bomb, limit)
		if !errors.Is(err, ErrTooLarge) || len(got) > limit {
			t.Errorf("%s bomb of %d bytes: %d bytes out, error %v", coding, len(bomb), len(got), err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, v := range []string{"compress", "gzip, gzip", "x"} {
		if _, err := Decode(v, nil, 1); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: error %v, want ErrUnknown", v, err)
		}
	}
	for v, want := range map[string]bool{"": true, " identity ": true, "Identity": true, "gzip": false} {
		if Identity([]byte(v)) != want {
			t.Errorf("Identity(%q) = %v", v, !want)
		}
	}
}

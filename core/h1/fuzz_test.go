package h1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzHead parses requests' heads with net/http as a partner: what this package takes, net/http must take too and
// understand in the same way. What only net/http takes is the purpose of this package.
func FuzzHead(f *testing.F) {
	for _, c := range wireCases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end := bytes.Index(text, []byte("\r\n\r\n"))
		if end < 0 {
			return
		}
		var h Head
		if h.parse(text[:end+2], 256) != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text[:end+4])))
		if err != nil {
			if string(h.Method) == "PRI" || strings.Contains(err.Error(), "invalid URI") || strings.Contains(err.Error(), "parse ") || strings.Contains(err.Error(), "malformed Host") {
				return // the target is judged by whoever routes, by exact match
			}
			t.Fatalf("net/http refuses %q: %v", text[:end+4], err)
		}
		if r.Method != string(h.Method) || r.ContentLength != h.Length || h.Minor != r.ProtoMinor {
			t.Errorf("%q: method %s length %d HTTP/1.%d, net/http has %s %d 1.%d", text, h.Method, h.Length, h.Minor, r.Method, r.ContentLength, r.ProtoMinor)
		}
		if r.Host != string(h.Host) && h.pathStart == 0 {
			t.Errorf("%q: host %q, net/http has %q", text, h.Host, r.Host)
		}
		for _, field := range h.Fields {
			if is(field.Name, "host") || is(field.Name, "transfer-encoding") {
				continue // net/http takes them out
			}
			if got, ok := r.Header[http.CanonicalHeaderKey(string(field.Name))]; !ok || !has(got, string(field.Value)) {
				t.Errorf("%q: field %q: %q, net/http has %q", text, field.Name, field.Value, got)
			}
		}
		if r.Close != h.close {
			t.Errorf("%q: close %v, net/http has %v", text, h.close, r.Close)
		}
	})
}

func has(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// FuzzChunks decodes chunked bodies in pieces: however they are cut the outcome is the same, and what is taken net/http's
// reader takes too, as the same bytes.
func FuzzChunks(f *testing.F) {
	for _, s := range []string{"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3;x=\"y\"\r\nabc\r\n00\r\nA: b\r\n\r\nmore", "a\r\n0123456789\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n"} {
		f.Add([]byte(s), uint8(1))
		f.Add([]byte(s), uint8(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		whole, n, err := decodeChunks(text, len(text)+1)
		pieces, m, err2 := decodeChunks(text, int(cut)+1)
		if !bytes.Equal(whole, pieces) || n != m || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %q (%d, %v) whole, %q (%d, %v) in pieces of %d", text, whole, n, err, pieces, m, err2, int(cut)+1)
		}
		if err != nil {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), bytes.NewReader(text[:n]))), nil)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := io.ReadAll(resp.Body)
		if err != nil && strings.Contains(err.Error(), "too much overhead") {
			return // a bound of its own
		}
		if err != nil && strings.Contains(err.Error(), "malformed MIME header") {
			return // trailers are not looked at here
		}
		if err != nil || !bytes.Equal(theirs, whole) {
			t.Fatalf("%q: %q, net/http has %q %v", text, whole, theirs, err)
		}
	})
}

// decodeChunks decodes a body given in pieces of a size; n is where it ended.
func decodeChunks(text []byte, size int) (body []byte, n int, err error) {
	var d chunkDecoder
	for n < len(text) && !d.done() {
		piece := text[n:min(len(text), n+size)]
		for len(piece) > 0 && !d.done() {
			data, took, err := d.next(piece)
			body = append(body, data...)
			n += took
			if err != nil {
				return body, n, err
			}
			piece = piece[took:]
		}
	}
	if !d.done() {
		return body, n, errors.New("not ended")
	}
	return body, n, nil
}

// FuzzAnswer reads answers' heads: what is taken net/http takes too, with the same status and length.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HTTP/1.0 204\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 3\n\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 3\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		last, end := headEnd(text)
		if end == 0 || bytes.Contains(text, []byte(" :")) || bytes.Contains(text, []byte("\t:")) { // which net/http makes names of
			return
		}
		c := Call{out: &Outgoing{Method: "POST"}}
		if c.parseHead(bytes.Clone(text[:last])) != nil || c.status < 200 {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text[:end])), &http.Request{Method: "POST"})
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", text[:end], err)
		}
		if resp.StatusCode != c.status || c.framed != noBody && resp.ContentLength != c.length {
			t.Errorf("%q: status %d length %d, net/http has %d %d", text, c.status, c.length, resp.StatusCode, resp.ContentLength)
		}
		if c.reuse && resp.Close {
			t.Errorf("%q: kept, net/http closes", text)
		}
	})
}

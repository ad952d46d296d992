// Package h1 is HTTP/1.1 on both sides of the gateway: a strict server that hands a whole exchange to one goroutine, and
// a client with pools that sends a request as segments and gives the answer's payload as it came.
//
// It refuses what two readers could understand differently (RFC 9112 11.2), keeps no buffer for an idle connection, and
// writes framing anew on each side. HTTP/2 and TLS are the standard library's, behind the same [Exchange]. What requests
// mean, which upstream is asked and what an answer says is the caller's.
package h1

import (
	"bytes"
	"errors"
	"strings"
	"time"
)

// Field is a header field as it stood on the wire, its value trimmed.
type Field struct{ Name, Value []byte }

// Head is a request's line and header fields. Its slices are valid until the exchange's end.
type Head struct {
	Method []byte
	Target []byte
	Minor  int // of HTTP/1
	Fields []Field
	Host   []byte
	Length int64 // of the body; -1: chunked

	expect    bool // 100-continue
	close     bool // Connection: close, or HTTP/1.0 without keep-alive
	pathEnd   int
	pathStart int
}

// Get gives the first value of a field by its lower-case name; nil where it is absent.
func (h *Head) Get(lower string) []byte { return get(h.Fields, lower) }

func get(fields []Field, lower string) []byte {
	for i := range fields {
		if f := &fields[i]; len(f.Name) == len(lower) && equalFold(f.Name, lower) {
			return f.Value
		}
	}
	return nil
}

// equalFold compares a field name with a lower-case one of the same length.
func equalFold(name []byte, lower string) bool {
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// Path gives the target's path as it was sent, undecoded.
func (h *Head) Path() []byte { return h.Target[h.pathStart:h.pathEnd] }

// Query gives what stands behind the question mark, undecoded.
func (h *Head) Query() []byte {
	if h.pathEnd == len(h.Target) {
		return nil
	}
	return h.Target[h.pathEnd+1:]
}

// Exchange is one request and its answer. It is not for concurrent use but where a method says so.
type Exchange interface {
	// Head is valid until the exchange's end.
	Head() *Head
	// Arrived is when the last byte of the head had been read.
	Arrived() time.Time
	RemoteAddr() string
	// Body reads the whole body, once; it is valid until the handler returns. It asks for the body where the client
	// waits to be asked and the length is within the limit. The error is ErrBodyTooLarge or a *RequestError, or the
	// connection's.
	Body(limit int64) ([]byte, error)
	// Commit sets status and fields of the answer, complete "Name: value\r\n" lines that the caller has checked. A
	// length of 0 or more is the body's; -1 is chunked. Nothing is sent before the first Write, Flush or End: head and
	// first bytes leave in one write. Framing, Date and Connection are added here.
	Commit(status int, fields []byte, length int64) error
	// DeclareTrailer names the trailer's fields; before Commit, of chunked answers.
	DeclareTrailer(names string)
	Committed() bool
	// Write sends bytes of the body, of a chunked one as one chunk. It waits while the client takes some within the
	// limit, then ErrStalled.
	Write(segs ...[]byte) error
	// TryWrite is Write without waiting: what was not taken is returned, framed already, for WriteRaw. A connection
	// that cannot do this returns all of it.
	TryWrite(segs ...[]byte) (rest [][]byte, err error)
	// WriteRaw goes on with what TryWrite left, perhaps in another goroutine, never beside another write.
	WriteRaw(segs [][]byte) error
	Flush() error
	// End ends the answer; trailers are lines as Commit's fields.
	End(trailers []byte) error
	// Abort ends the connection so that the client sees that the answer is not complete.
	Abort()
	// Watch calls gone once, from another goroutine, when the client closes its connection before Unwatch or the end.
	// Early bytes of a next request are kept.
	Watch(gone func())
	// Unwatch ends the watch; gone is not running, and will not be called, once it has returned.
	Unwatch()
}

// Handler answers one request. The exchange ends when it returns.
type Handler func(Exchange)

// RequestError says that a request is malformed, or more than is taken.
type RequestError struct {
	Status int
	Msg    string
}

// Error gives the message.
func (e *RequestError) Error() string { return e.Msg }

// Errors of both sides.
var (
	ErrBodyTooLarge = errors.New("body larger than its limit")
	ErrStalled      = errors.New("client takes nothing")
	ErrAborted      = errors.New("call aborted")
	ErrTruncated    = errors.New("answer ended early")
	errTwice        = errors.New("exchange: answered twice")
)

// token marks the bytes of RFC 9110's tokens.
var token = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c > 0x20 && c < 0x7f && !strings.ContainsRune("\"(),/:;<=>?@[\\]{}", rune(c))
	}
	return
}()

func isToken(b []byte) bool {
	for _, c := range b {
		if !token[c] {
			return false
		}
	}
	return len(b) > 0
}

// trim takes spaces and tabs off both ends.
func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// Package h1 is HTTP/1.1 on both sides of the gateway: a strict server that hands a whole exchange to one goroutine, and
// a client with pools that sends a request as segments and gives the answer's payload as it came.
//
// It refuses what two readers could understand differently (RFC 9112 11.2), keeps no buffer for an idle connection, and
// writes framing anew on each side. HTTP/2 and TLS are the standard library's, behind the same [Exchange]; HTTP/2 to
// upstreams is core/h2's, behind the same [Pool]. What requests mean, which upstream is asked and what an answer says is the
// caller's.
package h1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

	expect             bool // 100-continue
	close              bool // Connection: close, or HTTP/1.0 without keep-alive
	closeSaid          bool // by the field
	pathStart, pathEnd int  // in Target
}

// Get gives the first value of a field by its lower-case name; nil where it is absent.
func (h *Head) Get(lower string) []byte { return get(h.Fields, lower) }

// move copies the head to memory of its own size.
func (h *Head) move() {
	n := len(h.Method) + len(h.Target) + len(h.Host)
	for i := range h.Fields {
		n += len(h.Fields[i].Name) + len(h.Fields[i].Value)
	}
	b := make([]byte, 0, n)
	for _, p := range [...]*[]byte{&h.Method, &h.Target, &h.Host} {
		b = moveTo(b, p)
	}
	for i := range h.Fields {
		b = moveTo(b, &h.Fields[i].Name)
		b = moveTo(b, &h.Fields[i].Value)
	}
}

// moveTo copies p behind what is in b, which has room for it.
func moveTo(b []byte, p *[]byte) []byte {
	n := len(b)
	b = append(b, *p...)
	*p = b[n:len(b):len(b)]
	return b
}

func get(fields []Field, lower string) []byte {
	for i := range fields {
		if f := &fields[i]; is(f.Name, lower) {
			return f.Value
		}
	}
	return nil
}

// is compares a name with a lower-case one. Only ASCII folds: in Unicode's eyes the Kelvin sign is a k, and
// "chun\u212Aed" a coding.
func is(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
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

// RequestError says that a request is malformed, or more than is taken. Its connection is closed after the answer.
type RequestError struct {
	Status int
	Msg    string
}

// Error gives the message.
func (e *RequestError) Error() string { return e.Msg }

// Errors of both sides.
var (
	// ErrBodyTooLarge is a request's body over the handler's limit; nothing of it was kept.
	ErrBodyTooLarge = errors.New("body larger than its limit")
	// ErrStalled is a client that took no byte of the answer for the server's limit.
	ErrStalled = errors.New("client takes nothing")
	// ErrAborted is what waits get when Abort ends an exchange or a call.
	ErrAborted = errors.New("aborted")
	// ErrTruncated is a body that ended before its declared end, on either side.
	ErrTruncated = fmt.Errorf("body ended early: %w", io.ErrUnexpectedEOF)
	// ErrOverrun is an answer with more bytes than its declared length; the connection is closed.
	ErrOverrun = errors.New("answer longer than its declared length")

	errTwice = errors.New("answered or read twice")
)

// bad is a request that breaks the grammar.
func bad(format string, args ...any) *RequestError {
	return &RequestError{Status: 400, Msg: fmt.Sprintf(format, args...)}
}

// parse reads a request's head: text without its last blank line's CRLF, so that each line ends in CRLF. The head keeps
// text.
func (h *Head) parse(text []byte, maxFields int) *RequestError {
	*h = Head{Fields: h.Fields[:0]}
	line, rest, ok := cutLine(text)
	if !ok {
		return bad("request line: bare line feed or no end, want CRLF")
	}
	if err := h.requestLine(line); err != nil {
		return err
	}
	for len(rest) > 0 {
		if line, rest, ok = cutLine(rest); !ok {
			return bad("header: bare line feed, want CRLF")
		}
		if len(h.Fields) == maxFields {
			return &RequestError{Status: 431, Msg: "header: more than " + strconv.Itoa(maxFields) + " fields"}
		}
		f, msg := parseField(line)
		if msg != "" {
			return bad("header field %d: %s", len(h.Fields)+1, msg)
		}
		h.Fields = append(h.Fields, f)
	}
	return h.framing()
}

// cutLine takes a line off text; false where its end is not CRLF.
func cutLine(text []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 1 || text[i-1] != '\r' {
		return nil, nil, false
	}
	line = text[:i-1]
	return line, text[i+1:], bytes.IndexByte(line, '\r') < 0
}

// requestLine reads "METHOD target HTTP/1.x".
func (h *Head) requestLine(line []byte) *RequestError {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	target, version, ok2 := bytes.Cut(rest, []byte{' '})
	switch {
	case !ok || !ok2 || !isToken(method) || len(target) == 0:
		return bad("request line: want METHOD target HTTP/1.1, each behind one space")
	case string(version) == "HTTP/1.1":
		h.Minor = 1
	case string(version) == "HTTP/1.0":
		h.Minor, h.close = 0, true
	default:
		return &RequestError{Status: 505, Msg: "version: want HTTP/1.1 or HTTP/1.0"}
	}
	if string(method) == "CONNECT" || string(method) == "TRACE" {
		return &RequestError{Status: 405, Msg: "method " + string(method) + ": not served"}
	}
	h.Method, h.Target = method, target
	return h.splitTarget()
}

// splitTarget finds the path in an origin-form or absolute-form target.
func (h *Head) splitTarget() *RequestError {
	t := h.Target
	for _, c := range t {
		if c <= 0x20 || c >= 0x7f || c == '#' {
			return bad("target: want printable ASCII without a fragment")
		}
	}
	if scheme, rest, ok := bytes.Cut(t, []byte("://")); ok && !bytes.ContainsAny(scheme, "/?") {
		slash := bytes.IndexByte(rest, '/')
		if slash < 0 || !is(scheme, "http") && !is(scheme, "https") {
			return bad("target: want a path")
		}
		h.Host = rest[:slash] // to be compared with the Host field
		h.pathStart = len(t) - len(rest) + slash
	} else if len(t) == 0 || t[0] != '/' {
		return bad("target: want a path that begins with /")
	}
	h.pathEnd = len(t)
	if q := bytes.IndexByte(t[h.pathStart:], '?'); q >= 0 {
		h.pathEnd = h.pathStart + q
	}
	return nil
}

// parseField reads "Name: value"; msg says what is wrong.
func parseField(line []byte) (f Field, msg string) {
	colon := bytes.IndexByte(line, ':')
	switch {
	case len(line) > 0 && (line[0] == ' ' || line[0] == '\t'):
		return f, "folded line, which is obsolete"
	case colon < 0:
		return f, "no colon"
	case !isToken(line[:colon]):
		return f, "name is no token"
	}
	f.Name, f.Value = line[:colon], trim(line[colon+1:])
	for _, c := range f.Value {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return f, "control byte in the value"
		}
	}
	return f, ""
}

// framingFields counts the fields that say where a body ends and whom a request is for.
type framingFields struct{ hosts, lengths, codings, auths int }

// framing checks the fields that say where the body ends and whom the request is for.
func (h *Head) framing() *RequestError {
	var n framingFields
	absolute := h.Host
	for i := range h.Fields {
		if err := h.count(&n, &h.Fields[i]); err != nil {
			return err
		}
	}
	switch {
	case n.hosts > 1 || n.hosts == 0 && h.Minor == 1 || len(h.Host) == 0 && h.Minor == 1:
		return bad("host: want exactly one")
	case !validHost(h.Host):
		return bad("host: want a name or address with a port")
	case absolute != nil && !bytes.EqualFold(absolute, h.Host):
		return bad("host: is another than the target's")
	case n.lengths > 1:
		return bad("content-length: stands more than once")
	case n.codings > 1 || n.codings == 1 && n.lengths == 1:
		return bad("transfer-encoding: stands more than once or beside content-length")
	case n.codings == 1 && h.Minor == 0:
		return bad("transfer-encoding: not in HTTP/1.0")
	case n.auths > 1:
		return bad("authorization: stands more than once")
	}
	if n.codings == 1 {
		h.Length = -1
	}
	if h.Length != 0 && (string(h.Method) == "GET" || string(h.Method) == "HEAD") {
		return bad("body: not with method %s", h.Method)
	}
	return nil
}

// count takes note of one field.
func (h *Head) count(n *framingFields, f *Field) *RequestError {
	switch {
	case bytes.IndexByte(f.Name, '_') >= 0:
		return bad("header field %q: underscore in the name", f.Name)
	case is(f.Name, "host"):
		h.Host = f.Value
		n.hosts++
	case is(f.Name, "expect"):
		if !is(f.Value, "100-continue") {
			return &RequestError{Status: 417, Msg: "expect: want 100-continue"}
		}
		h.expect = h.Minor == 1
	case is(f.Name, "connection"):
		h.connection(f.Value)
	case is(f.Name, "authorization"):
		n.auths++
	case is(f.Name, "content-length"):
		length, ok := parseLength(f.Value)
		if !ok {
			return bad("content-length: want digits alone")
		}
		h.Length = length
		n.lengths++
	case is(f.Name, "transfer-encoding"):
		if !is(f.Value, "chunked") {
			return &RequestError{Status: 501, Msg: "transfer-encoding: want chunked alone"}
		}
		n.codings++
	}
	return nil
}

// connection reads the options that the server obeys.
func (h *Head) connection(value []byte) {
	switch closes, keeps := connectionOptions(value); {
	case closes:
		h.close, h.closeSaid = true, true
	case keeps && h.Minor == 0 && !h.closeSaid:
		h.close = false
	}
}

// connectionOptions looks for close and keep-alive in a Connection field.
func connectionOptions(value []byte) (closes, keeps bool) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		option = trim(option)
		closes = closes || is(option, "close")
		keeps = keeps || is(option, "keep-alive")
	}
	return closes, keeps
}

// parseLength reads a Content-Length of at most 18 digits.
func parseLength(v []byte) (int64, bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func validHost(h []byte) bool {
	for _, c := range h {
		if c <= 0x20 || c >= 0x7f || c == '/' || c == '?' || c == '#' || c == '@' || c == ',' || c == '\\' {
			return false
		}
	}
	return true
}

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
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// bareLineFeed looks for a line feed without its carriage return, so that such a head is refused before its time limit.
func bareLineFeed(text []byte, from int) bool {
	for {
		i := bytes.IndexByte(text[from:], '\n')
		if i < 0 {
			return false
		}
		if from += i + 1; from < 2 || text[from-2] != '\r' {
			return true
		}
	}
}

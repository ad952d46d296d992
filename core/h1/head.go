package h1

import (
	"bytes"
	"fmt"
	"strconv"
)

func bad(format string, args ...any) *RequestError {
	return &RequestError{Status: 400, Msg: fmt.Sprintf(format, args...)}
}

// parse reads a request's head: text without its last blank line's CRLF, so that each line ends in CRLF.
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
		if slash < 0 || (!bytes.EqualFold(scheme, []byte("http")) && !bytes.EqualFold(scheme, []byte("https"))) {
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

// framing checks the fields that say where the body ends and whom it is for.
func (h *Head) framing() *RequestError {
	var hosts, lengths, codings, auths int
	absolute := h.Host
	for i := range h.Fields {
		f := &h.Fields[i]
		if bytes.IndexByte(f.Name, '_') >= 0 {
			return bad("header field %q: underscore in the name", f.Name)
		}
		switch name := f.Name; len(name) {
		case 4:
			if equalFold(name, "host") {
				h.Host = f.Value
				hosts++
			}
		case 6:
			if equalFold(name, "expect") {
				if !bytes.EqualFold(f.Value, []byte("100-continue")) {
					return &RequestError{Status: 417, Msg: "expect: want 100-continue"}
				}
				h.expect = true
			}
		case 10:
			if equalFold(name, "connection") {
				h.connection(f.Value)
			}
		case 13:
			if equalFold(name, "authorization") {
				auths++
			}
		case 14:
			if equalFold(name, "content-length") {
				n, ok := parseLength(f.Value)
				if !ok {
					return bad("content-length: want digits alone")
				}
				h.Length = n
				lengths++
			}
		case 17:
			if equalFold(name, "transfer-encoding") {
				if !bytes.EqualFold(f.Value, []byte("chunked")) {
					return &RequestError{Status: 501, Msg: "transfer-encoding: want chunked alone"}
				}
				codings++
			}
		}
	}
	switch {
	case hosts > 1 || hosts == 0 && h.Minor == 1:
		return bad("host: want exactly one")
	case absolute != nil && hosts == 1 && !bytes.EqualFold(absolute, h.Host):
		return bad("host: is another than the target's")
	case !validHost(h.Host):
		return bad("host: want a name or address with a port")
	case lengths > 1:
		return bad("content-length: stands more than once")
	case codings > 1 || codings == 1 && lengths == 1:
		return bad("transfer-encoding: stands more than once or beside content-length")
	case codings == 1 && h.Minor == 0:
		return bad("transfer-encoding: not in HTTP/1.0")
	case auths > 1:
		return bad("authorization: stands more than once")
	}
	if codings == 1 {
		h.Length = -1
	}
	if h.Length != 0 && (string(h.Method) == "GET" || string(h.Method) == "HEAD") {
		return bad("body: not with method %s", h.Method)
	}
	return nil
}

// connection reads the options that the server obeys.
func (h *Head) connection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		switch option = trim(option); {
		case bytes.EqualFold(option, []byte("close")):
			h.close = true
		case h.Minor == 0 && bytes.EqualFold(option, []byte("keep-alive")):
			h.close = false
		}
	}
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

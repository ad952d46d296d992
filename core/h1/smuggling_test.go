package h1

import (
	"io"
	"net"
	"strings"
	"testing"
)

const host = "Host: h\r\n"

// wireCases are what is sent, and what must come of it: the statuses in order, and how often the handler ran.
var wireCases = []struct {
	name, text, want string
	calls            int64
}{
	{"plain", "GET /a HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"two in one", "GET /a HTTP/1.1\r\n" + host + "\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"body", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "200", 1},
	{"body, then another", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"chunks, then another", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "200 200", 2},
	{"chunk extension", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n", "200", 1},
	{"trailer ignored", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nAuthorization: x\r\n\r\n", "200", 1},
	{"no body at a length of nothing", "GET / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", "200", 1},
	{"expectation in HTTP/1.0 ignored", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na", "200", 1},
	{"HTTP/1.0 kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n", "200 200", 2},
	{"close among options", "GET / HTTP/1.1\r\n" + host + "Connection: te, Close\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "200", 1},
	{"absolute form", "GET http://h/x HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"empty line first", "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", "200", 1},
	{"query", "GET /a?b=/c?d HTTP/1.1\r\n" + host + "\r\n", "200", 1},

	{"length and coding", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"coding and length", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "400", 0},
	{"two lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400", 0},
	{"a list of lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 3, 3\r\n\r\nabc", "400", 0},
	{"length with a sign", "POST / HTTP/1.1\r\n" + host + "Content-Length: +3\r\n\r\nabc", "400", 0},
	{"length in hexadecimal", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0x3\r\n\r\nabc", "400", 0},
	{"length negative", "POST / HTTP/1.1\r\n" + host + "Content-Length: -3\r\n\r\nabc", "400", 0},
	{"length empty", "POST / HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\nabc", "400", 0},
	{"length huge", "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\nabc", "400", 0},
	{"coding identity", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\n\r\n", "501", 0},
	{"coding with a Kelvin sign", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chun\u212aed\r\n\r\n0\r\n\r\n", "501", 0},
	{"coding list", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501", 0},
	{"coding twice", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"coding with vertical tab", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", 0},
	{"bare line feeds", "GET / HTTP/1.1\n" + "Host: h\n\n", "400", 0},
	{"bare line feed in a header", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "400", 0},
	{"bare carriage return", "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", "400", 0},
	{"NUL in a value", "GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", "400", 0},
	{"folded line", "GET / HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n", "400", 0},
	{"space before the colon", "GET / HTTP/1.1\r\n" + host + "X : a\r\n\r\n", "400", 0},
	{"no colon", "GET / HTTP/1.1\r\n" + host + "X\r\n\r\n", "400", 0},
	{"empty name", "GET / HTTP/1.1\r\n" + host + ": a\r\n\r\n", "400", 0},
	{"name with an underscore", "GET / HTTP/1.1\r\n" + host + "X_Org: a\r\n\r\n", "400", 0},
	{"name no token", "GET / HTTP/1.1\r\n" + host + "X(: a\r\n\r\n", "400", 0},
	{"no host", "GET / HTTP/1.1\r\n\r\n", "400", 0},
	{"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "400", 0},
	{"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"line feed first", "\nGET / HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"space first", " GET / HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"folded first line", "GET / HTTP/1.1\r\n " + host + "\r\n", "400", 0},
	{"head never ended", "GET / HTTP/1.1\n" + host, "400", 0},
	{"two hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", "400", 0},
	{"host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", "400", 0},
	{"another host in the target", "GET http://other/ HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"two authorizations", "GET / HTTP/1.1\r\n" + host + "Authorization: a\r\nAuthorization: b\r\n\r\n", "400", 0},
	{"body with GET", "GET / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "400", 0},
	{"HTTP/1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", "505", 0},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", 0},
	{"lower-case version", "GET / http/1.1\r\n" + host + "\r\n", "505", 0},
	{"no version", "GET /\r\n\r\n", "400", 0},
	{"two spaces", "GET  / HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"tab", "GET\t/ HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"no slash", "GET a HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"fragment", "GET /#a HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"high byte in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" + host + "\r\n", "400", 0},
	{"CONNECT", "CONNECT h:443 HTTP/1.1\r\n" + host + "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", "405", 0},
	{"TRACE", "TRACE / HTTP/1.1\r\n" + host + "\r\n", "405", 0},
	{"unknown expectation", "POST / HTTP/1.1\r\n" + host + "Expect: x\r\nContent-Length: 0\r\n\r\n", "417", 0},

	{"chunk size with a space", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n", "400", 1},
	{"chunk size bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk size with 0x", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk size huge", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk data too long", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "400", 1},
	{"chunk end bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", "400", 1},
	{"chunk size negative", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", "400", 1},
	{"chunk size empty", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"chunk extension with a space", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3 ;a\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"extensions over their bound", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("a", 99)+"\r\nb\r\n", maxSkipped/99+2) + "0\r\n\r\n", "400", 1},
	{"trailer malformed, ignored like others", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n: x\r\n\r\n", "200", 1},
	{"extension bare line feed", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n0\r\n\r\n", "400", 1},
	{"trailers over their bound", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + strings.Repeat("a", maxSkipped+1) + "\r\n\r\n", "400", 1},
	{"body over the handler's limit", "POST / HTTP/1.1\r\n" + host + "Content-Length: 9999999\r\n\r\nabcGET /b HTTP/1.1\r\n" + host + "\r\n", "413", 1},
}

func TestWire(t *testing.T) {
	for _, c := range wireCases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, &Server{Handler: echo})
			got := strings.Join(statuses(r.raw(t, c.text)), " ")
			if got != c.want || r.calls.Load() != c.calls {
				t.Errorf("statuses %q with %d calls of the handler, want %q with %d", got, r.calls.Load(), c.want, c.calls)
			}
			// What is refused must end the connection: a request behind it is never read.
			if c.want == "200" || strings.HasPrefix(c.want, "200 ") {
				return
			}
			before := r.calls.Load()
			got = strings.Join(statuses(r.raw(t, c.text+"GET /behind HTTP/1.1\r\n"+host+"\r\n")), " ")
			if got != c.want || r.calls.Load()-before != c.calls {
				t.Errorf("with another request behind: statuses %q, want %q", got, c.want)
			}
		})
	}
}

// TestSplit sends good requests with the bytes cut at every place.
func TestSplit(t *testing.T) {
	text := "POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\nPOST /y HTTP/1.1\r\n" + host + "Content-Length: 2\r\nConnection: close\r\n\r\nhi"
	r := start(t, &Server{Handler: echo})
	for i := 1; i < len(text); i++ {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.(*net.TCPConn).SetNoDelay(true)
		io.WriteString(c, text[:i])
		io.WriteString(c, text[i:])
		b, err := io.ReadAll(c)
		c.Close()
		if s := string(b); err != nil || !strings.Contains(s, "POST /x abcde") || !strings.HasSuffix(s, "POST /y hi") {
			t.Fatalf("cut at %d: %q, %v", i, s, err)
		}
	}
}

package admin

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener to which one client has come.
type oneConn struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { close(l.done); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestBodyHasALimit: a body that does not come holds neither a slot nor a connection, whoever sends it.
func TestBodyHasALimit(t *testing.T) {
	f := func(name, head, want string) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				l := &oneConn{conns: make(chan net.Conn, 1), done: make(chan struct{})}
				l.conns <- theirs
				s := &Server{Token: "psa_0123456789", Log: slog.New(slog.DiscardHandler)}
				server := s.NewHTTP()
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(l) }()
				begin := time.Now()
				if _, err := io.WriteString(ours, "POST /admin/v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"+head+"\r\n"); err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(ours)
				if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want) {
					t.Errorf("%q, %v, want %s", answer, err, want)
				}
				if took := time.Since(begin); took < bodyTime || took > bodyTime+time.Second { // net/http may wait for its last bytes to be read
					t.Errorf("it took %v, want %v", took, bodyTime)
				}
				server.Close()
				if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
	f("with the token", "Authorization: Bearer psa_0123456789\r\n", "400")
	f("without", "", "401")
	f("from another page", "Authorization: Bearer psa_0123456789\r\nSec-Fetch-Site: cross-site\r\n", "403")
}

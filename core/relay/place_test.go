package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
)

// TestWhyUnreached: what a client is told of a connection that could not be opened, and that no address is in it.
func TestWhyUnreached(t *testing.T) {
	garbage, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer garbage.Close()
	go func() {
		for {
			c, err := garbage.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("SSH-2.0-x\r\n"))
			c.Close()
		}
	}()
	f := func(target h1.Target, o h1.PoolOptions, want string) {
		t.Helper()
		p := h1.NewPool(target, o)
		defer p.Close()
		var c h1.Call
		defer c.Close()
		err := p.Do(&c, &h1.Outgoing{Method: "GET", Target: "/"}, h1.Limits{Connect: 10 * time.Second})
		if got := whyUnreached(err); got != want || !h1.NotSent(err) || !h1.Unreached(err) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	unknown := func(context.Context, string, string) (net.Conn, error) { // whatever the machine's resolver would say
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "secret.example", IsNotFound: true}}
	}
	f(h1.Target{Host: "127.0.0.1:1", Name: "x"}, h1.PoolOptions{}, "the provider could not be reached")
	f(h1.Target{Host: garbage.Addr().String(), Name: "x", TLS: &tls.Config{ServerName: "x"}}, h1.PoolOptions{}, "the TLS handshake with the provider failed")
	f(h1.Target{Host: "x:80", Name: "x"}, h1.PoolOptions{Dial: unknown}, "the name of the provider's host is not known")
	full := &h1.CallError{Phase: "connect", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "secret.example"}}}
	if got := whyUnreached(full); strings.Contains(got, "secret") || got != "the name of the provider's host could not be looked up" {
		t.Errorf("a resolver that fails: %q", got)
	}
	untrusted := &h1.CallError{Phase: "tls", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	if got := whyUnreached(untrusted); got != "the provider's certificate is not trusted" {
		t.Errorf("a certificate of nobody: %q", got)
	}
}

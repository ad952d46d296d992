package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// doors are the addresses at which a connection fails. Each is opened when a provider is first configured with it.
type doors struct {
	open  map[string]string // base URLs by fault
	plain string            // the upstream's own
	ends  []func()          // what closes them, last first
}

// url gives the address of a fault.
func (d *doors) url(f *Fault) (string, error) {
	if u, ok := d.open[f.Name]; ok {
		return u, nil
	}
	u, err := f.url(d)
	if err == nil {
		if d.open == nil {
			d.open = map[string]string{}
		}
		d.open[f.Name] = u
	}
	return u, err
}

func (d *doors) close() {
	for i := len(d.ends) - 1; i >= 0; i-- {
		d.ends[i]()
	}
	d.ends, d.open = nil, nil
}

// unreachable are connections that come to nothing in the handshake.
func unreachable() []Fault {
	return []Fault{
		{Name: "tls", Says: "the other side does not speak TLS", Connect: true, url: func(d *doors) (string, error) { return "https" + d.plain[len("http"):], nil }},
		{Name: "tls-untrusted", Says: "the certificate is nobody's", Connect: true, url: untrusted},
	}
}

// untrusted gives the address of a server whose certificate nobody has signed.
func untrusted(d *doors) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: headTimeout, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) }) // ends with the closing
	d.ends = append(d.ends, func() {
		s.Close()
		served.Wait()
	})
	return "https://" + l.Addr().String(), nil
}

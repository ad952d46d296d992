// Package reach has the ways to providers' services: connection pools that generations share, the choice among several
// addresses of one service by their distance, connections that are kept ready for requests, and probes that tell
// core/health whether a service is there.
//
// Beside requests nothing is opened before a generation is in force and says by Attend what it wants. Which provider is
// where is core/generation's to know; what a request says there, and how often it is repeated, core/relay's.
package reach

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
)

// Options say how connections to a service are made. Services that are alike in them, and in their addresses, share
// connections.
type Options struct {
	CA       string // PEM file of the authorities that are trusted; "": the system's
	HTTP2    bool
	MaxConns int // to one host; 0: the pool's default, as with the others
	MaxIdle  int
	Idle     time.Duration
}

// Network is all ways of a process. The zero Network is ready, but for its Log.
type Network struct {
	Log *slog.Logger

	pools    shares[poolKey, *h1.Pool]
	services shares[serviceKey, *Service]

	mu         sync.Mutex // guards what follows
	attendants map[string]*attendant
	slots      chan struct{} // taken by probes that are under way
}

// Place is where a request goes.
type Place struct {
	Pool   *h1.Pool
	Base   *url.URL
	Target string // path and query there
}

type poolKey struct {
	scheme, host string
	options      Options
}

type serviceKey struct {
	provider, bases string
	options         Options
}

// Pool gives the connections to an address, shared with whoever asks for the same, and what lets them go.
func (n *Network) Pool(base *url.URL, o Options) (*h1.Pool, func(), error) {
	return n.pools.acquire(poolKey{base.Scheme, base.Host, o}, func() (*h1.Pool, error) { return open(base, o) }, (*h1.Pool).Close)
}

func open(base *url.URL, o Options) (*h1.Pool, error) {
	port := base.Port()
	t := h1.Target{Name: base.Host}
	if base.Scheme == "https" {
		if port == "" {
			port = "443"
		}
		conf, err := ClientTLS(base.Hostname(), o.CA)
		if err != nil {
			return nil, err
		}
		t.TLS = conf
	} else if port == "" {
		port = "80"
	}
	t.Host = net.JoinHostPort(base.Hostname(), port)
	return h1.NewPool(t, h1.PoolOptions{HTTP2: o.HTTP2, MaxConns: o.MaxConns, MaxIdle: o.MaxIdle, Idle: o.Idle}), nil
}

// ClientTLS trusts the system's authorities, or those of a file alone.
func ClientTLS(name, ca string) (*tls.Config, error) {
	conf := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if ca == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: holds no certificate", ca)
	}
	return conf, nil
}

// Service gives a provider's service at several addresses, shared with other generations, and what lets it go. Targets are
// made for the path of the first.
func (n *Network) Service(provider string, bases []*url.URL, o Options) (*Service, func(), error) {
	var all strings.Builder
	for _, b := range bases {
		all.WriteString(b.String() + " ")
	}
	return n.services.acquire(serviceKey{provider, all.String(), o}, func() (*Service, error) { return n.newService(provider, bases, o) }, (*Service).close)
}

// shares gives the same thing to all who ask by the same key, until the last has let it go.
type shares[K comparable, V any] struct {
	mu  sync.Mutex // guards what follows
	all map[K]*share[V]
}

type share[V any] struct {
	v    V
	refs int
}

// acquire gives the thing of a key, made by open where there is none, and what lets it go.
func (s *shares[K, V]) acquire(key K, open func() (V, error), end func(V)) (v V, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		if v, err = open(); err != nil {
			return v, nil, err
		}
		one = &share[V]{v: v}
		if s.all == nil {
			s.all = map[K]*share[V]{}
		}
		s.all[key] = one
	}
	one.refs++
	return one.v, func() {
		s.mu.Lock()
		one.refs--
		last := one.refs == 0
		if last {
			delete(s.all, key)
		}
		s.mu.Unlock()
		if last {
			end(one.v)
		}
	}, nil
}

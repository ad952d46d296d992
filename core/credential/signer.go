package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Request is what a signature covers.
type Request struct {
	Method   string
	URL      string   // absolute, as it is sent
	Fields   []byte   // "Name: value\r\n" lines that are sent
	Segments [][]byte // the body, of which the plugin gets the hash alone
}

// Signer has each request signed by the plugin.
type Signer struct {
	from   Authorizer
	secret Secret
	kept   atomic.Pointer[held]
}

// NewSigner makes the signer of a credential.
func NewSigner(from Authorizer, s Secret) *Signer { return &Signer{from: from, secret: s} }

// Fields gives the header lines of a request. Lines for which the plugin names a lifetime do not depend on the request:
// they are given until then without asking.
func (s *Signer) Fields(q Request) ([]byte, error) {
	if h := s.kept.Load(); h != nil {
		if h.good(time.Now()) {
			return h.fields, nil
		}
		s.kept.CompareAndSwap(h, nil)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, lifetime, err := ask(ctx, s.from, sdk.AuthRequest{Provider: s.secret.Provider, Credential: s.secret.Values,
		Method: q.Method, URL: q.URL, Headers: headers(q.Fields), PayloadHash: payloadHash(q.Segments)})
	if err != nil {
		return nil, err
	}
	if lifetime > 0 {
		s.kept.Store(h)
	}
	return h.fields, nil
}

// payloadHash is the SHA-256 of a body in hexadecimal.
func payloadHash(segments [][]byte) string {
	h := sha256.New()
	for _, s := range segments {
		h.Write(s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// headers takes header lines apart.
func headers(fields []byte) []sdk.Header {
	var list []sdk.Header
	for line := range strings.SplitSeq(string(fields), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			list = append(list, sdk.Header{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	return list
}

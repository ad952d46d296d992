package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// Tokens shares the tokens of credentials that have not changed, so that a reload fetches none anew. The zero Tokens is
// ready.
type Tokens struct {
	mu  sync.Mutex // guards all
	all map[tokenKey]*shared
}

// tokenKey is what makes two tokens the same: the plugin's process, the instance in it, and what it is given.
type tokenKey struct {
	from     Authorizer
	provider string
	values   string // a hash
}

type shared struct {
	token *Token
	refs  int
}

// Acquire gives the token of a credential, and what lets it go. from is comparable; the caller keeps it alive until
// then.
func (s *Tokens) Acquire(from Authorizer, secret Secret, log *slog.Logger) (*Token, func()) {
	key := tokenKey{from, secret.Provider, digest(secret.Values)}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		one = &shared{token: NewToken(from, secret, log)}
		if s.all == nil {
			s.all = make(map[tokenKey]*shared)
		}
		s.all[key] = one
	}
	one.refs++
	return one.token, func() { s.release(key, one) }
}

func (s *Tokens) release(key tokenKey, one *shared) {
	s.mu.Lock()
	one.refs--
	last := one.refs == 0
	if last {
		delete(s.all, key)
	}
	s.mu.Unlock()
	if last {
		one.token.Close()
	}
}

// digest tells sets of values apart without keeping them.
func digest(values map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, part := range [...]string{name, values[name]} {
			h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

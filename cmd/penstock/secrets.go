package main

import (
	"crypto/rand"
	"encoding/base64"
)

// newSecret makes a secret of 256 bits behind a prefix.
func newSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

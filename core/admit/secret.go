package admit

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// secretPrefix begins the secrets that penstock makes, so that scanners of source code know them.
const secretPrefix = "psk_"

const (
	secretBytes = 32 // random
	sumBytes    = 4
	shownChars  = len(secretPrefix) + 8 // of a secret, by which people know it again
)

// secretCoding writes a secret's bytes.
var secretCoding = base64.RawURLEncoding

// NewSecret makes a secret of 256 random bits and a checksum, by which a mistyped or guessed one is refused without a
// read of the store.
func NewSecret() string {
	var b [secretBytes + sumBytes]byte
	rand.Read(b[:secretBytes]) // never fails: crypto/rand
	binary.BigEndian.PutUint32(b[secretBytes:], crc32.ChecksumIEEE(b[:secretBytes]))
	return secretPrefix + secretCoding.EncodeToString(b[:])
}

// Shown gives the part of a secret that may be shown.
func Shown(secret string) string { return secret[:min(shownChars, len(secret))] }

// made says whether a text may be a secret of NewSecret.
func made(secret []byte) bool {
	text, ok := strings.CutPrefix(string(secret), secretPrefix)
	if !ok || len(text) != secretCoding.EncodedLen(secretBytes+sumBytes) {
		return false
	}
	b, err := secretCoding.Strict().DecodeString(text)
	return err == nil && binary.BigEndian.Uint32(b[secretBytes:]) == crc32.ChecksumIEEE(b[:secretBytes])
}

package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoKey is why nothing can be sealed where no encryption key is configured.
var ErrNoKey = errors.New("no encryption key is configured")

// Seals encrypts credentials that are kept in the store, by AES-256-GCM. It does not change. The zero Seals, and nil, have
// no key.
type Seals struct {
	newest *seal
	all    map[string]*seal // by id
}

// seal is one key.
type seal struct {
	id   string
	aead cipher.AEAD
}

// Binding says whose credential a sealed text is, for which provider, and its name. A text that was sealed for one binding
// opens for no other, so that who can write to the store cannot make one tenant's credential another's.
type Binding struct{ Kind, Owner, Provider, Name string }

// NewSeals makes seals of the texts of encryption keys. The newest seals; all open. An empty newest text is no key.
func NewSeals(newest string, previous ...string) (*Seals, error) {
	s := &Seals{all: map[string]*seal{}}
	for i, text := range append([]string{newest}, previous...) {
		if text == "" {
			continue
		}
		one, err := newSeal(text)
		if err != nil {
			return nil, fmt.Errorf("encryption key: %w", err)
		}
		if s.all[one.id] = one; i == 0 {
			s.newest = one
		}
	}
	return s, nil
}

// newSeal derives a key and its id from a text. The id tells keys apart and says nothing of them.
func newSeal(text string) (*seal, error) {
	derived := func(purpose string, n int) []byte {
		b, err := hkdf.Key(sha256.New, []byte(text), nil, "penstock credentials: "+purpose, n)
		if err != nil { // n is small
			panic("credential: " + err.Error())
		}
		return b
	}
	block, err := aes.NewCipher(derived("key", 32))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &seal{id: hex.EncodeToString(derived("id", 6)), aead: aead}, nil
}

// By is the id of the key that seals; "" where there is none.
func (s *Seals) By() string {
	if s == nil || s.newest == nil {
		return ""
	}
	return s.newest.id
}

// Opens says whether what the key of an id has sealed can be opened.
func (s *Seals) Opens(by string) bool { return s != nil && s.all[by] != nil }

// Seal encrypts the members of a credential, and tells by which key. The error is ErrNoKey where there is none.
func (s *Seals) Seal(b Binding, values map[string]string) (by string, sealed []byte, err error) {
	if s.By() == "" {
		return "", nil, ErrNoKey
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "", nil, err
	}
	return s.newest.id, s.newest.aead.Seal(nil, nil, text, b.data()), nil
}

// Open decrypts what was sealed for a binding by the key of an id. Its errors tell nothing of the text.
func (s *Seals) Open(b Binding, by string, sealed []byte) (map[string]string, error) {
	if !s.Opens(by) {
		return nil, fmt.Errorf("sealed by the key %s: want that key in store.encryption", by)
	}
	text, err := s.all[by].aead.Open(nil, nil, sealed, b.data())
	if err != nil {
		return nil, fmt.Errorf("sealed by the key %s: not for this owner, provider and name, or damaged", by)
	}
	var values map[string]string
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("sealed by the key %s: not a credential", by)
	}
	return values, nil
}

// data is the binding as it is authenticated: each text behind its length, so that no two bindings are alike.
func (b *Binding) data() []byte {
	var d []byte
	for _, s := range [...]string{b.Kind, b.Owner, b.Provider, b.Name} {
		d = binary.AppendUvarint(d, uint64(len(s)))
		d = append(d, s...)
	}
	return d
}

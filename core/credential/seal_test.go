package credential

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
)

const keyA, keyB = "the first encryption key, 32 and more", "the second encryption key, 32 and more"

func seals(t *testing.T, newest string, previous ...string) *Seals {
	t.Helper()
	s, err := NewSeals(newest, previous...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSeals: what was sealed opens for its binding alone, by the key that sealed it, and unharmed.
func TestSeals(t *testing.T) {
	old := seals(t, keyA)
	at := Binding{"key", "ci", "openai", "main"}
	values := map[string]string{"api_key": "sk-canary", "organization": "o"}
	by, sealed, err := old.Seal(at, values)
	if err != nil || by != old.By() {
		t.Fatalf("by %q: %v", by, err)
	}
	_, again, _ := old.Seal(at, values)
	if bytes.Equal(sealed, again) || bytes.Contains(sealed, []byte("canary")) {
		t.Error("the same text twice, or the secret in it")
	}
	both := seals(t, keyB, keyA)
	if got, err := both.Open(at, by, sealed); err != nil || !maps.Equal(got, values) {
		t.Errorf("by a previous key: %v, %v", got, err)
	}
	if both.By() == by {
		t.Error("the newest key does not seal")
	}
	refuse := func(what string, s *Seals, b Binding, by string, text []byte) {
		t.Helper()
		got, err := s.Open(b, by, text)
		if err == nil {
			t.Errorf("%s: opened: %v", what, got)
		} else if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), keyA) {
			t.Errorf("%s: the error shows a secret: %v", what, err)
		}
	}
	for _, b := range []Binding{{"team", "ci", "openai", "main"}, {"key", "ci2", "openai", "main"}, {"key", "ci", "openaim", "ain"}, {"key", "ci", "openai", "spare"}, {"key", "ciopenai", "", "main"}} {
		refuse("another binding", old, b, by, sealed)
	}
	for i := range sealed {
		harmed := bytes.Clone(sealed)
		harmed[i] ^= 1
		refuse("a changed text", old, at, by, harmed)
	}
	refuse("a cut text", old, at, by, sealed[:11])
	refuse("without the key", seals(t, keyB), at, by, sealed)
	refuse("by another key", both, at, both.By(), sealed)
	refuse("no keys at all", nil, at, by, sealed)
}

func TestNoKey(t *testing.T) {
	for _, s := range []*Seals{nil, {}, seals(t, "")} {
		if _, _, err := s.Seal(Binding{}, nil); !errors.Is(err, ErrNoKey) || s.By() != "" {
			t.Errorf("%v, by %q: want that there is no key", err, s.By())
		}
	}
}

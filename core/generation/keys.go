package generation

import (
	"crypto/sha256"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/route"
)

// Key is who may ask for what.
type Key struct {
	Name    string
	Team    string
	Tags    []string
	Expires time.Time       // zero: never
	models  map[string]bool // nil: all

	seen atomic.Pointer[keyModels] // what policies were last shown; nil: none was asked for the key yet
}

// keyModels are the models that a key may use under statistics.
type keyModels struct {
	statistics *route.Statistics
	models     *policy.Models
}

// Allows says whether the key may use a model.
func (k *Key) Allows(model string) bool { return k.models == nil || k.models[model] }

// FindKey gives the key of a secret, or nil and what the client is told. Keys are found by the SHA-256 of the whole
// secret, so that no comparison of secrets can be timed.
func (g *Generation) FindKey(secret []byte, now time.Time) (*Key, string) {
	k := g.keys[sha256.Sum256(secret)]
	switch {
	case k == nil:
		return nil, "the key is not known here"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return nil, "the key has expired"
	}
	return k, ""
}

// KeyNamed gives the key of a name, or nil.
func (g *Generation) KeyNamed(name string) *Key {
	for _, k := range g.keys {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Package config is the configuration: YAML with positions, checked against the schema, as typed values with their
// defaults. It has no behaviour: it reads no more than the text and the files that ${file:} names, starts nothing and
// knows no plugin.
//
// Every value remembers where it stood, so that what is found out later (by the catalogue, by a plugin's own schema) can
// still be reported with line and column.
package config

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Config is one configuration.
type Config struct {
	File     string
	Dir      string      // relative paths are relative to it
	Warnings Diagnostics // beside which the configuration is valid

	Source      string
	Listen      string
	Admin       Admin
	TLS         *TLS // nil: plain
	PluginDirs  []string
	PluginMTLS  bool
	Providers   []Provider // in the file's order, as all lists
	Models      []Model
	Routers     []Router
	Keys        []Key
	Retry       Retry
	Timeout     Timeout
	Stream      Stream
	Lenient     bool // translate: lenient
	Limits      Limits
	Timing      string // off, totals, stages, attempts
	StoreURL    string
	CountersURL string

	root *node
	hash string
}

// Admin is the admin listener.
type Admin struct {
	Listen string
	Token  Secret
}

// TLS names the files of a certificate.
type TLS struct{ Cert, Key string }

// Provider is a plugin with an address and credentials.
type Provider struct {
	ID          string
	Plugin      string
	Preset      string
	BaseURL     string
	Credentials []Credential
	Config      []byte // JSON; nil where absent
	HTTP2       bool
	CA          string // PEM file; "" the system's
	SHA256      string
	Isolate     bool
}

// Credential is a named set of secrets.
type Credential struct {
	Name   string
	Values map[string]Secret
}

// Model is a name that clients ask for.
type Model struct {
	Name         string
	Strategy     string // ordered, weighted, fastest, cheapest
	Deployments  []Deployment
	Tags         []string
	Disabled     bool
	OnDisconnect string // "" as stream.on_disconnect
}

// Deployment is one provider's model behind a name.
type Deployment struct {
	Provider     string
	Model        string
	Dialect      string
	Weight       int
	Context      int      // 0: not said
	MaxOutput    int      // 0: not said
	Capabilities []string // nil: not said
	Price        *Price
	Tags         []string
}

// Price is in nano-USD for a million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite Nano }

// Router is a model that a policy routes.
type Router struct {
	Name          string
	Policy        string
	MinCandidates int
	OnError       []string // models; nil: fail
	Shadow        string
}

// Key is who may ask for what.
type Key struct {
	Name     string
	SHA256   [32]byte // of the whole secret
	Models   []string // nil: all
	Dialects []string
	Expires  time.Time // zero: never
	Team     string
	Tags     []string
	Priority string
	RPM      int64
	TPM      int64
	AtOnce   int64 // concurrency
	Budget   Nano  // 0: none
	Every    string
	ZDR      bool
}

// Retry bounds attempts.
type Retry struct {
	Attempts   int
	First, Max time.Duration
}

// Timeout holds time limits; 0 is none.
type Timeout struct{ Connect, FirstContent, Idle, Total, Stalled time.Duration }

// Stream says how streams are relayed.
type Stream struct {
	Queue      int64
	KeepAlive  time.Duration
	Commit     string
	Cancel     bool // on_disconnect: cancel
	DrainLimit time.Duration
	DrainBytes int64
}

// Limits bound requests.
type Limits struct {
	Body        int64
	Depth       int
	Head        int64
	HeadTimeout time.Duration
	InFlight    int
}

// Nano is money in units of 10⁻⁹ USD.
type Nano int64

// Secret is a text that does not print.
type Secret struct{ text string }

// String hides the secret.
func (Secret) String() string { return "[secret]" }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// GoString hides the secret.
func (Secret) GoString() string { return "[secret]" }

// Reveal gives the text; the caller sees that it goes nowhere else.
func (s Secret) Reveal() string { return s.text }

// Hash tells configurations apart: equal after expansion, equal hash. Comments and layout do not count.
func (c *Config) Hash() string { return c.hash }

// Errorf makes a diagnostic at a path such as "providers.openai.base_url"; where the path does not stand in the text it is
// at the nearest that does.
func (c *Config) Errorf(path, hint, message string) Diagnostic {
	n := c.root.nearest(path)
	return Diagnostic{File: c.File, Line: n.line, Column: n.column, Path: path, Message: message, Hint: hint}
}

// Provider gives the provider of an id.
func (c *Config) Provider(id string) (*Provider, bool) {
	for i := range c.Providers {
		if c.Providers[i].ID == id {
			return &c.Providers[i], true
		}
	}
	return nil, false
}

// hashOf is the hash of expanded text.
func hashOf(text []byte) string {
	return hex.EncodeToString(strconv.AppendUint(nil, xxhash.Sum64(text), 16))
}

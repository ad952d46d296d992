// Package config is the configuration: YAML with positions, checked against the schema, as typed values with the schema's
// defaults. It has no behaviour: it reads no more than the text and the files that ${file:PATH} names, starts nothing and
// knows no plugin.
//
// Every value remembers where it stood, so that what is found out later (by the catalogue, by a plugin's own schema, by a
// policy) can still be reported with line and column.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/penstock-gateway/penstock/core/price"
)

// Config is one configuration. It does not change. Lists and mappings have the file's order; paths of files are relative
// to the file no more.
type Config struct {
	File     string
	Dir      string      // relative paths were relative to it
	Warnings Diagnostics // beside which the configuration is valid

	Source        string // file, store
	Listen        string
	Origins       []string // of web pages that may call it; "*" is any
	Admin         Admin
	TLS           *TLS // nil: plain
	PluginDirs    []string
	PluginMTLS    bool
	Providers     []Provider
	Models        []Model
	Routers       []Router
	PolicyHeaders []string // of requests, that policies see; in lower case
	Keys          []Key
	Teams         []Team
	Organisations []Organisation
	Retry         Retry
	Timeout       Timeout
	Stream        Stream
	Lenient       bool // translate: lenient
	Limits        Limits
	Timing        string // off, totals, stages, attempts
	ContentLog    bool
	StoreURL      string // sqlite:// with the path of a file or none, or postgres://…
	Durability    string // of the store: crash, power
	OnOutage      string // of the store: fail_open, fail_closed
	Encryption    Encryption
	CountersURL   string
	Cache         Cache
	Breaker       Breaker
	Quarantine    Quarantine
	Guards        []byte // JSON, a list of objects
	Telemetry     Telemetry
	RUM           RUM

	root     *node
	hash     string
	textHash string
}

// Admin is the admin listener.
type Admin struct {
	Listen string
	Token  Secret // empty: none was configured
}

// TLS names the files of a certificate.
type TLS struct{ Cert, Key string }

// Provider is a plugin with an address and credentials.
type Provider struct {
	ID          string
	Plugin      string
	Preset      string
	BaseURL     string   // "" the preset's or the plugin's
	BaseURLs    []string // in its place, where there are several
	Credentials []Credential
	Config      []byte // JSON; nil where there is none
	HTTP2       bool
	CA          string // PEM file; "" the system's
	SHA256      string // lower case; "" unchecked
	Isolate     bool
	Connections Connections
	Probe       Probe
}

// Connections bounds the connections to a provider's host.
type Connections struct {
	Max, Idle int
	Keep      time.Duration
	Warm      int // kept ready beside those in use; 0: none
}

// Probe says how a provider is asked whether it is there.
type Probe struct {
	Every time.Duration // 0: never
	Get   bool          // kind: get
	Path  string        // of a GET, behind the base URL's
}

// Credential is a named set of secrets.
type Credential struct {
	Name   string
	Values map[string]Secret // by the names that the plugin's authentication uses
}

// Model is a name that clients ask for.
type Model struct {
	Name         string
	Strategy     string // ordered, weighted, fastest, cheapest
	Deployments  []Deployment
	Tags         []string
	Disabled     bool
	Commit       string        // "" as stream.commit
	OnDisconnect string        // "" as stream.on_disconnect
	Hedge        time.Duration // 0: never
	OnBreak      string        // error, continue
}

// Deployment is one provider's model behind a name.
type Deployment struct {
	Provider     string
	Model        string
	Dialect      string // "" is not said, as are the other zero values
	Weight       int
	Context      int
	MaxOutput    int
	Capabilities []string
	Price        price.List // empty: not known
	Tags         []string
}

// Router is a model that a policy routes.
type Router struct {
	Name          string
	Policy        string // a file, or penstock/NAME
	MinCandidates int
	OnError       []string // models; nil: fail
	Shadow        string   // as Policy; "" none
}

// Key is who may ask for what.
type Key struct {
	Name     string
	SHA256   [32]byte // of the whole secret
	Models   []string // nil: all
	Dialects []string // nil: all
	Expires  time.Time
	Team     string
	Tags     []string
	Priority string // interactive, default, batch
	ZDR      bool
	// OnDisconnect is drain or cancel; "" as the model's.
	OnDisconnect string
	Own          Own
	Allowance
}

// Team is what several keys share.
type Team struct {
	Name         string
	Models       []string // nil: all
	Organisation string
	Own          Own
	Allowance
}

// Organisation is what the keys of several teams share.
type Organisation struct {
	Name   string
	Models []string // nil: all
	Allowance
}

// Own is the credentials that a key or a team brings itself.
type Own struct {
	Credentials []OwnCredential
	First       bool // the operator's may serve after them
}

// OwnCredential is one for a provider.
type OwnCredential struct {
	Provider string
	Values   map[string]Secret // by the names that the plugin's authentication uses
}

// Encryption is the keys that credentials are encrypted with in the store.
type Encryption struct {
	Key      Secret   // empty: none
	Previous []Secret // decrypt alone
}

// Allowance is how much may be used; 0 is no limit.
type Allowance struct {
	RPM    int64
	TPM    int64 // tokens in and out together
	ITPM   int64 // tokens in
	OTPM   int64 // tokens out
	AtOnce int64 // concurrency
	Budget Nano  // of the period Every
	Every  string
	Capped bool // there is a budget; it may be 0
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
	QueueTotal int64         // of all streams together
	KeepAlive  time.Duration // 0: never
	Commit     string        // content, first_byte, whole, bytes:N, time:T
	Cancel     bool          // on_disconnect: cancel
	DrainLimit time.Duration
	DrainBytes int64
	DrainUSD   Nano // 0: no limit
}

// Limits bound requests.
type Limits struct {
	Body        int64
	Depth       int
	Head        int64
	HeadTimeout time.Duration
	InFlight    int // 0: no limit
	Memory      int // percent of the memory limit
}

// Cache says which answers are kept.
type Cache struct {
	Mode string // off, exact
	TTL  time.Duration
}

// Breaker says when a deployment is left alone.
type Breaker struct {
	Failures int
	OpenFor  time.Duration
}

// Quarantine says when a deployment is taken out.
type Quarantine struct {
	After int
	For   time.Duration
}

// Telemetry says which traces and metrics are made.
type Telemetry struct {
	GenAI string // latest, 1.41, both, off
	OTLP  string // "" nowhere
}

// RUM is the measuring of the console's pages.
type RUM struct {
	Enabled bool
	Sample  float64 // share of page views
}

// Hash tells configurations apart: equal values after expansion, equal hash. Comments and layout do not count. It is made
// of the SHA-256 of secrets, not of secrets.
func (c *Config) Hash() string { return c.hash }

// TextHash is the hash of the text as it was read.
func (c *Config) TextHash() string { return c.textHash }

// Provider gives the provider of an id.
func (c *Config) Provider(id string) (*Provider, bool) {
	for i := range c.Providers {
		if c.Providers[i].ID == id {
			return &c.Providers[i], true
		}
	}
	return nil, false
}

// Pos gives the place of a path such as "models.chat.deployments[0].provider"; where the path does not stand in the text,
// that of the nearest that does.
func (c *Config) Pos(path string) Position {
	n, all := c.root.find(path)
	if !all {
		return n.start()
	}
	return n.at
}

// Errorf makes a diagnostic at a path. The message is complete, but for the path.
func (c *Config) Errorf(path, hint, message string) Diagnostic {
	at := c.Pos(path)
	return Diagnostic{File: c.File, Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint}
}

// ExplainAt turns what another schema than the configuration's refused in the value at a path into diagnostics at the
// places where it was written: providers.ID.config and the plugin's schema of it.
func (c *Config) ExplainAt(path string, s *jsonschema.Schema, invalid *jsonschema.ValidationError) Diagnostics {
	n, all := c.root.find(path)
	if !all {
		n = &node{at: n.start(), kind: object}
	}
	e := newShape(s).explainer(c.File, path, n)
	e.explain(invalid)
	return e.found
}

// Options say how a text is read.
type Options struct {
	Env  func(name string) (string, bool) // for ${NAME}; nil: nothing is set
	Dir  string                           // for relative paths; "" the file's
	Root string                           // where ${file:PATH} may read; "" anywhere, for a text that its operator wrote
}

// Load reads and checks a configuration file of at most 4 MiB. The error is Diagnostics where the text is at fault or
// absent, and wraps that of the file system where the file cannot be read.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Diagnostics{{File: path, Line: 1, Column: 1, Message: "the file does not exist", Hint: firstSteps}}
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, source, Options{Env: env})
}

// Parse checks a configuration's text. The error is Diagnostics, in the order of the text. It does not keep the text.
func Parse(file string, source []byte, o Options) (*Config, error) {
	if o.Dir == "" {
		o.Dir = filepath.Dir(file)
	}
	r := &reader{file: file, source: source, expander: expander{env: o.Env, dir: o.Dir, root: o.Root}}
	root := r.read()
	if len(r.found) > 0 {
		r.found.sort()
		return nil, r.found
	}
	x := own()
	settle(root, x.root)
	if found := x.validate(file, root); len(found) > 0 {
		found.sort()
		return nil, found
	}
	d := &decoder{Config: &Config{File: file, Dir: o.Dir, root: root, hash: contentHash(root), textHash: textHash(source)}}
	fill(root, x.root)
	d.config(root)
	d.check()
	root.prune()
	d.found.sort()
	if d.found.Errors() > 0 {
		return nil, d.found
	}
	d.Warnings = d.found
	return d.Config, nil
}

package policy

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// What a policy may know is stated here, as plain structs that routing fills. A policy reads them by the names in
// the tables below; API.md in folder policies says for its authors what each means.

// Unlimited stands for a context or output limit that nobody stated.
const Unlimited = 1 << 60

// Request is what a policy may know of a request. It holds no text of the conversation.
type Request struct {
	Model      string            // as the client asked for it
	Dialect    string            // the client's: openai-chat, anthropic, …
	Tokens     int               // estimate of the input
	MaxOutput  int               // asked for; the configured default where the client said nothing
	Inputs     []string          // kinds of content: text, image, audio, document
	Needs      []string          // capabilities that the request cannot do without, as targets name them
	Tools      bool              // tools are offered to the model
	Structured bool              // the answer must follow a JSON Schema
	Stream     bool              // the answer is streamed
	Effort     string            // reasoning effort asked for; ""
	Key        Key               // who asks
	Client     Client            // what Claude Code says of itself
	Session    string            // names the conversation where the client says so; ""
	Headers    map[string]string // those that the configuration lets policies see, names in lower case
	Metadata   map[string]string // the body's own metadata member
	Hour       int               // of the day, 0 to 23, in UTC
	Weekday    int               // 0 is Monday
	Seed       uint64            // the request's own random number, the only randomness there is
}

// Key is the API key of a request: its name, never its secret.
type Key struct {
	Name string
	Team string
	Tags []string
}

// Client is what the x-claude-code headers say.
type Client struct {
	SessionID     string
	AgentID       string
	ParentAgentID string
	AgentType     string
	RequestClass  string // main, subagent, workflow, compaction, auxiliary
	Compaction    bool
}

// Model is what can be branched to: a model of the configuration, seen from outside.
type Model struct {
	Name         string
	Price        float64  // of the cheapest deployment, input and output blended, USD for a million tokens; infinity: unknown
	Tags         []string // of the model and of its deployments
	Capabilities []string // those that some deployment has
	Context      int      // the largest; Unlimited: unknown
	MaxOutput    int      // the largest; Unlimited: unknown
	Deployments  int      // how many there are
	Healthy      int      // how many of them are up
	Latency      Latency  // of the fastest deployment
	ErrorRate    float64  // of the best deployment, 0 to 1
}

// Target is one deployment, as a statistics snapshot sees it.
type Target struct {
	Model        string // the name it serves
	Provider     string
	Deployment   string // unique in the generation
	Price        Price
	Context      int // tokens; Unlimited: unknown
	MaxOutput    int // tokens; Unlimited: unknown
	Capabilities []string
	Tags         []string
	Weight       int
	Health       string // up, probing, down
	Quarantine   string // why it is set aside; "": it is not
	Credential   string // ok, limited, refused
	Latency      Latency
	ErrorRate    float64 // of recent attempts, 0 to 1
	InFlight     int     // attempts under way
}

// Price is in USD for a million tokens; infinity where unknown.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Latency is measured over recent attempts, in seconds; 0 where nothing was measured yet.
type Latency struct {
	P50, P99        float64 // of the whole answer
	TTFT            float64 // time to the first token, at the median
	TokensPerSecond float64
}

// field is one attribute of a fact: its name in policies, and where it is kept. One pointer serves to read the value,
// to set it in a test's fake, and to know its type before there is any value.
type field[T any] struct {
	name string
	at   func(*T) any
}

// table is the attributes of one kind of fact. Tables are made once and never change.
type table[T any] struct {
	kind   string // the type's name in policies
	fields []field[T]
	index  map[string]int
}

func newTable[T any](kind string, fields ...field[T]) *table[T] {
	t := &table[T]{kind, fields, make(map[string]int, len(fields))}
	for i, f := range fields {
		t.index[f.name] = i
	}
	return t
}

func (t *table[T]) names() []string { return slices.Sorted(maps.Keys(t.index)) }

var requestTable = newTable("request",
	field[Request]{"model", func(r *Request) any { return &r.Model }},
	field[Request]{"dialect", func(r *Request) any { return &r.Dialect }},
	field[Request]{"tokens", func(r *Request) any { return &r.Tokens }},
	field[Request]{"max_output", func(r *Request) any { return &r.MaxOutput }},
	field[Request]{"inputs", func(r *Request) any { return &r.Inputs }},
	field[Request]{"needs", func(r *Request) any { return &r.Needs }},
	field[Request]{"tools", func(r *Request) any { return &r.Tools }},
	field[Request]{"structured", func(r *Request) any { return &r.Structured }},
	field[Request]{"stream", func(r *Request) any { return &r.Stream }},
	field[Request]{"effort", func(r *Request) any { return &r.Effort }},
	field[Request]{"key", func(r *Request) any { return &r.Key }},
	field[Request]{"client", func(r *Request) any { return &r.Client }},
	field[Request]{"session", func(r *Request) any { return &r.Session }},
	field[Request]{"headers", func(r *Request) any { return &r.Headers }},
	field[Request]{"metadata", func(r *Request) any { return &r.Metadata }},
	field[Request]{"hour", func(r *Request) any { return &r.Hour }},
	field[Request]{"weekday", func(r *Request) any { return &r.Weekday }},
	field[Request]{"seed", func(r *Request) any { return &r.Seed }},
)

var keyTable = newTable("key",
	field[Key]{"name", func(k *Key) any { return &k.Name }},
	field[Key]{"team", func(k *Key) any { return &k.Team }},
	field[Key]{"tags", func(k *Key) any { return &k.Tags }},
)

var clientTable = newTable("client",
	field[Client]{"session_id", func(c *Client) any { return &c.SessionID }},
	field[Client]{"agent_id", func(c *Client) any { return &c.AgentID }},
	field[Client]{"parent_agent_id", func(c *Client) any { return &c.ParentAgentID }},
	field[Client]{"agent_type", func(c *Client) any { return &c.AgentType }},
	field[Client]{"request_class", func(c *Client) any { return &c.RequestClass }},
	field[Client]{"compaction", func(c *Client) any { return &c.Compaction }},
)

var modelTable = newTable("model",
	field[Model]{"name", func(m *Model) any { return &m.Name }},
	field[Model]{"price", func(m *Model) any { return &m.Price }},
	field[Model]{"tags", func(m *Model) any { return &m.Tags }},
	field[Model]{"capabilities", func(m *Model) any { return &m.Capabilities }},
	field[Model]{"context", func(m *Model) any { return &m.Context }},
	field[Model]{"max_output", func(m *Model) any { return &m.MaxOutput }},
	field[Model]{"deployments", func(m *Model) any { return &m.Deployments }},
	field[Model]{"healthy", func(m *Model) any { return &m.Healthy }},
	field[Model]{"latency", func(m *Model) any { return &m.Latency }},
	field[Model]{"error_rate", func(m *Model) any { return &m.ErrorRate }},
)

var targetTable = newTable("target",
	field[Target]{"model", func(t *Target) any { return &t.Model }},
	field[Target]{"provider", func(t *Target) any { return &t.Provider }},
	field[Target]{"deployment", func(t *Target) any { return &t.Deployment }},
	field[Target]{"price", func(t *Target) any { return &t.Price }},
	field[Target]{"context", func(t *Target) any { return &t.Context }},
	field[Target]{"max_output", func(t *Target) any { return &t.MaxOutput }},
	field[Target]{"capabilities", func(t *Target) any { return &t.Capabilities }},
	field[Target]{"tags", func(t *Target) any { return &t.Tags }},
	field[Target]{"weight", func(t *Target) any { return &t.Weight }},
	field[Target]{"health", func(t *Target) any { return &t.Health }},
	field[Target]{"quarantine", func(t *Target) any { return &t.Quarantine }},
	field[Target]{"credential", func(t *Target) any { return &t.Credential }},
	field[Target]{"latency", func(t *Target) any { return &t.Latency }},
	field[Target]{"error_rate", func(t *Target) any { return &t.ErrorRate }},
	field[Target]{"in_flight", func(t *Target) any { return &t.InFlight }},
)

// losesName is the attribute whose value is found out only for policies that read it.
const losesName = "loses"

// candidateTable is what a target has beside the attributes of its deployment.
var candidateTable = newTable("target",
	field[Candidate]{"cached", func(c *Candidate) any { return &c.Cached }},
	field[Candidate]{losesName, func(c *Candidate) any { return &c.Loses }},
)

var priceTable = newTable("price",
	field[Price]{"input", func(p *Price) any { return &p.Input }},
	field[Price]{"output", func(p *Price) any { return &p.Output }},
	field[Price]{"cache_read", func(p *Price) any { return &p.CacheRead }},
	field[Price]{"cache_write", func(p *Price) any { return &p.CacheWrite }},
)

var latencyTable = newTable("latency",
	field[Latency]{"p50", func(l *Latency) any { return &l.P50 }},
	field[Latency]{"p99", func(l *Latency) any { return &l.P99 }},
	field[Latency]{"ttft", func(l *Latency) any { return &l.TTFT }},
	field[Latency]{"tokens_per_second", func(l *Latency) any { return &l.TokensPerSecond }},
)

// attributes gives the class of each attribute name, over all kinds of facts. A policy knows no other values with
// attributes but the built-in types, so a name that is neither here nor a method is a mistake wherever it stands.
var attributes = func() map[string]class {
	all := map[string]class{}
	classify(all, requestTable)
	classify(all, keyTable)
	classify(all, clientTable)
	classify(all, modelTable)
	classify(all, targetTable)
	classify(all, candidateTable)
	classify(all, priceTable)
	classify(all, latencyTable)
	return all
}()

func classify[T any](all map[string]class, t *table[T]) {
	var zero T
	for _, f := range t.fields {
		c := floating // A fact within a fact counts as one: arithmetic with it can only fail.
		switch f.at(&zero).(type) {
		case *int, *uint64, *bool:
			c = number
		case *string:
			c = scalar
		case *[]string, *map[string]string:
			c = unknown
		}
		if had, ok := all[f.name]; ok {
			c = min(c, had)
		}
		all[f.name] = c
	}
}

// box gives the value that a field's pointer stands for. Numbers and truths cost nothing; texts cost their header.
func box(at any) starlark.Value {
	switch p := at.(type) {
	case *string:
		return starlark.String(*p)
	case *int:
		return starlark.MakeInt(*p)
	case *uint64:
		return starlark.MakeUint64(*p)
	case *float64:
		return starlark.Float(*p)
	case *bool:
		return starlark.Bool(*p)
	case *[]string:
		words := make(starlark.Tuple, len(*p))
		for i, w := range *p {
			words[i] = starlark.String(w)
		}
		return words
	case *map[string]string:
		return &textMap{*p}
	case *Key:
		return newRecord(p, keyTable)
	case *Client:
		return newRecord(p, clientTable)
	case *Price:
		return newBoxed(p, priceTable, priceTable.kind)
	case *Latency:
		return newBoxed(p, latencyTable, latencyTable.kind)
	}
	return starlark.None
}

// SetFact sets one attribute of a *Request, *Model, *Target or *Candidate by its name in policies: for test runners, and
// for facts that come as text. Texts, lists and dicts are copied.
func SetFact(facts any, name string, v starlark.Value) error {
	switch f := facts.(type) {
	case *Request:
		return set(f, requestTable, name, v)
	case *Model:
		return set(f, modelTable, name, v)
	case *Target:
		return set(f, targetTable, name, v)
	case *Candidate:
		return set(f, candidateTable, name, v)
	}
	return fmt.Errorf("%T: want a request, model, target or candidate", facts)
}

func set[T any](facts *T, t *table[T], name string, v starlark.Value) error {
	i, ok := t.index[name]
	if !ok {
		return fmt.Errorf("%s: a %s has no such attribute", name, t.kind)
	}
	if want := unbox(t.fields[i].at(facts), v); want != "" {
		return fmt.Errorf("%s: got %s, want %s", name, v.Type(), want)
	}
	return nil
}

// unbox stores a value where a field's pointer says, and says what was wanted where it does not fit.
func unbox(at any, v starlark.Value) (want string) {
	var ok bool
	switch p := at.(type) {
	case *string:
		*p, ok = starlark.AsString(v)
		return unless(ok, "a string")
	case *int:
		if n, isInt := v.(starlark.Int); isInt {
			var wide int64
			wide, ok = n.Int64()
			*p = int(wide)
		}
		return unless(ok, "an int of 64 bits")
	case *uint64:
		n, isInt := v.(starlark.Int)
		if isInt {
			*p, ok = n.Uint64()
		}
		return unless(ok, "an int, not negative")
	case *float64:
		*p, ok = starlark.AsFloat(v)
		return unless(ok, "a number")
	case *bool:
		truth, isBool := v.(starlark.Bool)
		*p = bool(truth)
		return unless(isBool, "a bool")
	}
	return unboxMany(at, v)
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

// unboxMany stores what is made of several values.
func unboxMany(at any, v starlark.Value) (want string) {
	switch p := at.(type) {
	case *[]string:
		*p = nil
		list, ok := v.(starlark.Iterable)
		if !ok {
			return "a list of strings"
		}
		for x := range starlark.Elements(list) {
			s, ok := starlark.AsString(x)
			if !ok {
				return "a list of strings"
			}
			*p = append(*p, s)
		}
		return ""
	case *map[string]string:
		*p = map[string]string{}
		return unboxDict(v, func(name string, v starlark.Value) string {
			s, ok := starlark.AsString(v)
			(*p)[name] = s
			return unless(ok, "a dict of strings")
		})
	case *Key:
		return unboxDict(v, func(name string, v starlark.Value) string { return said(set(p, keyTable, name, v)) })
	case *Client:
		return unboxDict(v, func(name string, v starlark.Value) string { return said(set(p, clientTable, name, v)) })
	case *Price:
		return unboxDict(v, func(name string, v starlark.Value) string { return said(set(p, priceTable, name, v)) })
	case *Latency:
		return unboxDict(v, func(name string, v starlark.Value) string { return said(set(p, latencyTable, name, v)) })
	}
	return "nothing"
}

func unboxDict(v starlark.Value, put func(name string, v starlark.Value) (want string)) (want string) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return "a dict"
	}
	for key, x := range d.Entries() {
		name, ok := starlark.AsString(key)
		if !ok {
			return "a dict whose keys are strings"
		}
		if want := put(name, x); want != "" {
			return want
		}
	}
	return ""
}

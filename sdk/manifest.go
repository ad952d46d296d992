package sdk

import "encoding/json"

// Protocol is the version of the plugin protocol that this package speaks.
const Protocol = 1

// Manifest describes a provider; its JSON form is what schemas/plugin.schema.json describes.
type Manifest struct {
	Name        string `json:"name"`    // lower case, as in penstock-provider-NAME
	Version     string `json:"version"` // the plugin's own
	Protocol    int    `json:"protocol"`
	Description string `json:"description,omitempty"`

	BaseURL  string    `json:"base_url,omitempty"` // default, with its path: https://api.openai.com/v1
	Dialects []Dialect `json:"dialects"`           // the first is the default
	Auth     Auth      `json:"auth"`

	Capabilities []Capabilities    `json:"capabilities,omitempty"` // the first pattern that matches a model counts
	Presets      map[string]Preset `json:"presets,omitempty"`
	Errors       []KnownError      `json:"errors,omitempty"` // the first that matches counts
	ConfigSchema json.RawMessage   `json:"config_schema,omitempty"`

	MayBlock bool `json:"may_block,omitempty"` // calls may wait: each runs in its own goroutine in the plugin
}

// Dialect is a way of talking that the provider's service understands.
type Dialect struct {
	// Name is a client dialect (openai-chat, anthropic, …), and then clients that speak it are passed through without a
	// plugin call; or a name of the plugin's own, and then everything is encoded.
	Name       string   `json:"name"`
	Path       string   `json:"path"`                  // appended to the base URL's path; slots {model}
	StreamPath string   `json:"stream_path,omitempty"` // where a stream has another path
	CountPath  string   `json:"count_path,omitempty"`  // where tokens are counted
	Framing    string   `json:"framing,omitempty"`     // of streams: sse (default), ndjson, json-array, aws-event-stream
	Headers    []Header `json:"headers,omitempty"`     // sent unless the client's dialect brings its own
	Forward    []string `json:"forward,omitempty"`     // client headers that a passed request carries on, lower case; "x-*" is a prefix
	Splice     []Splice `json:"splice,omitempty"`      // what must change in a passed request
	// Terminated says that a complete stream ends in a mark of its own ([DONE], message_stop).
	Terminated bool `json:"terminated,omitempty"`
}

// Splice is one change to a passed request's top-level members or those one object below.
type Splice struct {
	Op    string          `json:"op"`              // replace (only where it stands), set (replace or insert), insert (only where it is absent), delete
	At    string          `json:"at"`              // JSON Pointer, one or two names: /model, /stream_options/include_usage
	Value json.RawMessage `json:"value,omitempty"` // may be a slot: "{model}", "{max_output}"
	When  string          `json:"when,omitempty"`  // stream, whole; "" always
	Hides string          `json:"hides,omitempty"` // usage: what the answer shows because of it is cut from what the client sees
}

// Auth says how a credential becomes a header.
type Auth struct {
	Kind   string `json:"kind,omitempty"`   // header (default), none, signer, token: the last two call Authorize
	Header string `json:"header,omitempty"` // Authorization
	Format string `json:"format,omitempty"` // Bearer {api_key}
}

// Capabilities says what models can do; names are of the closed list tools, parallel_tools, images, audio, documents,
// thinking, json_schema, prefill, embeddings, logprobs, n.
type Capabilities struct {
	Match     string   `json:"match"` // shell pattern on the model: gpt-4.1*
	Can       []string `json:"can"`
	Context   int      `json:"context,omitempty"`
	MaxOutput int      `json:"max_output,omitempty"`
}

// Preset is a compatible service: a row of the plugin's table.
type Preset struct {
	BaseURL  string   `json:"base_url"`
	Auth     *Auth    `json:"auth,omitempty"`
	Dialects []string `json:"dialects,omitempty"` // those it has; all where empty
	Drop     []string `json:"drop,omitempty"`     // members that the service refuses: JSON Pointers, deleted from what is sent
	Source   string   `json:"source,omitempty"`   // where the facts come from
}

// KnownError maps an error body to a kind.
type KnownError struct {
	Status int    `json:"status,omitempty"` // 0: any
	At     string `json:"at,omitempty"`     // JSON Pointer into the body: /error/code
	Equals string `json:"equals,omitempty"`
	Has    string `json:"has,omitempty"` // a part of the text, without regard to case
	Kind   string `json:"kind"`          // as Kind.String
}

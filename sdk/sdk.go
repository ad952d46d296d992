// Package sdk is what a plugin author imports: the request and event model that stands between all dialects, the JSON
// writer and reader that work on bytes the gateway may be holding, and Serve, which makes a program of a [Provider].
//
// A plugin encodes and decodes; it opens no connection to a provider and, unless it signs requests, holds no key. The
// gateway owns connections, time limits, retries and money.
//
//	func main() { sdk.Serve(provider{}) }
package sdk

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

//go:generate go test ../cmd/penstock/matrix -run TestMatrix -update

// Provider is what a plugin implements: three methods. The gateway calls them from one goroutine for each process
// unless the manifest says that they may block; they must not keep what they are given.
//
// More is offered by implementing [Configurer], [Authorizer] or [ErrorReader] as well.
type Provider interface {
	// Manifest describes the provider. It is asked once, before anything else.
	Manifest() Manifest
	// Encode writes the provider's request for the client's. It returns *Inexpressible or *Invalid where it cannot.
	// It is not called for a client whose dialect the provider speaks natively.
	Encode(req *Request, plan *Plan) error
	// NewDecoder makes the decoder of one answer.
	NewDecoder(info AnswerInfo) Decoder
}

// AnswerInfo says which answer a decoder is for.
type AnswerInfo struct {
	Provider string // the configured id
	Native   string // the provider dialect
	Model    string
	Stream   bool // frames of a stream; otherwise one frame that is the whole body
}

// Decoder turns the frames of one answer into events. It lives for one answer and may keep state, but nothing of a
// frame.
type Decoder interface {
	Decode(f *Frame, out *Events) error
	// End is called when the upstream has ended the body in good order. A decoder that has not seen the provider's
	// terminator emits no Done, and the gateway treats the answer as broken.
	End(out *Events) error
}

// Frame is one frame of an upstream's answer.
type Frame struct {
	Event string // of an SSE frame or an AWS event; "" otherwise
	Text  []byte // data that is no JSON, such as [DONE]; nil where Doc is set
	Doc   *Doc
}

// Configurer is implemented by a provider that has configuration of its own: it is called once for each configured
// provider that names the plugin, with providers.ID.config as JSON ("{}" where there is none), already checked against
// the manifest's schema.
type Configurer interface {
	Configure(id string, config []byte) (Configured, error)
}

// Configured is what a configured provider tells the gateway.
type Configured struct {
	BaseURL  string    // beats the manifest's and a preset's; base_url in the configuration beats all
	Dialects []Dialect // in place of the manifest's, where paths and rules depend on the configuration; nil leaves them
	Auth     *Auth     // in place of the manifest's and a preset's; nil leaves it
}

// Authorizer is implemented by a provider whose credentials are no fixed header: tokens with a lifetime, signatures.
type Authorizer interface {
	Authorize(ctx context.Context, r AuthRequest) (Authorization, error)
}

// AuthRequest asks for the headers that authorize a request. What follows the credential is there for signatures alone:
// where the kind is token, the headers must serve every request.
type AuthRequest struct {
	Provider    string            // the configured id
	Credential  map[string]string // as configured
	Method, URL string            // as they are sent
	Headers     []Header          // that are sent
	PayloadHash string            // of the body, SHA-256 in hexadecimal
}

// Authorization holds headers and how long they are good for; 0: this request only. The gateway keeps headers that have a
// lifetime, and of kind token asks for the next ones five minutes before its end, in the background.
type Authorization struct {
	Headers  []Header
	Lifetime time.Duration
}

// ErrorReader is implemented by a provider whose error bodies need more than the manifest's table.
type ErrorReader interface {
	ReadError(status int, body *Doc) Failure
}

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
	// plugin call; or a name of the plugin's own, and then everything is encoded. Clients that ask for embeddings are served
	// in a dialect whose name ends in -embeddings where there is one, and others in one whose name does not.
	Name       string   `json:"name"`
	Path       string   `json:"path"`                  // appended to the base URL's path; slots {model} and {model_segment}, which has no slashes
	StreamPath string   `json:"stream_path,omitempty"` // where a stream has another path
	CountPath  string   `json:"count_path,omitempty"`  // where tokens are counted
	BatchPath  string   `json:"batch_path,omitempty"`  // where several inputs for embeddings have another path
	Framing    string   `json:"framing,omitempty"`     // of streams: sse (default), ndjson, json-array, aws-event-stream
	Headers    []Header `json:"headers,omitempty"`     // sent unless the client's dialect brings its own
	Forward    []string `json:"forward,omitempty"`     // client headers that a passed request carries on, lower case; "x-*" is a prefix
	Splice     []Splice `json:"splice,omitempty"`      // what must change in a passed request
	// Models are shell patterns of the models that the dialect is spoken with; all where empty. A deployment that names the
	// dialect in its configuration is not held to them.
	Models []string `json:"models,omitempty"`
	// Unwrap is the member of a stream's frames that holds the event itself in base64, as a JSON Pointer of one name.
	// Frames without it are events as they are.
	Unwrap string `json:"unwrap,omitempty"`
	// Terminated says that a complete stream ends in a mark of its own ([DONE], message_stop).
	Terminated bool `json:"terminated,omitempty"`
}

// Splice is one change to a passed request's top-level members or those one object below.
type Splice struct {
	Op    string          `json:"op"`              // replace (only where it stands), set (replace or insert), insert (only where it is absent), delete
	At    string          `json:"at"`              // JSON Pointer, one or two names: /model, /stream_options/include_usage, or of each object in a list: /requests/*/model
	Value json.RawMessage `json:"value,omitempty"` // may be the slot "{max_output}", or a text with the slot {model} in it
	When  string          `json:"when,omitempty"`  // stream, whole, answer (both), count (tokens are counted); "" always
	Hides string          `json:"hides,omitempty"` // usage: what the answer shows because of it is cut from what the client sees
	// Header is the lower-case name of a client header whose comma-separated items are the value, as a list of strings. The
	// rule is for requests that have it.
	Header string `json:"header,omitempty"`
}

// Auth says how a credential becomes a header.
//
// Where the kind is signer or token and a credential has the members that Format names, the gateway makes the header of
// them itself: a service that takes a plain key as well does not hand it to the plugin.
type Auth struct {
	Kind   string `json:"kind,omitempty"`   // header (default), none, signer, token: the last two call Authorize
	Header string `json:"header,omitempty"` // Authorization
	Format string `json:"format,omitempty"` // Bearer {api_key}
	// Members are the sets of a credential's members of which Authorize needs one whole. A configuration whose credential
	// has none of them, nor what Format names, is refused; where this is empty, Authorize alone says what is missing.
	Members [][]string `json:"members,omitempty"`
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

// WebSearch is a search of the web that a service runs itself, as a client wrote the tool for it: OpenAI's, Anthropic's and
// Google's tools have most of it in common. Members that the client did not write are absent.
type WebSearch struct {
	Path    string // of the tool
	Most    Value  // how many searches
	Allowed Value  // a list of the domains to stay in
	Blocked Value  // a list of the domains to keep out of
	Context Text   // how much of the pages is read: low, medium, high
	Offline bool   // what has been read before is searched, not the web as it is now

	where [4]Text // city, region, country, timezone
}

// places are the members of a search's location, which OpenAI and Anthropic have alike.
var places = [4]string{"city", "region", "country", "timezone"}

// searches says whether a type is that of a tool, or of OpenAI's member of chat completions, for searches of the web
// (https://platform.openai.com/docs/guides/tools-web-search,
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool,
// https://ai.google.dev/gemini-api/docs/google-search).
func searches(typ string) bool {
	return strings.HasPrefix(typ, "web_search") || typ == "googleSearch" || typ == "google_search"
}

// WebSearch gives what a tool says of searches of the web; false where it is no tool for them.
func (r *Request) WebSearch(i int) (s WebSearch, ok bool) {
	t := &r.Tools[i]
	s.Path = ToolPath(r.Tools, i)
	var d Doc
	if t.Kind != ForeignTool || !searches(t.Type) || t.Raw.Held() || d.Parse(t.Raw.Raw()) != nil {
		return s, false
	}
	root := d.Root()
	within := root
	if filters := root.Get("filters"); !filters.Null() {
		within = filters
	}
	list := func(n Node) Value {
		if n.Len() == 0 {
			return Value{}
		}
		return n.Value()
	}
	s.Allowed, s.Blocked = list(within.Get("allowed_domains")), list(within.Get("blocked_domains"))
	if n := root.Get("max_uses"); !n.Null() {
		s.Most = n.Value()
	}
	s.Context = root.Get("search_context_size").Text()
	if live := root.Get("external_web_access"); !live.Null() {
		s.Offline = !live.True()
	}
	at := root.Get("user_location")
	if nested := at.Get("approximate"); nested.Exists() { // as chat completions have it
		at = nested
	}
	for i, name := range places {
		s.where[i] = at.Get(name).Text()
	}
	return s, true
}

// Located says whether the client said where its user is.
func (s *WebSearch) Located() bool {
	for _, t := range s.where {
		if !t.Empty() {
			return true
		}
	}
	return false
}

// Location writes where the user is, as {"type": "approximate", …}, with the members beside the type or, where nest is a
// name, in an object of that name.
func (s *WebSearch) Location(w *Writer, nest string) {
	w.Object()
	w.Name("type").String("approximate")
	if nest != "" {
		w.Name(nest).Object()
	}
	for i, name := range places {
		if t := s.where[i]; !t.Empty() {
			w.Name(name).Text(t)
		}
	}
	if nest != "" {
		w.EndObject()
	}
	w.EndObject()
}

// Leave notes what is said of a search beside that there is one and the provider has no words for, but for the names among
// kept: of most, domains, context, location. That domains are left out changes what is asked.
func (s *WebSearch) Leave(p *Plan, why string, kept ...string) {
	keeps := func(name string) bool {
		for _, k := range kept {
			if k == name {
				return true
			}
		}
		return false
	}
	if s.Most.Present() && !keeps("most") {
		p.Drop(s.Path+".max_uses", why)
	}
	if (s.Allowed.Present() || s.Blocked.Present()) && !keeps("domains") {
		p.Lose(s.Path, why+" of domains")
	}
	if !s.Context.Empty() && !keeps("context") {
		p.Drop(s.Path+".search_context_size", why)
	}
	if s.Located() && !keeps("location") {
		p.Drop(s.Path+".user_location", why)
	}
	if s.Offline && !keeps("offline") {
		p.Approximate(s.Path+".external_web_access", "the web is searched as it is now")
	}
}

// LeaveTool notes a tool that a provider has nothing like. To leave out a search of the web, or the making of pictures, that
// is offered beside functions makes an answer poorer at most: agents offer what they know. Any other tool that is left out
// changes what is asked.
func (p *Plan) LeaveTool(r *Request, i int, why string) {
	t := &r.Tools[i]
	offered := searches(t.Type) || t.Type == "image_generation"
	beside := false
	for k := range r.Tools {
		beside = beside || r.Tools[k].Kind != ForeignTool
	}
	if path := ToolPath(r.Tools, i); offered && beside && !r.Chosen(i) {
		p.Drop(path, why)
	} else {
		p.Lose(path, why)
	}
}

// Chosen says whether the client demands calls of one tool of a provider's own, by its name or its type.
func (r *Request) Chosen(i int) bool {
	t := &r.Tools[i]
	if r.Choice.Mode != ChoiceNamed || len(r.Choice.Names) == 0 || t.Kind != ForeignTool {
		return false
	}
	name, _ := r.Choice.Names[0].Decoded()
	for k := range r.Tools {
		if r.Tools[k].Kind != ForeignTool && r.Tools[k].Name.Is(name) {
			return false // a tool of the client's own
		}
	}
	return t.Name.Is(name) || t.Type == name || searches(name) && searches(t.Type)
}

// LeavePart notes a part of an earlier turn that only its own dialect knows. The record of a search of the web is gone from
// the model's sight with it, while what the model made of it is said in the text beside; any other part is lost.
func (p *Plan) LeavePart(part *Part, path, why string) {
	switch {
	case part.Kind != PartForeign:
	case part.Type == "web_search_call", part.Type == "web_search_tool_result",
		part.Type == "server_tool_use" && strings.Contains(string(part.Value.Raw()), `"web_search"`):
		p.Drop(path, why)
		return
	}
	p.Lose(path, why)
}

package sdk

import (
	"strconv"
	"strings"
)

// Request is the middle form of a client's request: what the client's dialect was decoded into, and what a provider
// encodes. Members that the client did not send are absent (zero); a zero that was sent is present. Nothing in it names
// a credential.
type Request struct {
	Dialect    string // the client's dialect
	Model      string // the deployment's model, as the provider calls it
	Provider   string // the configured id of the provider: an instance in the plugin's process
	Native     string // the provider dialect to encode for, as the manifest names it
	Stream     bool
	WantUsage  bool // the client asked for usage in its stream
	DefaultMax int  // the output limit where the provider demands one and the client gave none

	Messages []Message
	Tools    []Tool
	Choice   ToolChoice

	MaxOutput        int // tokens; 0 absent
	Temperature      Value
	TopP             Value
	TopK             Value
	FrequencyPenalty Value
	PresencePenalty  Value
	Seed             Value
	N                int // answers wanted; 0 absent
	Stop             []Text
	Logprobs         Value // true, as OpenAI has it
	TopLogprobs      Value
	LogitBias        Value
	Format           Format
	Reasoning        Reasoning
	ServiceTier      Text
	User             Text // the end user's id
	Metadata         Value
	CacheKey         Text  // OpenAI's prompt_cache_key
	Cache            Value // a cache_control on the whole request

	Inputs     []Text // texts to embed, in a request for embeddings, which has no messages
	Dimensions int    // of an embedding; 0 absent
	// Encoding is the form of an embedding: float, base64; "" absent. The answer may have either: the gateway brings it into
	// this form.
	Encoding string

	Unknown []Member // what the middle form has no member for
}

// CacheMark gives the client's path of the first cache_control of a part or a tool, or of the request as a whole; "" where
// there is none. It is for providers that have no such marks.
func (r *Request) CacheMark() string {
	for i := range r.Tools {
		if r.Tools[i].Cache.Present() {
			return ToolPath(r.Tools, i) + ".cache_control"
		}
	}
	for _, m := range r.Messages {
		if p := cacheMark(m.Path, m.Parts); p != "" {
			return p
		}
	}
	if r.Cache.Present() {
		return "cache_control"
	}
	return ""
}

func cacheMark(parent string, parts []Part) string {
	for i := range parts {
		path := PartPath(parent, parts, i)
		if parts[i].Cache.Present() {
			return path + ".cache_control"
		}
		if res := parts[i].Result; res != nil {
			if p := cacheMark(path, res.Parts); p != "" {
				return p
			}
		}
	}
	return ""
}

// ExtraMarks gives the cache_controls of parts and tools that are more than limit, and the client's paths of them, for
// providers that refuse a request with too many: of those in the turns the earliest, the last one excepted, then those of
// the system's first messages, then those of tools. What a mark has the provider keep, a later one has it keep too.
func (r *Request) ExtraMarks(limit int) map[*Value]string {
	var tools, system, turns []mark
	for i := range r.Tools {
		if c := &r.Tools[i].Cache; c.Present() {
			tools = append(tools, mark{c, ToolPath(r.Tools, i)})
		}
	}
	leading := true
	for _, m := range r.Messages {
		if leading = leading && (m.Role == System || m.Role == Developer); leading {
			system = append(system, marks(m.Path, m.Parts)...)
		} else {
			turns = append(turns, marks(m.Path, m.Parts)...)
		}
	}
	extra := len(tools) + len(system) + len(turns) - limit
	if r.Cache.Present() {
		extra++
	}
	if extra <= 0 {
		return nil
	}
	if n := len(turns); n > 0 {
		turns = turns[:n-1]
	}
	all := append(append(turns, system...), tools...)
	out := make(map[*Value]string)
	for _, m := range all[:min(extra, len(all))] {
		out[m.cache] = m.path + ".cache_control"
	}
	return out
}

// mark is where a cache_control stands.
type mark struct {
	cache *Value
	path  string
}

// marks gives those of some parts. A result is one place, wherever in it the mark stands.
func marks(parent string, parts []Part) []mark {
	var all []mark
	for i := range parts {
		path := PartPath(parent, parts, i)
		if parts[i].Cache.Present() || parts[i].Result != nil && cacheMark(path, parts[i].Result.Parts) != "" {
			all = append(all, mark{&parts[i].Cache, path})
		}
	}
	return all
}

// SignedPart gives the client's path of the first text or call that its provider has signed, as Gemini does; "" where there
// is none. It is for providers that cannot read another's signature.
func (r *Request) SignedPart() string {
	for _, m := range r.Messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind != PartThinking && !p.Signature.Empty() {
				return PartPath(m.Path, m.Parts, i)
			}
		}
	}
	return ""
}

// NamedSpeaker gives the client's path of the first name of a speaker; "" where there is none. It is for providers whose
// messages have no names.
func (r *Request) NamedSpeaker() string {
	for _, m := range r.Messages {
		if !m.Name.Empty() {
			return m.Path + ".name"
		}
	}
	return ""
}

// Member is a member of the client's request that the middle form does not know.
type Member struct {
	Path  string // such as "messages[2].name"
	Value Value
}

// Advisory says whether the member changes how a provider works or what it keeps, not what is asked, so that a provider
// without such a member may leave it out: storage, caching, safety settings, context editing, a gateway's own routing, and
// what the middle form does not know inside messages and tools. So is a name that no service can know, for all begin theirs
// with a small letter: Model is not model.
func (m Member) Advisory() bool {
	if m.Path == "" || m.Path[0] < 'a' || m.Path[0] > 'z' {
		return true
	}
	switch m.Path {
	case "store", "safety_identifier", "prompt_cache_retention", "verbosity", "text.verbosity", "include", "truncation", "background",
		"stream_options", "provider", "models", "transforms", "route", "usage", "moderation", "context_management", "betas",
		"inference_geo", "diagnostics":
		return true
	}
	for _, prefix := range [...]string{"messages[", "input[", "contents[", "tools[", "system[", "systemInstruction", "safetySettings",
		"stream_options.", "context_management."} {
		if strings.HasPrefix(m.Path, prefix) {
			return true
		}
	}
	return false
}

// Role says who speaks.
type Role uint8

// The roles. A tool's result is a part, in a message of role Tool.
const (
	System Role = iota + 1
	Developer
	User
	Assistant
	Tooling
)

// Message is one turn, in the client's order; system messages stand where the client put them.
type Message struct {
	Role  Role
	Name  Text
	Parts []Part
	Path  string // where the client has it, for errors
}

// PartKind says what a part is.
type PartKind uint8

// The kinds of parts.
const (
	PartText     PartKind = iota + 1
	PartImage             // Media
	PartAudio             // Media
	PartDocument          // Media
	PartCall              // Call: the assistant asks for a tool
	PartResult            // Result: what the tool said
	PartThinking          // Text, Signature
	PartRedacted          // Text: reasoning that only its provider can read
	PartRefusal           // Text
	PartForeign           // Type, Value: a block that only its own dialect knows
	PartVideo             // Media
)

// Part is one piece of a message.
type Part struct {
	Kind      PartKind
	Text      Text
	Signature Text   // of thinking, or of a call (Gemini)
	Media     *Media // image, audio, document, video
	Call      *Call
	Result    *Result
	Cache     Value  // cache_control
	Type      string // of a foreign block
	Value     Value  // a foreign block whole; citations of a text
	Path      string // where the client has it, where that is not the message's path and the part's number: see PartPath
}

// PartPath gives the client's path of one of the parts at parent: of a message, of a result, of a document. Errors and
// notes name it.
func PartPath(parent string, parts []Part, i int) string {
	if p := parts[i].Path; p != "" {
		return p
	}
	member := ".content["
	if strings.HasPrefix(parent, "contents[") || parent == "systemInstruction" { // Gemini's
		member = ".parts["
	}
	return parent + member + strconv.Itoa(i) + "]"
}

// Media is an image, a sound, a film or a document: one of Data, URL, FileID, Body.
type Media struct {
	MIME      string // such as image/png; "" unknown
	Data      Text   // base64
	URL       Text
	FileID    Text
	Body      Text   // a plain text document
	Parts     []Part // a document made of parts
	Name      Text
	Title     Text
	Context   Text
	Detail    string // OpenAI's auto, low, high
	Citations Value
}

// Call is a tool call in the history.
type Call struct {
	ID        Text
	Name      Text
	Arguments Value // an object; of a custom tool, absent
	Input     Text  // of a custom tool: free text
	Custom    bool
}

// Result is a tool's result.
type Result struct {
	ID    Text // the call's
	Name  Text // the tool's, where the dialect says it
	Parts []Part
	Error bool
}

// ToolKind says what a tool is.
type ToolKind uint8

// The kinds of tools.
const (
	FunctionTool ToolKind = iota
	CustomTool
	ForeignTool // a provider's own: Raw, Type
)

// ToolPath gives the client's path of a tool.
func ToolPath(tools []Tool, i int) string {
	if p := tools[i].Path; p != "" {
		return p
	}
	return "tools[" + strconv.Itoa(i) + "]"
}

// Tool is a tool that the model may call.
type Tool struct {
	Kind        ToolKind
	Name        Text
	Description Text
	Parameters  Value // JSON Schema; absent: no parameters
	Strict      Value // true or false
	Cache       Value
	Type        string // of a foreign tool
	Raw         Value  // the tool as the client wrote it, where it is not a function
	Path        string // where the client has it, where that is not tools[its number]: see ToolPath
}

// ChoiceMode says how free the model is to call tools.
type ChoiceMode uint8

// The modes of a tool choice.
const (
	ChoiceUnset ChoiceMode = iota
	ChoiceAuto
	ChoiceNone
	ChoiceRequired
	ChoiceNamed   // Names holds one
	ChoiceAllowed // any of Names; Required says whether one must be called
)

// ToolChoice is the client's wish about tool calls.
type ToolChoice struct {
	Mode     ChoiceMode
	Names    []Text
	Required bool
	Parallel Value // true or false: may the model call several at once
}

// FormatKind says what form the answer must have.
type FormatKind uint8

// The forms of an answer.
const (
	FormatUnset FormatKind = iota
	FormatText
	FormatJSON
	FormatSchema
)

// Format is the form that the answer must have.
type Format struct {
	Kind        FormatKind
	Name        Text
	Description Text
	Schema      Value
	Strict      Value
}

// ReasoningMode says whether the model is to reason.
type ReasoningMode uint8

// The modes of reasoning.
const (
	ReasoningUnset ReasoningMode = iota
	ReasoningOff
	ReasoningOn
	ReasoningAdaptive
)

// Reasoning is the client's wish about reasoning.
type Reasoning struct {
	Mode    ReasoningMode
	Effort  string // none, minimal, low, medium, high, xhigh, max; "" absent
	Budget  int    // tokens; 0 absent
	Include Value  // true or false: show thoughts
	Summary string // OpenAI Responses
	Display string // Anthropic
}

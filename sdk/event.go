package sdk

import "time"

// Event is one thing that an answer says, whole or streamed: a whole answer is decoded into the same events as a stream,
// and the client's dialect writes either form of them.
//
// A well-formed answer is one Begin, then any number of the others, then one Finish for each choice; Usage may come at
// any time, and the last one counts.
type Event struct {
	Kind    EventKind
	Choice  int    // of several answers (n > 1)
	Call    int    // which tool call of the choice, from 0 in order of appearance: ToolBegin, ToolInput, ToolEnd
	ID      Text   // Begin: the answer's id; ToolBegin: the call's
	Name    Text   // Begin: the model that answered; ToolBegin: the tool's name
	Text    Text   // TextDelta, ThinkingDelta, Signature, Redacted, RefusalDelta, ToolInput (a piece of the JSON text of the arguments, or of a custom tool's input)
	Custom  bool   // ToolBegin: a custom tool
	Type    string // Foreign: the block's type; Image: the media type
	Value   Value  // Foreign: the block; Citation: the citation or annotation; Logprobs
	Reason  Reason // Finish
	Native  Text   // Finish: the provider's own word
	Stop    Text   // Finish: the stop text that was met
	Usage   Usage
	Failure Failure // Failed
}

// EventKind says what an event is.
type EventKind uint8

// The kinds of events.
const (
	Begin EventKind = iota + 1
	TextDelta
	ThinkingDelta
	Signature
	Redacted
	RefusalDelta
	ToolBegin
	ToolInput
	ToolEnd
	Citation
	Logprobs
	Foreign
	UsageSeen
	Finish
	Failed
	Ping
	Done      // the provider's own end mark has been seen: the answer is complete
	Embedding // Value: the vector of input number Choice, a list of numbers or base64 text
	Image     // Text: a picture that the model has made, in base64; Type: its media type
)

// Content says whether an event commits the answer: text, reasoning, a refusal or a tool call that the client would see,
// or an end that says something itself. Life-cycle events, pings and empty deltas are not content.
func (e *Event) Content() bool {
	switch e.Kind {
	case TextDelta, ThinkingDelta, RefusalDelta, ToolInput, Image:
		return !e.Text.Empty()
	case ToolBegin, Redacted, Foreign, Embedding:
		return true
	case Finish:
		return e.Reason.Content()
	}
	return false
}

// Reason says why an answer ended.
type Reason uint8

// The reasons.
const (
	ReasonUnset    Reason = iota
	ReasonStop            // a natural end
	ReasonStopText        // a stop text was met
	ReasonLength          // the token limit
	ReasonContext         // the context window
	ReasonTool            // wants a tool
	ReasonFilter          // a filter cut the answer
	ReasonRefusal         // the model or the provider refused
	ReasonPause           // to be continued by the client
	ReasonFault           // the model failed: a malformed call, …
)

// Content says whether an end is content even where nothing came before it: a limit, a filter, a refusal, a tool, a pause.
// The client must learn of it, and another attempt would fare no better.
func (r Reason) Content() bool {
	switch r {
	case ReasonUnset, ReasonStop, ReasonFault:
		return false
	}
	return true
}

// Events collects what a decoder has to say. The gateway reads it after each call.
type Events struct{ List []Event }

// Add appends an event and gives it for filling in; the pointer is valid until the next Add.
func (o *Events) Add(k EventKind) *Event {
	o.List = append(o.List, Event{Kind: k})
	return &o.List[len(o.List)-1]
}

// Text appends a text delta where t is not empty.
func (o *Events) Text(choice int, t Text) { o.delta(TextDelta, choice, t) }

// Thinking appends a reasoning delta where t is not empty.
func (o *Events) Thinking(choice int, t Text) { o.delta(ThinkingDelta, choice, t) }

func (o *Events) delta(k EventKind, choice int, t Text) {
	if t.Empty() {
		return
	}
	e := o.Add(k)
	e.Choice, e.Text = choice, t
}

// Usage counts tokens in parts that do not overlap, so that no part can be charged twice: their sums are all input and all
// output. Each provider's own way of counting is turned into it at the edge, by [UsageWithin] or [UsageBeside].
type Usage struct {
	Input          int64 // fresh input of text and documents: neither read from a cache nor written to one
	AudioInput     int64 // fresh
	ImageInput     int64 // fresh, video included
	CacheRead      int64 // of whatever kind
	CacheWrite     int64 // for as long as the provider keeps it when nothing is said
	CacheWriteHour int64 // for an hour, which Anthropic charges higher
	Output         int64 // visible text
	Reasoning      int64
	AudioOutput    int64
	ImageOutput    int64

	Searches int64 // no tokens: what the provider's own tools searched the web, where it charges for that beside tokens
	Tier     Tier

	Known    bool // the provider gave figures
	Free     bool // no model ran: where the figures are zeros, they are meant, and not filled in for want of any
	Disputed bool // figures that cannot be: a part over its whole, a count below zero
}

// Counts are a provider's figures as it gave them. Where it says nothing of a part, that is 0.
type Counts struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64 // within Output

	CacheWriteHour int64 // of CacheWrite, for an hour
	AudioInput     int64 // of Input, as are images
	ImageInput     int64
	AudioOutput    int64 // of Output, as are images
	ImageOutput    int64

	Searches int64
	Tier     Tier
}

// Tier is the tier of service with which a provider says that it has served: some charge each otherwise.
type Tier uint8

// The tiers. What is said of none of the others is the usual one.
const (
	TierUsual Tier = iota
	TierFlex
	TierPriority
	TierBatch
	TierFast
	Tiers // how many there are
)

// TierOf reads a provider's word for a tier: OpenAI's and Bedrock's service tiers
// (https://platform.openai.com/docs/api-reference/chat/object, service_tier), Anthropic's service tiers and speeds
// (https://platform.claude.com/docs/en/build-with-claude/fast-mode), Google's types of traffic.
func TierOf(word string) Tier {
	switch word {
	case "flex", "ON_DEMAND_FLEX":
		return TierFlex
	case "priority", "ON_DEMAND_PRIORITY":
		return TierPriority
	case "batch":
		return TierBatch
	case "fast":
		return TierFast
	}
	return TierUsual
}

// UsageWithin reads figures of the OpenAI kind: cached tokens are counted within the input, reasoning within the output
// (https://platform.openai.com/docs/api-reference/chat/object, usage).
func UsageWithin(c Counts) Usage {
	var u Usage
	in := u.count(c.Input)
	u.CacheRead = u.atMost(u.count(c.CacheRead), in)
	u.writes(c, in-u.CacheRead)
	u.input(c, in-u.CacheRead-u.CacheWrites())
	u.output(c)
	return u
}

// UsageBeside reads figures of the Anthropic kind: cached tokens stand beside the input, reasoning within the output
// (https://docs.claude.com/en/docs/build-with-claude/prompt-caching, tracking cache performance).
func UsageBeside(c Counts) Usage {
	var u Usage
	u.CacheRead = u.count(c.CacheRead)
	u.writes(c, maxCount)
	u.input(c, u.count(c.Input))
	u.output(c)
	return u
}

// writes parts what was written to a cache by how long it is kept.
func (u *Usage) writes(c Counts, most int64) {
	all := u.atMost(u.count(c.CacheWrite), most)
	u.CacheWriteHour = u.atMost(u.count(c.CacheWriteHour), all)
	u.CacheWrite = all - u.CacheWriteHour
}

// input parts the fresh input. A provider may count sound or a picture both as such and as cached: what does not fit is
// cached already, and no fault.
func (u *Usage) input(c Counts, fresh int64) {
	u.AudioInput = min(u.count(c.AudioInput), fresh)
	u.ImageInput = min(u.count(c.ImageInput), fresh-u.AudioInput)
	u.Input = fresh - u.AudioInput - u.ImageInput
}

// output parts the output, and takes over what is said beside the tokens.
func (u *Usage) output(c Counts) {
	all := u.count(c.Output)
	u.Reasoning = u.atMost(u.count(c.Reasoning), all)
	u.AudioOutput = u.atMost(u.count(c.AudioOutput), all-u.Reasoning)
	u.ImageOutput = u.atMost(u.count(c.ImageOutput), all-u.Reasoning-u.AudioOutput)
	u.Output = all - u.Reasoning - u.AudioOutput - u.ImageOutput
	u.Searches, u.Tier = u.count(c.Searches), c.Tier
	u.Known = true
}

// Plus adds the usage of calls that made one answer together; what is known of the sum is what is known of v.
func (u Usage) Plus(v Usage) Usage {
	v.Input += u.Input
	v.AudioInput += u.AudioInput
	v.ImageInput += u.ImageInput
	v.CacheRead += u.CacheRead
	v.CacheWrite += u.CacheWrite
	v.CacheWriteHour += u.CacheWriteHour
	v.Output += u.Output
	v.Reasoning += u.Reasoning
	v.AudioOutput += u.AudioOutput
	v.ImageOutput += u.ImageOutput
	v.Searches += u.Searches
	return v
}

// CacheWrites is all that was written to a cache, for however long.
func (u Usage) CacheWrites() int64 { return u.CacheWrite + u.CacheWriteHour }

// TotalInput is all input, cached parts included.
func (u Usage) TotalInput() int64 {
	return u.Input + u.AudioInput + u.ImageInput + u.CacheRead + u.CacheWrites()
}

// TotalOutput is all output, reasoning included.
func (u Usage) TotalOutput() int64 { return u.Output + u.Reasoning + u.AudioOutput + u.ImageOutput }

// maxCount is more tokens than any provider can mean.
const maxCount = 1 << 40

func (u *Usage) count(n int64) int64 {
	if n < 0 || n > maxCount {
		u.Disputed = true
		return min(max(n, 0), maxCount)
	}
	return n
}

func (u *Usage) atMost(part, whole int64) int64 {
	if part > whole {
		u.Disputed = true
		return whole
	}
	return part
}

// Kind is what went wrong, from a closed list. Each kind has one HTTP status and one form in every client dialect.
type Kind uint8

// The kinds of failures.
const (
	KindNone        Kind = iota
	BadRequest           // the client's fault: bad JSON, a bad member
	BadKey               // no key, or an unknown one
	Forbidden            // the key may not use this
	UnknownModel         // no such model
	UnknownRoute         // no such path
	BadMethod            // the path exists, the method does not
	BadEncoding          // a Content-Encoding or media type that is not understood
	TooLarge             // a body over its limit
	ContextTooLong       // more tokens than the model takes
	CannotTranslate      // the request has what the deployment's dialect cannot say
	RateLimited          // our own limit
	OverTokenLimit       // one request larger than the key's token limit can ever be
	BudgetSpent          // our own budget
	NoTarget             // every candidate was skipped
	UpstreamRate         // the provider's rate limit
	UpstreamMoney        // the provider account's money or spend limit
	UpstreamAuth         // the provider refused our credential
	UpstreamModel        // the provider does not know the model
	Overloaded           // the provider is overloaded
	UpstreamError        // 5xx, a broken body, a reset
	UpstreamEmpty        // an answer of success that says nothing
	Timeout              // connect, first content, idle or total
	ContentRefused       // the provider refused the content
	PluginFailed         // the plugin's process is gone or broke its contract
	PolicyFailed         // the routing policy failed
	GuardBlocked         // a guardrail
	Draining             // shutting down
	Shedding             // over the in-flight or memory limit
	StoreDown            // the store cannot answer
	ClientGone           // the client left
	Internal             // a bug
)

// Failure is an error that a client may see: a kind, a public text, and what is known beside them. The cause, if any,
// goes to the log only.
type Failure struct {
	Kind       Kind
	Status     int           // the upstream's HTTP status; 0: the kind's own
	Message    string        // public
	Param      string        // the member at fault, as a JSON path
	Code       string        // the provider's own code, to be kept where the dialect has room
	Type       string        // the provider's own type
	RetryAfter time.Duration // 0: not said
	Body       []byte        // the upstream's error body, where the client speaks its dialect: passed as it is
	Final      bool          // further tries are of no use: x-should-retry: false
}

// Error gives the public text.
func (f *Failure) Error() string { return f.Message }

// Fail makes a failure.
func Fail(k Kind, message string) *Failure { return &Failure{Kind: k, Message: message} }

// Inexpressible is what Encode returns for a request that the provider's dialect has no way to say; the deployment is
// skipped with the reason "cannot express: What".
type Inexpressible struct {
	What string // such as "audio input"
	Path string // the member, such as "messages[0].content[1]"
}

// Error says what cannot be expressed.
func (e *Inexpressible) Error() string { return "cannot express: " + e.What }

// Invalid is what Encode returns for a request that no provider could serve, such as arguments that are not JSON: the
// client's fault, answered 400 and not tried elsewhere.
type Invalid struct{ Path, Message string }

// Error gives the message behind the path.
func (e *Invalid) Error() string { return e.Path + ": " + e.Message }

// kindNames are the names of the kinds, in order; they stand in manifests, metrics and logs.
var kindNames = [...]string{
	KindNone: "none", BadRequest: "bad_request", BadKey: "bad_key", Forbidden: "forbidden", UnknownModel: "unknown_model",
	UnknownRoute: "unknown_route", BadMethod: "bad_method", BadEncoding: "bad_encoding", TooLarge: "too_large",
	ContextTooLong: "context_too_long", CannotTranslate: "cannot_translate", RateLimited: "rate_limited",
	OverTokenLimit: "over_token_limit", BudgetSpent: "budget_spent", NoTarget: "no_target", UpstreamRate: "upstream_rate",
	UpstreamMoney: "upstream_money", UpstreamAuth: "upstream_auth", UpstreamModel: "upstream_model", Overloaded: "overloaded",
	UpstreamError: "upstream_error", UpstreamEmpty: "upstream_empty", Timeout: "timeout", ContentRefused: "content_refused",
	PluginFailed: "plugin_failed", PolicyFailed: "policy_failed", GuardBlocked: "guard_blocked", Draining: "draining",
	Shedding: "shedding", StoreDown: "store_down", ClientGone: "client_gone", Internal: "internal",
}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// ParseKind gives the kind of a name.
func ParseKind(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name && k > 0 {
			return Kind(k), true
		}
	}
	return KindNone, false
}

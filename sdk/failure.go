package sdk

import "time"

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

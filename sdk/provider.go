package sdk

import (
	"context"
	"time"
)

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
	BaseURL string // beats the manifest's; base_url in the configuration beats both
}

// Authorizer is implemented by a provider whose credentials are no fixed header: tokens with a lifetime, signatures.
type Authorizer interface {
	Authorize(ctx context.Context, r AuthRequest) (Authorization, error)
}

// AuthRequest asks for the headers that authorize a request.
type AuthRequest struct {
	Provider    string
	Credential  map[string]string // as configured
	Method, URL string            // for signatures
	Headers     []Header
	PayloadHash string // SHA-256 in hexadecimal, for signatures
}

// Authorization holds headers and how long they are good for; 0: this request only.
type Authorization struct {
	Headers  []Header
	Lifetime time.Duration
}

// ErrorReader is implemented by a provider whose error bodies need more than the manifest's table.
type ErrorReader interface {
	ReadError(status int, body *Doc) Failure
}

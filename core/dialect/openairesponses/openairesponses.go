// Package openairesponses is the dialect of OpenAI's responses (POST /v1/responses) as a client speaks it: it reads
// requests, writes answers and errors, and reads the usage and the end of native answers that pass through.
//
// It follows OpenAI's own reference. What a provider's service understands of a request is its plugin's matter; where a
// request continues an earlier answer, keeping it with the account that has it is the gateway's.
package openairesponses

import (
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect speaks responses. It holds no state.
type Dialect struct{}

var (
	_ dialect.Dialect = Dialect{}
	_ dialect.Placer  = Dialect{}
)

// Name is the dialect's name in configuration and manifests.
func (Dialect) Name() string { return "openai-responses" }

// KeepAlive is a comment, which clients skip.
func (Dialect) KeepAlive() []byte { return []byte(": penstock waiting\n\n") }

// Status is the HTTP status of a failure.
func (Dialect) Status(f *sdk.Failure) int { return dialect.StatusOf(f, dialect.FormOf(f.Kind).Status) }

// Places gives where the dialect has a member of chat completions.
func (Dialect) Places(member string) []string {
	switch member {
	case "messages":
		return []string{"input"}
	case "max_completion_tokens":
		return []string{"max_output_tokens"}
	case "response_format":
		return []string{"text.format"}
	case "logprobs":
		return []string{"include"}
	case "user":
		return []string{member, "safety_identifier"}
	}
	return nil
}

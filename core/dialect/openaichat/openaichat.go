// Package openaichat is the dialect of OpenAI's chat completions (POST /v1/chat/completions) as a client speaks it: it
// reads requests, writes answers and errors, and reads the usage and the end of native answers that pass through.
//
// It follows OpenAI's own reference and takes what compatible services and their clients add: cache_control, reasoning
// that is echoed back, the reasoning switches of other vendors. What a provider's service understands of a request is
// its plugin's matter; when an answer is held, retried or ended is the relay's.
package openaichat

import (
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect speaks chat completions. It holds no state.
type Dialect struct{}

var (
	_ dialect.Dialect = Dialect{}
	_ dialect.Placer  = Dialect{}
)

// Name is the dialect's name in configuration and manifests.
func (Dialect) Name() string { return "openai-chat" }

// KeepAlive is a comment, which clients skip; OpenRouter's clients know the habit.
func (Dialect) KeepAlive() []byte { return []byte(": penstock waiting\n\n") }

// Status is the HTTP status of a failure.
func (Dialect) Status(f *sdk.Failure) int { return dialect.StatusOf(f, dialect.FormOf(f.Kind).Status) }

// Places gives where a member may be that has had other names, or has them with compatible services.
func (Dialect) Places(member string) []string {
	switch member {
	case "max_completion_tokens":
		return []string{member, "max_tokens"}
	case "reasoning":
		return []string{"reasoning_effort", member, "thinking", "enable_thinking"}
	case "tools":
		return []string{member, "functions"}
	case "tool_choice":
		return []string{member, "function_call"}
	}
	return nil
}

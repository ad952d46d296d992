// Package anthropic is the dialect of Anthropic's messages (POST /v1/messages) as a client speaks it: it reads requests,
// writes answers and errors, and reads the usage and the end of native answers that pass through.
//
// Blocks that only this dialect knows, such as those of Anthropic's server tools, are carried whole as foreign parts.
// What a provider's service understands of a request is its plugin's matter; when an answer is held, retried or ended
// is the relay's.
package anthropic

import (
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect speaks messages. It holds no state.
type Dialect struct{}

var (
	_ dialect.Dialect = Dialect{}
	_ dialect.Placer  = Dialect{}
)

// Name is the dialect's name in configuration and manifests.
func (Dialect) Name() string { return "anthropic" }

// KeepAlive is a ping, which Anthropic's own streams have and its SDKs skip.
func (Dialect) KeepAlive() []byte { return []byte(ping) }

// ping is a ping event.
const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// Status is the HTTP status of a failure; an overload and a spent budget have statuses of their own here.
func (Dialect) Status(f *sdk.Failure) int {
	form := dialect.FormOf(f.Kind)
	if form.AnthropicStatus != 0 {
		return dialect.StatusOf(f, form.AnthropicStatus)
	}
	return dialect.StatusOf(f, form.Status)
}

// member gives a member that is there and not null.
func member(doc *jsonspan.Doc, obj int, name string) (int, bool) {
	if doc.Kind(obj) != jsonspan.Object {
		return 0, false
	}
	i, ok := doc.Member(obj, name)
	return i, ok && doc.Kind(i) != jsonspan.Null
}

// Places gives where the dialect has a member of chat completions.
func (Dialect) Places(member string) []string {
	switch member {
	case "max_completion_tokens":
		return []string{"max_tokens"}
	case "stop":
		return []string{"stop_sequences"}
	case "reasoning":
		return []string{"thinking", "output_config.effort"}
	case "response_format":
		return []string{"output_config.format", "output_format"}
	case "parallel_tool_calls":
		return []string{"tool_choice.disable_parallel_tool_use"}
	case "user":
		return []string{"metadata.user_id"}
	}
	return nil
}

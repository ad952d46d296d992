package anthropic

import "github.com/penstock-gateway/penstock/core/dialect"

var _ dialect.Placer = Dialect{}

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

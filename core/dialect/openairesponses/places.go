package openairesponses

import "github.com/penstock-gateway/penstock/core/dialect"

var _ dialect.Placer = Dialect{}

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

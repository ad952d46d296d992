package openaichat

import "github.com/penstock-gateway/penstock/core/dialect"

var _ dialect.Placer = Dialect{}

// Places gives where a member may be that has had other names, or has them with compatible services.
func (Dialect) Places(member string) []string {
	switch member {
	case "max_completion_tokens":
		return []string{member, "max_tokens"}
	case "reasoning":
		return []string{"reasoning_effort", member}
	case "tools":
		return []string{member, "functions"}
	case "tool_choice":
		return []string{member, "function_call"}
	}
	return nil
}

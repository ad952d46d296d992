package gemini

import "github.com/penstock-gateway/penstock/core/dialect"

var _ dialect.Placer = Dialect{}

// Places gives where the dialect has a member of chat completions, by both of its names.
func (Dialect) Places(member string) []string {
	var both []string
	for _, place := range places(member) {
		both = append(both, place)
		if other := snake(place); other != place {
			both = append(both, other)
		}
	}
	return both
}

func places(member string) []string {
	const config = "generationConfig."
	switch member {
	case "messages":
		return []string{"contents"}
	case "tool_choice":
		return []string{"toolConfig.functionCallingConfig"}
	case "response_format":
		return []string{config + "responseSchema", config + "responseJsonSchema", config + "responseMimeType"}
	case "reasoning":
		return []string{config + "thinkingConfig"}
	case "max_completion_tokens":
		return []string{config + "maxOutputTokens"}
	case "stop":
		return []string{config + "stopSequences"}
	case "n":
		return []string{config + "candidateCount"}
	case "logprobs":
		return []string{config + "responseLogprobs"}
	case "top_logprobs":
		return []string{config + "logprobs"}
	case "metadata":
		return []string{"labels"}
	case "service_tier":
		return []string{"serviceTier"}
	case "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty":
		return []string{config + string(camel([]byte(member)))}
	}
	return nil
}

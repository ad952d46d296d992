package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// tokens is usage as a row of the ledger has it.
type tokens struct {
	Input       int64 `json:"input_tokens"`
	CacheRead   int64 `json:"cache_read_tokens"`
	CacheWrite  int64 `json:"cache_write_tokens"`
	Hour        int64 `json:"cache_write_1h_tokens"`
	AudioInput  int64 `json:"audio_input_tokens"`
	ImageInput  int64 `json:"image_input_tokens"`
	Output      int64 `json:"output_tokens"`
	Reasoning   int64 `json:"reasoning_tokens"`
	AudioOutput int64 `json:"audio_output_tokens"`
	ImageOutput int64 `json:"image_output_tokens"`
	Searches    int64 `json:"web_searches"`
}

// chatCounts reads usage as OpenAI counts it: cached tokens are within the prompt, reasoning within the completion
// (https://platform.openai.com/docs/api-reference/chat/object). Services that count reasoning beside the completion show it
// in the total; Mistral names cached tokens otherwise, and OpenRouter those that were written; more cached tokens than
// there are in the prompt cannot be.
func chatCounts(text []byte, c *tokens) (found bool) {
	var d struct {
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Details    struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
				Audio   int64 `json:"audio_tokens"`
				Image   int64 `json:"image_tokens"`
			} `json:"prompt_tokens_details"`
			Parts struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
			Total     int64 `json:"total_tokens"`
			Cached    int64 `json:"num_cached_tokens"`
			Reasoning int64 `json:"reasoning_tokens"`
			Tools     struct {
				Searches int64 `json:"web_search_requests"`
			} `json:"server_tool_use_details"`
			Queries int64 `json:"num_search_queries"`
		}
	}
	if json.Unmarshal(text, &d) != nil || d.Usage == nil || d.Usage.Prompt == 0 {
		return false
	}
	u := d.Usage
	*c = tokens{Input: u.Prompt, CacheRead: min(max(u.Details.Cached, u.Cached), u.Prompt), CacheWrite: u.Details.Written, AudioInput: u.Details.Audio, ImageInput: u.Details.Image,
		Output: max(u.Completion, u.Total-u.Prompt), Reasoning: max(u.Parts.Reasoning, u.Reasoning), Searches: u.Tools.Searches + u.Queries}
	if c.Reasoning == 0 {
		c.Reasoning = max(u.Total-u.Prompt-u.Completion, 0)
	}
	c.Reasoning = min(c.Reasoning, c.Output)
	return true
}

// messageUsage is a usage object of Anthropic's.
type messageUsage struct {
	Input   *int64 `json:"input_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Write   *int64 `json:"cache_creation_input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Tools struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	Passes []struct {
		Type   string
		Input  int64 `json:"input_tokens"`
		Read   int64 `json:"cache_read_input_tokens"`
		Write  int64 `json:"cache_creation_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"iterations"`
}

// messageCounts reads usage as Anthropic counts it: cached tokens stand beside the input, and each message_delta has the
// totals so far (https://docs.claude.com/en/docs/build-with-claude/streaming); of several passes of the model and of
// compaction all are charged (https://platform.claude.com/docs/en/build-with-claude/compaction).
func messageCounts(text []byte, c *tokens) (found bool) {
	var d struct {
		Usage   *messageUsage
		Message struct{ Usage *messageUsage }
	}
	if json.Unmarshal(text, &d) != nil {
		return false
	}
	u := d.Usage
	if u == nil {
		u = d.Message.Usage
	}
	if u == nil || u.Input == nil && u.Output == nil {
		return false
	}
	plain := c.Input - c.CacheRead - c.CacheWrite
	for _, of := range []struct{ from, to *int64 }{{u.Input, &plain}, {u.Read, &c.CacheRead}, {u.Write, &c.CacheWrite}, {u.Output, &c.Output}} {
		if of.from != nil {
			*of.to = *of.from
		}
	}
	c.Input = plain + c.CacheRead + c.CacheWrite
	c.Reasoning, c.Searches = max(c.Reasoning, u.Details.Thinking), max(c.Searches, u.Tools.Searches)
	all := tokens{Reasoning: c.Reasoning, Searches: c.Searches}
	passes := 0
	for _, p := range u.Passes {
		if p.Type == "message" || p.Type == "compaction" {
			passes++
			all.Input += p.Input + p.Read + p.Write
			all.CacheRead += p.Read
			all.CacheWrite += p.Write
			all.Output += p.Output
		}
	}
	if passes > 1 {
		*c = all
	}
	return true
}

// responseCounts reads usage of a response, in which cached tokens are within the input and reasoning within the output
// (https://platform.openai.com/docs/api-reference/responses/object). Searches are charged one by one and stand in the output.
func responseCounts(text []byte, c *tokens) (found bool) {
	type response struct {
		Usage *struct {
			Input   int64 `json:"input_tokens"`
			Output  int64 `json:"output_tokens"`
			Details struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
			Parts struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		}
		Output []struct {
			Type   string
			Action struct{ Type string }
		}
	}
	var d struct {
		response
		Response *response
	}
	if json.Unmarshal(text, &d) != nil {
		return false
	}
	r := &d.response
	if d.Response != nil {
		r = d.Response
	}
	if r.Usage == nil {
		return false
	}
	u := r.Usage
	*c = tokens{Input: u.Input, CacheRead: u.Details.Cached, CacheWrite: u.Details.Written, Output: u.Output, Reasoning: u.Parts.Reasoning}
	for _, item := range r.Output {
		if item.Type == "web_search_call" && (item.Action.Type == "" || item.Action.Type == "search") {
			c.Searches++
		}
	}
	return true
}

// contentCounts reads usage as Gemini counts it: what tools read and thoughts stand beside the prompt and the candidates'
// tokens, cached ones within the prompt (https://ai.google.dev/api/generate-content#UsageMetadata). Each chunk has the totals
// so far.
func contentCounts(text []byte, c *tokens) (found bool) {
	type details []struct {
		Modality   any
		TokenCount int64
	}
	var d struct {
		UsageMetadata *struct {
			PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount, ToolUsePromptTokenCount int64
			PromptTokensDetails, CacheTokensDetails, CandidatesTokensDetails                                             details
		}
		Candidates []struct {
			GroundingMetadata struct{ WebSearchQueries []string }
		}
		ModelVersion string
	}
	if json.Unmarshal(text, &d) != nil || d.UsageMetadata == nil {
		return false
	}
	u := d.UsageMetadata
	of := func(list details, kinds ...any) (n int64) {
		for _, m := range list {
			for _, k := range kinds {
				if m.Modality == k {
					n += m.TokenCount
				}
			}
		}
		return n
	}
	searches := c.Searches
	for _, candidate := range d.Candidates {
		// Models up to 2.5 are charged for the answer that searched, later ones for each query that is not empty
		// (https://ai.google.dev/gemini-api/docs/google-search, pricing).
		queries := slices.DeleteFunc(candidate.GroundingMetadata.WebSearchQueries, func(q string) bool { return q == "" })
		if n := len(queries); n > 0 && strings.HasPrefix(d.ModelVersion, "gemini-2") {
			searches = 1
		} else {
			searches = max(searches, int64(n))
		}
	}
	*c = tokens{Searches: searches, Input: u.PromptTokenCount + u.ToolUsePromptTokenCount, CacheRead: u.CachedContentTokenCount,
		AudioInput: of(u.PromptTokensDetails, "AUDIO") - of(u.CacheTokensDetails, "AUDIO"),
		ImageInput: of(u.PromptTokensDetails, "IMAGE", "VIDEO") - of(u.CacheTokensDetails, "IMAGE", "VIDEO"),
		Output:     u.CandidatesTokenCount + u.ThoughtsTokenCount, Reasoning: u.ThoughtsTokenCount,
		AudioOutput: of(u.CandidatesTokensDetails, "AUDIO"), ImageOutput: of(u.CandidatesTokensDetails, "IMAGE")}
	return true
}

// converseCounts reads usage as Bedrock's Converse counts it: cached tokens stand beside the input
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html).
func converseCounts(text []byte, c *tokens) (found bool) {
	var d struct {
		Usage *struct{ InputTokens, OutputTokens, CacheReadInputTokens, CacheWriteInputTokens *int64 }
	}
	if json.Unmarshal(text, &d) != nil || d.Usage == nil || d.Usage.InputTokens == nil {
		return false
	}
	u, n := d.Usage, func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	*c = tokens{Input: n(u.InputTokens) + n(u.CacheReadInputTokens) + n(u.CacheWriteInputTokens), CacheRead: n(u.CacheReadInputTokens), CacheWrite: n(u.CacheWriteInputTokens), Output: n(u.OutputTokens)}
	return true
}

// cohereCounts reads the tokens that Cohere bills (https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work).
func cohereCounts(text []byte, c *tokens) (found bool) {
	type usage struct {
		Billed *struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"billed_units"`
		Tokens struct {
			Reasoning int64 `json:"reasoning_tokens"`
			Image     int64 `json:"image_tokens"`
		}
	}
	var d struct {
		Usage usage
		Delta struct{ Usage usage }
	}
	if json.Unmarshal(text, &d) != nil {
		return false
	}
	for _, u := range []usage{d.Usage, d.Delta.Usage} {
		if u.Billed != nil {
			*c = tokens{Input: u.Billed.Input, ImageInput: u.Tokens.Image, Output: u.Billed.Output, Reasoning: min(u.Tokens.Reasoning, u.Billed.Output)}
			return true
		}
	}
	return false
}

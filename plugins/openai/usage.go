package openai

import "github.com/penstock-gateway/penstock/sdk"

// readUsage reads usage as OpenAI counts it, and the spellings of other services: DeepSeek's prompt_cache_hit_tokens,
// Moonshot's and Hugging Face's cached_tokens, Perplexity's reasoning_tokens.
//
// xAI counts reasoning beside the completion, and Google's endpoint leaves thoughts out of it; both count them in the
// total, which tells.
func readUsage(u sdk.Node) sdk.Usage {
	prompt, completion := u.Get("prompt_tokens_details"), u.Get("completion_tokens_details")
	n := sdk.Counts{
		Input:      u.Get("prompt_tokens").Int(),
		CacheRead:  first(prompt.Get("cached_tokens"), u.Get("prompt_cache_hit_tokens"), u.Get("cached_tokens"), u.Get("num_cached_tokens")),
		CacheWrite: first(prompt.Get("cache_write_tokens"), u.Get("cache_creation_input_tokens")),
		Output:     u.Get("completion_tokens").Int(),
		Reasoning:  first(completion.Get("reasoning_tokens"), u.Get("reasoning_tokens")),
	}
	if hidden := u.Get("total_tokens").Int() - n.Input - n.Output; hidden > 0 && (n.Reasoning == 0 || n.Reasoning == hidden) {
		n.Output += hidden
		n.Reasoning = hidden
	}
	return sdk.UsageWithin(n)
}

// first gives the first count that is there and not 0.
func first(nodes ...sdk.Node) int64 {
	for _, n := range nodes {
		if v := n.Int(); v != 0 {
			return v
		}
	}
	return 0
}

package openaichat

import (
	"math"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// readUsage reads a usage object. Cached input is counted within the input and reasoning within the output, as OpenAI
// has it; where compatible services put the parts elsewhere they are looked for there.
func readUsage(doc *jsonspan.Doc, u int) (sdk.Usage, bool) {
	in, hasIn := count(doc, u, "prompt_tokens")
	out, hasOut := count(doc, u, "completion_tokens")
	if !hasIn && !hasOut {
		return sdk.Usage{}, false
	}
	c := sdk.Counts{Input: in, Output: out}
	if d, ok := member(doc, u, "prompt_tokens_details"); ok {
		c.CacheRead, _ = count(doc, d, "cached_tokens")
		c.CacheWrite, _ = count(doc, d, "cache_write_tokens")
		c.AudioInput, _ = count(doc, d, "audio_tokens")
		c.ImageInput = first(doc, d, "image_tokens", "video_tokens") // xAI; OpenRouter
	}
	if c.CacheRead == 0 {
		c.CacheRead = first(doc, u, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens") // DeepSeek; Moonshot, Hugging Face; Mistral; LiteLLM
	}
	if c.CacheWrite == 0 {
		c.CacheWrite = first(doc, u, "cache_creation_input_tokens") // Vercel's gateway
	}
	if d, ok := member(doc, u, "completion_tokens_details"); ok {
		c.Reasoning, _ = count(doc, d, "reasoning_tokens")
		c.AudioOutput, _ = count(doc, d, "audio_tokens")
		c.ImageOutput, _ = count(doc, d, "image_tokens") // OpenRouter
	}
	c.Searches = searches(doc, u)
	if c.Reasoning == 0 {
		c.Reasoning = first(doc, u, "reasoning_tokens")
	}
	total, _ := count(doc, u, "total_tokens")
	usage := withHidden(c, total)
	usage.Known = hasIn && hasOut // half of the figures are not a provider's last word
	return usage, true
}

// searches is how often the provider says that it searched the web: Perplexity, and OpenRouter for the providers behind it.
func searches(doc *jsonspan.Doc, u int) int64 {
	for _, name := range [...]string{"server_tool_use", "server_tool_use_details"} {
		if d, ok := member(doc, u, name); ok {
			return first(doc, d, "web_search_requests")
		}
	}
	return first(doc, u, "num_search_queries")
}

// withHidden adds reasoning that is counted in the total but not in the output. xAI counts its reasoning beside the
// output and gives its number; Google's endpoint of this dialect leaves the number out, and then it is inferred.
func withHidden(c sdk.Counts, total int64) sdk.Usage {
	gap := total - max(c.Input, 0) - max(c.Output, 0)
	inferred := gap > 0 && c.Reasoning == 0
	if inferred {
		c.Reasoning = gap
	}
	if gap > 0 && c.Reasoning == gap {
		c.Output += gap
	}
	u := sdk.UsageWithin(c)
	u.Disputed = u.Disputed || inferred
	return u
}

// count reads a number of tokens; some services write it with a fraction of zero.
func count(doc *jsonspan.Doc, obj int, name string) (int64, bool) {
	i, ok := member(doc, obj, name)
	if !ok {
		return 0, false
	}
	if n, ok := doc.Int(i); ok {
		return n, true
	}
	f, ok := doc.Float(i)
	if !ok || math.Abs(f) > math.MaxInt64/2 {
		return 0, false
	}
	return int64(f), true
}

// first is the first of some members that is a number above zero.
func first(doc *jsonspan.Doc, obj int, names ...string) int64 {
	for _, name := range names {
		if n, _ := count(doc, obj, name); n > 0 {
			return n
		}
	}
	return 0
}

// appendUsage writes a usage object.
func appendUsage(dst []byte, u sdk.Usage) []byte {
	dst = appendInt(append(dst, `{"prompt_tokens":`...), u.TotalInput())
	dst = appendInt(append(dst, `,"completion_tokens":`...), u.TotalOutput())
	dst = appendInt(append(dst, `,"total_tokens":`...), u.TotalInput()+u.TotalOutput())
	dst = appendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), u.CacheRead)
	if n := u.CacheWrites(); n > 0 {
		dst = appendInt(append(dst, `,"cache_write_tokens":`...), n)
	}
	if u.AudioInput > 0 {
		dst = appendInt(append(dst, `,"audio_tokens":`...), u.AudioInput)
	}
	dst = appendInt(append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...), u.Reasoning)
	if u.AudioOutput > 0 {
		dst = appendInt(append(dst, `,"audio_tokens":`...), u.AudioOutput)
	}
	return append(dst, "}}"...)
}

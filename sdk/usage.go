package sdk

// Usage counts tokens in parts that do not overlap, so that no part can be charged twice. Each provider's own way of
// counting is turned into it at the edge, by [UsageWithin] or [UsageBeside].
type Usage struct {
	Input      int64 // fresh input: neither read from a cache nor written to one
	CacheRead  int64
	CacheWrite int64
	Output     int64 // visible output
	Reasoning  int64
	Known      bool // the provider gave figures
	Disputed   bool // figures that cannot be: a part over its whole, a count below zero
}

// Counts are a provider's figures as it gave them.
type Counts struct{ Input, CacheRead, CacheWrite, Output, Reasoning int64 }

// UsageWithin reads figures of the OpenAI kind: cached tokens are counted within the input, reasoning within the output
// (https://platform.openai.com/docs/api-reference/chat/object, usage).
func UsageWithin(c Counts) Usage {
	u := Usage{Known: true}
	in, r, w := u.count(c.Input), u.count(c.CacheRead), u.count(c.CacheWrite)
	u.CacheRead = u.atMost(r, in)
	u.CacheWrite = u.atMost(w, in-u.CacheRead)
	u.Input = in - u.CacheRead - u.CacheWrite
	out := u.count(c.Output)
	u.Reasoning = u.atMost(u.count(c.Reasoning), out)
	u.Output = out - u.Reasoning
	return u
}

// UsageBeside reads figures of the Anthropic kind: cached tokens stand beside the input, reasoning within the output
// (https://docs.claude.com/en/docs/build-with-claude/prompt-caching, tracking cache performance).
func UsageBeside(c Counts) Usage {
	u := Usage{Known: true}
	u.Input, u.CacheRead, u.CacheWrite = u.count(c.Input), u.count(c.CacheRead), u.count(c.CacheWrite)
	out := u.count(c.Output)
	u.Reasoning = u.atMost(u.count(c.Reasoning), out)
	u.Output = out - u.Reasoning
	return u
}

// TotalInput is all input, cached parts included.
func (u Usage) TotalInput() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// TotalOutput is all output, reasoning included.
func (u Usage) TotalOutput() int64 { return u.Output + u.Reasoning }

// maxCount is more tokens than any provider can mean.
const maxCount = 1 << 40

func (u *Usage) count(n int64) int64 {
	if n < 0 || n > maxCount {
		u.Disputed = true
		return min(max(n, 0), maxCount)
	}
	return n
}

func (u *Usage) atMost(part, whole int64) int64 {
	if part > whole {
		u.Disputed = true
		return whole
	}
	return part
}

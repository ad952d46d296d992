package anthropic

import (
	"math"
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// counts are the figures of an answer as they stand so far. Each of a stream's usage objects gives totals, never parts:
// what a later one names takes the place of what an earlier one said, also where it is smaller, and what it leaves out
// or gives as null stays (https://docs.claude.com/en/docs/build-with-claude/streaming, message_delta).
type counts struct {
	sdk.Counts
	known bool
	ended bool // the stream is over
	total bool // the output is that of the whole answer, and not of its start
	free  bool // the message holds the calls of a program alone
}

// read takes in a usage object.
//
// Where the answer took several passes, iterations lists them, and the totals beside it are of the last one only: those of
// the model itself and of compaction are charged together
// (https://platform.claude.com/docs/en/build-with-claude/compaction, usage). Those of other models, such as an advisor's,
// have another price and are left out.
func (c *counts) read(doc *jsonspan.Doc, u int) {
	c.take(doc, u)
	list, ok := member(doc, u, "iterations")
	if !ok || doc.Kind(list) != jsonspan.Array {
		return
	}
	var all sdk.Counts
	passes := 0
	for pass := range doc.Items(list) {
		kind, ok := member(doc, pass, "type")
		if !ok || string(doc.Inner(kind)) != "message" && string(doc.Inner(kind)) != "compaction" {
			continue
		}
		var one counts
		one.take(doc, pass)
		passes++
		all.Input += one.Input
		all.CacheRead += one.CacheRead
		all.CacheWrite += one.CacheWrite
		all.CacheWriteHour += one.CacheWriteHour
		all.Output += one.Output
		all.Reasoning += one.Reasoning
	}
	if passes > 1 {
		all.Reasoning, all.Searches, all.Tier = max(all.Reasoning, c.Reasoning), c.Searches, c.Tier
		c.Counts = all
	}
}

// take takes over the figures that are there. An input of nothing at all is none: some services fill the member in at the
// end, where they no longer know.
func (c *counts) take(doc *jsonspan.Doc, u int) {
	before := c.Counts
	set := func(obj int, name string, field *int64) (n int64) {
		i, ok := member(doc, obj, name)
		if !ok {
			return 0
		}
		if n, ok = doc.Int(i); !ok {
			f, isNumber := doc.Float(i)
			if !isNumber || math.Abs(f) > math.MaxInt64/2 {
				return 0
			}
			n = int64(f)
		}
		*field, c.known = n, true
		return n
	}
	input := set(u, "input_tokens", &c.Input) + set(u, "cache_read_input_tokens", &c.CacheRead) + set(u, "cache_creation_input_tokens", &c.CacheWrite)
	if input == 0 {
		c.Input, c.CacheRead, c.CacheWrite = before.Input, before.CacheRead, before.CacheWrite
	}
	set(u, "output_tokens", &c.Output)
	if d, ok := member(doc, u, "output_tokens_details"); ok {
		set(d, "thinking_tokens", &c.Reasoning)
	}
	if d, ok := member(doc, u, "cache_creation"); ok { // https://docs.claude.com/en/docs/build-with-claude/prompt-caching, 1-hour cache duration
		var minutes int64
		hour := set(d, "ephemeral_1h_input_tokens", &c.CacheWriteHour)
		sum := set(d, "ephemeral_5m_input_tokens", &minutes) + hour
		if _, ok := member(doc, u, "cache_creation_input_tokens"); !ok && sum > 0 { // parts without their total
			c.CacheWrite = sum
		}
	}
	if d, ok := member(doc, u, "server_tool_use"); ok { // https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool, usage and pricing
		set(d, "web_search_requests", &c.Searches)
	}
	for _, name := range [...]string{"service_tier", "speed"} {
		if t, ok := member(doc, u, name); ok {
			c.Tier = max(c.Tier, sdk.TierOf(string(doc.Inner(t))))
		}
	}
}

// usage is what the figures come to.
func (c *counts) usage() sdk.Usage {
	if !c.known {
		return sdk.Usage{}
	}
	u := sdk.UsageBeside(c.Counts)
	u.Free = c.free
	u.Known = c.total || !c.ended // services that only say at the start what they count have not counted the answer
	return u
}

// programsCall says whether a block is a call that a program made which the model wrote earlier. A message of nothing else
// comes from the program's run: no model had a part in it, and none is charged
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling, usage and pricing).
func programsCall(doc *jsonspan.Doc, block int) bool {
	caller, ok := member(doc, block, "caller")
	if !ok {
		return false
	}
	by, ok := member(doc, caller, "type")
	return ok && len(doc.Inner(by)) > 0 && !doc.Is(by, "direct")
}

// appendUsage writes a usage object; output is given apart, as a stream's first one is written before there is any.
func appendUsage(dst []byte, u sdk.Usage, output int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.TotalInput()-u.CacheRead-u.CacheWrites(), 10)
	dst = strconv.AppendInt(append(dst, `,"cache_creation_input_tokens":`...), u.CacheWrites(), 10)
	if u.CacheWriteHour > 0 {
		dst = strconv.AppendInt(append(dst, `,"cache_creation":{"ephemeral_5m_input_tokens":`...), u.CacheWrite, 10)
		dst = strconv.AppendInt(append(dst, `,"ephemeral_1h_input_tokens":`...), u.CacheWriteHour, 10)
		dst = append(dst, '}')
	}
	dst = strconv.AppendInt(append(dst, `,"cache_read_input_tokens":`...), u.CacheRead, 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), output, 10)
	if u.Reasoning > 0 && output > 0 {
		dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"thinking_tokens":`...), u.Reasoning, 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

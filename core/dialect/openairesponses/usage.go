package openairesponses

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// readUsage reads a usage object: cached input is counted within the input, reasoning within the output.
func readUsage(doc *jsonspan.Doc, u int) (sdk.Usage, bool) {
	in, hasIn := count(doc, u, "input_tokens")
	out, hasOut := count(doc, u, "output_tokens")
	if !hasIn && !hasOut {
		return sdk.Usage{}, false
	}
	c := sdk.Counts{Input: in, Output: out}
	if d, ok := member(doc, u, "input_tokens_details"); ok {
		c.CacheRead, _ = count(doc, d, "cached_tokens")
		c.CacheWrite, _ = count(doc, d, "cache_write_tokens")
	}
	if d, ok := member(doc, u, "output_tokens_details"); ok {
		c.Reasoning, _ = count(doc, d, "reasoning_tokens")
	}
	return sdk.UsageWithin(c), true
}

// count reads a number of tokens.
func count(doc *jsonspan.Doc, obj int, name string) (int64, bool) {
	i, ok := member(doc, obj, name)
	if !ok {
		return 0, false
	}
	return doc.Int(i)
}

// appendUsage writes a usage object; null where nothing is known.
func appendUsage(dst []byte, u sdk.Usage) []byte {
	if !u.Known {
		return append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.TotalInput(), 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":`...), u.CacheRead, 10)
	if u.CacheWrite > 0 {
		dst = strconv.AppendInt(append(dst, `,"cache_write_tokens":`...), u.CacheWrite, 10)
	}
	dst = strconv.AppendInt(append(dst, `},"output_tokens":`...), u.TotalOutput(), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), u.Reasoning, 10)
	dst = strconv.AppendInt(append(dst, `},"total_tokens":`...), u.TotalInput()+u.TotalOutput(), 10)
	return append(dst, '}')
}

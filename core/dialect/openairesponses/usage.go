package openairesponses

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// readUsage reads the usage of a response: cached input is counted within the input, reasoning within the output.
func readUsage(doc *jsonspan.Doc, response int) (sdk.Usage, bool) {
	u, ok := member(doc, response, "usage")
	if !ok {
		return sdk.Usage{}, false
	}
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
	c.Searches = searches(doc, response)
	if t, ok := member(doc, response, "service_tier"); ok {
		c.Tier = sdk.TierOf(string(doc.Inner(t)))
	}
	usage := sdk.UsageWithin(c)
	usage.Free = programs(doc, response)
	return usage, true
}

// programs says whether the output is nothing but calls that a program made which the model wrote earlier. Such a response
// comes from the program's run: no model had a part in it
// (https://platform.openai.com/docs/guides/tools-programmatic-tool-calling).
func programs(doc *jsonspan.Doc, response int) bool {
	output, ok := member(doc, response, "output")
	if !ok {
		return false
	}
	all := 0
	for item := range doc.Items(output) {
		caller, ok := member(doc, item, "caller")
		if ok {
			caller, ok = member(doc, caller, "type")
		}
		if !ok || !doc.Is(caller, "program") {
			return false
		}
		all++
	}
	return all > 0
}

// searches counts the searches of the web in a response: each is charged
// (https://platform.openai.com/docs/pricing, built-in tools). Opening a page that was found is none.
func searches(doc *jsonspan.Doc, response int) (n int64) {
	output, ok := member(doc, response, "output")
	if !ok || doc.Kind(output) != jsonspan.Array {
		return 0
	}
	for item := range doc.Items(output) {
		if t, ok := member(doc, item, "type"); !ok || string(doc.Inner(t)) != "web_search_call" {
			continue
		}
		kind, ok := member(doc, item, "action")
		if ok {
			kind, ok = member(doc, kind, "type")
		}
		if !ok || string(doc.Inner(kind)) == "search" {
			n++
		}
	}
	return n
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
	if n := u.CacheWrites(); n > 0 {
		dst = strconv.AppendInt(append(dst, `,"cache_write_tokens":`...), n, 10)
	}
	dst = strconv.AppendInt(append(dst, `},"output_tokens":`...), u.TotalOutput(), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), u.Reasoning, 10)
	dst = strconv.AppendInt(append(dst, `},"total_tokens":`...), u.TotalInput()+u.TotalOutput(), 10)
	return append(dst, '}')
}

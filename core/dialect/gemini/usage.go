package gemini

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// readUsage reads usageMetadata. Cached input is counted within the prompt; thoughts stand beside the candidates' tokens,
// and what tools of the service read stands beside the prompt (https://ai.google.dev/api/generate-content#UsageMetadata).
func readUsage(doc *jsonspan.Doc, u int) (sdk.Usage, bool) {
	prompt, ok := count(doc, u, "promptTokenCount")
	out, hasOut := count(doc, u, "candidatesTokenCount")
	thoughts, hasThoughts := count(doc, u, "thoughtsTokenCount")
	if !ok && !hasOut && !hasThoughts {
		return sdk.Usage{}, false
	}
	tools, _ := count(doc, u, "toolUsePromptTokenCount")
	cached, _ := count(doc, u, "cachedContentTokenCount")
	return sdk.UsageWithin(sdk.Counts{Input: prompt + tools, CacheRead: cached, Output: out + thoughts, Reasoning: thoughts}), true
}

// count reads a number of tokens.
func count(doc *jsonspan.Doc, obj int, name string) (int64, bool) {
	i, ok := member(doc, obj, name)
	if !ok {
		return 0, false
	}
	return doc.Int(i)
}

// appendUsage writes usageMetadata.
func appendUsage(dst []byte, u sdk.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"promptTokenCount":`...), u.TotalInput(), 10)
	if u.CacheRead > 0 {
		dst = strconv.AppendInt(append(dst, `,"cachedContentTokenCount":`...), u.CacheRead, 10)
	}
	dst = strconv.AppendInt(append(dst, `,"candidatesTokenCount":`...), u.Output, 10)
	if u.Reasoning > 0 {
		dst = strconv.AppendInt(append(dst, `,"thoughtsTokenCount":`...), u.Reasoning, 10)
	}
	dst = strconv.AppendInt(append(dst, `,"totalTokenCount":`...), u.TotalInput()+u.TotalOutput(), 10)
	return append(dst, '}')
}

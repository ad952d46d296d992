package anthropic

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// openAISealed begins what OpenAI seals its reasoning as. The gateway gives it to clients as redacted thinking, so that it
// may come back to OpenAI.
const openAISealed = "gAAAA"

// Repairs leaves out thinking blocks that are not Anthropic's: those without a signature, which the gateway makes of another
// provider's reasoning, and what OpenAI has sealed. Clients send both back, and Anthropic refuses a request that holds one.
// What is signed stays byte for byte.
func (Dialect) Repairs(dst []jsonspan.Edit, doc *jsonspan.Doc) []jsonspan.Edit {
	if !bytes.Contains(doc.Body, []byte(`thinking"`)) {
		return dst
	}
	messages, ok := doc.Member(0, "messages")
	if !ok || doc.Kind(messages) != jsonspan.Array {
		return dst
	}
	for m := range doc.Items(messages) {
		if doc.Kind(m) != jsonspan.Object {
			continue
		}
		if content, ok := doc.Member(m, "content"); ok && doc.Kind(content) == jsonspan.Array {
			if e, ok := dialect.WithoutItems(doc, content, func(block int) bool { return foreign(doc, block) }); ok {
				dst = append(dst, e)
			}
		}
	}
	return dst
}

// foreign says whether a block is thinking of another provider.
func foreign(doc *jsonspan.Doc, block int) bool {
	if doc.Kind(block) != jsonspan.Object {
		return false
	}
	kind, ok := doc.Member(block, "type")
	switch {
	case ok && doc.Is(kind, "thinking"):
		signature, ok := doc.Member(block, "signature")
		return !ok || doc.Kind(signature) == jsonspan.Null || doc.Is(signature, "") || sealed(doc, signature)
	case ok && doc.Is(kind, "redacted_thinking"):
		data, ok := doc.Member(block, "data")
		return ok && sealed(doc, data)
	}
	return false
}

func sealed(doc *jsonspan.Doc, text int) bool {
	return bytes.HasPrefix(doc.Raw(text), []byte(`"`+openAISealed))
}

package anthropic

import (
	"bytes"
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// openAISealed begins what OpenAI seals its reasoning as. The gateway gives it to clients as redacted thinking, so that it
// may come back to OpenAI.
const openAISealed = "gAAAA"

// Repairs leaves out blocks that are not Anthropic's: thinking without a signature, which the gateway makes of another
// provider's reasoning, what OpenAI has sealed, and the searches of the web that the gateway makes of OpenAI's. Clients send
// all of them back, and Anthropic refuses a request that holds one.
// What is signed stays byte for byte. A turn with calls that has lost its thinking so is gone on with without any.
func (Dialect) Repairs(dst []jsonspan.Edit, doc *jsonspan.Doc) []jsonspan.Edit {
	if !bytes.Contains(doc.Body, []byte(`thinking"`)) && !bytes.Contains(doc.Body, []byte(foreignSearchID)) {
		return dst
	}
	messages, ok := doc.Member(0, "messages")
	if !ok || doc.Kind(messages) != jsonspan.Array {
		return dst
	}
	answer := -1 // the content of the last message of the assistant, where a block is left out of it
	all := slices.Collect(doc.Items(messages))
	for i, m := range all {
		if doc.Kind(m) != jsonspan.Object {
			continue
		}
		role, _ := doc.Member(m, "role")
		if doc.Is(role, "assistant") {
			answer = -1
		}
		if content, ok := doc.Member(m, "content"); ok && doc.Kind(content) == jsonspan.Array {
			if e, ok := dialect.WithoutItems(doc, content, func(block int) bool { return foreign(doc, block) }); ok {
				dst, answer = append(dst, e), content
			} else if i+1 < len(all) && doc.Len(content) > 0 && foreign(doc, content+1) {
				// It holds nothing else, and no content is no message: what is said next follows what was said before.
				dst = append(dst, jsonspan.Edit{From: int(doc.Nodes[m].Off), To: int(doc.Nodes[all[i+1]].Off)})
			}
		}
	}
	if answer >= 0 && cannotThink(doc, answer) {
		if thinking, ok := doc.Member(0, "thinking"); ok && !doc.Is(typeOf(doc, thinking), "adaptive") {
			dst = append(dst, doc.Replace(thinking, []byte(`{"type":"disabled"}`)))
		}
	}
	return dst
}

// cannotThink says whether an answer of which blocks are left out calls tools and begins with no thinking any more: within
// a budget the model would be refused to think on in that turn, and a signature cannot be made up.
func cannotThink(doc *jsonspan.Doc, content int) bool {
	first := true
	for block := range doc.Items(content) {
		if foreign(doc, block) {
			continue
		}
		kind := typeOf(doc, block)
		if first && (doc.Is(kind, "thinking") || doc.Is(kind, "redacted_thinking")) {
			return false
		}
		first = false
		if doc.Is(kind, "tool_use") {
			return true
		}
	}
	return false
}

// typeOf gives the type of a block; the block itself, which is no text, where it has none.
func typeOf(doc *jsonspan.Doc, block int) int {
	if doc.Kind(block) == jsonspan.Object {
		if t, ok := doc.Member(block, "type"); ok {
			return t
		}
	}
	return block
}

// foreign says whether a block is thinking, or a search of the web, of another provider.
func foreign(doc *jsonspan.Doc, block int) bool {
	if doc.Kind(block) != jsonspan.Object {
		return false
	}
	if foreignSearch(doc, block) {
		return true
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

package anthropic

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Repairs leaves out thinking blocks without a signature: the gateway makes them of another provider's reasoning, clients
// send them back, and Anthropic refuses a request that holds one. What is signed stays byte for byte.
func (Dialect) Repairs(dst []jsonspan.Edit, doc *jsonspan.Doc) []jsonspan.Edit {
	if !bytes.Contains(doc.Body, []byte(`"thinking"`)) {
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
			dst = repairContent(dst, doc, content)
		}
	}
	return dst
}

// repairContent rewrites a list of blocks without those that are unsigned, where others are left.
func repairContent(dst []jsonspan.Edit, doc *jsonspan.Doc, content int) []jsonspan.Edit {
	kept, dropped := []byte{'['}, false
	for block := range doc.Items(content) {
		if unsigned(doc, block) {
			dropped = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, doc.Raw(block)...)
	}
	if !dropped || len(kept) == 1 {
		return dst
	}
	return append(dst, doc.Replace(content, append(kept, ']')))
}

func unsigned(doc *jsonspan.Doc, block int) bool {
	if doc.Kind(block) != jsonspan.Object {
		return false
	}
	kind, ok := doc.Member(block, "type")
	if !ok || !doc.Is(kind, "thinking") {
		return false
	}
	signature, ok := doc.Member(block, "signature")
	return !ok || doc.Kind(signature) == jsonspan.Null || doc.Is(signature, "")
}

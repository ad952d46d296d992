package anthropic

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/dialect"
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
			if e, ok := dialect.WithoutItems(doc, content, func(block int) bool { return unsigned(doc, block) }); ok {
				dst = append(dst, e)
			}
		}
	}
	return dst
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

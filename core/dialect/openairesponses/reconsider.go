package openairesponses

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Reconsider takes sealed reasoning out of a request that was refused for it: what another organisation has sealed, this
// one cannot open, and the conversation goes on without. An item's summary stays; an item that is nothing but sealed goes.
func (Dialect) Reconsider(dst []jsonspan.Edit, doc *jsonspan.Doc, f *sdk.Failure) []jsonspan.Edit {
	input, ok := doc.Member(0, "input")
	if f.Code != "invalid_encrypted_content" || !ok || doc.Kind(input) != jsonspan.Array {
		return dst
	}
	kept, changed := []byte{'['}, false
	for item := range doc.Items(input) {
		raw := doc.Raw(item)
		if sealed, summary := sealedItem(doc, item); sealed > 0 {
			changed = true
			if !summary {
				continue
			}
			raw = unsealed(doc, item)
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, raw...)
	}
	if !changed || len(kept) == 1 {
		return dst
	}
	return append(dst, doc.Replace(input, append(kept, ']')))
}

// sealedItem gives the node of an item's sealed content, 0 where it has none, and whether it has a summary.
func sealedItem(doc *jsonspan.Doc, item int) (sealed int, summary bool) {
	if doc.Kind(item) != jsonspan.Object {
		return 0, false
	}
	if kind, ok := doc.Member(item, "type"); !ok || !doc.Is(kind, "reasoning") {
		return 0, false
	}
	if v, ok := doc.Member(item, "encrypted_content"); ok && doc.Kind(v) == jsonspan.String {
		sealed = v
	}
	list, ok := doc.Member(item, "summary")
	return sealed, ok && doc.Len(list) > 0
}

// unsealed is an item's text without its sealed content.
func unsealed(doc *jsonspan.Doc, item int) []byte {
	var one jsonspan.Doc
	if one.Parse(doc.Raw(item), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return doc.Raw(item)
	}
	v, ok := one.Member(0, "encrypted_content")
	if !ok {
		return doc.Raw(item)
	}
	segs, _ := jsonspan.Splice(nil, one.Body, []jsonspan.Edit{one.Delete(0, v-1)})
	return bytes.Join(segs, nil)
}
